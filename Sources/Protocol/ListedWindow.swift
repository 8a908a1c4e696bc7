package import DBus

/// A window as `ListWindows` tells it.
package struct ListedWindow: Sendable {
    package typealias Wire = [String: Value]

    /// Its place in the list.
    package var number: UInt64
    package var source: String
    package var window: String
    package var state: String
    /// What it says of itself, by name; empty where it says nothing.
    package var appID: String
    package var instance: String
    package var windowClass: String
    package var gtkAppID: String
    package var process: UInt32?
    /// The app, and what it was known by; empty when nobody knows.
    package var app: String
    package var knownBy: String
    /// What to write where, so that it is known.
    package var hint: String

    private enum Key {
        static let number = "number"
        static let appID = "app-id"
        static let instance = "instance"
        static let windowClass = "class"
        static let gtkAppID = "gtk-app-id"
        static let app = "app"
        static let knownBy = "known-by"
        static let hint = "hint"
    }

    package init(
        _ number: UInt64, source: String, window: String, state: String, appID: String, instance: String,
        windowClass: String, gtkAppID: String, process: UInt32?, app: String, knownBy: String, hint: String
    ) {
        self.number = number
        self.source = source
        self.window = window
        self.state = state
        self.appID = appID
        self.instance = instance
        self.windowClass = windowClass
        self.gtkAppID = gtkAppID
        self.process = process
        self.app = app
        self.knownBy = knownBy
        self.hint = hint
    }

    package var wire: Wire {
        var known: Wire = [
            Key.number: .uint64(self.number), FocusKey.source: .string(self.source),
            FocusKey.window: .string(self.window), FocusKey.state: .string(self.state),
        ]
        let texts = [
            (Key.appID, self.appID), (Key.instance, self.instance), (Key.windowClass, self.windowClass),
            (Key.gtkAppID, self.gtkAppID), (Key.app, self.app), (Key.knownBy, self.knownBy), (Key.hint, self.hint),
        ]
        for (key, text) in texts where !text.isEmpty { known[key] = .string(text) }
        known[FocusKey.process] = self.process.map { .uint32($0) }
        return known
    }

    /// A row as it came. What it does not say is empty or 0.
    package init(_ known: Wire) {
        func text(_ key: String) -> String { if case .string(let text) = known[key] { text } else { "" } }
        let number = if case .uint64(let number) = known[Key.number] { number } else { UInt64(0) }
        let process: UInt32? = if case .uint32(let process) = known[FocusKey.process] { process } else { nil }
        self.init(
            number, source: text(FocusKey.source), window: text(FocusKey.window), state: text(FocusKey.state),
            appID: text(Key.appID), instance: text(Key.instance), windowClass: text(Key.windowClass),
            gtkAppID: text(Key.gtkAppID), process: process, app: text(Key.app), knownBy: text(Key.knownBy),
            hint: text(Key.hint))
    }
}
