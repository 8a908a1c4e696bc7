import TestSupport

/// Instructions for a sample and its event, as callgrind counts them: the same on a fast machine and on a busy one.
///
/// Each program runs twice, and only what the longer run needs more counts: starting and ending cancel out.
enum InstructionBenchmark {
    /// Slow enough for a program of which every instruction is translated first: no two samples come in one message.
    static let rate = 100.0

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        if let missing = self.missing { throw Failure(missing) }
        let relay = try self.count(.relay, [], plan)
        for (name, options) in [
            ("instructions.broker", ["--no-journal"]), ("instructions.journal", []),
            ("instructions.clips", ["--clips", "2s"]),
        ] {
            let broker = try self.count(.broker, options, plan)
            report(Figure(name, "1/event", broker, beside: relay))
        }
    }

    /// What is missing here to count them; `nil` when all is there.
    static var missing: String? {
        for tool in ["valgrind", "objcopy"] where (try? Tool.run([tool, "--version"]))?.status != 0 {
            return "\(tool) is not there: 'make deps-bench' installs it"
        }
        return nil
    }

    private static func count(
        _ middle: TwoHopRun.Middle, _ options: [String], _ plan: Plan
    ) throws(Failure) -> Double {
        let (few, many) = plan.counted
        let short = try self.total(middle, options, events: few)
        return (try self.total(middle, options, events: many) - short) / Double(many - few)
    }

    /// All instructions of a program from its start to its end, so many events between them.
    private static func total(
        _ middle: TwoHopRun.Middle, _ options: [String], events: Int
    ) throws(Failure) -> Double {
        var total: Double?
        try self.profile(middle, options, events: events) { profile throws(Failure) in
            let text = String(decoding: try contents(of: profile), as: UTF8.self)
            for line in text.split(separator: "\n") where line.hasPrefix("summary: ") || line.hasPrefix("totals: ") {
                if let count = line.split(separator: " ").last.flatMap({ Double($0) }), count > 0 {
                    total = total ?? count
                }
            }
        }
        guard let total else { throw Failure("callgrind counted nothing") }
        return total
    }

    /// Has callgrind watch the broker with its journal, each thread by itself.
    static func profile(events: Int, _ read: (String) throws(Failure) -> Void) throws(Failure) {
        try self.profile(.broker, [], events: events, "--separate-threads=yes --demangle=no", read)
    }

    /// What the copy's path ends with that is watched.
    static let copied = ".program"

    /// Has callgrind watch a program for so many events; its profile is there for as long as it is read.
    private static func profile(
        _ middle: TwoHopRun.Middle, _ options: [String], events: Int, _ how: String = "",
        _ read: (String) throws(Failure) -> Void
    ) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let path = "\(stage.bus.directory)/instructions"
        // What our linker writes for debuggers valgrind cannot read, and it gives up: it gets a copy without that.
        let counting = """
            objcopy --strip-debug "$1" '\(path)\(self.copied)' && shift && exec valgrind --tool=callgrind \(how) \
            --callgrind-out-file='\(path)' --log-file='\(path).log' '\(path)\(self.copied)' "$@"
            """
        let run = try TwoHopRun(
            through: middle, options, on: stage, environment: ["SWIFT_DETERMINISTIC_HASHING": "1"],
            under: ["sh", "-c", counting, "sh"],
            rate: self.rate, count: events)
        try run.complete(events)
        try read(path)
    }
}
