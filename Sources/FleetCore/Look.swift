package import Motion

/// Tells when an operator's program has heard all that a server keeps.
///
/// A server answers a subscription before it brings what it keeps, and does not say which message is the last.
package struct Look: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        /// Nothing more is to be done for so long, unless something comes.
        case wait(TimeSpan)
        case done
        /// It took too long, and there may be more.
        case late
    }

    /// How long nothing that was kept comes, once a message of our own came back: most servers bring that behind what they keep.
    package static let quiet = TimeSpan.milliseconds(300)
    /// The same without such a message.
    package static let longQuiet = TimeSpan.seconds(1)

    private let end: Timestamp
    private var last: Timestamp
    private var isMarked = false

    /// - Parameter patience: how long it may take.
    package init(at now: Timestamp, atMost patience: TimeSpan) {
        (self.last, self.end) = (now, now + patience)
    }

    /// A message came. What was not kept is said now, by devices that may never be still, and is no part of it.
    package mutating func heard(isKept: Bool, at now: Timestamp) { if isKept { self.last = now } }

    /// Our own message came back.
    package mutating func marked() { self.isMarked = true }

    package func step(at now: Timestamp) -> Step {
        let still = self.last + (self.isMarked ? Self.quiet : Self.longQuiet)
        if now >= still { return .done }
        return now >= self.end ? .late : .wait(min(still, self.end) - now)
    }
}
