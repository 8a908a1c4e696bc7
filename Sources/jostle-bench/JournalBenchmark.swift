import Arbitration
import Glibc
import Journal
import Loop
import Motion
import TestSupport

/// What it costs to keep what is decided, and to start with much of it.
enum JournalBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        if plan.isWhole { try self.measureEvents(plan, report) }
        try self.measureStart(plan, report)
    }

    /// An event for each sample, kept with its verdict, against a broker that keeps nothing. The processor time is that of
    /// all the broker's threads.
    private static func measureEvents(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var median = Pairs()
        var tail = Pairs()
        var cost = Pairs()
        for _ in 0..<plan.rounds {
            let kept = try TwoHopRun(through: .broker).measure(for: plan.stream)
            let forgotten = try TwoHopRun(through: .broker, ["--no-journal"]).measure(for: plan.stream)
            median.add(ours: kept.median, baseline: forgotten.median)
            tail.add(ours: kept.tail, baseline: forgotten.tail)
            cost.add(ours: kept.cost, baseline: forgotten.cost)
        }
        report(median.figure("journal.p50", "us"))
        report(tail.figure("journal.p99", "us"))
        report(cost.figure("journal.cpu", "us/event"))
    }

    private static let verdicts = 100_000

    /// The start with a full journal, and what the broker holds in memory then.
    private static func measureStart(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        try self.fill(stage.stateDirectory)
        try StartBenchmark.measure(
            "jostle-brokerd", stage.brokerOptions, owning: "org.jostle.Broker1",
            beside: StartBenchmark.keeping(on: stage), on: stage, plan
        ) { report($0.figure("start.broker.journal", "ms", within: .atMost(4))) }
        // Without it, epochs begin behind the journal's last: so the journal is opened, and looked over from end to end.
        let state = "\(stage.stateDirectory)/state.db"
        // SAFETY: the path is a terminated string for the time of the call.
        guard unsafe unlink(state) == 0 else { throw Failure("cannot remove \(state)") }
        let broker = try stage.broker()
        // This much later that is done.
        pass(seconds: 2)
        let daemon = try stage.leastDaemon()
        let least = try ProcessAccount.memory(of: daemon.pid)
        let memory = try ProcessAccount.memory(of: broker.pid)
        report(memory.figure("broker.journal", beside: least, within: .atMost(ProcessAccount.Memory.most)))
    }

    /// Keeps as many verdicts as there are to be, of two apps in one group, as a broker would.
    private static func fill(_ directory: String) throws(Failure) {
        let start = Clock.wallClock()
        let run = StoreRun(started: start, boot: "bench", version: "bench")
        let store = Store(in: directory, run: run) {}
        var group = GroupConfiguration(name: "shake", place: Place(file: "bench.conf", line: 1))
        group.mode = .exclusive
        group.select = [.specificity]
        let rule = Rule(name: "any", place: Place(file: "bench.conf", line: 5), effect: .allow, group: "shake")
        var arbiter = Arbiter(policy: Policy(groups: [group], rules: [rule]), epoch: UInt64(start))
        var actions: [ArbiterAction] = []
        for index in 0..<UInt32(2) {
            let facts = DetectorFacts(name: "d\(index)", preset: "shake", threshold: 1.5 + Double(index), rest: .zero)
            arbiter.take(
                .app(AppHandle(index), AppID("org.example.App\(index)"), AppEntrance()), at: .zero, into: &actions)
            arbiter.take(.detector(DetectorID(index), AppHandle(index), facts), at: .zero, into: &actions)
        }
        var kept: UInt64 = 0
        var motion: Int64 = 0
        while kept < self.verdicts {
            actions.removeAll(keepingCapacity: true)
            motion += 1
            let time = Timestamp(microseconds: motion * 2_000_000)
            let hits = (0..<2).map { Hit(detector: DetectorID($0), time: time, peak: 3) }
            arbiter.take(.hits(hits), at: time, into: &actions)
            arbiter.take(.motion(time + .seconds(1)), at: time + .seconds(1), into: &actions)
            for action in actions {
                guard case .verdict(let verdict) = action else { continue }
                store.keep(.verdict(verdict, user: 1_000, registration: 1), at: start)
                kept += 1
            }
            // No more than the writer takes.
            guard motion.isMultiple(of: 512) || kept >= self.verdicts else { continue }
            let deadline = Clock.monotonic.now() + 60_000_000
            while store.counts.written < kept {
                guard Clock.monotonic.now() < deadline else { throw Failure("the journal cannot be filled") }
                pass(seconds: 0.001)
            }
        }
        store.close(within: .seconds(60))
    }
}
