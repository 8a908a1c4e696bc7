import Motion

/// Due events that wait for the writer, and how many there are of them until they are on the disk.
///
/// What is over is to be taken from the disk only if it was handed over, or was there before us: of all else nothing stays here. So while
/// the disk does not answer, there are no more changes than events were due when that began, and those for which there is room besides,
/// however many become due and are over meanwhile.
package struct WaitingDue: Sendable {
    private var changes = DueChanges()
    /// What is due, and is on the disk or on its way there.
    private var handedOver: Set<DueEvent.Key> = []
    /// How many changes the writer has taken.
    private var taken = 0

    package init() {}

    package var isEmpty: Bool { self.changes.isEmpty }
    /// Changes that are on no disk yet: these, and those that the writer has taken.
    package var outstanding: Int { self.changes.count + self.taken }

    /// These were on the disk before us.
    package mutating func restored(_ events: [DueEvent]) { self.handedOver.formUnion(events.lazy.map(\.key)) }

    /// - Parameters:
    ///   - isKnown: It was to be kept before, and may be on the disk.
    ///   - most: When so many changes are on no disk yet, it is left out.
    /// - Returns: Whether it comes to the disk.
    @discardableResult
    package mutating func add(_ event: DueEvent, isKnown: Bool = false, upTo most: Int = .max) -> Bool {
        guard self.outstanding < most else { return false }
        self.handedOver.insert(event.key)
        self.changes.add(event, isKnown: isKnown)
        return true
    }

    package mutating func remove(_ event: DueEvent) {
        guard self.handedOver.remove(event.key) != nil else { return }
        self.changes.remove(event)
    }

    /// Hands the changes over, on top of those that the writer has.
    package mutating func take(into taken: inout DueChanges) {
        taken.merge(self.changes)
        self.changes = DueChanges()
        self.taken = taken.count
        self.handedOver.shrink()
    }

    /// The writer tried, and still has so many.
    package mutating func setTaken(_ count: Int) { self.taken = count }
}
