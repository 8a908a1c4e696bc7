import DBus
import Protocol

/// What the broker calls. Holds the client weakly, because the client's connection holds it.
final class Receiver {
    private weak var client: JostleApp?

    /// The object of a client where the broker looks for it.
    static func object(of client: JostleApp) -> ExportedObject {
        ExportedObject(Path.receiver, [(Self.table, Receiver(client))])
    }

    private init(_ client: JostleApp) { self.client = client }

    private static let table = Interface<Receiver>(
        InterfaceName.receiver, notes: .jostle,
        methods: [
            Method("RunTask", in: ["identifier", "deadline", "options"]) {
                (receiver: Receiver, call: MethodCall, identifier: String, deadline: UInt64, options: [String: Value])
                    throws(BusError) in
                var attempt: UInt32 = 1
                if case .uint32(let number) = options["attempt"] { attempt = number }
                let task = JostleApp.RunningTask(identifier: identifier, attempt: attempt, deadline: deadline)
                // Anybody can call us.
                guard receiver.client?.begin(task, call) == true else {
                    throw .accessDenied("only the broker runs tasks")
                }
            },
            Method(later: "Deliver", in: ["reason", "events", "options"], out: ["answer"], as: String.self) {
                (
                    receiver: Receiver, call: MethodCall, reason: String, events: [EventCodec.Wire],
                    options: [String: Value]
                ) throws(BusError) in
                let bodies = events.compactMap { EventCodec.body($0) }
                guard bodies.count == events.count else {
                    throw .invalidArguments("Deliver: an event has no time")
                }
                let missing = LaunchOptions.missing(in: options)
                receiver.client?.arrived(
                    .launch(Launch(reason: reason, events: bodies.map { MotionEvent($0) }, missing: missing), call))
            },
        ])
}
