import Loop
import TestSupport

/// How soon apps hear of motion again when a device is pulled out and put back while they are at work.
///
/// Eight apps are hit at each look, fifty times a second, and somebody else takes 200 samples a second. The time is from before
/// the device is put back to the first event's sample, of the app that hears it last.
enum ReplugBenchmark {
    private static let apps = 8

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let bed = try DeviceBed(in: stage.bus.directory)
        try bed.perform(DeviceBed.accelerometer())
        let daemons = [
            try stage.daemon("jostle-sensord", owning: "org.jostle.Sensors1", environment: bed.environment),
            try stage.broker(),
        ]
        let raw = try stage.baseline("fanout-client", ["--mode", "raw", "--rate", "200", "--threshold", "9"])
        _ = try raw.connected()
        var apps: [BackgroundProgram] = []
        for index in 1...self.apps {
            // No two alike, so that nothing is shared.
            let options = [
                "watch", "--when", "norm(x, y, z) > 0.\(index)g", "--every", "20ms", "--rest", "0s", "--json",
                "--app", "org.example.App\(index)", "--bus", stage.bus.address,
            ]
            apps.append(try BackgroundProgram("jostle", options))
        }
        for app in apps { _ = try self.event(at: app, after: 0) }
        let claims = try self.claims(stage)
        var (times, returns): ([Double], [Double]) = ([], [])
        for _ in 0..<max(3, plan.rounds) {
            try bed.perform("remove \(DeviceBed.accelerometerPath())")
            try self.waitUntilAbsent(stage)
            let back = Clock.boottime.now()
            try bed.perform(DeviceBed.accelerometer())
            returns.append(Double(Clock.boottime.now() - back) / 1_000)
            var last = 0.0
            for app in apps { last = max(last, try self.event(at: app, after: back) - Double(back)) }
            times.append(last / 1_000)
        }
        let left = try self.claims(stage)
        // Each lives as long as somebody has it: last of all it is asked.
        guard daemons.allSatisfy({ $0.end == nil }), apps.allSatisfy({ $0.end == nil }), raw.end == nil else {
            throw Failure("a program ended early")
        }
        report(Figure("replug", "ms", times.median, beside: returns.median))
        report(Figure("replug.worst", "ms", times.max() ?? .nan, beside: returns.median, within: .atMost(80)))
        report(Figure("replug.claims", "claims", Double(left), beside: Double(claims), within: .atLeast(1)))
    }

    /// The sample time in µs of an app's next event that is later.
    private static func event(at app: BackgroundProgram, after time: Int64) throws(Failure) -> Double {
        func sampled(_ line: String) -> Double? {
            line.split(separator: "\"t_us\":", maxSplits: 1).dropFirst().first.flatMap {
                Double($0.prefix { $0 != "," })
            }
        }
        return sampled(try app.waitForLine { (sampled($0) ?? -1) > Double(time) }) ?? .nan
    }

    private static func claims(_ stage: Stage) throws(Failure) -> Int {
        let answer = try self.property("Claimants", stage)
        guard let count = answer.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure("the reader does not tell who claims its sensor: \(answer)")
        }
        return count
    }

    private static func waitUntilAbsent(_ stage: Stage) throws(Failure) {
        let end = Clock.monotonic.now() + 20_000_000
        while try !self.property("State", stage).contains("absent") {
            guard Clock.monotonic.now() < end else { throw Failure("the reader does not miss its device") }
        }
    }

    private static func property(_ name: String, _ stage: Stage) throws(Failure) -> String {
        try stage.bus.busctl([
            "get-property", "org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor",
            name,
        ]).stdout
    }
}
