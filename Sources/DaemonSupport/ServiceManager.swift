import Glibc
package import Loop

/// Tells the service manager how we are, if one started us: systemd's notification protocol, spoken without its library.
///
/// Without `NOTIFY_SOCKET` in the environment every call does nothing. A failure to tell is logged and changes nothing else. A
/// manager that does not read holds up only what it waits for itself.
/// The corresponding C function is `sd_notify`.
package final class ServiceManager {
    private let address: UnixAddress?
    private let watchdog: Int64?
    private let log: Log
    private let now: () -> Int64
    /// The manager waits to hear that we are ready.
    private var isAwaited = true

    /// Reads the environment. One that makes no sense is logged and counts as none. `now` tells microseconds that never go back.
    package init(
        log: Log, environment: (String) -> String? = environmentValue, pid: Int32 = getpid(),
        now: @escaping () -> Int64 = Clock.monotonic.now
    ) {
        self.log = log
        self.now = now
        let path = environment("NOTIFY_SOCKET")
        self.address = path.flatMap(UnixAddress.init)
        self.watchdog = Self.watchdogInterval(environment, pid)
        if let path, self.address == nil { log.warning("NOTIFY_SOCKET=\(path) is no address we can tell anything") }
    }

    /// Whether somebody listens.
    package var isPresent: Bool { self.address != nil }

    /// We have started, or have reloaded.
    package func ready(_ status: String? = nil) {
        // Without it the manager would end us.
        self.tell("READY=1" + Self.line(status), waiting: self.isAwaited)
        self.isAwaited = false
    }

    /// We have begun to reload; `ready()` ends it.
    package func reloading() {
        // The manager takes an older stamp for the echo of an earlier reload.
        self.tell("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic.now())", waiting: true)
        self.isAwaited = true
    }

    /// We have begun to stop.
    package func stopping() {
        self.tell("STOPPING=1")
    }

    /// One line on how we are, for people.
    package func status(_ text: String) {
        self.tell("STATUS=" + Self.clean(text))
    }

    /// Pings the manager from the loop, twice per the interval it asked for; so it learns when the loop stands still.
    ///
    /// Does nothing, and makes no wake-ups, unless the manager asked this very process. A ping that is late by half of its pause
    /// is logged: a little more, and the manager would have ended us. One that the manager or the kernel has no room for is sent again before
    /// the next would be due, which would be too late.
    package func startWatchdog(on loop: EventLoop) {
        guard let watchdog, self.isPresent else { return }
        let pause = max(watchdog / 2, 1)
        var due = self.now() + pause
        var timer: EventLoop.TimerID?
        timer = loop.schedule(after: pause) { [unowned loop] in
            let next = self.tell("WATCHDOG=1") ? pause : max(pause / 8, 1)
            let late = self.now() - due
            if late > pause / 2 {
                self.log.warning(
                    "stood still for \(late / 1_000) ms; the service manager ends us after \(watchdog / 1_000) ms",
                    as: .stoodStill, about: [.reason: "\(late / 1_000) ms"])
            }
            due = self.now() + next
            if let timer { loop.reschedule(timer, after: next) }
        }
    }

    /// Returns false when there is no room: the manager has not read what it was told before, or no descriptor or memory is left.
    @discardableResult
    private func tell(_ message: String, waiting: Bool = false) -> Bool {
        guard let address else { return true }
        do throws(SystemError) {
            try address.send(Array(message.utf8), waiting: waiting)
            return true
        } catch {
            self.log.warning("cannot tell the service manager '\(message)': \(error)")
            return !error.isShortage && ![EAGAIN, ENOBUFS].contains(error.code)
        }
    }

    private static func line(_ status: String?) -> String {
        status.map { "\nSTATUS=" + self.clean($0) } ?? ""
    }

    /// `text` as one line: a line feed would begin another assignment.
    private static func clean(_ text: String) -> String {
        var bytes: [UInt8] = []
        appendEscaped(text, to: &bytes, limit: 1_024)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The interval in which the manager expects a ping, in microseconds; `nil` when it expects none of us.
    private static func watchdogInterval(_ environment: (String) -> String?, _ pid: Int32) -> Int64? {
        guard let interval = environment("WATCHDOG_USEC").flatMap({ Int64($0) }), interval > 0 else { return nil }
        // Set for the process that the manager started, and inherited by its children.
        if let owner = environment("WATCHDOG_PID"), Int32(owner) != pid { return nil }
        return interval
    }
}

@available(*, unavailable)
extension ServiceManager: Sendable {}

/// A value from this process's environment. The corresponding C function is `getenv`.
package func environmentValue(_ name: String) -> String? {
    // SAFETY: the text is copied at once, and nothing of ours ever changes the environment.
    unsafe getenv(name).map { unsafe String(cString: $0) }
}

/// The address of a Unix datagram socket: a path, or a name in the abstract namespace.
struct UnixAddress {
    private var raw = sockaddr_un()
    private let length: socklen_t

    /// Reads `/path` or `@abstract`; `nil` when it is neither or too long.
    init?(_ text: String) {
        var bytes = Array(text.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        guard isAbstract || bytes.first == UInt8(ascii: "/"), bytes.count > 1, !bytes.contains(0) else { return nil }
        // A path is followed by a zero; an abstract name begins with one, and its end is told by the length alone.
        if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
        guard bytes.count <= MemoryLayout.size(ofValue: self.raw.sun_path) else { return nil }
        self.raw.sun_family = sa_family_t(AF_UNIX)
        // SAFETY: the path has room for the bytes, as was checked.
        unsafe withUnsafeMutableBytes(of: &self.raw.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        self.length = socklen_t(start + bytes.count)
    }

    /// Sends one datagram. The corresponding C function is `sendto`.
    ///
    /// - Parameter waiting: for room, when whoever listens is behind.
    func send(_ bytes: [UInt8], waiting: Bool) throws(SystemError) {
        let socket = OwnedDescriptor(
            adopting: try systemCall("socket") {
                Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            })
        let descriptor = socket.raw
        let flags = Int32(MSG_NOSIGNAL) | (waiting ? 0 : Int32(MSG_DONTWAIT))
        var address = self.raw
        try systemCall("sendto") {
            // SAFETY: the address is a whole sockaddr_un, and everything outlives the call.
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe sendto(descriptor, bytes, bytes.count, flags, $0, self.length)
                }
            }
        }
    }
}
