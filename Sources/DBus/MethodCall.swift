import CDBus
import Loop
import Motion

/// A method call that came in, to be answered exactly once: at once, or later by whoever keeps it.
///
/// A call that nobody answers is answered with an error when its last reference goes. A caller that asked for no reply
/// gets none: that is decided here and nowhere else.
package final class MethodCall {
    package private(set) var message: Message
    /// The caller's unique name.
    package let sender: String
    let connection: Connection
    /// The connection that the call came by; its caller cannot be reached by a later one.
    private let generation: UInt64
    private var isAnswered = false
    /// Counted among the calls that its sender has outstanding, until it ends.
    var isCounted = false
    /// It was not read yet, for somebody has to give leave first.
    var awaitsLeave = false
    /// What is left to do of it, in its caller's turn.
    private var rest: (() -> Void)?

    init(_ message: consuming Message, on connection: Connection) {
        self.sender = message.sender ?? ""
        self.connection = connection
        self.generation = connection.generation
        self.message = message
    }

    deinit {
        if !self.isAnswered { self.fail(.failed("the call was not answered")) }
        if self.isCounted, self.isCurrent { self.connection.incoming.ended(self.sender) }
    }

    /// Whether its caller can be reached. On the next connection not even his unique name is his: another may have it there.
    package var isCurrent: Bool { self.connection.state != .closed && self.connection.generation == self.generation }

    /// Answers with values.
    package func reply<each T: WireValue>(_ values: repeat each T) {
        self.reply { writer in
            repeat (each values).write(to: &writer)
        }
    }

    /// Answers with what `body` writes.
    package func reply(writing body: (inout WireWriter) -> Void) {
        guard self.close() else { return }
        // SAFETY: the call is live.
        guard let reply = unsafe dbus_message_new_method_return(self.message.raw) else {
            invariantFailure("out of memory")
        }
        var writer = unsafe WireWriter(reply)
        body(&writer)
        unsafe self.send(Message(adopting: reply))
    }

    /// Answers with an error.
    package func fail(_ error: BusError) {
        guard self.close() else { return }
        // SAFETY: libdbus aborts on invalid names, so they are checked; the message is UTF-8 because it is a String.
        let name = unsafe dbus_validate_error_name(error.name, nil) != 0 ? error.name : BusError.failed("").name
        guard let reply = unsafe dbus_message_new_error(self.message.raw, name, error.message.streamSafe) else {
            invariantFailure("out of memory")
        }
        unsafe self.send(Message(adopting: reply))
    }

    /// Has the rest of a kept call done in its caller's turn.
    ///
    /// - Parameter bytes: What `rest` keeps in memory until then.
    package func resume(keeping bytes: Int, _ rest: @escaping () -> Void) {
        guard self.isCurrent, self.isCounted else { return rest() }
        self.rest = rest
        self.connection.incoming.putBack([(self, bytes)], of: self.sender)
    }

    /// Hands out what is left to do of it, once.
    func takeRest() -> (() -> Void)? {
        defer { self.rest = nil }
        return self.rest
    }

    /// Ends the call without a word to a caller who is gone or does not listen.
    func abandon() {
        self.isAnswered = true
        self.rest = nil
    }

    private func send(_ reply: consuming Message) {
        let bytes = reply.size
        let serial = self.connection.send(reply)
        if reply.hasDescriptors { self.connection.incoming.gave(serial, answering: self.message, of: self.sender) }
        self.connection.incoming.answered(self.sender, bytes: bytes)
    }

    /// Puts what is still needed of it in the place of the message that libdbus lent, for a call that is kept: of one that was read
    /// what an answer takes.
    ///
    /// libdbus stops reading while too many bytes that it has read are held; the answer that the call waits for might
    /// then never be read. Nor is whoever has very many calls wait to fill our memory with what he sent.
    func detach() {
        // SAFETY: the message is live; what is made is ours. There is no copy when its descriptors cannot be duplicated: then the
        // call keeps what it has.
        let made =
            unsafe self.awaitsLeave
            ? dbus_message_copy(self.message.raw) : dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_CALL)
        guard let made = unsafe made else { return }
        // Neither has the serial, and a reply needs it.
        unsafe dbus_message_set_serial(made, dbus_message_get_serial(self.message.raw))
        if !self.awaitsLeave {
            let sender = unsafe dbus_message_get_sender(self.message.raw)
            invariant(unsafe dbus_message_set_sender(made, sender) != 0, "out of memory")
            unsafe dbus_message_set_no_reply(made, dbus_message_get_no_reply(self.message.raw))
        }
        unsafe self.message = Message(adopting: made)
    }

    /// Marks the call as answered. True when an answer is wanted and can arrive.
    private func close() -> Bool {
        invariant(!self.isAnswered, "a call was answered twice")
        self.isAnswered = true
        return self.message.wantsReply && self.isCurrent
    }
}
