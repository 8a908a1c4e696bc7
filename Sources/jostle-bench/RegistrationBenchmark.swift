import Detection
import Motion
import TestSupport

/// What registering costs, and what the worst of apps can make it and the looks cost for others.
enum RegistrationBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        try self.measureMore(plan, report)
        self.measureHostileConditions(plan, report)
        try self.measureHostileApp(plan, report)
    }

    /// A thousand more where a hundred thousand are.
    private static func measureMore(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var times: [Double] = []
        let more = Crowd(count: 1_000, features: 4)
        var engine = try Crowd(count: 100_000, features: 4).engine()
        for _ in 0..<plan.rounds {
            let began = ProcessorClock.now()
            for index in 0..<more.count { engine.add(try more.detector(index), as: UInt32(100_000 + index)) }
            times.append((ProcessorClock.now() - began) / 1e6)
            for index in 0..<more.count { engine.remove(UInt32(100_000 + index)) }
        }
        report(
            Figure(
                name: "register.1000-into-100000", unit: "ms", value: times.median, budget: .value(.atMost, 20)))
    }

    /// The slowest answer to conditions that were made to be slow, of up to 16 KB.
    private static func measureHostileConditions(_ plan: Plan, _ report: (Figure) -> Void) {
        var slowest = 0.0
        for text in HostileConditions.all {
            var times: [Double] = []
            for _ in 0..<plan.rounds {
                let began = ProcessorClock.now()
                let request = DetectorRequest(name: "d", options: ["when": .text(text), "every": .text("10ms")])
                _ = try? DetectorCompiler.compile(request, for: nil)
                times.append((ProcessorClock.now() - began) / 1e6)
            }
            slowest = max(slowest, times.median)
        }
        report(Figure(name: "register.hostile", unit: "ms", value: slowest, budget: .value(.atMost, 5)))
    }

    /// An app that has as many different windows as one may have, all of them at the fastest pace.
    private static func measureHostileApp(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let windows = 1_024
        let motion = MadeMotion(looks: 2_000, shaken: false)
        var looks: [Double] = []
        var leaving: [Double] = []
        for _ in 0..<plan.rounds {
            var engine = BenchEngine()
            for index in 0..<windows {
                let text = "rms(x, \(index + 1)ms) > 1mg"
                engine.add(
                    try compile(DetectorRequest(name: "\(index)", options: ["when": .text(text)])), as: UInt32(index))
            }
            looks.append(motion.nanosecondsPerLook(&engine) / 1_000)
            let began = ProcessorClock.now()
            for index in 0..<windows { engine.remove(UInt32(index)) }
            leaving.append((ProcessorClock.now() - began) / 1e6)
        }
        report(Figure(name: "hostile-app.look", unit: "us/sample", value: looks.median))
        report(Figure(name: "hostile-app.leave", unit: "ms", value: leaving.median))
    }
}
