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
