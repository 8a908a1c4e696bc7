package import Motion

/// How many messages may be on their way: fewer than the server takes, and some of them kept for what is live.
package struct SendWindow: Equatable, Sendable {
    private let wanted: Int
    private var limit: Int
    package private(set) var live = 0
    package private(set) var past = 0
    /// Nothing of before is sent until then: the server has refused something for now.
    package private(set) var pausedUntil = Timestamp.zero
    private var pauses = ReconnectTimes()

    package init(_ wanted: Int) {
        self.wanted = max(2, wanted)
        self.limit = self.wanted
    }

    /// A connection begins: nothing is on its way.
    package mutating func open(receiveMaximum: Int) {
        self.limit = max(1, min(self.wanted, receiveMaximum))
        (self.live, self.past) = (0, 0)
        self.pausedUntil = .zero
    }

    private var count: Int { self.live + self.past }
    package var hasRoom: Bool { self.count < self.limit }
    /// What is past leaves a quarter to what is live.
    package func hasRoomForPast(at now: Timestamp) -> Bool {
        now >= self.pausedUntil && self.hasRoom && self.past < max(1, self.limit - max(1, self.limit / 4))
    }

    package mutating func send(isPast: Bool) { if isPast { self.past += 1 } else { self.live += 1 } }
    package mutating func acknowledge(isPast: Bool) {
        if isPast { self.past = max(0, self.past - 1) } else { self.live = max(0, self.live - 1) }
    }

    /// The server has refused something for now: what is of before waits, the longer the more often.
    package mutating func pause(at now: Timestamp, chance: UInt64) {
        // What was on its way together is refused together.
        guard now >= self.pausedUntil else { return }
        self.pausedUntil = now + self.pauses.failed(at: now, chance: chance)
        // Where all goes well for long from then on the next pause is a short one again.
        self.pauses.connected(at: self.pausedUntil)
    }
}
