import FleetCore
import Testing

/// An event of the bridge's own detectors comes from the bus and stands in the journal, and is sent once.
@Suite struct OwnEventsTests {
    private func name(_ sequence: UInt64) -> EventName {
        EventName(app: "org.jostle.Bridge", epoch: 1, sequence: sequence)
    }

    /// On a busy machine the row is read before the bus brings the event: what is sent then is the row.
    @Test func aRowThatIsReadFirstIsTheEvent() {
        var events = OwnEvents()
        let rowFirst = events.found(self.name(1), in: 7)
        let late = events.begin(self.name(1))
        #expect(rowFirst == .unknown && late == .read(row: 7))
        let early = events.begin(self.name(2))
        let rowThen = events.found(self.name(2), in: 8)
        let again = events.begin(self.name(2))
        #expect(early == .new && rowThen == .underWay(nil) && again == .known)
    }

    /// All that was read of an outage is not remembered for good.
    @Test func onlyTheNewestRowsAreRemembered() {
        var events = OwnEvents()
        for sequence in 1...3_000 { _ = events.found(self.name(UInt64(sequence)), in: Int64(sequence)) }
        let (oldest, newest) = (events.begin(self.name(1)), events.begin(self.name(3_000)))
        #expect(oldest == .new && newest == .read(row: 3_000))
    }
}
