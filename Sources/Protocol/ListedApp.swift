package import DBus

/// An app as the broker lists it: its object, and what there is to know.
package struct ListedApp: Sendable {
    package typealias Wire = Structure<ObjectPath, [String: Value]>

    package var object: ObjectPath
    /// Empty for a client without a name.
    package var app: String
    package var state: String
    package var detectors: UInt32
    package var hits: UInt64
    package var delivered: UInt64
    package var denied: UInt64
    package var dropped: UInt64
    /// The modes in which it is at work.
    package var activities: [String]
    /// Whose it is, and the process that made its connection, as far as they are known.
    package var user: UInt32?
    package var process: UInt32?
    /// The windows that its app file says are its own, with stars or not.
    package var windows: [String]
    /// Whether a Flatpak brought that app file.
    package var isOfFlatpak: Bool

    private enum Key {
        static let app = "app"
        static let state = "state"
        static let detectors = "detectors"
        static let hits = "hits"
        static let delivered = "delivered"
        static let denied = "denied"
        static let dropped = "dropped"
        static let activities = "activities"
        static let user = "user"
        static let process = "process"
        static let windows = "windows"
        static let isOfFlatpak = "flatpak"
    }

    package init(
        _ object: ObjectPath, app: String, state: String, detectors: UInt32, hits: UInt64, delivered: UInt64,
        denied: UInt64, dropped: UInt64, activities: [String], user: UInt32?, process: UInt32?, windows: [String] = [],
        isOfFlatpak: Bool = false
    ) {
        self.object = object
        self.app = app
        self.state = state
        self.detectors = detectors
        self.hits = hits
        self.delivered = delivered
        self.denied = denied
        self.dropped = dropped
        self.activities = activities
        self.user = user
        self.process = process
        self.windows = windows
        self.isOfFlatpak = isOfFlatpak
    }

    package var wire: Wire {
        var known: [String: Value] = [
            Key.app: .string(self.app), Key.state: .string(self.state), Key.detectors: .uint32(self.detectors),
            Key.hits: .uint64(self.hits), Key.delivered: .uint64(self.delivered), Key.denied: .uint64(self.denied),
            Key.dropped: .uint64(self.dropped),
            Key.activities: .array(of: "s", self.activities.map { .string($0) }),
        ]
        known[Key.user] = self.user.map { .uint32($0) }
        known[Key.process] = self.process.map { .uint32($0) }
        if !self.windows.isEmpty { known[Key.windows] = .array(of: "s", self.windows.map { .string($0) }) }
        if self.isOfFlatpak { known[Key.isOfFlatpak] = .boolean(true) }
        return Structure(self.object, known)
    }

    /// A row as the broker sent it. What it does not say is empty or 0.
    package init(_ wire: Wire) {
        let (object, known) = wire.fields
        func text(_ key: String) -> String { if case .string(let text) = known[key] { text } else { "" } }
        func count(_ key: String) -> UInt64 { if case .uint64(let count) = known[key] { count } else { 0 } }
        func number(_ key: String) -> UInt32? { if case .uint32(let number) = known[key] { number } else { nil } }
        func isTrue(_ key: String) -> Bool { if case .boolean(let value) = known[key] { value } else { false } }
        func words(_ key: String) -> [String] {
            guard case .array(_, let words) = known[key] else { return [] }
            return words.compactMap { if case .string(let word) = $0 { word } else { nil } }
        }
        self.init(
            object, app: text(Key.app), state: text(Key.state), detectors: number(Key.detectors) ?? 0,
            hits: count(Key.hits), delivered: count(Key.delivered), denied: count(Key.denied),
            dropped: count(Key.dropped), activities: words(Key.activities), user: number(Key.user),
            process: number(Key.process),
            windows: words(Key.windows), isOfFlatpak: isTrue(Key.isOfFlatpak))
    }
}
