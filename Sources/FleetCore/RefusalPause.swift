import Motion

/// How long to wait with what a server has refused for now: the longer the more often it has.
struct RefusalPause: Sendable {
    var until = Timestamp.zero
    private var times = ReconnectTimes()

    mutating func add(at now: Timestamp, chance: UInt64) {
        // What was on its way together is refused together.
        guard now >= self.until else { return }
        self.until = now + self.times.failed(at: now, chance: chance)
        // Where all goes well for long from then on the next pause is a short one again.
        self.times.connected(at: self.until)
    }
}
