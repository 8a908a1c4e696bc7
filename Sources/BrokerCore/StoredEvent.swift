package import Motion

/// An event on the disk, and whose it is.
package struct StoredEvent: Equatable, Sendable {
    package var app: AppID
    /// `nil`: nobody's yet.
    package var user: UInt32?
    package var event: Event

    package init(app: AppID, user: UInt32?, event: Event) {
        self.app = app
        self.user = user
        self.event = event
    }

    /// It was nobody's before it was this user's, and was to be on the disk as that: it is no new one, for which there may be no room.
    package var wasNobodys: Bool { self.user != nil && self.event.wasNobodys }

    /// What tells an event from all others, whoever has it and whatever its number is.
    struct Identity: Hashable {
        let app: AppID
        let epoch: UInt64
        let time: Timestamp
        let detector: String
    }

    var identity: Identity {
        Identity(app: self.app, epoch: self.event.epoch, time: self.event.time, detector: self.event.detector)
    }
}
