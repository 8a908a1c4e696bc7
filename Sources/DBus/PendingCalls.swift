import CDBus
import Loop

/// Whose answer to a call counts.
enum Callee {
    case bus
    /// A connection, by its unique name.
    case peer(String)
    /// Whoever owns a well-known name.
    case name(String)

    init(_ name: String) {
        if name == DBUS_SERVICE_DBUS {
            self = .bus
        } else if name.hasPrefix(":") {
            self = .peer(name)
        } else {
            self = .name(name)
        }
    }
}

/// A call that waits for its reply.
package struct SentCall {
    fileprivate weak var calls: PendingCalls?
    let serial: UInt32
    /// Serials begin anew with each connection to a bus.
    fileprivate let connections: UInt64

    /// Waits for its reply no more: whoever called hears nothing of it.
    package func forget() { self.calls?.forget(self) }

    /// Nothing more comes of a call that was kept.
    package func finish() { self.calls?.finish(self) }
}

/// The calls of a connection that wait for their replies.
///
/// libdbus matches a reply by its serial alone. A bus may let anybody send replies to anybody, and who knows one serial
/// knows the next; so a reply counts only from whom the call was sent to. The bus itself answers for a callee that it
/// cannot reach, but only with errors.
///
/// Not `Sendable`: it belongs to the thread of its connection's loop.
final class PendingCalls {
    typealias Handler = (consuming CallResult) -> Void

    private struct Call {
        let callee: Callee
        let takesDescriptors: Bool
        /// It may be sent again under its serial, and hears of all that comes of that until it is finished.
        let isKept: Bool
        let then: Handler
        let timer: EventLoop.TimerID?
    }

    private let loop: EventLoop
    private let owners: CalleeOwners
    private var calls: [UInt32: Call] = [:]
    /// How many connections there were.
    private var connections: UInt64 = 0
    /// Calls that were given up, whose replies may still come; the latest of them.
    private var late: [UInt32] = []
    /// Replies that came from somebody who was not asked, or to nothing.
    private(set) var refused: UInt64 = 0
    /// Errors of the bus that answer no call: it could not deliver a signal or reply of ours.
    private(set) var undeliverable: UInt64 = 0
    /// Such an error, and the serial of what it is about.
    var onUndeliverable: (BusError, UInt32) -> Void = { _, _ in }

    private static let lateLimit = 64

    init(_ loop: EventLoop, _ watch: NameWatch) {
        self.loop = loop
        self.owners = CalleeOwners(watch)
    }

    /// A call is about to be sent: who may answer it is followed from here on.
    func prepare(for callee: Callee) {
        if case .name(let name) = callee { self.owners.begin(name) }
    }

    /// Waits for the reply to the call with this serial; no longer than `timeout` milliseconds.
    func add(
        _ serial: UInt32, to callee: Callee, timeout: Int32, takesDescriptors: Bool, isKept: Bool,
        then: @escaping Handler
    ) -> SentCall {
        var timer: EventLoop.TimerID?
        if timeout != Connection.noTimeout {
            timer = self.loop.schedule(after: Int64(timeout) * 1_000) { [weak self] in self?.giveUp(serial) }
        }
        let call = Call(
            callee: callee, takesDescriptors: takesDescriptors, isKept: isKept, then: then, timer: timer)
        // Serials come round after four thousand million messages.
        if let old = self.calls.updateValue(call, forKey: serial) { self.end(old, .noReply("no answer for very long")) }
        return SentCall(calls: self, serial: serial, connections: self.connections)
    }

    /// Takes in a reply or an error.
    func take(_ reply: consuming Message) {
        let serial = reply.replySerial
        guard let call = self.calls[serial], self.counts(reply, for: call.callee) else {
            return self.refuse(reply, serial)
        }
        if !call.isKept {
            self.calls[serial] = nil
            self.settle(call)
        }
        if reply.kind == .error {
            call.then(.failure(BusError(reply.errorName ?? "", reply.errorText)))
        } else {
            call.then(.success(reply))
        }
    }

    /// Whether a message is an answer that may bring descriptors: of the bus, of a service, or of a connection that was asked for some.
    func asksForDescriptors(_ message: borrowing Message) -> Bool {
        guard message.kind == .reply, let call = self.calls[message.replySerial],
            self.counts(message, for: call.callee)
        else { return false }
        guard case .peer = call.callee else { return true }
        return call.takesDescriptors
    }

    private func counts(_ reply: borrowing Message, for callee: Callee) -> Bool {
        if reply.kind == .error, reply.isFrom(DBUS_SERVICE_DBUS) { return true }
        switch callee {
        case .bus: return reply.isFrom(DBUS_SERVICE_DBUS)
        case .peer(let name): return reply.isFrom(name)
        case .name(let name): return self.owners.mayAnswer(reply, for: name)
        }
    }

    private func refuse(_ reply: borrowing Message, _ serial: UInt32) {
        if self.calls[serial] == nil {
            if let index = self.late.firstIndex(of: serial) {
                self.late.remove(at: index)
                return
            }
            if reply.kind == .error, reply.isFrom(DBUS_SERVICE_DBUS) {
                self.undeliverable &+= 1
                return self.onUndeliverable(BusError(reply.errorName ?? "", reply.errorText), serial)
            }
        }
        self.refused &+= 1
    }

    private func giveUp(_ serial: UInt32) {
        self.remove(serial)?.then(.failure(.noReply("no answer came in time")))
    }

    fileprivate func forget(_ call: SentCall) {
        if call.connections == self.connections { _ = self.remove(call.serial) }
    }

    fileprivate func finish(_ call: SentCall) {
        guard self.waits(for: call), let ended = self.calls.removeValue(forKey: call.serial) else { return }
        self.settle(ended)
    }

    /// Whether a call is still under way.
    func waits(for call: SentCall) -> Bool {
        call.connections == self.connections && self.calls[call.serial] != nil
    }

    private func remove(_ serial: UInt32) -> Call? {
        guard let call = self.calls.removeValue(forKey: serial) else { return nil }
        if self.late.count >= Self.lateLimit { self.late.removeFirst() }
        self.late.append(serial)
        self.settle(call)
        return call
    }

    private func settle(_ call: Call) {
        if let timer = call.timer { self.loop.cancel(timer) }
        if case .name(let name) = call.callee { self.owners.end(name) }
    }

    private func end(_ call: Call, _ error: BusError) {
        self.settle(call)
        let then = call.then
        self.loop.defer { then(.failure(error)) }
    }

    /// The connection ended, and no reply will come.
    func endAll() {
        let calls = self.calls.sorted { $0.key < $1.key }
        self.calls = [:]
        self.connections += 1
        self.late = []
        for (_, call) in calls { self.end(call, .disconnected("the connection to the bus ended")) }
        self.owners.forgetAll()
    }
}

/// Who may answer calls to well-known names: whoever has owned the name since the oldest call that waits was sent.
///
/// A call to a name goes to the owner it has when the bus handles the call, who may be started for it. Following begins
/// before the call is sent, so the bus tells of every such owner before it can hand on what he answers.
final class CalleeOwners {
    private struct Name {
        var calls = 0
        /// The last is the present one.
        var owners: [String] = []
        var token: NameWatch.Token?
    }

    private let watch: NameWatch
    private var names: [String: Name] = [:]

    /// Names that are followed on when no call waits, because the same are called again and again.
    private static let keptNames = 16
    /// A name that changes hands more often than this while a call waits is not worth the memory.
    private static let ownerLimit = 16

    init(_ watch: NameWatch) {
        self.watch = watch
    }

    /// A call to the name is about to be sent.
    func begin(_ name: String) {
        self.names[name, default: Name()].calls += 1
        guard self.names[name]?.token == nil else { return }
        self.names[name]?.token = self.watch.follow(name, ownRule: true) { [weak self] in self?.note($0, of: name) }
    }

    private func note(_ owner: String?, of name: String) {
        guard let owner, var entry = self.names[name] else { return }
        if entry.owners.count >= Self.ownerLimit { entry.owners.removeFirst() }
        entry.owners.append(owner)
        self.names[name] = entry
    }

    func mayAnswer(_ reply: borrowing Message, for name: String) -> Bool {
        guard let owners = self.names[name]?.owners else { return false }
        for owner in owners where reply.isFrom(owner) { return true }
        return false
    }

    /// A call to the name has ended.
    func end(_ name: String) {
        guard var entry = self.names[name] else { return }
        entry.calls -= 1
        if entry.calls == 0 {
            if self.names.count > Self.keptNames {
                if let token = entry.token { self.watch.unfollow(token) }
                self.names[name] = nil
                return
            }
            entry.owners.removeFirst(max(0, entry.owners.count - 1))
        }
        self.names[name] = entry
    }

    /// The connection ended: names mean nothing on the next.
    func forgetAll() {
        for entry in self.names.values {
            if let token = entry.token { self.watch.unfollow(token) }
        }
        self.names = [:]
    }
}
