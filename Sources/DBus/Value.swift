import CDBus
import Loop

/// A value whose type is known only at run time: what stands in a variant.
///
/// For options, properties and tools; nothing on the way of a sample uses it.
package indirect enum Value: Equatable, Sendable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(ObjectPath)
    case signature(String)
    /// A descriptor is of no use outside its message, so only its presence is told, and only to tools that look at
    /// whole messages. Elsewhere a descriptor inside a variant is an error.
    case descriptor
    case array(of: String, [Value])
    case structure([Value])
    case dictionary(key: String, value: String, [Entry])
    case variant(Value)

    package struct Entry: Equatable, Sendable {
        package var key: Value
        package var value: Value

        package init(_ key: Value, _ value: Value) {
            self.key = key
            self.value = value
        }
    }

    /// The D-Bus signature of the value itself.
    package var ownSignature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .descriptor: "h"
        case .array(let element, _): "a" + element
        case .structure(let fields): "(" + fields.map(\.ownSignature).joined() + ")"
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        case .variant: "v"
        }
    }

    /// The type as an error message names it.
    package var typeName: String {
        switch self {
        case .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64: "whole number '\(self.ownSignature)'"
        case .boolean: "boolean 'b'"
        case .double: "number 'd'"
        case .string: "string 's'"
        default: "'\(self.ownSignature)'"
        }
    }

    /// An `a{sv}`.
    package static func options(_ options: [String: Value]) -> Value {
        let entries = options.sorted { $0.key < $1.key }.map { Entry(.string($0.key), .variant($0.value)) }
        return .dictionary(key: "s", value: "v", entries)
    }
}

extension Value: WireValue {
    /// As a type of its own, a `Value` is what a variant holds.
    package static var signature: String { "v" }

    package func write(to writer: inout WireWriter) {
        writer.container(CDBUS_TYPE_VARIANT, of: self.ownSignature) { self.writeBare(to: &$0) }
    }

    package static func read(from reader: inout WireReader) throws(WireError) -> Value {
        try reader.container { (inner: inout WireReader) throws(WireError) in try self.readBare(from: &inner) }
    }

    /// Writes the value without a variant around it.
    package func writeBare(to writer: inout WireWriter) {
        switch self {
        case .byte(let value): writer.fixed(value)
        case .boolean(let value): writer.boolean(value)
        case .int16(let value): writer.fixed(value)
        case .uint16(let value): writer.fixed(value)
        case .int32(let value): writer.fixed(value)
        case .uint32(let value): writer.fixed(value)
        case .int64(let value): writer.fixed(value)
        case .uint64(let value): writer.fixed(value)
        case .double(let value): writer.fixed(value)
        case .string(let value): writer.string(value, as: CDBUS_TYPE_STRING)
        case .objectPath(let value): value.write(to: &writer)
        case .signature(let value): writer.string(value, as: CDBUS_TYPE_SIGNATURE)
        case .descriptor: invariantFailure("a descriptor was sent as a plain value")
        case .array(let element, let values):
            writer.container(CDBUS_TYPE_ARRAY, of: element) { inner in
                for value in values { value.writeBare(to: &inner) }
            }
        case .structure(let fields):
            writer.structure { inner in
                for field in fields { field.writeBare(to: &inner) }
            }
        case .dictionary(let key, let value, let entries):
            writer.container(CDBUS_TYPE_ARRAY, of: "{" + key + value + "}") { inner in
                for entry in entries {
                    inner.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { pair in
                        entry.key.writeBare(to: &pair)
                        entry.value.writeBare(to: &pair)
                    }
                }
            }
        case .variant(let value): value.write(to: &writer)
        }
    }

    /// Reads whatever value comes next.
    package static func readBare(from reader: inout WireReader) throws(WireError) -> Value {
        switch reader.type {
        case CDBUS_TYPE_BYTE: return .byte(try UInt8.read(from: &reader))
        case CDBUS_TYPE_BOOLEAN: return .boolean(try Bool.read(from: &reader))
        case CDBUS_TYPE_INT16: return .int16(try Int16.read(from: &reader))
        case CDBUS_TYPE_UINT16: return .uint16(try UInt16.read(from: &reader))
        case CDBUS_TYPE_INT32: return .int32(try Int32.read(from: &reader))
        case CDBUS_TYPE_UINT32: return .uint32(try UInt32.read(from: &reader))
        case CDBUS_TYPE_INT64: return .int64(try Int64.read(from: &reader))
        case CDBUS_TYPE_UINT64: return .uint64(try UInt64.read(from: &reader))
        case CDBUS_TYPE_DOUBLE: return .double(try Double.read(from: &reader))
        case CDBUS_TYPE_STRING: return .string(try String.read(from: &reader))
        case CDBUS_TYPE_OBJECT_PATH: return .objectPath(try ObjectPath.read(from: &reader))
        case CDBUS_TYPE_SIGNATURE: return .signature(try reader.string())
        case CDBUS_TYPE_UNIX_FD:
            guard reader.skipsDescriptors else { throw .unexpectedDescriptor }
            try reader.skip()
            return .descriptor
        case CDBUS_TYPE_VARIANT: return .variant(try Value.read(from: &reader))
        case CDBUS_TYPE_STRUCT:
            return .structure(
                try reader.container { (inner: inout WireReader) throws(WireError) in try self.readAll(from: &inner) })
        case CDBUS_TYPE_ARRAY: return try self.readArray(from: &reader)
        default: invariantFailure("libdbus has no type \(reader.type)")
        }
    }

    /// All values up to the end of the container or body that the reader stands in.
    package static func readAll(from reader: inout WireReader) throws(WireError) -> [Value] {
        var values: [Value] = []
        while reader.type != CDBUS_TYPE_INVALID { values.append(try self.readBare(from: &reader)) }
        return values
    }

    private static func readArray(from reader: inout WireReader) throws(WireError) -> Value {
        let signature = reader.signature
        return try reader.container { (inner: inout WireReader) throws(WireError) -> Value in
            let element = String(signature.dropFirst())
            guard element.hasPrefix("{") else { return .array(of: element, try self.readAll(from: &inner)) }
            var entries: [Entry] = []
            while inner.type != CDBUS_TYPE_INVALID {
                entries.append(
                    try inner.container { (pair: inout WireReader) throws(WireError) in
                        let key = try self.readBare(from: &pair)
                        return Entry(key, try self.readBare(from: &pair))
                    })
            }
            // A dictionary's key is one character, as the specification has it: `{sv}`.
            let types = element.dropFirst().dropLast()
            return .dictionary(key: String(types.prefix(1)), value: String(types.dropFirst()), entries)
        }
    }
}

extension Message {
    /// The whole body, whatever it is. Descriptors are told of and left in the message.
    package func readValues() throws(WireError) -> [Value] {
        guard var reader = unsafe WireReader(self.raw) else { return [] }
        reader.skipsDescriptors = true
        return try Value.readAll(from: &reader)
    }
}

extension Value {
    /// A dictionary as an `a{sv}`, in the order of the keys.
    package init(options: [String: Value]) {
        let sorted = options.sorted { $0.key < $1.key }
        self = .dictionary(key: "s", value: "v", sorted.map { Entry(.string($0.key), .variant($0.value)) })
    }

    /// An `a{sv}` as a dictionary; anything else is empty, and a key that is not ASCII is none, as in `WireReader.checkKey`.
    package var asOptions: [String: Value] {
        guard case .dictionary(_, _, let entries) = self else { return [:] }
        var options: [String: Value] = [:]
        for entry in entries {
            guard case .string(let key) = entry.key, case .variant(let value) = entry.value else { continue }
            if key.utf8.allSatisfy({ $0 < 0x80 }) { options[key] = value }
        }
        return options
    }
}
