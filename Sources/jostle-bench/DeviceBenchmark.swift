import Loop
import TestSupport

/// What it costs to poll a device 100 times a second for the broker, beside a reader that makes its samples.
///
/// The device is a directory of attributes behind umockdev, whose part in each reading is small but counted: the file
/// stays open. A real device adds the transfers on its bus.
enum DeviceBenchmark {
    private static let rate = 100.0
    private static let seconds = 4.0

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var cpu = Pairs()
        var wakes = Pairs()
        var all = Pairs()
        for _ in 0..<plan.rounds {
            let made = try self.measure(fromDevice: false)
            let polled = try self.measure(fromDevice: true)
            cpu.add(ours: polled.reader, baseline: made.reader)
            wakes.add(ours: polled.wakes, baseline: made.wakes)
            all.add(ours: polled.all, baseline: made.all)
        }
        report(cpu.figure("iio.polled.reader", "ms/s"))
        report(wakes.figure("iio.polled.wake-ups", "1/s"))
        report(all.figure("iio.polled.all", "ms/s"))
    }

    private struct Cost {
        /// Processor time of the reader in ms a second, and how often it was woken in a second.
        var reader: Double
        var wakes: Double
        /// Processor time of reader, bus, broker and app.
        var all: Double
    }

    private static func measure(fromDevice: Bool) throws(Failure) -> Cost {
        let stage = try Stage()
        defer { stage.end() }
        let (reader, pid) = try self.startReader(fromDevice: fromDevice, rate: Int(self.rate), on: stage)
        let broker = try stage.broker()
        let app = try stage.baseline(
            "fanout-client",
            [
                "--mode", "event", "--threshold", "2.3", "--every", "10000", "--rest", "1000000", "--app",
                "org.example.App",
            ])
        _ = try app.connected()
        let pids = [pid, stage.bus.pid, broker.pid, app.pid]
        let cost = try SteadyCost(of: pids, at: self.rate, on: stage, reader, seconds: self.seconds)
        return Cost(reader: cost.cpu[0], wakes: cost.wakes[0], all: cost.cpu.reduce(0, +))
    }

    /// Starts a reader of a device that is polled, or of samples that are made at a rate; and tells which process it is.
    static func startReader(
        fromDevice: Bool, rate: Int, on stage: Stage
    ) throws(Failure) -> (program: BackgroundProgram, pid: Int32) {
        guard fromDevice else {
            let reader = try stage.reader(["--source", "synth:rate=\(rate)Hz; noise=0.02g"])
            return (reader, reader.pid)
        }
        let name = "org.jostle.Sensors1"
        let reader = try BackgroundProgram(tool: [
            "umockdev-run", "-d", Programs.device("polled.umockdev"), "--",
            Programs.path(of: "jostle-sensord"), "--bus", stage.bus.address, "--exit-with-bus", "--source",
            "iio:polled",
        ])
        try stage.bus.waitForName(name)
        // The program that umockdev-run started, not itself.
        return (reader, try self.owner(of: name, on: stage))
    }

    static func owner(of name: String, on stage: Stage) throws(Failure) -> Int32 {
        let answer = try stage.bus.busctl([
            "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetConnectionUnixProcessID", "s", name,
        ]).stdout
        guard let pid = Int32(answer.split { " \n".contains($0) }.last ?? "") else {
            throw Failure("nobody knows who owns \(name): \(answer)")
        }
        return pid
    }
}
