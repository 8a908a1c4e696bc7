import CDBus
import Loop
import Motion

/// Writes values into the body of a message, one after the other. The C type behind it is `DBusMessageIter`.
///
/// libdbus fails here only when memory is out, and a message is then half written: there is nothing to go back to.
@safe
package struct WireWriter {
    private var iterator: DBusMessageIter
    private let isCall: Bool

    init(_ message: OpaquePointer) {
        unsafe self.iterator = DBusMessageIter()
        self.isCall = unsafe Message.kind(of: message) == .call
        // SAFETY: `message` is live for as long as its owner lends it to this writer.
        unsafe dbus_message_iter_init_append(message, &self.iterator)
    }

    /// Writes into a container, once that is open.
    private init(isInCall: Bool) {
        unsafe self.iterator = DBusMessageIter()
        self.isCall = isInCall
    }

    mutating func fixed<T: FixedWireValue>(_ value: T) {
        var value = value
        // SAFETY: T has the layout that its type code promises.
        check(unsafe dbus_message_iter_append_basic(&self.iterator, T.type, &value))
    }

    mutating func boolean(_ value: Bool) {
        var value: dbus_bool_t = value ? 1 : 0
        // SAFETY: a boolean is a dbus_bool_t holding 0 or 1.
        check(unsafe dbus_message_iter_append_basic(&self.iterator, CDBUS_TYPE_BOOLEAN, &value))
    }

    /// Writes a text. What we tell has no more marks in a row than our own reader takes: texts of files, devices and
    /// windows are anybody's, and who could not read one could read none of those beside it. A call is taken or refused
    /// as it is.
    mutating func string(_ value: String, as type: Int32) {
        let value = self.isCall ? value : value.streamSafe
        // SAFETY: Swift strings are valid UTF-8, and callers vouch for paths and signatures.
        unsafe value.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = unsafe pointer
            check(unsafe dbus_message_iter_append_basic(&self.iterator, type, &pointer))
        }
    }

    mutating func descriptor(_ value: Int32) {
        invariant(value >= 0, "a descriptor was sent after it was taken")
        var value = value
        // SAFETY: libdbus duplicates the descriptor.
        check(unsafe dbus_message_iter_append_basic(&self.iterator, CDBUS_TYPE_UNIX_FD, &value))
    }

    /// A number; for the hot path, as are the next four. `WireReader` says why they name their types.
    package mutating func uint64(_ value: UInt64) { self.fixed(value) }

    package mutating func double(_ value: Double) { self.fixed(value) }

    package mutating func string(_ value: String) { self.string(value, as: CDBUS_TYPE_STRING) }

    /// An array of `t` from `Int64`, for microseconds.
    package mutating func uint64s(of elements: Span<Int64>) {
        self.array(of: "t") { $0.fixedElements(elements, as: UInt64.self) }
    }

    /// An array of `d`.
    package mutating func doubles(_ elements: Span<Double>) {
        self.array(of: "d") { $0.fixedElements(elements) }
    }

    /// One entry of the `a{sv}` in which the writer stands, without a dictionary of values for the hot path.
    package mutating func entry(_ key: String, _ value: UInt64) { self.entry(key, of: "t") { $0.fixed(value) } }

    package mutating func entry(_ key: String, _ value: Double) { self.entry(key, of: "d") { $0.fixed(value) } }

    package mutating func entry(_ key: String, _ value: Bool) { self.entry(key, of: "b") { $0.boolean(value) } }

    package mutating func entry(_ key: String, _ value: String) { self.entry(key, of: "s") { $0.string(value) } }

    private mutating func entry(_ key: String, of signature: StaticString, _ value: (inout WireWriter) -> Void) {
        self.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
            entry.string(key)
            entry.container(CDBUS_TYPE_VARIANT, literally: signature, value)
        }
    }

    /// Appends the elements of an array in one block; the writer stands inside the array.
    mutating func fixedElements<T: FixedWireValue>(_ elements: Span<T>) {
        self.fixedElements(elements, as: T.self)
    }

    /// The same, with the type code of another type of the same layout: `Int64` microseconds as `t`.
    mutating func fixedElements<T: FixedWireValue, W: FixedWireValue>(_ elements: Span<T>, as wire: W.Type) {
        invariant(MemoryLayout<T>.stride == MemoryLayout<W>.stride, "\(T.self) cannot travel as \(W.self)")
        guard !elements.isEmpty else { return }
        // SAFETY: libdbus wants the address of a pointer variable and reads `count` elements behind it.
        unsafe elements.withUnsafeBufferPointer { buffer in
            var base = buffer.baseAddress
            check(
                unsafe dbus_message_iter_append_fixed_array(
                    &self.iterator, W.type, &base, Int32(clamping: buffer.count)))
        }
    }

    /// Writes a container; `signature` is that of the contents where libdbus wants it (array, variant).
    package mutating func container(
        _ type: Int32, of signature: String?, _ body: (inout WireWriter) -> Void
    ) {
        var inner = WireWriter(isInCall: self.isCall)
        // SAFETY: open and close are paired, and nobody else can use the outer iterator in between: it is inout.
        if let signature {
            unsafe signature.withCString {
                check(
                    unsafe dbus_message_iter_open_container(
                        &self.iterator, type, $0, &inner.iterator))
            }
        } else {
            check(unsafe dbus_message_iter_open_container(&self.iterator, type, nil, &inner.iterator))
        }
        body(&inner)
        check(unsafe dbus_message_iter_close_container(&self.iterator, &inner.iterator))
    }

    /// An array for the hot path: no `String` is made.
    package mutating func array(of signature: StaticString, _ body: (inout WireWriter) -> Void) {
        self.container(CDBUS_TYPE_ARRAY, literally: signature, body)
    }

    private mutating func container(
        _ type: Int32, literally signature: StaticString, _ body: (inout WireWriter) -> Void
    ) {
        var inner = WireWriter(isInCall: self.isCall)
        // SAFETY: as above.
        unsafe signature.withCString {
            check(unsafe dbus_message_iter_open_container(&self.iterator, type, $0, &inner.iterator))
        }
        body(&inner)
        check(unsafe dbus_message_iter_close_container(&self.iterator, &inner.iterator))
    }

    /// A struct.
    package mutating func structure(_ body: (inout WireWriter) -> Void) {
        self.container(CDBUS_TYPE_STRUCT, of: nil, body)
    }

    /// A variant holding `value`.
    package mutating func variant(_ value: some WireValue) {
        self.container(CDBUS_TYPE_VARIANT, of: type(of: value).signature) { value.write(to: &$0) }
    }
}

private func check(_ succeeded: dbus_bool_t) {
    invariant(succeeded != 0, "out of memory")
}
