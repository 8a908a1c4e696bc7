import CDBus
package import Loop

/// A type with one D-Bus signature, known without a value of it.
///
/// `read` may rely on the iterator standing at a value of exactly `signature`: whoever starts a read compares the
/// whole signature first, and a variant compares its own.
package protocol WireValue: SendableMetatype {
    static var signature: String { get }
    func write(to writer: inout WireWriter)
    static func read(from reader: inout WireReader) throws(WireError) -> Self
    /// Arrays of fixed-size types travel as one block; the others element by element.
    static func writeElements(_ elements: borrowing [Self], to writer: inout WireWriter)
    static func readElements(from reader: inout WireReader) throws(WireError) -> [Self]
}

extension WireValue {
    package static func writeElements(_ elements: borrowing [Self], to writer: inout WireWriter) {
        for index in elements.indices { elements[index].write(to: &writer) }
    }

    package static func readElements(from reader: inout WireReader) throws(WireError) -> [Self] {
        var elements: [Self] = []
        while reader.type != CDBUS_TYPE_INVALID {
            elements.append(try Self.read(from: &reader))
        }
        return elements
    }
}

/// Why a message could not be decoded. The peer's mistake, never ours.
package enum WireError: Swift.Error, Equatable, CustomStringConvertible {
    case signature(expected: String, found: String)
    case tooDeep(limit: Int)
    case tooLarge(limit: Int)
    case tooLong(limit: Int)
    case badDescriptor
    case unexpectedDescriptor
    case notStreamSafe
    case keyNotASCII

    package var description: String {
        switch self {
        case .signature(let expected, let found): "expected arguments '\(expected)', got '\(found)'"
        case .tooDeep(let limit): "values are nested more than \(limit) deep"
        case .tooLarge(let limit): "the message holds more than \(limit) values"
        case .tooLong(let limit): "the message holds more than \(limit) bytes of text"
        case .badDescriptor: "the message holds no such file descriptor"
        case .unexpectedDescriptor: "a file descriptor stands where none belongs"
        case .notStreamSafe: "a text has more than 30 combining marks in a row"
        case .keyNotASCII: "a key has other characters than ASCII's"
        }
    }
}

/// A fixed-size type as libdbus lays it out.
package protocol FixedWireValue: WireValue, BitwiseCopyable {
    static var type: Int32 { get }
    static var zero: Self { get }
}

extension FixedWireValue {
    package func write(to writer: inout WireWriter) { writer.fixed(self) }

    package static func read(from reader: inout WireReader) throws(WireError) -> Self { try reader.fixed(Self.self) }

    package static func writeElements(_ elements: borrowing [Self], to writer: inout WireWriter) {
        writer.fixedElements(elements.span)
    }

    package static func readElements(from reader: inout WireReader) throws(WireError) -> [Self] {
        // SAFETY: the block is copied before the message can go away.
        unsafe Array(reader.fixedElements(Self.self))
    }
}

extension UInt8: FixedWireValue {
    package static var signature: String { "y" }
    package static var type: Int32 { CDBUS_TYPE_BYTE }
}
extension Int16: FixedWireValue {
    package static var signature: String { "n" }
    package static var type: Int32 { CDBUS_TYPE_INT16 }
}
extension UInt16: FixedWireValue {
    package static var signature: String { "q" }
    package static var type: Int32 { CDBUS_TYPE_UINT16 }
}
extension Int32: FixedWireValue {
    package static var signature: String { "i" }
    package static var type: Int32 { CDBUS_TYPE_INT32 }
}
extension UInt32: FixedWireValue {
    package static var signature: String { "u" }
    package static var type: Int32 { CDBUS_TYPE_UINT32 }
}
extension Int64: FixedWireValue {
    package static var signature: String { "x" }
    package static var type: Int32 { CDBUS_TYPE_INT64 }
}
extension UInt64: FixedWireValue {
    package static var signature: String { "t" }
    package static var type: Int32 { CDBUS_TYPE_UINT64 }
}
extension Double: FixedWireValue {
    package static var signature: String { "d" }
    package static var type: Int32 { CDBUS_TYPE_DOUBLE }
}

extension Bool: WireValue {
    package static var signature: String { "b" }
    package func write(to writer: inout WireWriter) { writer.boolean(self) }
    package static func read(from reader: inout WireReader) throws(WireError) -> Bool { try reader.boolean() }
}

extension String: WireValue {
    package static var signature: String { "s" }
    /// D-Bus strings hold no NUL; what follows one is left out.
    package func write(to writer: inout WireWriter) { writer.string(self, as: CDBUS_TYPE_STRING) }
    package static func read(from reader: inout WireReader) throws(WireError) -> String { try reader.string() }
}

/// The names that the bus lists. Whoever is on it may have tens of thousands, and hides those of others if they are too many to be read: so they
/// are never too many.
package struct BusNameList: WireValue, Equatable, Sendable {
    package let names: [String]

    package static var signature: String { "as" }
    package func write(to writer: inout WireWriter) { self.names.write(to: &writer) }
    package static func read(from reader: inout WireReader) throws(WireError) -> BusNameList {
        BusNameList(names: try reader.allTexts())
    }
}

/// A valid object path. libdbus aborts the process on an invalid one, so no other can be made.
package struct ObjectPath: WireValue, Hashable, Comparable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        // SAFETY: validation reads the string and keeps nothing; a NULL error is allowed.
        guard unsafe dbus_validate_path(text, nil) != 0, !text.utf8.contains(0) else { return nil }
        self.text = text
    }

    /// For paths written in the source.
    package init(literal: StaticString) {
        guard let path = ObjectPath(literal.description) else { invariantFailure("invalid object path \(literal)") }
        self = path
    }

    /// The path below this one whose last part is `name`, each byte outside [A-Za-z0-9] written as `_xx`.
    ///
    /// An empty name becomes `_`, as sd-bus writes it.
    package func appending(escaped name: String) -> ObjectPath {
        ObjectPath(unchecked: (self.text == "/" ? "" : self.text) + "/" + Self.escape(name))
    }

    private init(unchecked text: String) { self.text = text }

    package static func escape(_ name: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "_"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return bytes.isEmpty ? "_" : String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { self.text }
    package static func < (a: ObjectPath, b: ObjectPath) -> Bool { a.text < b.text }

    package static var signature: String { "o" }
    package func write(to writer: inout WireWriter) { writer.string(self.text, as: CDBUS_TYPE_OBJECT_PATH) }
    package static func read(from reader: inout WireReader) throws(WireError) -> ObjectPath {
        // libdbus validated it when it read the message.
        ObjectPath(unchecked: try reader.string())
    }
}

/// A file descriptor in a message; closed with the last reference.
package final class WireDescriptor: WireValue {
    private var descriptor: OwnedDescriptor?

    package init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = consume descriptor
    }

    /// How many descriptors must be left before one is sent: libdbus has no way to say that it could not copy it.
    package static let spare = 8

    /// Hands the descriptor over; `nil` when somebody took it before, or when it only names a file: the kernel takes such a one for
    /// no descriptor, which we would take for a mistake of ours.
    package func take() -> OwnedDescriptor? {
        guard let descriptor = self.descriptor.take(), !descriptor.isNameOnly else { return nil }
        return descriptor
    }

    package static var signature: String { "h" }
    package func write(to writer: inout WireWriter) { writer.descriptor(self.descriptor?.raw ?? -1) }
    package static func read(from reader: inout WireReader) throws(WireError) -> Self {
        self.init(OwnedDescriptor(adopting: try reader.descriptor()))
    }
}

extension Array: WireValue where Element: WireValue {
    package static var signature: String { "a" + Element.signature }

    package func write(to writer: inout WireWriter) {
        writer.container(CDBUS_TYPE_ARRAY, of: Element.signature) { Element.writeElements(self, to: &$0) }
    }

    package static func read(from reader: inout WireReader) throws(WireError) -> [Element] {
        try reader.container { (inner: inout WireReader) throws(WireError) in try Element.readElements(from: &inner) }
    }
}

extension Dictionary: WireValue where Key: WireValue & Comparable, Value: WireValue {
    package static var signature: String { "a{" + Key.signature + Value.signature + "}" }

    /// Keys go out in order, so that the same dictionary is always the same bytes.
    package func write(to writer: inout WireWriter) {
        writer.container(CDBUS_TYPE_ARRAY, of: "{" + Key.signature + Value.signature + "}") { array in
            // Most are these, and the compiler makes nothing good of a sort of it knows not what. A dictionary that is cast as such
            // is cast key by key, even to what it is.
            if let options = (self as Any) as? [String: DBus.Value] {
                for key in options.keys.sorted() {
                    array.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
                        key.write(to: &entry)
                        options[key]?.write(to: &entry)
                    }
                }
                return
            }
            for key in self.keys.sorted() {
                array.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
                    key.write(to: &entry)
                    self[key]?.write(to: &entry)
                }
            }
        }
    }

    /// The first of several equal keys counts.
    package static func read(from reader: inout WireReader) throws(WireError) -> [Key: Value] {
        var result: [Key: Value] = [:]
        try reader.container { (array: inout WireReader) throws(WireError) in
            while array.type != CDBUS_TYPE_INVALID {
                try array.container { (entry: inout WireReader) throws(WireError) in
                    try entry.checkKey()
                    let key = try Key.read(from: &entry)
                    let value = try Value.read(from: &entry)
                    if result[key] == nil { result[key] = value }
                }
            }
        }
        return result
    }
}

/// A D-Bus struct: its fields, as a tuple.
package struct Structure<each Field: WireValue>: WireValue {
    package var fields: (repeat each Field)

    package init(_ fields: repeat each Field) {
        self.fields = (repeat each fields)
    }

    package static var signature: String {
        var result = "("
        for part in repeat (each Field).signature { result += part }
        return result + ")"
    }

    package func write(to writer: inout WireWriter) {
        writer.container(CDBUS_TYPE_STRUCT, of: nil) { inner in
            repeat (each self.fields).write(to: &inner)
        }
    }

    package static func read(from reader: inout WireReader) throws(WireError) -> Structure {
        try reader.container { (inner: inout WireReader) throws(WireError) in
            Structure(repeat try (each Field).read(from: &inner))
        }
    }
}
