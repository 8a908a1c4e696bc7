import Loop
import TestSupport

/// What it saves to evaluate once for all: clients that each claim the samples, and clients that are told of events.
///
/// The motion is 5 % shakes, one of them in each loop of 4 s, so that every client has an event every 4 s: far more than
/// people shake. The processor time is that of all processes: reader, broker, bus and clients.
enum SharingBenchmark {
    private static let rate = 100
    private static let loop = 4.0
    private static let script = "synth:seed=7; noise=0.02g; rest 3.8s; shake 0.2s peak=4g freq=5Hz; loop"
    private static let batch = 100_000

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        for crowd in plan.crowds {
            var single = Pairs()
            var batched = Pairs()
            var batchedBoth = Pairs()
            for _ in 0..<plan.longRounds {
                let raw = try self.measure(crowd, .raw(latency: 0), plan)
                single.add(ours: try self.measure(crowd, .event(latency: 0), plan), baseline: raw)
                let ours = try self.measure(crowd, .event(latency: Self.batch), plan)
                batched.add(ours: ours, baseline: raw)
                guard plan.isWhole else { continue }
                batchedBoth.add(ours: ours, baseline: try self.measure(crowd, .raw(latency: Self.batch), plan))
            }
            let isJudged = crowd == 200
            report(
                single.figure(
                    "sharing.\(crowd)", "ms/s", .saving, within: isJudged ? .atLeast(40) : nil))
            report(
                batched.figure(
                    "sharing.\(crowd).batched", "ms/s", .saving, within: isJudged ? .atLeast(150) : nil))
            if plan.isWhole { report(batchedBoth.figure("sharing.\(crowd).batched-both", "ms/s", .saving)) }
        }
    }

    private enum Way {
        /// Every client claims the samples, held back by at most this many microseconds.
        case raw(latency: Int)
        /// The broker claims them and evaluates; the clients have events.
        case event(latency: Int)
    }

    /// Milliseconds of processor time in a second.
    private static func measure(_ crowd: Int, _ way: Way, _ plan: Plan) throws(Failure) -> Double {
        let stage = try Stage()
        defer { stage.end() }
        var programs = [try stage.reader(["--source", self.script])]
        switch way {
        case .raw(let latency):
            let options = ["--mode", "raw", "--rate", "\(self.rate)", "--latency", "\(latency)", "--threshold", "2.3"]
            for _ in 0..<crowd { programs.append(try stage.baseline("fanout-client", options)) }
        case .event(let latency):
            programs.append(try stage.broker(["--batch-latency", "\(latency)us"]))
            let options = ["--mode", "event", "--threshold", "2.3", "--every", "10000", "--rest", "1000000"]
            for index in 0..<crowd {
                programs.append(try stage.baseline("fanout-client", options + ["--app", "org.example.App\(index)"]))
            }
        }
        let clients = programs.suffix(crowd)
        for client in clients { _ = try client.connected() }
        let pids = programs.map(\.pid) + [stage.bus.pid]
        let before = try self.cpuTime(of: pids)
        let began = Clock.monotonic.now()
        pass(seconds: self.loop)
        let used = try self.cpuTime(of: pids) - before
        let elapsed = Double(Clock.monotonic.now() - began)
        for client in clients {
            guard try client.finalFigures().number("events") > 0 else {
                throw Failure("a client of \(crowd) had no event: the two sides did not do the same work")
            }
        }
        return used / elapsed * 1_000
    }

    private static func cpuTime(of pids: [Int32]) throws(Failure) -> Double {
        var sum = 0.0
        for pid in pids { sum += try ProcessAccount.cpuTime(of: pid) }
        return sum
    }
}
