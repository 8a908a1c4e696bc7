/// A message, to be sent or as it came.
package struct Publication: Equatable, Sendable {
    package enum Quality: Int32, Sendable {
        case atMostOnce = 0
        case atLeastOnce = 1
        case exactlyOnce = 2
    }

    package var topic: String
    package var payload: [UInt8]
    package var quality: Quality
    /// The server keeps it for whoever comes later.
    package var isRetained: Bool
    package var properties: MessageProperties

    package init(
        _ topic: String, _ payload: [UInt8], quality: Quality = .atLeastOnce, isRetained: Bool = false,
        _ properties: MessageProperties = MessageProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.isRetained = isRetained
        self.properties = properties
    }
}

/// What MQTT 5 says besides a message.
package struct MessageProperties: Equatable, Sendable {
    /// The payload is UTF-8.
    package var isText = false
    package var contentType: String?
    /// After how many seconds the server throws it away.
    package var expiry: UInt32?
    /// Where whoever asked wants the answer.
    package var responseTopic: String?
    package var correlation: [UInt8]?
    /// Names and values, in order; a name may come several times.
    package var user: [UserProperty] = []

    package init() {}

    /// The first value of a name.
    package func user(_ name: String) -> String? { self.user.first { $0.name == name }?.value }
}

package struct UserProperty: Equatable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
