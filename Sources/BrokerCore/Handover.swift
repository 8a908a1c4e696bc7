/// What an app is handed when it is launched.
package struct Handover: Equatable, Sendable {
    /// Whose app may have it. `nil`: whoever comes, as the app is nobody's yet or is handed nothing.
    package var user: UInt32?
    /// What is due to it, in order; none for a push, and none for a task, which is run when the app has registered.
    package var events: [Event]
    /// How many events before the last of these the app does not get.
    package private(set) var missing: UInt64
    /// The numbers that were lost when it was taken.
    private let lost: LostNumbers

    init(to user: UInt32?, _ events: [Event] = [], lost: LostNumbers = LostNumbers()) {
        self.user = user
        self.events = events
        self.lost = lost
        self.missing = lost.count(before: events.last?.sequence ?? 0)
    }

    /// What of it is still to be had, just before somebody is called with it, which may be a while after it was taken. What has ended since is
    /// lost, unless the app may have seen it before. What was on its way out then and has come back since goes with what is behind it. `nil`:
    /// nothing is left, so that nobody need be called.
    ///
    /// - Parameter queue: That it was taken from, or the one that has joined that.
    func left(in queue: inout EventQueue) -> Handover? {
        let isOwn = queue.calls.last > 0
        if isOwn { queue.handOver(before: queue.calls.last) }
        // Looked up and not searched for: there may be very many.
        let called = queue.called
        let identities = Set(called.lazy.map(\.identity))
        var left = self
        left.events.removeAll { !identities.contains($0.identity) }
        // What is lost is told when the launch is over, which it is now.
        if left.events.isEmpty { return nil }
        let hasAll = left.events.count == self.events.count
        // What was nobody's when it was taken has other numbers there by now, by which the app is told of what is lost since.
        if isOwn { left.events = called }
        if hasAll { return left }
        for gap in queue.calls.ended { queue.lost.insert(gap) }
        queue.calls.ended = []
        let last = left.events.last?.sequence ?? 0
        if isOwn { queue.calls.last = last }
        left.missing = isOwn ? queue.lost.count(before: last) : self.lost.count(before: last)
        return left
    }
}
