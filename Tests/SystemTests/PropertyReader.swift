import CDBus
import Glibc
import TestSupport

/// Reads properties on a connection that stays, and says them as `busctl get-property` does: `s "ready"`.
///
/// Whoever waits looks very often, and a process for each look would have the processors do little else.
final class PropertyReader {
    private let address: String
    private var connection: OpaquePointer?

    init(_ address: String) {
        self.address = address
    }

    deinit { self.close() }

    /// A property; whatever is wrong, in words, if it cannot be had.
    func property(_ name: String, of interface: String, at path: String, from service: String) -> String {
        do {
            let connection = try self.open()
            let call = dbus_message_new_method_call(service, path, "org.freedesktop.DBus.Properties", "Get")
            defer { dbus_message_unref(call) }
            var arguments = DBusMessageIter()
            dbus_message_iter_init_append(call, &arguments)
            for text in [interface, name] {
                text.withCString { text in
                    var text: UnsafePointer<CChar>? = text
                    _ = dbus_message_iter_append_basic(&arguments, CDBUS_TYPE_STRING, &text)
                }
            }
            let reply = try Self.checked { dbus_connection_send_with_reply_and_block(connection, call, 25_000, &$0) }
            defer { dbus_message_unref(reply) }
            var value = DBusMessageIter()
            dbus_message_iter_init(reply, &value)
            return Self.text(of: &value)
        } catch {
            // The next who asks may find another bus there.
            self.close()
            return "Failed to get property \(name) on interface \(interface): \(error)"
        }
    }

    private func open() throws(Failure) -> OpaquePointer {
        if let connection {
            // Who does not answer when he is asked whether he reads is soon answered late.
            while dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS {}
            return connection
        }
        let connection = try Self.checked { dbus_connection_open_private(self.address, &$0) }
        dbus_connection_set_exit_on_disconnect(connection, 0)
        self.connection = connection
        return try Self.checked { dbus_bus_register(connection, &$0) != 0 ? connection : nil }
    }

    private func close() {
        guard let connection else { return }
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
        self.connection = nil
    }

    private static func checked(_ call: (inout DBusError) -> OpaquePointer?) throws(Failure) -> OpaquePointer {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let result = call(&error) else { throw Failure(error.message.map { String(cString: $0) } ?? "no memory") }
        return result
    }

    // MARK: Values

    /// The value of a variant, with its type before it.
    private static func text(of variant: inout DBusMessageIter) -> String {
        var value = DBusMessageIter()
        dbus_message_iter_recurse(&variant, &value)
        let signature = dbus_message_iter_get_signature(&value)
        defer { dbus_free(signature) }
        return ([signature.map { String(cString: $0) } ?? ""] + self.words(of: &value)).joined(separator: " ")
    }

    private static func words(of value: inout DBusMessageIter) -> [String] {
        let type = dbus_message_iter_get_arg_type(&value)
        switch type {
        case CDBUS_TYPE_VARIANT: return [self.text(of: &value)]
        case CDBUS_TYPE_ARRAY: return ["\(dbus_message_iter_get_element_count(&value))"] + self.elements(of: &value)
        case CDBUS_TYPE_STRUCT, CDBUS_TYPE_DICT_ENTRY: return self.elements(of: &value)
        default:
            var basic = DBusBasicValue()
            dbus_message_iter_get_basic(&value, &basic)
            return [self.word(basic, type)]
        }
    }

    private static func elements(of container: inout DBusMessageIter) -> [String] {
        var element = DBusMessageIter()
        dbus_message_iter_recurse(&container, &element)
        var words: [String] = []
        while dbus_message_iter_get_arg_type(&element) != CDBUS_TYPE_INVALID {
            words += self.words(of: &element)
            dbus_message_iter_next(&element)
        }
        return words
    }

    private static func word(_ value: DBusBasicValue, _ type: Int32) -> String {
        switch type {
        case CDBUS_TYPE_BYTE: "\(value.byt)"
        case CDBUS_TYPE_BOOLEAN: value.bool_val != 0 ? "true" : "false"
        case CDBUS_TYPE_INT16: "\(value.i16)"
        case CDBUS_TYPE_UINT16: "\(value.u16)"
        case CDBUS_TYPE_INT32: "\(value.i32)"
        case CDBUS_TYPE_UINT32: "\(value.u32)"
        case CDBUS_TYPE_INT64: "\(value.i64)"
        case CDBUS_TYPE_UINT64: "\(value.u64)"
        case CDBUS_TYPE_DOUBLE: self.short(value.dbl)
        default: "\"\(self.escaped(value.str.map { String(cString: $0) } ?? ""))\""
        }
    }

    /// As C has it: six digits.
    private static func short(_ number: Double) -> String {
        var bytes = [CChar](repeating: 0, count: 32)
        let count = withVaList([number]) { vsnprintf(&bytes, bytes.count, "%g", $0) }
        return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// As C has it between quotes: whatever is not plain ASCII by its number.
    private static func escaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { escaped, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"): escaped += "\\\(Unicode.Scalar(byte))"
            case 7...13: escaped += "\\\(Array("abtnvfr")[Int(byte) - 7])"
            case 32..<127: escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "\\" + [6, 3, 0].map { "\((byte >> $0) & 7)" }.joined()
            }
        }
    }
}
