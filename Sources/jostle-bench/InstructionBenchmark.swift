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
        for (name, options) in [("instructions.broker", ["--no-journal"]), ("instructions.journal", [])] {
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
        let stage = try Stage()
        defer { stage.end() }
        let path = "\(stage.bus.directory)/instructions"
        // What our linker writes for debuggers valgrind cannot read, and it gives up: it gets a copy without that.
        let counting = """
            objcopy --strip-debug "$1" '\(path).program' && shift && exec valgrind --tool=callgrind \
            --callgrind-out-file='\(path)' --log-file='\(path).log' '\(path).program' "$@"
            """
        let run = try TwoHopRun(
            through: middle, options, on: stage, environment: ["SWIFT_DETERMINISTIC_HASHING": "1"],
            under: ["sh", "-c", counting, "sh"],
            rate: self.rate, count: events)
        try run.complete(events)
        let text = String(decoding: try contents(of: path), as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("summary: ") || line.hasPrefix("totals: ") {
            if let count = line.split(separator: " ").last.flatMap({ Double($0) }), count > 0 { return count }
        }
        throw Failure("callgrind counted nothing")
    }
}
