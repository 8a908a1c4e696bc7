import Motion

/// What is left to do when many have gone: it may wait, and is done a little at a time.
extension Broker {
    /// Memory is given back when so many apps and detectors have gone.
    private static let manyGone = 256

    var isCleaningDue: Bool { self.sensing.hasLeftovers }
    var isShrinkingDue: Bool { self.registry.gone >= Self.manyGone && !self.sensing.hasLeftovers }

    /// Takes some detectors of apps that left from their engines.
    package mutating func clean(_ actions: inout [BrokerAction]) {
        guard self.sensing.hasLeftovers else { return }
        self.giveBack(self.sensing.discardLeftovers())
        if !self.sensing.hasLeftovers { self.steer(&actions) }
    }

    /// Gives back memory that was needed for those who have gone.
    package mutating func shrink() {
        self.registry.shrink()
        self.sensing.shrink()
        self.mailboxes.shrink()
        self.mail.shrink()
        self.decisions.shrink()
    }
}
