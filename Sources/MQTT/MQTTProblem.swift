import CMosquitto
import Glibc

/// Why the library did not do what it was asked for.
package struct MQTTProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    /// The library's code; 0 where it has none.
    package let code: Int32
    /// What happened, for people.
    package let description: String

    package init(_ description: String, code: Int32 = 0) {
        self.code = code
        self.description = description
    }

    /// What a code of the library's means.
    static func of(_ code: Int32, while action: String) -> MQTTProblem {
        let isSystem = code == MOSQ_ERR_ERRNO.rawValue
        // SAFETY: both return texts that nobody changes before they are copied.
        let text = unsafe isSystem ? strerror(errno).map { unsafe String(cString: $0) } : Self.text(code)
        return MQTTProblem("\(action): \(text ?? "error \(code)")", code: code)
    }

    /// The library's words for a code.
    static func text(_ code: Int32) -> String? {
        // SAFETY: a constant text of the library's.
        unsafe mosquitto_strerror(code).map { unsafe String(cString: $0).trimmed }
    }

    /// The words for a reason code of MQTT 5.
    package static func reason(_ code: Int32) -> String {
        // SAFETY: a constant text of the library's.
        unsafe mosquitto_reason_string(code).map { unsafe String(cString: $0).trimmed } ?? "reason \(code)"
    }

    /// Whether a server that refuses a message by this reason may take it later: it wants not now, it has no room, or nobody may.
    package static func isForNow(_ reason: Int32) -> Bool {
        [
            MQTT_RC_UNSPECIFIED, MQTT_RC_IMPLEMENTATION_SPECIFIC, MQTT_RC_NOT_AUTHORIZED, MQTT_RC_QUOTA_EXCEEDED,
        ].contains { Int32($0.rawValue) == reason }
    }

    /// Whether a server has taken a message, and knows nobody whom to give it.
    package static func isForNobody(_ reason: Int32) -> Bool {
        reason == Int32(MQTT_RC_NO_MATCHING_SUBSCRIBERS.rawValue)
    }

    /// It is about what was to be said, which no connection will ever take.
    package var isOfMessage: Bool {
        [
            MOSQ_ERR_INVAL, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_OVERSIZE_PACKET,
            MOSQ_ERR_QOS_NOT_SUPPORTED, MOSQ_ERR_RETAIN_NOT_SUPPORTED,
        ].contains { $0.rawValue == self.code }
    }

    static func check(_ code: Int32, while action: String) throws(MQTTProblem) {
        if code != MOSQ_ERR_SUCCESS.rawValue { throw .of(code, while: action) }
    }
}

extension String {
    /// Without the stop at the end: it goes into sentences of ours.
    fileprivate var trimmed: String { self.hasSuffix(".") ? String(self.dropLast()) : self }
}
