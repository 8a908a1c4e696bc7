import TestSupport

/// What it costs to look: `jostle top` on a terminal, at 200 apps and 1 000 events a second, and how late these are meanwhile.
enum TopBenchmark {
    private static let apps = 200

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var (core, median, tail, cost) = (Pairs(), Pairs(), Pairs(), Pairs())
        for _ in 0..<plan.rounds {
            let alone = try self.measure(isWatched: false, plan)
            let watched = try self.measure(isWatched: true, plan)
            // Of the milliseconds that a core has in a second.
            core.add(ours: watched.top, baseline: 1_000)
            median.add(ours: watched.median, baseline: alone.median)
            tail.add(ours: watched.tail, baseline: alone.tail)
            cost.add(ours: watched.broker, baseline: alone.broker)
        }
        report(core.figure("top.core", "ms/s", within: .atMost(0.02)))
        report(median.figure("top.p50", "us", within: .atMost(1.1)))
        report(tail.figure("top.p99", "us", within: .atMost(1.5)))
        report(cost.figure("top.broker", "us/event"))
    }

    private struct Result {
        /// Latencies in microseconds.
        var median: Double
        var tail: Double
        /// Microseconds of processor time for an event.
        var broker: Double
        /// Milliseconds of it in a second.
        var top: Double
    }

    private static func measure(isWatched: Bool, _ plan: Plan) throws(Failure) -> Result {
        let stage = try Stage()
        var idle: [BackgroundProgram] = []
        var top: Terminal?
        let run = try TwoHopRun(through: .broker, on: stage) { () throws(Failure) in
            // Whoever has the events is one of them.
            for index in 1..<self.apps {
                idle.append(
                    try stage.baseline(
                        "fanout-client",
                        [
                            "--mode", "event", "--threshold", "60", "--every", "100000", "--rest", "1000000", "--app",
                            "org.example.App\(index)",
                        ]))
            }
            for client in idle { _ = try client.connected() }
            if isWatched { top = try Terminal(showing: ["top", "--bus", stage.bus.address]) }
        }
        let pid = run.middle.pid
        let used = try run.perSample(for: plan.stream) { () throws(Failure) in
            var used = [try ProcessAccount.cpuTime(of: pid)]
            if let top { used.append(try ProcessAccount.cpuTime(of: top.pid)) }
            return used
        }
        let latencies = try run.end()
        return Result(
            median: try latencies.number("p50_us"), tail: try latencies.number("p99_us"), broker: used[0],
            // So many microseconds a sample, of which there are a thousand in a second.
            top: used.count > 1 ? used[1] * TwoHopRun.rate / 1_000 : 0)
    }
}

/// `jostle` on a terminal of its own, which takes all that it shows. Both end with this object.
private struct Terminal {
    private let program: BackgroundProgram
    /// Of `jostle` itself.
    let pid: Int32

    /// Says the pid, and reads until there is no more.
    private static let code = """
        import fcntl, os, pty, struct, sys, termios
        pid, end = pty.fork()
        if pid == 0:
            os.execv(sys.argv[1], sys.argv[1:])
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        print(pid, flush=True)
        try:
            while os.read(end, 65536): pass
        except OSError:
            pass
        """

    init(showing arguments: [String]) throws(Failure) {
        self.program = try BackgroundProgram(
            "jostle", arguments, environment: ["TERM": "xterm"], under: ["/usr/bin/python3", "-c", Self.code])
        let line = try self.program.waitForLine { _ in true }
        guard let pid = Int32(line) else { throw Failure("the terminal says '\(line)'") }
        self.pid = pid
    }
}
