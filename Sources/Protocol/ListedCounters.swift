package import DBus

/// What became of an app's motion so far, as the broker lists it for who looks again and again.
///
/// A count that is 0 is not sent: most apps of most lists are quiet.
package struct ListedCounters: Equatable, Sendable {
    package typealias Wire = Structure<ObjectPath, [String: Value]>

    package var object: ObjectPath
    /// Its id; of a client without one its unique name.
    package var app: String
    package var state: String
    package var hits: UInt64 = 0
    package var delivered: UInt64 = 0
    package var denied: UInt64 = 0
    package var dropped: UInt64 = 0
    /// What is kept for it at present.
    package var queuedBytes: UInt64 = 0
    package var launches: UInt64 = 0
    package var launchFailures: UInt64 = 0
    /// Why it last got no event; empty before that.
    package var lastRefusal = ""

    private enum Key {
        static let app = "app"
        static let state = "state"
        static let hits = "hits"
        static let delivered = "delivered"
        static let denied = "denied"
        static let dropped = "dropped"
        static let queuedBytes = "queued-bytes"
        static let launches = "launches"
        static let launchFailures = "launch-failures"
        static let lastRefusal = "last-refusal"
    }

    package init(_ object: ObjectPath, app: String, state: String) {
        self.object = object
        self.app = app
        self.state = state
    }

    package var wire: Wire {
        var known: [String: Value] = [Key.app: .string(self.app), Key.state: .string(self.state)]
        func add(_ key: String, _ count: UInt64) { if count > 0 { known[key] = .uint64(count) } }
        add(Key.hits, self.hits)
        add(Key.delivered, self.delivered)
        add(Key.denied, self.denied)
        add(Key.dropped, self.dropped)
        add(Key.queuedBytes, self.queuedBytes)
        add(Key.launches, self.launches)
        add(Key.launchFailures, self.launchFailures)
        if !self.lastRefusal.isEmpty { known[Key.lastRefusal] = .string(self.lastRefusal) }
        return Structure(self.object, known)
    }

    /// A row as the broker sent it. What it does not say is empty or 0.
    package init(_ wire: Wire) {
        let (object, known) = wire.fields
        func text(_ key: String) -> String { if case .string(let text) = known[key] { text } else { "" } }
        func count(_ key: String) -> UInt64 { if case .uint64(let count) = known[key] { count } else { 0 } }
        self.init(object, app: text(Key.app), state: text(Key.state))
        self.hits = count(Key.hits)
        self.delivered = count(Key.delivered)
        self.denied = count(Key.denied)
        self.dropped = count(Key.dropped)
        self.queuedBytes = count(Key.queuedBytes)
        self.launches = count(Key.launches)
        self.launchFailures = count(Key.launchFailures)
        self.lastRefusal = text(Key.lastRefusal)
    }
}
