import Loop
import TestSupport

/// What samples cost on their way to the broker: over a descriptor, beside signals on the bus.
///
/// The samples are made, or those of a device that is polled; there is one app, whose detector looks at every sample and is
/// never hit.
enum StreamBenchmark {
    private static let seconds = 4.0
    /// Below and above where the broker goes over to a descriptor by itself.
    private static let rates = [10, 25, 50, 100, 200, 400, 1_000]

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        for rate in plan.rounds > 1 ? Self.rates : [400] {
            try self.compare("stream.\(rate)", rate, fromDevice: false, plan, report)
        }
        try self.compare("stream.iio.100", 100, fromDevice: true, plan, report)
    }

    private static func compare(
        _ name: String, _ rate: Int, fromDevice: Bool, _ plan: Plan, _ report: (Figure) -> Void
    ) throws(Failure) {
        var cpu = Pairs()
        var wakes = Pairs()
        for _ in 0..<plan.rounds {
            let signals = try self.measure(rate, fromDevice: fromDevice, overStream: false)
            let stream = try self.measure(rate, fromDevice: fromDevice, overStream: true)
            cpu.add(ours: stream.cpu, baseline: signals.cpu)
            wakes.add(ours: stream.wakes, baseline: signals.wakes)
        }
        report(cpu.figure("\(name).cpu", "ms/s"))
        report(wakes.figure("\(name).wake-ups", "1/s"))
    }

    private struct Cost {
        /// Processor time of reader, bus and broker in ms a second, and how often these were woken in a second.
        var cpu: Double
        var wakes: Double
    }

    private static func measure(_ rate: Int, fromDevice: Bool, overStream: Bool) throws(Failure) -> Cost {
        let stage = try Stage()
        defer { stage.end() }
        let (reader, pid) = try DeviceBenchmark.startReader(fromDevice: fromDevice, rate: rate, on: stage)
        let broker = try stage.broker(["--streams-from", overStream ? "1Hz" : "100000Hz"])
        let app = try stage.baseline(
            "fanout-client",
            [
                "--mode", "event", "--threshold", "7", "--every", "\(1_000_000 / rate)", "--rest", "1000000", "--app",
                "org.example.App",
            ])
        _ = try app.connected()
        let pids = [pid, stage.bus.pid, broker.pid]
        let cost = try SteadyCost(of: pids, at: Double(rate), on: stage, reader, seconds: self.seconds)
        return Cost(cpu: cost.cpu.reduce(0, +), wakes: cost.wakes.reduce(0, +))
    }
}
