import TestSupport

/// What daemons cost that have nothing to do: how often they wake, and what they hold in memory.
enum IdleBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let baseline = try stage.baseline("daemon", ["--name", "org.jostle.Baseline.Daemon"])
        try stage.bus.waitForName("org.jostle.Baseline.Daemon")
        let daemons = [try stage.reader([]), try stage.broker()]
        // Whoever started us may still be telling the bus; this much later the start is over.
        pass(seconds: 0.5)
        let waits = try daemons.map { daemon throws(Failure) in try ProcessAccount.waits(of: daemon.pid) }
        let baselineWaits = try ProcessAccount.waits(of: baseline.pid)
        pass(seconds: plan.idle)
        let baselineWoken = try ProcessAccount.waits(of: baseline.pid) - baselineWaits
        for (daemon, before) in zip(daemons, waits) {
            let woken = try ProcessAccount.waits(of: daemon.pid) - before
            report(
                Figure(
                    name: "idle.\(daemon.name)", unit: "wake-ups", value: woken, baseline: baselineWoken,
                    budget: .value(.atMost, 0)))
        }
        let least = try ProcessAccount.memory(of: baseline.pid)
        for daemon in daemons {
            let memory = try ProcessAccount.memory(of: daemon.pid)
            func figure(_ kind: String, _ value: Double, _ baseline: Double, _ budget: Budget? = nil) {
                report(
                    Figure(
                        name: "memory.\(kind).\(daemon.name)", unit: "MiB", value: value / 1_024,
                        baseline: baseline / 1_024, ratio: value / baseline, budget: budget))
            }
            figure("resident", memory.resident, least.resident, .value(.atMost, 12))
            figure("proportional", memory.proportional, least.proportional)
            figure("own", memory.own, least.own)
        }
    }
}
