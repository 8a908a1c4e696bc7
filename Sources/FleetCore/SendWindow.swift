/// How many messages may be on their way: fewer than the server takes, and some of them kept for what is live.
package struct SendWindow: Equatable, Sendable {
    private let wanted: Int
    private var limit: Int
    package private(set) var live = 0
    package private(set) var past = 0

    package init(_ wanted: Int) {
        self.wanted = max(2, wanted)
        self.limit = self.wanted
    }

    /// A connection begins: nothing is on its way.
    package mutating func open(receiveMaximum: Int) {
        self.limit = max(1, min(self.wanted, receiveMaximum))
        (self.live, self.past) = (0, 0)
    }

    private var count: Int { self.live + self.past }
    package var hasRoom: Bool { self.count < self.limit }
    /// What is past leaves a quarter to what is live.
    package var hasRoomForPast: Bool { self.hasRoom && self.past < max(1, self.limit - max(1, self.limit / 4)) }

    package mutating func send(isPast: Bool) { if isPast { self.past += 1 } else { self.live += 1 } }
    package mutating func acknowledge(isPast: Bool) {
        if isPast { self.past = max(0, self.past - 1) } else { self.live = max(0, self.live - 1) }
    }
}
