import CDBus
import EventLoop

/// A method call that came in, to be answered exactly once: at once, or later by whoever keeps it.
///
/// A call that nobody answers is answered with an error when its last reference goes. A caller that asked for no reply
/// gets none: that is decided here and nowhere else.
package final class MethodCall {
    package let message: Message
    /// The caller's unique name.
    package let sender: String
    private var connection: Connection?

    init(_ message: consuming Message, on connection: Connection) {
        self.sender = message.sender ?? ""
        self.connection = message.wantsReply ? connection : nil
        self.isAnswered = false
        self.message = message
    }

    private var isAnswered: Bool

    deinit {
        if !self.isAnswered { self.fail(.failed("the call was not answered")) }
    }

    /// Answers with values.
    package func reply<each T: WireValue>(_ values: repeat each T) {
        self.reply { writer in
            repeat (each values).write(to: &writer)
        }
    }

    /// Answers with what `body` writes.
    package func reply(writing body: (inout WireWriter) -> Void) {
        guard let connection = self.close() else { return }
        // SAFETY: the call is live.
        guard let reply = unsafe dbus_message_new_method_return(self.message.raw) else {
            invariantFailure("out of memory")
        }
        var writer = unsafe WireWriter(reply)
        body(&writer)
        unsafe connection.send(Message(adopting: reply))
    }

    /// Answers with an error.
    package func fail(_ error: BusError) {
        guard let connection = self.close() else { return }
        // SAFETY: libdbus aborts on invalid names, so they are checked; the message is UTF-8 because it is a String.
        let name = unsafe dbus_validate_error_name(error.name, nil) != 0 ? error.name : BusError.failed("").name
        guard let reply = unsafe dbus_message_new_error(self.message.raw, name, error.message) else {
            invariantFailure("out of memory")
        }
        unsafe connection.send(Message(adopting: reply))
    }

    /// Marks the call as answered; the connection when an answer is wanted.
    private func close() -> Connection? {
        invariant(!self.isAnswered, "a call was answered twice")
        self.isAnswered = true
        defer { self.connection = nil }
        return self.connection
    }
}
