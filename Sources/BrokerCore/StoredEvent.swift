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
}
