import DBus
import Loop
import Protocol

/// Has whoever tells of the session's windows started when an app comes and nobody does, where such a program is installed.
///
/// Not every session begins with the target that its unit waits for. Where it cannot be started, nobody tells, as without it.
final class FocusStart {
    private let bus: Connection
    /// When it was asked for last, in µs.
    private var asked: Int64?

    /// How long to wait until it is asked for again, in µs: a session may get its display later.
    private static let pause: Int64 = 60_000_000

    init(on bus: Connection) { self.bus = bus }

    /// An app that can be in front has come.
    ///
    /// - Parameter isReported: somebody says already what is in front.
    func appCame(isReported: Bool) {
        // On the system's bus there is no session.
        guard !isReported, self.bus.address != .system else { return }
        let now = Clock.monotonic.now()
        if let asked, now - asked < Self.pause { return }
        self.asked = now
        self.bus.callBus("StartServiceByName", BusName.focus, UInt32(0)) { _ in }
    }
}
