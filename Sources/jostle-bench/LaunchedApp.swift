import DBus
import DaemonSupport
import Loop
import Protocol
import TestSupport

/// The app that the bus starts for the benchmark: says when it is called, answers, and ends.
final class LaunchedApp {
    /// Whom it tells, and how.
    static let listener = "org.jostle.Bench"
    static let interface: StaticString = "org.jostle.Bench"

    private let loop: EventLoop
    private let connection: Connection
    private var call: (time: UInt64, sample: UInt64)?
    private var isDone = false

    private static let table = Interface<LaunchedApp>(
        InterfaceName.receiver,
        methods: [
            Method("Deliver", in: ["reason", "events", "options"], out: ["answer"]) {
                (app: LaunchedApp, _: MethodCall, _: String, events: [EventCodec.Wire], _: [String: Value])
                    throws(BusError) -> String in
                app.called(for: events.first?.fields.2 ?? 0)
                return "consume"
            }
        ])

    private init(_ name: String) throws(SystemError) {
        self.loop = try EventLoop()
        self.connection = Connection(
            to: .address(environmentValue("DBUS_STARTER_ADDRESS") ?? ""), on: self.loop, names: [name])
        self.connection.export(ExportedObject(Path.receiver, [(Self.table, self)]))
    }

    static func run(_ name: String) throws(Failure) {
        do {
            let app = try LaunchedApp(name)
            try app.connection.openAndWait()
            try app.loop.run { app.call != nil }
            app.tell()
            try app.loop.run { app.isDone }
            app.connection.close()
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Notes now, and the time of the sample for which it is called; the bus may call before the connection is ready to tell.
    private func called(for sample: UInt64) {
        self.call = (UInt64(max(0, Clock.boottime.now())), sample)
    }

    private func tell() {
        guard let call = self.call else { return }
        self.connection.signal(from: Path.receiver, Self.interface, "Called", to: Self.listener) {
            call.time.write(to: &$0)
            call.sample.write(to: &$0)
        }
        self.connection.afterRound { [weak self] in self?.isDone = true }
    }
}
