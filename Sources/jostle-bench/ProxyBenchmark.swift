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
        for _ in 0..<plan.longRounds {
            let ours = try ProxyRun([
                Programs.path(of: "jostle-sensord"), "--bus", "system", "--exit-with-bus", "--sensor-proxy",
            ])
            let baseline = try ProxyRun(["/usr/sbin/iio-sensor-proxy"])
            // Side by side, so that the machine's moods hit both alike.
            let runs = [ours, baseline]
            let before = try ProxyRun.rates(of: runs, seconds: plan.stream)
            for run in runs { try run.claim() }
            // Enough readings for a rate.
            let claimed = try ProxyRun.rates(of: runs, seconds: 4 * plan.stream)
            cpu.add(ours: claimed[0].cpu, baseline: claimed[1].cpu)
            wakes.add(ours: claimed[0].wakes, baseline: claimed[1].wakes)
            idle.add(ours: before[0].wakes, baseline: before[1].wakes)
            memory.add(ours: try ours.end(), baseline: try baseline.end())
        }
        report(cpu.figure("proxy.claimed.cpu", "ms/s", within: .atMost(1)))
        // One of hundreds may be a descriptor that was read in two steps.
        report(wakes.figure("proxy.claimed.wake-ups", "1/s", within: .atMost(1.02)))
        report(idle.figure("proxy.idle.wake-ups", "1/s", within: .atMost(1)))
        report(memory.figure("proxy.resident", "KiB"))
    }
}

/// A service of a desktop's sensors, with a device and a bus of its own.
private final class ProxyRun {
    /// Processor time in ms a second, and how often it was woken in a second.
    struct Rates {
        var cpu: Double
        var wakes: Double
    }

    private let stage: Stage
    private let pid: Int32
    private var programs: [BackgroundProgram]

    private var system: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": self.stage.bus.address] }

    init(_ command: [String]) throws(Failure) {
        let stage = try Stage()
        self.stage = stage
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
            tool: ["umockdev-run", "-d", Programs.device("desktop.umockdev"), "--"] + command, environment: system)
        let name = "net.hadess.SensorProxy"
        try stage.bus.waitForName(name)
        self.pid = try DeviceBenchmark.owner(of: name, on: stage)
        self.programs = [polkit, daemon]
    }

    /// Lets one client claim the accelerometer.
    func claim() throws(Failure) {
        let client = try BackgroundProgram(tool: ["monitor-sensor"], environment: self.system)
        self.programs.append(client)
        _ = try client.waitForLine {
            $0.contains("Has accelerometer (orientation: normal") || $0.contains("changed: normal")
        }
    }

    /// KiB that the service holds at the end.
    func end() throws(Failure) -> Double {
        defer { self.stage.end() }
        guard self.programs.allSatisfy({ $0.end == nil }) else { throw Failure("a program ended early") }
        return try ProcessAccount.memory(of: self.pid).resident
    }

    static func rates(of runs: [ProxyRun], seconds: Double) throws(Failure) -> [Rates] {
        // Woken by nothing of what came before any more.
        pass(seconds: 0.5)
        let before = try runs.map { run throws(Failure) in try run.used() }
        let began = Clock.monotonic.now()
        pass(seconds: seconds)
        let elapsed = Double(Clock.monotonic.now() - began) / 1_000_000
        return try zip(runs, before).map { run, before throws(Failure) in
            let now = try run.used()
            return Rates(cpu: (now.cpu - before.cpu) / 1_000 / elapsed, wakes: (now.wakes - before.wakes) / elapsed)
        }
    }

    /// What it has used so far.
    private func used() throws(Failure) -> Rates {
        Rates(cpu: try ProcessAccount.cpuTime(of: self.pid), wakes: try ProcessAccount.waits(of: self.pid))
    }
}
