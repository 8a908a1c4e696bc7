import Motion

/// What a mixable group saw of an app that fires: its class, and whose session it met.
package struct Mixing: Equatable, Sendable {
    /// The class that the app stands for.
    package var requester: String
    /// The class is that of its session, and not only of the rule.
    package var isSession: Bool
    /// Whom it met, and what the matrix says to that; `nil` when nobody is in the way.
    package var meeting: SessionMeeting?
    /// The grants of which its class wants one, when it has none of them.
    package var missing: WordSet<BackgroundMode>

    package init(
        requester: String, isSession: Bool, meeting: SessionMeeting? = nil, missing: WordSet<BackgroundMode> = .none
    ) {
        self.requester = requester
        self.isSession = isSession
        self.meeting = meeting
        self.missing = missing
    }

    /// The same with the names of those apps that may be told.
    func naming(_ isKnown: (AppID) -> Bool) -> Mixing {
        var copy = self
        if let other = copy.meeting?.other, !isKnown(other) { copy.meeting?.other = .anotherApp }
        return copy
    }
}
