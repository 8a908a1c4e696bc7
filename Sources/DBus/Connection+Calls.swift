import CDBus
import Loop

/// What became of a call: the reply, or an error from the peer, the bus or the clock.
package enum CallResult: ~Copyable {
    case success(Message)
    case failure(BusError)

    /// The reply, or the error thrown.
    package consuming func take() throws(BusError) -> Message {
        switch consume self {
        case .success(let message): return message
        case .failure(let error): throw error
        }
    }
}

extension Message {
    /// Decodes a reply; one that is not as it should be is the peer's failure.
    package func read<each T: WireValue>(reply types: repeat (each T).Type) throws(BusError) -> (repeat each T) {
        do throws(WireError) {
            return try self.read(repeat each types)
        } catch {
            throw .failed("the reply is wrong: \(error)")
        }
    }
}

/// Whom a call is for.
package struct CallTarget: Sendable {
    package let name: String
    package let path: ObjectPath
    package let interface: String

    package init(_ name: String, _ path: ObjectPath, _ interface: String) {
        self.name = name
        self.path = path
        self.interface = interface
    }
}

extension Connection {
    /// How long a call may take when nothing else is said, in milliseconds.
    package static let callTimeout: Int32 = 25_000
    /// No limit: the call ends with the peer or with the bus.
    package static let noTimeout = Int32.max

    /// Calls a method; `then` runs once on the loop, never before this returns.
    ///
    /// - Returns: What it is forgotten by; `nil`: it was not sent.
    @discardableResult
    package func call<each T: WireValue>(
        _ target: CallTarget, _ member: String, _ arguments: repeat each T, timeout: Int32 = Connection.callTimeout,
        autoStart: Bool = true, takesDescriptors: Bool = false, then: @escaping (consuming CallResult) -> Void
    ) -> SentCall? {
        let message: Message
        do throws(BusError) {
            message = try Message(callTo: target, member)
        } catch {
            self.afterRound { then(.failure(error)) }
            return nil
        }
        message.write(repeat each arguments)
        message.setAutoStart(autoStart)
        return self.send(message, timeout: timeout, takesDescriptors: takesDescriptors, then: then)
    }

    /// Calls a method without arguments that can be called again: `then` runs for each answer, never before this returns, until that is finished.
    package func callAndKeep(
        _ target: CallTarget, _ member: String, then: @escaping (consuming CallResult) -> Void
    ) -> SentCall? {
        let message: Message
        do throws(BusError) {
            message = try Message(callTo: target, member)
        } catch {
            self.afterRound { then(.failure(error)) }
            return nil
        }
        message.setAutoStart(false)
        return self.send(message, timeout: Self.noTimeout, isKept: true, then: then)
    }

    /// Calls again what was kept, as the answer may be lost. A bus that still waits for it says that this is denied, and so has one place for all
    /// of them.
    package func callAgain(_ call: SentCall, _ target: CallTarget, _ member: String) {
        guard let message = try? Message(callTo: target, member) else { return }
        message.setAutoStart(false)
        self.send(message, as: call)
    }

    /// Calls a method whose answer does not matter, and gets none.
    package func tell<each T: WireValue>(_ target: CallTarget, _ member: String, _ arguments: repeat each T) {
        guard let message = try? Message(callTo: target, member) else { return }
        message.write(repeat each arguments)
        message.setNoReply()
        self.send(message)
    }

    /// Calls a method and runs the loop until the answer is there. For command-line tools, which have nothing else to do;
    /// never from a handler, which the loop itself runs.
    package func callAndWait<each T: WireValue>(
        _ target: CallTarget, _ member: String, _ arguments: repeat each T, timeout: Int32 = Connection.callTimeout,
        autoStart: Bool = true
    ) throws(BusError) -> Message {
        let box = ResultBox()
        self.call(target, member, repeat each arguments, timeout: timeout, autoStart: autoStart) {
            box.result = .some(consume $0)
        }
        try self.run { box.result != nil }
        guard let result = box.result.take() else { throw .noReply("no answer from \(target.name)") }
        return try result.take()
    }

    /// Opens the connection and runs the loop until the bus has greeted us.
    ///
    /// - Parameter timeout: how long that may take, in milliseconds; `nil`: as long as it takes, once the bus has room for us.
    package func openAndWait(timeout: Int32? = nil) throws(BusError) {
        var refusal: BusError?
        let refused = self.onRefused
        self.onRefused = { refusal = $0 }
        defer { self.onRefused = refused }
        let timer = timeout.map { timeout in
            self.loop.schedule(after: Int64(timeout) * 1_000) {
                refusal = .noReply("no answer from the \(self.address)")
                self.close()
            }
        }
        defer { if let timer { self.loop.cancel(timer) } }
        try self.open(within: Int64(timeout ?? Self.callTimeout) * 1_000)
        try self.run { self.state != .opening }
        guard !self.isReady else { return }
        self.close()
        throw refusal ?? .disconnected("the \(self.address) closed the connection")
    }

    /// Runs the loop until `isDone`.
    private func run(until isDone: () -> Bool) throws(BusError) {
        do throws(SystemError) {
            try self.loop.run(until: isDone)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Calls the bus itself.
    package func callBus<each T: WireValue>(
        _ member: String, _ arguments: repeat each T, timeout: Int32 = Connection.callTimeout,
        then: @escaping (consuming CallResult) -> Void
    ) {
        self.call(
            Self.busItself, member, repeat each arguments, timeout: timeout, then: then)
    }

    /// Asks the bus itself, and runs the loop until the answer is there; as `callAndWait`, for command-line tools.
    package func askBus<T: WireValue, each A: WireValue>(
        _ member: String, _ arguments: repeat each A, timeout: Int32 = Connection.callTimeout, as type: T.Type
    ) throws(BusError) -> T {
        try self.callAndWait(Self.busItself, member, repeat each arguments, timeout: timeout).read(reply: T.self)
    }

    /// Tells the bus something whose answer does not matter.
    func callBus<each T: WireValue>(_ member: String, _ arguments: repeat each T) {
        self.tell(Self.busItself, member, repeat each arguments)
    }

    private static var busItself: CallTarget {
        CallTarget(DBUS_SERVICE_DBUS, ObjectPath(literal: "/org/freedesktop/DBus"), DBUS_INTERFACE_DBUS)
    }
}

private final class ResultBox {
    var result: CallResult?
}

extension Message {
    /// A new call. libdbus aborts on invalid names, so they are checked first.
    init(callTo target: CallTarget, _ member: String) throws(BusError) {
        guard BusNames.isValid(target.name) else {
            throw .invalidArguments("'\(shortened(target.name))' is no bus name")
        }
        // SAFETY: validation reads the strings only.
        guard unsafe dbus_validate_interface(target.interface, nil) != 0, unsafe dbus_validate_member(member, nil) != 0
        else {
            throw .invalidArguments("'\(shortened(target.interface)).\(shortened(member))' is no method name")
        }
        guard
            let raw = unsafe dbus_message_new_method_call(target.name, target.path.text, target.interface, member)
        else { invariantFailure("out of memory") }
        unsafe self.init(adopting: raw)
    }

    func setNoReply() { unsafe dbus_message_set_no_reply(self.raw, 1) }

    func setAutoStart(_ autoStart: Bool) { unsafe dbus_message_set_auto_start(self.raw, autoStart ? 1 : 0) }
}
