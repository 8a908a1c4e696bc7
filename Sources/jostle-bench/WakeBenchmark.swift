import DBus
import Loop
import Protocol
import TestSupport

/// How long after a sample the app that it starts is called, against a call that has the bus start the same app.
enum WakeBenchmark {
    private static let app = "org.example.Launched"
    /// What policy and the app say, in directories beside the bus.
    private static let files = """
        mkdir policy apps
        printf '[Rule wake]\\nWhenState=dead\\nThen=allow\\nDeliver=wake\\n' > policy/10-bench.conf
        printf '[App]\\nUsage=Measures\\n[Detector d]\\npreset=shake.planar\\nthreshold=2.3g\\nrest=3s\\n' > apps/\(app).conf
        """

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let command = "\(Programs.path(of: "jostle-bench")) --launched \(self.app)"
        let stage = try Stage(services: [PrivateBus.Service(name: self.app, command: command)])
        defer { stage.end() }
        let directory = stage.bus.directory
        let made = try stage.bus.run(["sh", "-ec", "cd \"$1\"; \(self.files)", "sh", directory])
        guard made.status == 0 else { throw Failure("cannot write files: \(made.stderr)") }
        let daemons = [
            try stage.reader(["--source", "synth:seed=1; noise=0.05g; gravity=z"]),
            try stage.broker(["--policy", "\(directory)/policy", "--apps", "\(directory)/apps"]),
        ]
        let caller = try Caller(stage.bus.address)
        var times = Pairs()
        for _ in 0..<plan.longRounds * 2 {
            let began = Clock.boottime.now()
            let bare = try caller.heard(self.app) { () throws(Failure) in try caller.launch(self.app) }
            let hit = try caller.heard(self.app) { () throws(Failure) in try caller.shake() }
            times.add(ours: Double(hit.time - hit.sample) / 1_000, baseline: Double(bare.time - began) / 1_000)
            // Its rest has to be over before it fires again.
            pass(seconds: 4)
        }
        guard daemons.allSatisfy({ $0.end == nil }) else { throw Failure("a daemon ended") }
        report(times.figure("wake.launch", "ms", within: .atMost(1.5)))
    }
}

/// Whoever calls the app by itself, shakes the device, and is told when the app was called.
private final class Caller {
    private let loop: EventLoop
    private let connection: Connection
    private var heard: (time: Int64, sample: Int64)?

    private static let patience: Int64 = 20_000_000

    init(_ address: String) throws(Failure) {
        do {
            self.loop = try EventLoop()
            self.connection = Connection(to: .address(address), on: self.loop, names: [LaunchedApp.listener])
            try self.connection.openAndWait()
        } catch {
            throw Failure("\(error)")
        }
        self.connection.onSignal(LaunchedApp.interface, "Called") { [unowned self] message in
            guard let (time, sample) = try? message.read(UInt64.self, UInt64.self) else { return }
            self.heard = (Int64(clamping: time), Int64(clamping: sample))
        }
    }

    /// What an app says that something has started, once it has left the bus again.
    func heard(
        _ app: String, _ begin: () throws(Failure) -> Void
    ) throws(Failure) -> (time: Int64, sample: Int64) {
        self.heard = nil
        try begin()
        let deadline = Clock.monotonic.now() + Self.patience
        while true {
            if let heard, try !self.isOwned(app) { return heard }
            guard Clock.monotonic.now() < deadline else { throw Failure("\(app) was not called within 20 s") }
            do throws(SystemError) {
                _ = try self.loop.runOnce(timeout: 2_000)
            } catch {
                throw Failure("\(error)")
            }
        }
    }

    /// Has the bus start the app with the same call.
    func launch(_ app: String) throws(Failure) {
        let target = CallTarget(app, Path.receiver, InterfaceName.receiver.description)
        try self.run { connection throws(BusError) in
            _ = try connection.callAndWait(target, "Deliver", "push", [EventCodec.Wire](), [String: Value]())
        }
    }

    func shake() throws(Failure) {
        let target = CallTarget(BusName.sensors, Path.sensor("accelerometer"), InterfaceName.sensor.description)
        try self.run { connection throws(BusError) in
            _ = try connection.callAndWait(target, "Inject", "shake peak=4g axis=x", noOptions)
        }
    }

    private func isOwned(_ name: String) throws(Failure) -> Bool {
        var isOwned = false
        let bus = CallTarget(
            "org.freedesktop.DBus", ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus")
        try self.run { connection throws(BusError) in
            isOwned = try connection.callAndWait(bus, "NameHasOwner", name).read(reply: Bool.self)
        }
        return isOwned
    }

    private func run(_ body: (Connection) throws(BusError) -> Void) throws(Failure) {
        do throws(BusError) {
            try body(self.connection)
        } catch {
            throw Failure("\(error)")
        }
    }
}
