import Testing

@testable import JostleClient

@Suite struct ArrivalsTests {
    /// The number that a mark carries.
    private func number(_ arrival: Arrival?) -> UInt64? {
        if case .caughtUp(let number) = arrival { number } else { nil }
    }

    @Test func theyAreToldInOrderAndOneByOne() {
        var arrivals = Arrivals()
        #expect(arrivals.isEmpty)
        #expect(arrivals.begin() == false)
        for number: UInt64 in 1...3 { arrivals.add(.caughtUp(number)) }
        #expect(arrivals.begin() == true)
        #expect(arrivals.isTelling)
        #expect(self.number(arrivals.next()) == 1)
        // Whoever is being told brings the next one in, and is not told of it before it has gone on.
        arrivals.add(.caughtUp(4))
        #expect(arrivals.begin() == false)
        #expect(self.number(arrivals.next()) == 2)
        arrivals.end()
        #expect(!arrivals.isEmpty)
        #expect(arrivals.begin() == true)
        #expect(self.number(arrivals.next()) == 3)
        #expect(self.number(arrivals.next()) == 4)
        #expect(self.number(arrivals.next()) == nil)
        #expect(arrivals.isEmpty)
        arrivals.end()
        #expect(arrivals.begin() == false)
    }

    private func event(_ sequence: UInt64, wantsAck: Bool = false) -> MotionEvent {
        MotionEvent(
            sequence: sequence, epoch: sequence + 100, time: 0, detector: "d", peak: 1, isSimulated: false,
            isClipped: false, wantsAck: wantsAck, isRedelivered: false, isPersistent: false, received: 0)
    }

    /// Then the oldest give way in their place, and none that the broker would send again.
    @Test func soManyEventsWait() {
        var arrivals = Arrivals()
        arrivals.add(.event(self.event(1, wantsAck: true)))
        for number in 2...UInt64(Arrivals.mostEvents + 3) { arrivals.add(.event(self.event(number))) }
        #expect(arrivals.count == Arrivals.mostEvents + 1)
        #expect(arrivals.begin() == true)
        guard case .event(let first)? = arrivals.next(), case .gap(let gap)? = arrivals.next(),
            case .event(let second)? = arrivals.next()
        else {
            Issue.record("they are told otherwise")
            return
        }
        #expect(first.sequence == 1 && second.sequence == 5)
        #expect(gap == EventGap(first: 2, last: 4, dropped: 3, expired: 0, removed: 0))
        // Who was told makes room.
        arrivals.add(.event(self.event(5_000)))
        arrivals.end()
        #expect(arrivals.count == Arrivals.mostEvents - 1)
    }

    @Test func whatArrivesDuringACallWaitsForItsAnswer() {
        var arrivals = Arrivals()
        arrivals.callBegins()
        arrivals.add(.caughtUp(1))
        #expect(arrivals.begin() == false)
        arrivals.callBegins()
        arrivals.callEnds()
        #expect(arrivals.begin() == false)
        arrivals.callEnds()
        #expect(arrivals.begin() == true)
        // A call of the handler's own changes nothing about who is told next.
        #expect(self.number(arrivals.next()) == 1)
        arrivals.callBegins()
        arrivals.add(.caughtUp(2))
        arrivals.callEnds()
        #expect(self.number(arrivals.next()) == 2)
        arrivals.end()
        #expect(arrivals.isEmpty)
    }
}
