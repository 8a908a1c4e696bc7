/// Due events that wait for the writer, and how many there are of them until they are on the disk.
package struct WaitingDue: Sendable {
    private var changes = DueChanges()
    /// Due events that are on no disk yet: these, and those that the writer has taken.
    package private(set) var outstanding = 0

    package init() {}

    package var isEmpty: Bool { self.changes.isEmpty }

    /// - Parameter isKnown: It was to be kept before, and may be on the disk.
    package mutating func add(_ event: DueEvent, isKnown: Bool = false) {
        self.outstanding += 1
        self.changes.add(event, isKnown: isKnown)
    }

    package mutating func remove(_ event: DueEvent) { self.changes.remove(event) }

    /// Hands the changes over, on top of those that the writer has.
    package mutating func take(into taken: inout DueChanges) {
        taken.merge(self.changes)
        self.changes = DueChanges()
        self.outstanding = taken.count
    }

    /// The writer tried, and still has so many.
    package mutating func setTaken(_ count: Int) { self.outstanding = self.changes.count + count }
}
