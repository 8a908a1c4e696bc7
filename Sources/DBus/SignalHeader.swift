import CDBus
import Loop

/// A signal without a body, to be sent once or copied for every sending.
///
/// Building a header costs more than most bodies; copying one costs next to nothing.
struct SignalHeader: ~Copyable {
    private let path: ObjectPath
    private let interface: StaticString
    private let member: StaticString
    private let message: Message

    /// `nil` when the destination is no bus name, on which libdbus would abort.
    init?(from path: ObjectPath, _ interface: StaticString, _ member: StaticString, to destination: String?) {
        // SAFETY: the path is valid by type; interface and member are our own literals.
        let made = unsafe interface.withCString { interface in
            unsafe member.withCString { unsafe dbus_message_new_signal(path.text, interface, $0) }
        }
        guard let raw = unsafe made else { invariantFailure("out of memory") }
        let message = unsafe Message(adopting: raw)
        if let destination {
            guard BusNames.isValid(destination) else { return nil }
            // SAFETY: the name is valid.
            invariant(unsafe dbus_message_set_destination(raw, destination) != 0, "out of memory")
        }
        self.path = path
        self.interface = interface
        self.member = member
        self.message = message
    }

    /// Whether this is the header of such a signal. Literals are told apart by their place, which may cost a copy and
    /// never a mistake.
    func fits(_ path: ObjectPath, _ interface: StaticString, _ member: StaticString) -> Bool {
        // SAFETY: the pointers are compared, not followed.
        unsafe self.interface.utf8Start == interface.utf8Start && self.member.utf8Start == member.utf8Start
            && self.path == path
    }

    /// A message with this header, whose body is to be written.
    func copy() -> Message { self.message.copy() }

    /// The message itself, with the body that is written.
    consuming func take(_ body: (inout WireWriter) -> Void) -> Message {
        self.message.withWriter(body)
        return self.message
    }
}
