import CDBus
import Glibc
import Loop
import Motion

/// Reads the values of a message's body, one after the other. The C type behind it is `DBusMessageIter`.
///
/// Whoever uses a reader has compared the signature before, so each read finds the type it wants; libdbus would abort
/// the process otherwise. What a peer can still choose is size and nesting, and both are bounded here.
@safe
package struct WireReader {
    private var iterator: DBusMessageIter
    /// How many containers and variants we stand in.
    private var depth = 0
    /// How many more values this message may make us build.
    private var budget = WireReader.valueLimit
    /// And how many more bytes of text.
    private var textBudget: Int
    /// Whether a descriptor may stand where its message's reader has no use for it.
    var skipsDescriptors = false

    /// More nesting than any of our interfaces has; a peer may send 64 levels.
    package static let depthLimit = 24
    /// What takes a few milliseconds to build. Elements of fixed-size arrays do not count: they are copied in one block.
    package static let valueLimit = 1 << 14
    /// Twice what a call may bring, for an answer may say all of it again. What comes as an answer or a signal may be as long as a bus
    /// takes, and to understand that takes seconds.
    package static let textLimit = 2 * CallLimits.callBytes

    /// The same of an error: whoever is asked may answer with one, and what it says is for people.
    static let errorTextLimit = 256 << 10

    /// A reader at the start of a body, of which so many bytes of text may be read; `nil` when the body is empty.
    init?(_ message: OpaquePointer, textLimit: Int = WireReader.textLimit) {
        self.textBudget = textLimit
        unsafe self.iterator = DBusMessageIter()
        // SAFETY: `message` is live for as long as its owner lends it to this reader.
        guard unsafe dbus_message_iter_init(message, &self.iterator) != 0 else { return nil }
    }

    /// A reader of nothing.
    init() {
        self.textBudget = 0
        unsafe self.iterator = DBusMessageIter()
    }

    /// The type code of the value we stand at; `CDBUS_TYPE_INVALID` at the end.
    package var type: Int32 {
        mutating get {
            // SAFETY: reads the iterator only.
            unsafe dbus_message_iter_get_arg_type(&self.iterator)
        }
    }

    /// The signature of the value we stand at.
    package var signature: String {
        mutating get {
            // SAFETY: libdbus allocates the string and wants it back.
            guard let pointer = unsafe dbus_message_iter_get_signature(&self.iterator) else { return "" }
            defer { unsafe dbus_free(pointer) }
            return unsafe String(cString: pointer)
        }
    }

    private mutating func spend() throws(WireError) {
        guard self.budget > 0 else { throw .tooLarge(limit: Self.valueLimit) }
        self.budget -= 1
    }

    private mutating func expect(_ type: Int32) {
        // Never a peer's doing: the signature was compared. Without this line a slip of ours would be libdbus's abort.
        invariant(self.type == type, "read a value of another type than the signature said")
    }

    mutating func fixed<T: FixedWireValue>(_: T.Type) throws(WireError) -> T {
        try self.spend()
        self.expect(T.type)
        var value = T.zero
        // SAFETY: the type was compared, and T has its layout.
        unsafe dbus_message_iter_get_basic(&self.iterator, &value)
        unsafe dbus_message_iter_next(&self.iterator)
        return value
    }

    mutating func boolean() throws(WireError) -> Bool {
        try self.spend()
        self.expect(CDBUS_TYPE_BOOLEAN)
        var value: dbus_bool_t = 0
        // SAFETY: the type was compared.
        unsafe dbus_message_iter_get_basic(&self.iterator, &value)
        unsafe dbus_message_iter_next(&self.iterator)
        return value != 0
    }

    /// A string, object path or signature.
    mutating func string() throws(WireError) -> String {
        try self.spend()
        let type = self.type
        invariant(
            type == CDBUS_TYPE_STRING || type == CDBUS_TYPE_OBJECT_PATH || type == CDBUS_TYPE_SIGNATURE,
            "read a string where there is none")
        var pointer: UnsafePointer<CChar>?
        // SAFETY: the type was compared; the string lives in the message and is copied here.
        unsafe dbus_message_iter_get_basic(&self.iterator, &pointer)
        let length = unsafe pointer.map { unsafe strlen($0) } ?? 0
        guard length <= self.textBudget else { throw .tooLong(limit: Self.textLimit) }
        self.textBudget -= length
        let value = unsafe text(pointer) ?? ""
        unsafe dbus_message_iter_next(&self.iterator)
        guard value.isStreamSafe else { throw .notStreamSafe }
        return value
    }

    /// Refuses a text we stand at as the key of an entry when it is not ASCII: to hash another one takes as long as to understand it, and
    /// nobody looks for one.
    mutating func checkKey() throws(WireError) {
        guard self.type == CDBUS_TYPE_STRING else { return }
        var pointer: UnsafePointer<CChar>?
        // SAFETY: the type was compared; the string ends with a NUL and lives in the message, and nothing of it is kept.
        unsafe dbus_message_iter_get_basic(&self.iterator, &pointer)
        guard let pointer = unsafe pointer else { return }
        let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: strlen(pointer))
        guard unsafe bytes.allSatisfy({ $0 < 0x80 }) else { throw .keyNotASCII }
    }

    /// A descriptor of our own, close-on-exec.
    mutating func descriptor() throws(WireError) -> Int32 {
        try self.spend()
        self.expect(CDBUS_TYPE_UNIX_FD)
        var value: Int32 = -1
        // SAFETY: the type was compared; libdbus duplicates the descriptor or stores -1.
        unsafe dbus_message_iter_get_basic(&self.iterator, &value)
        unsafe dbus_message_iter_next(&self.iterator)
        guard value >= 0 else { throw .badDescriptor }
        return value
    }

    /// Steps past the value we stand at.
    mutating func skip() throws(WireError) {
        try self.spend()
        // SAFETY: reads the iterator only.
        unsafe dbus_message_iter_next(&self.iterator)
    }

    /// Enters the array, struct, dictionary entry or variant we stand at, and steps past it afterwards.
    package mutating func container<R>(
        _ body: (inout WireReader) throws(WireError) -> R
    ) throws(WireError) -> R {
        try self.spend()
        guard self.depth < Self.depthLimit else { throw .tooDeep(limit: Self.depthLimit) }
        let type = self.type
        invariant(
            type == CDBUS_TYPE_ARRAY || type == CDBUS_TYPE_STRUCT || type == CDBUS_TYPE_DICT_ENTRY
                || type == CDBUS_TYPE_VARIANT, "entered a value that is no container")
        var inner = WireReader()
        // SAFETY: recursing into anything else would crash; the type was compared.
        unsafe dbus_message_iter_recurse(&self.iterator, &inner.iterator)
        inner.depth = self.depth + 1
        (inner.budget, inner.textBudget) = (self.budget, self.textBudget)
        inner.skipsDescriptors = self.skipsDescriptors
        let result = try body(&inner)
        (self.budget, self.textBudget) = (inner.budget, inner.textBudget)
        unsafe dbus_message_iter_next(&self.iterator)
        return result
    }

    /// The elements of the array we stand at, or `nil` if they are too many: then none is built. Steps past all of it.
    package mutating func elements<T: WireValue>(of _: T.Type, atMost limit: Int) throws(WireError) -> [T]? {
        try self.container { (inner: inout WireReader) throws(WireError) in
            // An iterator may be copied. To step past an element costs next to nothing, to build it much.
            var scout = inner
            for _ in 0..<limit where scout.type != CDBUS_TYPE_INVALID { try scout.skip() }
            guard scout.type == CDBUS_TYPE_INVALID else { return nil }
            var elements: [T] = []
            while inner.type != CDBUS_TYPE_INVALID { elements.append(try T.read(from: &inner)) }
            return elements
        }
    }

    /// The texts of the array we stand at, however many they are: none of them counts. For what the bus itself lists. Steps past it.
    mutating func allTexts() throws(WireError) -> [String] {
        try self.container { (inner: inout WireReader) throws(WireError) in
            let (budget, textBudget) = (inner.budget, inner.textBudget)
            var texts: [String] = []
            while inner.type != CDBUS_TYPE_INVALID {
                (inner.budget, inner.textBudget) = (1, .max)
                texts.append(try inner.string())
            }
            (inner.budget, inner.textBudget) = (budget, textBudget)
            return texts
        }
    }

    /// Enters a struct; for the hot path, as are the next three.
    ///
    /// They name their types because a generic function called from another module is not made for the types it is
    /// called with, and looks all of them up at every call.
    package mutating func structure(
        _ body: (inout WireReader) throws(WireError) -> Void
    ) throws(WireError) {
        try self.container(body)
    }

    package mutating func uint64() throws(WireError) -> UInt64 { try self.fixed(UInt64.self) }

    /// The array of `t` that comes next as `Int64`, for microseconds. Lives as long as the message.
    @unsafe
    package mutating func int64sOfUInt64s() throws(WireError) -> UnsafeBufferPointer<Int64> {
        // SAFETY: handed on to the caller, who keeps to the promise above.
        try unsafe self.fixedArray(of: Int64.self, as: UInt64.self)
    }

    /// The array of `d` that comes next. Lives as long as the message.
    @unsafe
    package mutating func doubles() throws(WireError) -> UnsafeBufferPointer<Double> {
        // SAFETY: as above.
        try unsafe self.fixedArray(of: Double.self, as: Double.self)
    }

    /// The elements of a fixed-size array in which the reader stands; they live as long as the message.
    @unsafe
    mutating func fixedElements<T: FixedWireValue>(_: T.Type, type: Int32 = T.type) -> UnsafeBufferPointer<T> {
        guard self.type == type else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        var base: UnsafePointer<T>?
        var count: Int32 = 0
        // SAFETY: the element type was compared; the pointer is aligned for T, as the wire format aligns it.
        unsafe dbus_message_iter_get_fixed_array(&self.iterator, &base, &count)
        return unsafe UnsafeBufferPointer(start: base, count: base == nil ? 0 : Int(count))
    }

    /// The elements of the array of a fixed-size type that comes next, which may have the type code of another type of
    /// the same layout: `t` as `Int64` microseconds. They live as long as the message.
    @unsafe
    mutating func fixedArray<T: FixedWireValue, W: FixedWireValue>(
        of type: T.Type, as wire: W.Type
    ) throws(WireError) -> UnsafeBufferPointer<T> {
        invariant(MemoryLayout<T>.stride == MemoryLayout<W>.stride, "\(T.self) cannot travel as \(W.self)")
        // SAFETY: handed on to the caller, who keeps to the promise above.
        return try unsafe self.container { (inner: inout WireReader) throws(WireError) in
            unsafe inner.fixedElements(type, type: W.type)
        }
    }
}
