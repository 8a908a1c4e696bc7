package import Motion

/// When to try to reach a display that is not there, or left us.
///
/// Nothing is asked again and again: after a few attempts close together only a new socket is a reason for another.
package struct Reconnection: Sendable {
    /// A display that comes makes its socket before it listens: so often is it tried, at first after this time, and then after twice that.
    package static let attempts = 6
    package static let firstPause = TimeSpan.milliseconds(50)
    /// A connection that lasted so long was one.
    package static let lasting = TimeSpan.seconds(10)

    private var failures = 0
    private var openedAt: Timestamp?
    /// When to try; `nil`: when the socket changes.
    package private(set) var next: Timestamp?

    package init() {}

    /// The socket is there, or another one.
    package mutating func appeared(at now: Timestamp) {
        guard self.openedAt == nil else { return }
        self.failures = 0
        self.next = now
    }

    package mutating func opened(at now: Timestamp) {
        self.openedAt = now
        self.next = nil
    }

    /// It could not be opened, or it was and is gone.
    package mutating func failed(at now: Timestamp) {
        if let openedAt, now - openedAt >= Self.lasting { self.failures = 0 }
        self.openedAt = nil
        self.failures += 1
        guard self.failures <= Self.attempts else {
            self.next = nil
            return
        }
        self.next = now + TimeSpan(microseconds: Self.firstPause.microseconds << Int64(self.failures - 1))
    }

    package var hasGivenUp: Bool { self.failures > Self.attempts }
}
