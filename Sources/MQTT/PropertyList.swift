import CMosquitto
import Glibc
import Motion

/// A list of properties as the library has it, freed with its owner.
@safe
struct PropertyList: ~Copyable {
    private(set) var raw: OpaquePointer?

    init() { unsafe self.raw = nil }

    init(_ properties: MessageProperties) throws(MQTTProblem) {
        self.init()
        if properties.isText { try self.add(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, byte: 1) }
        if let type = properties.contentType { try self.add(MQTT_PROP_CONTENT_TYPE, text: type) }
        if let expiry = properties.expiry { try self.add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, number: expiry) }
        if let topic = properties.responseTopic { try self.add(MQTT_PROP_RESPONSE_TOPIC, text: topic) }
        if let bytes = properties.correlation { try self.add(MQTT_PROP_CORRELATION_DATA, bytes: bytes) }
        for property in properties.user {
            // SAFETY: the list is ours; the texts are copied by the call.
            try MQTTProblem.check(
                unsafe mosquitto_property_add_string_pair(
                    &self.raw, Int32(MQTT_PROP_USER_PROPERTY.rawValue), property.name, property.value),
                while: "user property \(property.name)")
        }
    }

    deinit {
        var raw = unsafe self.raw
        // SAFETY: the list is ours, and whoever took it over said so.
        unsafe mosquitto_property_free_all(&raw)
    }

    /// Gives the list away: whoever takes it frees it.
    consuming func release() -> OpaquePointer? {
        let raw = unsafe self.raw
        discard self
        return unsafe raw
    }

    mutating func add(_ name: mqtt5_property, byte: UInt8) throws(MQTTProblem) {
        // SAFETY: the list is ours; so in all that follows.
        try MQTTProblem.check(
            unsafe mosquitto_property_add_byte(&self.raw, Int32(name.rawValue), byte),
            while: "property \(name.rawValue)")
    }

    mutating func add(_ name: mqtt5_property, number: UInt32) throws(MQTTProblem) {
        try MQTTProblem.check(
            unsafe mosquitto_property_add_int32(&self.raw, Int32(name.rawValue), number),
            while: "property \(name.rawValue)")
    }

    private mutating func add(_ name: mqtt5_property, text: String) throws(MQTTProblem) {
        try MQTTProblem.check(
            unsafe mosquitto_property_add_string(&self.raw, Int32(name.rawValue), text),
            while: "property \(name.rawValue)")
    }

    private mutating func add(_ name: mqtt5_property, bytes: [UInt8]) throws(MQTTProblem) {
        guard let count = UInt16(exactly: bytes.count) else { throw MQTTProblem("correlation data is too long") }
        try MQTTProblem.check(
            unsafe mosquitto_property_add_binary(&self.raw, Int32(name.rawValue), bytes, count),
            while: "property \(name.rawValue)")
    }
}

/// Reads properties that came. A text that takes long to compare is as good as none.
enum PropertyReading {
    /// - Parameter list: The library's, valid for the call; `nil`: none.
    @unsafe
    static func message(_ list: OpaquePointer?) -> MessageProperties {
        var properties = MessageProperties()
        guard let list = unsafe list else { return properties }
        var byte: UInt8 = 0
        // SAFETY: the list lives for the call, and so does what is read into; so in all that follows.
        if unsafe mosquitto_property_read_byte(list, Int32(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.rawValue), &byte, false)
            != nil
        {
            properties.isText = byte == 1
        }
        var number: UInt32 = 0
        if unsafe mosquitto_property_read_int32(list, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), &number, false)
            != nil
        {
            properties.expiry = number
        }
        properties.contentType = unsafe self.text(list, MQTT_PROP_CONTENT_TYPE)
        properties.responseTopic = unsafe self.text(list, MQTT_PROP_RESPONSE_TOPIC)
        var bytes: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        if unsafe mosquitto_property_read_binary(
            list, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), &bytes, &count, false) != nil
        {
            unsafe properties.correlation = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            unsafe free(bytes)
        }
        unsafe self.pairs(list, into: &properties)
        return properties
    }

    /// More than this many user properties nobody reads.
    private static let mostPairs = 32

    @unsafe
    private static func pairs(_ list: OpaquePointer, into properties: inout MessageProperties) {
        var next: OpaquePointer? = unsafe list
        // Those that are left out count, too: a message holds thousands of them.
        for index in 0..<self.mostPairs {
            var name: UnsafeMutablePointer<CChar>?
            var value: UnsafeMutablePointer<CChar>?
            unsafe next = mosquitto_property_read_string_pair(
                next, Int32(MQTT_PROP_USER_PROPERTY.rawValue), &name, &value, index > 0)
            guard unsafe next != nil else { return }
            if let name = unsafe name, let value = unsafe value {
                let pair = unsafe UserProperty(String(cString: name), String(cString: value))
                if pair.name.isStreamSafe, pair.value.isStreamSafe { properties.user.append(pair) }
            }
            unsafe free(name)
            unsafe free(value)
        }
    }

    @unsafe
    private static func text(_ list: OpaquePointer, _ name: mqtt5_property) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe mosquitto_property_read_string(list, Int32(name.rawValue), &text, false) != nil,
            let found = unsafe text
        else { return nil }
        defer { unsafe free(found) }
        let value = unsafe String(cString: found)
        return value.isStreamSafe ? value : nil
    }

    /// A number of one byte, such as Maximum QoS.
    @unsafe
    static func byte(_ list: OpaquePointer?, _ name: mqtt5_property) -> UInt8? {
        var number: UInt8 = 0
        guard let list = unsafe list,
            unsafe mosquitto_property_read_byte(list, Int32(name.rawValue), &number, false) != nil
        else { return nil }
        return number
    }

    /// A number of two bytes, such as Receive Maximum.
    @unsafe
    static func short(_ list: OpaquePointer?, _ name: mqtt5_property) -> UInt16? {
        var number: UInt16 = 0
        guard let list = unsafe list,
            unsafe mosquitto_property_read_int16(list, Int32(name.rawValue), &number, false) != nil
        else { return nil }
        return number
    }

    /// A number of four bytes, such as the largest packet.
    @unsafe
    static func long(_ list: OpaquePointer?, _ name: mqtt5_property) -> UInt32? {
        var number: UInt32 = 0
        guard let list = unsafe list,
            unsafe mosquitto_property_read_int32(list, Int32(name.rawValue), &number, false) != nil
        else { return nil }
        return number
    }
}
