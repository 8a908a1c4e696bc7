import TestSupport

/// What daemons cost that have nothing to do: how often they wake, and what they hold in memory.
enum IdleBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let baseline = try stage.leastDaemon()
        let daemons = [try stage.reader([]), try stage.broker()]
        // Whoever started us may still be telling the bus; this much later the start is over.
        pass(seconds: 0.5)
        let waits = try daemons.map { daemon throws(Failure) in try ProcessAccount.waits(of: daemon.pid) }
        let baselineWaits = try ProcessAccount.waits(of: baseline.pid)
        pass(seconds: plan.idle)
        let baselineWoken = try ProcessAccount.waits(of: baseline.pid) - baselineWaits
        for (daemon, before) in zip(daemons, waits) {
            let woken = try ProcessAccount.waits(of: daemon.pid) - before
            report(Figure("idle.\(daemon.name)", "wake-ups", woken, beside: baselineWoken, within: .atMost(1)))
        }
        let least = try ProcessAccount.memory(of: baseline.pid)
        for daemon in daemons {
            let memory = try ProcessAccount.memory(of: daemon.pid)
            report(memory.figure("resident.\(daemon.name)", beside: least, within: .atMost(ProcessAccount.Memory.most)))
            for (kind, value, baseline) in [
                ("proportional", memory.proportional, least.proportional), ("own", memory.own, least.own),
            ] {
                report(Figure("memory.\(kind).\(daemon.name)", "MiB", value / 1_024, beside: baseline / 1_024))
            }
        }
    }
}

extension ProcessAccount.Memory {
    /// How many times the least daemon's a daemon of ours may hold while it has nothing to do: 12 MiB where that holds 2.7.
    static let most = 4.4

    func figure(_ name: String, beside least: Self, within budget: Budget) -> Figure {
        Figure("memory.\(name)", "MiB", self.resident / 1_024, beside: least.resident / 1_024, within: budget)
    }
}
