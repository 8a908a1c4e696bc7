/// The keys with which sources say what the user sees, and are shown.
package enum FocusKey {
    package static let source = "source"
    /// Of an app that is seen: how it is, and by which window that was told.
    package static let state = "state"
    package static let window = "window"
    package static let process = "pid"
    /// Of a source: who reports it.
    package static let reporter = "process"
    package static let front = "front"
    /// Those of which it said so before the others.
    package static let first = "first"
    package static let visible = "visible"
    package static let hidden = "hidden"
    /// Of lists of apps.
    package static let playing = "playing"
    package static let frozen = "frozen"
    package static let windows = "windows"
    /// Its reporter left, and what it said stands for a moment yet.
    package static let leaving = "leaving"
}
