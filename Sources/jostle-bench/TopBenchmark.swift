import DBus
import Loop
import Protocol
import TestSupport

/// What it costs to look: `jostle top` on a terminal, at 200 apps and 1 000 events a second, and how late these are meanwhile.
///
/// How late is told and has no budget: with as many programs as that, the one hundredth of the events that are the last depends on what else
/// two cores do, by a factor of three. What it rests on has one: an event waits for one answer at most, and for how long is
/// processor time.
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
        report(median.figure("top.p50", "us"))
        report(tail.figure("top.p99", "us"))
        report(cost.figure("top.broker", "us/event"))
        let page = try self.answer()
        let event = cost.baselines.median
        report(
            Figure(
                name: "top.answer", unit: "us/page", value: page, baseline: event, ratio: Figure.ratio(page, event),
                budget: .atMost(10)))
    }

    /// Microseconds that the broker works for the longest answer that is asked for: a page of 64 apps.
    private static func answer() throws(Failure) -> Double {
        let stage = try Stage()
        defer { stage.end() }
        let broker = try stage.broker([])
        var idle: [BackgroundProgram] = []
        for index in 0..<self.apps { idle.append(try self.client(index, on: stage)) }
        for client in idle { _ = try client.connected() }
        let pages = 400
        do {
            let connection = Connection(to: .address(stage.bus.address), on: try EventLoop())
            try connection.openAndWait()
            defer { connection.close() }
            let target = CallTarget("org.jostle.Broker1", Path.broker, "org.jostle.Broker1")
            var before = 0.0
            // The first few find what is not in the cache yet.
            for number in -20..<pages {
                if number == 0 { before = try ProcessAccount.cpuTime(of: broker.pid) }
                let rows = try connection.callAndWait(target, "ListCounters", [String: Value]())
                    .read(reply: [ListedCounters.Wire].self)
                guard rows.count == 64 else { throw Failure("a page has \(rows.count) apps") }
            }
            return (try ProcessAccount.cpuTime(of: broker.pid) - before) / Double(pages)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
    }

    private static func client(_ index: Int, on stage: Stage) throws(Failure) -> BackgroundProgram {
        try stage.baseline(
            "fanout-client",
            [
                "--mode", "event", "--threshold", "60", "--every", "100000", "--rest", "1000000", "--app",
                "org.example.App\(index)",
            ])
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
                idle.append(try self.client(index, on: stage))
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
