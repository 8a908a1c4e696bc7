import Arbitration
import Motion
import Testing

@testable import Journal

/// What is to be done to the due events on the disk comes to the same as each word for itself.
@Suite struct DueChangesTests {
    private static let event = DueEvent(
        app: AppID("org.example.A"), user: 1,
        EventContent(
            sequence: 1, epoch: 1, generation: 1, time: .zero, detector: "d", peak: 1, isSimulated: false,
            isClipped: false), DeliveryTerms(), ends: 1)

    /// What a disk has after changes, that had the event before or not.
    private static func disk(_ changes: DueChanges, had isThere: Bool) -> Bool {
        guard let change = changes.events[Self.event.key] else { return isThere }
        return change != nil
    }

    @Test func whatWasNotOnTheDiskNeedNotBeTakenFromThere() {
        var changes = DueChanges()
        changes.add(Self.event)
        changes.remove(Self.event)
        #expect(changes.isEmpty)
    }

    /// An event on the disk is over, comes back because its app does not read, and then goes.
    @Test func whatComesBackBeforeItWasForgottenIsForgottenInTheEnd() {
        var changes = DueChanges()
        changes.remove(Self.event)
        changes.add(Self.event)
        #expect(Self.disk(changes, had: true))
        changes.remove(Self.event)
        #expect(!Self.disk(changes, had: true))
    }

    @Test func whatIsStoredAgainIsForgottenInTheEnd() {
        var changes = DueChanges()
        changes.add(Self.event, isKnown: true)
        changes.remove(Self.event)
        #expect(!Self.disk(changes, had: true))
    }

    /// The disk says that it failed, and has the event all the same. It is over before the next try.
    @Test func whatADiskThatFailedMayHaveIsForgottenInTheEnd() {
        var changes = DueChanges()
        changes.add(Self.event)
        changes.mayBeThere()
        #expect(Self.disk(changes, had: false))
        var later = DueChanges()
        later.remove(Self.event)
        changes.merge(later)
        #expect(!Self.disk(changes, had: true))
    }

    /// Each list of words, however it is cut in two, of which the writer may have the first already.
    @Test(arguments: 0..<64) func itDoesNotMatterWhatTheWriterHasAlready(_ bits: Int) {
        let adds = (0..<6).map { bits >> $0 & 1 == 1 }
        for cut in 0...adds.count {
            var (taken, later) = (DueChanges(), DueChanges())
            for (index, add) in adds.enumerated() {
                if index < cut {
                    if add { taken.add(Self.event, isKnown: true) } else { taken.remove(Self.event) }
                } else {
                    if add { later.add(Self.event, isKnown: true) } else { later.remove(Self.event) }
                }
            }
            taken.merge(later)
            #expect(Self.disk(taken, had: true) == adds.last, "\(adds) cut at \(cut)")
        }
    }
}
