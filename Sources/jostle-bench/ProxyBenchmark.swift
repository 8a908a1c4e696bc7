import Loop
import TestSupport

/// What a desktop's claim on the accelerometer costs, beside iio-sensor-proxy itself: the same device behind umockdev, the same
/// client (`monitor-sensor`), a bus each.
enum ProxyBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var cpu = Pairs()
        var wakes = Pairs()
        var idle = Pairs()
        var memory = Pairs()
        for _ in 0..<plan.rounds {
            let baseline = try self.measure(["/usr/sbin/iio-sensor-proxy"], plan)
            let ours = try self.measure(
                [Programs.path(of: "jostle-sensord"), "--bus", "system", "--exit-with-bus", "--sensor-proxy"], plan)
            cpu.add(ours: ours.cpu, baseline: baseline.cpu)
            wakes.add(ours: ours.wakes, baseline: baseline.wakes)
            idle.add(ours: ours.idleWakes, baseline: baseline.idleWakes)
            memory.add(ours: ours.memory, baseline: baseline.memory)
        }
        report(cpu.figure("proxy.claimed.cpu", "ms/s", within: .ratio(.atMost, 1)))
        // One of hundreds may be a descriptor that was read in two steps.
        report(wakes.figure("proxy.claimed.wake-ups", "1/s", within: .ratio(.atMost, 1.02)))
        report(
            Figure(
                name: "proxy.idle.wake-ups", unit: "1/s", value: idle.ours.median, baseline: idle.baselines.median,
                ratio: nil, budget: .value(.atMost, 0)))
        report(memory.figure("proxy.resident", "KiB"))
    }

    private struct Cost {
        /// Processor time in ms a second, and how often it was woken in a second, while one client claims.
        var cpu: Double
        var wakes: Double
        /// The same while nobody does.
        var idleWakes: Double
        var memory: Double
    }

    private static func measure(_ command: [String], _ plan: Plan) throws(Failure) -> Cost {
        let stage = try Stage()
        defer { stage.end() }
        let name = "net.hadess.SensorProxy"
        let system = ["DBUS_SYSTEM_BUS_ADDRESS": stage.bus.address]
        // As a desktop has it: without it, nobody may claim of the newer one.
        let polkit = try BackgroundProgram(
            tool: ["/usr/bin/python3", "-m", "dbusmock", "--template", "polkitd"], environment: system)
        try stage.bus.waitForName("org.freedesktop.PolicyKit1")
        let allowed = try stage.bus.busctl([
            "call", "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock",
            "SetAllowed", "as", "1", "net.hadess.SensorProxy.claim-sensor",
        ])
        guard allowed.status == 0 else { throw Failure("polkit's double refuses: \(allowed.stderr)") }
        let daemon = try BackgroundProgram(
            tool: ["umockdev-run", "-d", Programs.device("desktop.umockdev"), "--"] + command,
            environment: system)
        try stage.bus.waitForName(name)
        let pid = try DeviceBenchmark.owner(of: name, on: stage)
        // Woken by nothing of its start any more.
        pass(seconds: 0.5)
        let idle = try self.rates(of: pid, plan)
        let client = try BackgroundProgram(tool: ["monitor-sensor"], environment: system)
        _ = try client.waitForLine {
            $0.contains("Has accelerometer (orientation: normal") || $0.contains("changed: normal")
        }
        pass(seconds: 0.5)
        let claimed = try self.rates(of: pid, plan)
        let memory = try ProcessAccount.memory(of: pid).resident
        guard daemon.end == nil, client.end == nil, polkit.end == nil else { throw Failure("a program ended early") }
        return Cost(cpu: claimed.cpu, wakes: claimed.wakes, idleWakes: idle.wakes, memory: memory)
    }

    private static func rates(of pid: Int32, _ plan: Plan) throws(Failure) -> (cpu: Double, wakes: Double) {
        let cpu = try ProcessAccount.cpuTime(of: pid)
        let waits = try ProcessAccount.waits(of: pid)
        let began = Clock.monotonic.now()
        // Enough readings for a rate.
        pass(seconds: 4 * plan.stream)
        let elapsed = Double(Clock.monotonic.now() - began) / 1_000_000
        return (
            (try ProcessAccount.cpuTime(of: pid) - cpu) / 1_000 / elapsed,
            (try ProcessAccount.waits(of: pid) - waits) / elapsed
        )
    }
}
