import Testing

@testable import JostleClient

@Suite struct ArrivalsTests {
    /// The number that a mark carries.
    private func number(_ arrival: Arrival?) -> UInt64? {
        if case .caughtUp(let number) = arrival { number } else { nil }
    }

    @Test func whatArrivesDuringACallWaitsInOrder() {
        var arrivals = Arrivals()
        #expect(self.number(arrivals.take(.caughtUp(1))) == 1)
        arrivals.callBegins()
        #expect(arrivals.take(.caughtUp(2)) == nil)
        #expect(arrivals.release().count == 0)
        #expect(arrivals.callEnds() == true)
        // Nothing overtakes what waits.
        #expect(arrivals.take(.caughtUp(3)) == nil)
        #expect(arrivals.release().map { self.number($0) } == [2, 3])
        #expect(self.number(arrivals.take(.caughtUp(4))) == 4)
    }

    @Test func theEndOfTheNextCallSaysSoAgain() {
        var arrivals = Arrivals()
        arrivals.callBegins()
        #expect(arrivals.callEnds() == false)
        arrivals.callBegins()
        #expect(arrivals.take(.caughtUp(1)) == nil)
        #expect(arrivals.callEnds() == true)
        arrivals.callBegins()
        #expect(arrivals.release().count == 0)
        #expect(arrivals.callEnds() == true)
        #expect(arrivals.release().map { self.number($0) } == [1])
    }
}
