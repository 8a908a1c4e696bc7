import CDBus
import Loop

/// One D-Bus message, and the owner of libdbus's reference to it.
///
/// Everything a getter returns was validated by libdbus when the message was read, so no getter can trap.
@safe
package struct Message: ~Copyable {
    package enum Kind: Sendable {
        case call, reply, error, signal, unknown
    }

    let raw: OpaquePointer

    /// Takes over a reference; `raw` comes fresh from a constructor of libdbus.
    init(adopting raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    /// Adds a reference of its own to a message that libdbus lends.
    init(retaining raw: OpaquePointer) {
        // SAFETY: libdbus lends a live message; our reference keeps it so.
        unsafe self.raw = dbus_message_ref(raw)
    }

    /// A message of its own, without a serial, whether this one was sent or not.
    func copy() -> Message {
        // SAFETY: `raw` is live, and libdbus makes a copy of all of it.
        guard let raw = unsafe dbus_message_copy(self.raw) else { invariantFailure("out of memory") }
        return unsafe Message(adopting: raw)
    }

    /// An error that answers a call which is not kept.
    init(error: BusError, to caller: String, answering serial: UInt32) {
        // SAFETY: the names are a caller's that libdbus has read, and an error's of our own.
        guard let raw = unsafe dbus_message_new(DBUS_MESSAGE_TYPE_ERROR),
            unsafe dbus_message_set_destination(raw, caller) != 0,
            unsafe dbus_message_set_reply_serial(raw, serial) != 0,
            unsafe dbus_message_set_error_name(raw, error.name) != 0
        else { invariantFailure("out of memory") }
        unsafe dbus_message_set_no_reply(raw, 1)
        unsafe self.raw = raw
        self.write(error.message)
    }

    deinit {
        // SAFETY: the one reference we own.
        unsafe dbus_message_unref(self.raw)
    }

    package var kind: Kind { unsafe Self.kind(of: self.raw) }

    static func kind(of raw: OpaquePointer) -> Kind {
        // SAFETY: `raw` is live while its owner is.
        switch unsafe dbus_message_get_type(raw) {
        case DBUS_MESSAGE_TYPE_METHOD_CALL: .call
        case DBUS_MESSAGE_TYPE_METHOD_RETURN: .reply
        case DBUS_MESSAGE_TYPE_ERROR: .error
        case DBUS_MESSAGE_TYPE_SIGNAL: .signal
        default: .unknown
        }
    }

    // SAFETY: for all of these: libdbus returns NULL or a NUL-terminated string that lives as long as the message.
    package var sender: String? { unsafe text(dbus_message_get_sender(self.raw)) }
    package var path: String? { unsafe text(dbus_message_get_path(self.raw)) }
    package var interface: String? { unsafe text(dbus_message_get_interface(self.raw)) }
    package var member: String? { unsafe text(dbus_message_get_member(self.raw)) }
    var destination: String? { unsafe text(dbus_message_get_destination(self.raw)) }
    package var errorName: String? { unsafe text(dbus_message_get_error_name(self.raw)) }
    package var signature: String { unsafe text(dbus_message_get_signature(self.raw)) ?? "" }

    /// Its number among all that its sender sent.
    var serial: UInt32 {
        // SAFETY: `raw` is live.
        unsafe dbus_message_get_serial(self.raw)
    }

    /// The serial of the call that this answers; 0 when it answers none.
    var replySerial: UInt32 {
        // SAFETY: `raw` is live.
        unsafe dbus_message_get_reply_serial(self.raw)
    }

    /// Bytes it takes to travel. libdbus tells them only by copying it, which is what sending it would cost.
    var size: Int {
        var bytes: UnsafeMutablePointer<CChar>?
        var count: Int32 = 0
        // SAFETY: `raw` is live; libdbus allocates the copy and wants it back.
        guard unsafe dbus_message_marshal(self.raw, &bytes, &count) != 0 else { return 0 }
        unsafe dbus_free(bytes)
        return Int(count)
    }

    /// True when the sender waits for an answer. Only a method call can.
    package var wantsReply: Bool {
        // SAFETY: `raw` is live.
        unsafe dbus_message_get_no_reply(self.raw) == 0
    }

    /// True when descriptors came with it, whether its body says so or not.
    var hasDescriptors: Bool {
        // SAFETY: `raw` is live.
        unsafe dbus_message_contains_unix_fds(self.raw) != 0
    }

    /// Compares without making a `String`, for the hot path.
    package func isFrom(_ uniqueName: String) -> Bool {
        // SAFETY: `raw` is live. Said in words, because the silent conversion to a C string makes an array.
        unsafe uniqueName.withCString { unsafe dbus_message_has_sender(self.raw, $0) != 0 }
    }

    /// Compares without making a `String`, for the hot path.
    package func isAt(_ path: ObjectPath) -> Bool {
        // SAFETY: `raw` is live.
        unsafe path.text.withCString { unsafe dbus_message_has_path(self.raw, $0) != 0 }
    }

    /// Compares without making a `String`, for the hot path.
    package func hasSignature(_ signature: StaticString) -> Bool {
        // SAFETY: as above.
        unsafe signature.withCString { unsafe dbus_message_has_signature(self.raw, $0) != 0 }
    }

    /// The text of an error message: its first argument when that is a string that can be read.
    package var errorText: String {
        guard var reader = unsafe WireReader(self.raw, textLimit: WireReader.errorTextLimit),
            reader.type == CDBUS_TYPE_STRING
        else { return "" }
        return (try? String.read(from: &reader)) ?? ""
    }

    /// Decodes the whole body; its signature is compared before an iterator is touched.
    package func read<each T: WireValue>(_ types: repeat (each T).Type) throws(WireError) -> (repeat each T) {
        var expected = ""
        for part in repeat (each T).signature { expected += part }
        let found = self.signature
        guard found == expected else { throw .signature(expected: expected, found: found) }
        guard var reader = unsafe WireReader(self.raw) else {
            // An empty body, and nothing is expected of it.
            var reader = WireReader()
            return try (repeat (each T).read(from: &reader))
        }
        return try (repeat (each T).read(from: &reader))
    }

    /// Reads the body piece by piece, for the hot path; the caller has compared the signature. False for an empty one.
    @discardableResult
    package func withReader(
        _ body: (inout WireReader) throws(WireError) -> Void
    ) throws(WireError) -> Bool {
        guard var reader = unsafe WireReader(self.raw) else { return false }
        try body(&reader)
        return true
    }

    /// Appends to the body.
    package func write<each T: WireValue>(_ values: repeat each T) {
        var writer = unsafe WireWriter(self.raw)
        repeat (each values).write(to: &writer)
    }

    /// Appends to the body piece by piece, for the hot path.
    func withWriter(_ body: (inout WireWriter) -> Void) {
        var writer = unsafe WireWriter(self.raw)
        body(&writer)
    }
}

/// A copy of libdbus's string, or `nil` for NULL.
func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    // SAFETY: libdbus's strings are NUL-terminated.
    unsafe pointer.map { unsafe String(cString: $0) }
}

extension StaticString {
    func withCString<R: ~Copyable>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        invariant(self.hasPointerRepresentation, "a name must be a string literal of more than one scalar")
        // SAFETY: literals with a pointer are NUL-terminated UTF-8.
        return unsafe self.utf8Start.withMemoryRebound(to: CChar.self, capacity: self.utf8CodeUnitCount + 1) {
            unsafe body($0)
        }
    }
}
