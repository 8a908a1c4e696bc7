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

    /// A thousand where none are, beside reading their conditions; and a thousand more where a hundred thousand are.
    private static func measureMore(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let more = Crowd(count: 1_000, features: 4)
        let conditions = (0..<more.count).map { Array(more.condition($0).utf8) }
        var empty = BenchEngine()
        var full = try Crowd(count: 100_000, features: 4).engine()
        var (few, many) = (Pairs(), Pairs())
        for _ in 0..<plan.rounds {
            let ours = try self.add(more, to: &empty)
            let began = ProcessorClock.now()
            for condition in conditions { blackHole(PlainReading.words(of: condition)) }
            few.add(ours: ours, baseline: (ProcessorClock.now() - began) / 1e6)
            many.add(ours: try self.add(more, to: &full), baseline: ours)
        }
        report(few.figure("register.1000", "ms", within: .atMost(50)))
        report(many.figure("register.1000-into-100000", "ms", within: .atMost(1.5)))
    }

    /// Milliseconds of processor time that adding takes. They are not there any more when it returns.
    private static func add(_ more: Crowd, to engine: inout BenchEngine) throws(Failure) -> Double {
        let began = ProcessorClock.now()
        for index in 0..<more.count { engine.add(try more.detector(index), as: UInt32(100_000 + index)) }
        let milliseconds = (ProcessorClock.now() - began) / 1e6
        for index in 0..<more.count { engine.remove(UInt32(100_000 + index)) }
        return milliseconds
    }

    /// The slowest answer to conditions that were made to be slow, of up to 16 KB, beside as much text of honest ones.
    private static func measureHostileConditions(_ plan: Plan, _ report: (Figure) -> Void) {
        var slowest = Pairs()
        for _ in 0..<plan.rounds {
            let worst = HostileConditions.all.map { self.millisecondsToCompile([$0]) }.max() ?? .nan
            var honest: [String] = []
            var bytes = 0
            while bytes < 16_384 {
                honest.append(Crowd(count: 1_000, features: 4).condition(honest.count))
                bytes += honest[honest.count - 1].utf8.count
            }
            slowest.add(ours: worst, baseline: self.millisecondsToCompile(honest))
        }
        report(slowest.figure("register.hostile", "ms", within: .atMost(0.5)))
    }

    /// Milliseconds of processor time that conditions take to be understood or refused.
    private static func millisecondsToCompile(_ texts: [String]) -> Double {
        let began = ProcessorClock.now()
        for text in texts {
            let request = DetectorRequest(name: "d", options: ["when": .text(text), "every": .text("10ms")])
            blackHole(try? DetectorCompiler.compile(request, for: nil))
        }
        return (ProcessorClock.now() - began) / 1e6
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
