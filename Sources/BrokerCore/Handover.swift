/// What an app is handed when it is launched.
package struct Handover: Equatable, Sendable {
    /// Whose app may have it. `nil`: whoever comes, as the app is nobody's yet or is handed nothing.
    package var user: UInt32?
    /// What is due to it, in order; none for a push, and none for a task, which is run when the app has registered.
    package var events: [Event]
    /// How many events before these the app does not get.
    package var missing: UInt64

    init(to user: UInt32?, _ events: [Event] = [], missing: UInt64 = 0) {
        self.user = user
        self.events = events
        self.missing = missing
    }
}
