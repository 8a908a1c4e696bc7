/// A message on its way out, before it is written in some form.
package struct Outgoing: Equatable, Sendable {
    package var topic: String
    /// `nil`: an empty message, which takes a retained one away.
    package var value: DataValue?
    package var isRetained: Bool
    /// After how many seconds it is of no use any more.
    package var expiry: UInt32?
    /// Names and values.
    package var properties: [(name: String, value: String)]

    package init(
        _ topic: String, _ value: DataValue?, isRetained: Bool = false, expiry: UInt32? = nil,
        properties: [(name: String, value: String)] = []
    ) {
        self.topic = topic
        self.value = value
        self.isRetained = isRetained
        self.expiry = expiry
        self.properties = properties
    }

    package static func == (a: Outgoing, b: Outgoing) -> Bool {
        a.topic == b.topic && a.value == b.value && a.isRetained == b.isRetained && a.expiry == b.expiry
            && a.properties.elementsEqual(b.properties) { $0.name == $1.name && $0.value == $1.value }
    }
}
