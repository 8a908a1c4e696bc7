package import Arbitration
package import Motion

/// What a winning app receives.
package struct Event: Equatable, Sendable {
    package var content: EventContent
    /// What the rule that decided says about the way to the app.
    package var terms: DeliveryTerms
    /// When it is too old to be of use, in arrival time.
    package var ends: Timestamp
    /// Who of those that wait to be launched goes first.
    package var strength: Int
    /// The app may leave the event to the next until this arrival time; `nil` when nobody is next.
    package var answerBy: Timestamp?
    /// It was sent before, and may have come.
    package var isRedelivered = false
    /// It is on the disk, and outlives the broker.
    package var isPersistent = false
    /// Its app was nobody's when it was decided.
    var wasNobodys = false

    package init(
        _ content: EventContent, _ terms: DeliveryTerms, ends: Timestamp, strength: Int = 0,
        answerBy: Timestamp? = nil
    ) {
        self.content = content
        self.terms = terms
        self.ends = ends
        self.strength = strength
        self.answerBy = answerBy
    }

    package var sequence: UInt64 { self.content.sequence }
    package var epoch: UInt64 { self.content.epoch }
    package var generation: UInt64 { self.content.generation }
    package var time: Timestamp { self.content.time }
    package var detector: String { self.content.detector }
    package var peak: Double { self.content.peak }
    package var isSimulated: Bool { self.content.isSimulated }
    package var isClipped: Bool { self.content.isClipped }
    package var note: HitNote { self.content.note }

    /// What tells it from all others of its app. Its number may become another.
    struct Identity: Hashable {
        let epoch: UInt64
        let time: Timestamp
        let detector: String
    }

    var identity: Identity { Identity(epoch: self.epoch, time: self.time, detector: self.detector) }

    /// Whether it is kept until the app acknowledges it.
    package var wantsAck: Bool { self.terms.reliability == .ack }

    /// Whether it waits for its app when that leaves the bus.
    var outlivesClient: Bool { self.terms.kind != .live || self.wantsAck }

    /// About how many bytes it takes on the bus, and no less than in memory.
    package var bytes: Int {
        let extra =
            (self.isSimulated ? 24 : 0) + (self.isClipped ? 24 : 0) + (self.wantsAck ? 88 : 0)
            + (self.note == .none ? 0 : 64)
            + (self.answerBy == nil ? 0 : 32)
        return 280 + self.detector.utf8.count + extra
    }
}

/// What an app is told between its events, in their order.
package enum Mark: Equatable, Sendable {
    case gap(Gap)
    case caughtUp(CaughtUp)

    /// About how many bytes it takes on the bus.
    package static let bytes = 320
}

/// Events that were due to an app and that it does not get.
package struct Gap: Equatable, Sendable {
    package var first: UInt64
    package var last: UInt64
    package var losses: Losses

    package init(first: UInt64, last: UInt64, losses: Losses) {
        self.first = first
        self.last = last
        self.losses = losses
    }

    /// The one number of an event that ended so.
    init(of sequence: UInt64, _ end: EventEnd) {
        self.init(first: sequence, last: sequence, losses: Losses())
        self.losses.count(end)
    }
}

/// How many events ended unsent, and of what.
package struct Losses: Equatable, Sendable {
    /// Newer ones needed the room.
    package var dropped: UInt32 = 0
    /// They grew too old.
    package var expired: UInt32 = 0
    /// What they were for is gone.
    package var removed: UInt32 = 0

    package init(dropped: UInt32 = 0, expired: UInt32 = 0, removed: UInt32 = 0) {
        self.dropped = dropped
        self.expired = expired
        self.removed = removed
    }

    package var isEmpty: Bool { self == Losses() }

    static func += (a: inout Losses, b: Losses) {
        a.dropped &+= b.dropped
        a.expired &+= b.expired
        a.removed &+= b.removed
    }

    mutating func count(_ end: EventEnd) {
        switch end {
        case .dropped, .unkept: self.dropped &+= 1
        case .expired, .launchFailed: self.expired &+= 1
        case .removed: self.removed &+= 1
        case .sent, .acknowledged: break
        }
    }
}

/// All that was kept for an app when it subscribed has been sent, or has ended.
package struct CaughtUp: Equatable, Sendable {
    /// The number of the last of them.
    package var last: UInt64

    package init(last: UInt64) {
        self.last = last
    }
}
