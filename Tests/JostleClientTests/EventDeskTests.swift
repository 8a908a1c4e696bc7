import Loop
import Testing

@testable import JostleClient

@Suite struct EventDeskTests {
    private func event(_ sequence: UInt64, wantsAck: Bool = true, isRedelivered: Bool = false) -> MotionEvent {
        MotionEvent(
            sequence: sequence, epoch: sequence + 100, time: 0, detector: "d", peak: 1, isSimulated: false,
            isClipped: false, wantsAck: wantsAck, isRedelivered: isRedelivered, isPersistent: false, received: 0)
    }

    @Test func whatWantsAnAnswerIsOpenUntilItIsAnswered() {
        var desk = EventDesk()
        let event = self.event(1)
        #expect(desk.take(event) == .due(wantsAck: true))
        #expect(desk.isOpen(event))
        desk.close(self.event(2))
        #expect(desk.isOpen(event))
        desk.close(event)
        #expect(!desk.isOpen(event))
    }

    @Test func whatWantsNoneIsOnlyHandedOut() {
        var desk = EventDesk()
        let event = self.event(1, wantsAck: false)
        #expect(desk.take(event) == .due(wantsAck: false))
        #expect(!desk.isOpen(event))
        // An app that may pass it on owes an answer, too.
        var chained = event
        chained.answerBy = 1
        #expect(desk.take(chained) == .due(wantsAck: true))
    }

    @Test func copiesOfWhatWasAnsweredAreNotHandedOut() {
        var desk = EventDesk()
        desk.remember(self.event(1).name)
        #expect(desk.take(self.event(1, isRedelivered: true)) == .answered)
        // The number alone is of another epoch's event.
        #expect(desk.take(self.event(2, isRedelivered: true)) == .due(wantsAck: true))
        #expect(desk.take(self.event(1)) == .due(wantsAck: true))
        // The app was launched with it, and the broker had given that up.
        #expect(desk.take(self.event(1, wantsAck: false, isRedelivered: true)) == .kept)
        #expect(desk.take(self.event(2, wantsAck: false, isRedelivered: true)) == .due(wantsAck: false))
        desk.answersByItself = false
        #expect(desk.take(self.event(1, isRedelivered: true)) == .due(wantsAck: false))
    }

    @Test func soManyWaitToBeAskedFor() {
        var desk = EventDesk()
        desk.beginSequence()
        let most = UInt64(Arrivals.mostEvents)
        let courses = (1...most).map { desk.take(self.event($0, wantsAck: $0 == 1)) }
        #expect(courses.allSatisfy { $0 == .kept })
        let gap = EventGap(first: 2, last: 2, dropped: 1, expired: 0, removed: 0)
        #expect(desk.take(self.event(most + 1, wantsAck: false)) == .keptInPlaceOf(gap))
        let numbers = (0..<2).map { _ in desk.next()?.sequence }
        #expect(numbers == [1, 3])
    }

    @Test func soManyAnswersAreRemembered() {
        var desk = EventDesk()
        for number in 1...33 { desk.remember(self.event(UInt64(number)).name) }
        #expect(desk.lastAnswered == self.event(33).name)
        #expect(desk.take(self.event(1, isRedelivered: true)) == .due(wantsAck: true))
        #expect(desk.take(self.event(2, isRedelivered: true)) == .answered)
    }

    @Test func allThatItWasLaunchedWithIsRemembered() {
        var desk = EventDesk()
        let events = (1...100).map { self.event($0) }
        desk.remember(launched: events)
        #expect(desk.lastAnswered == events[99].name)
        for number in 101...132 { desk.remember(self.event(UInt64(number)).name) }
        // One that was answered before takes no place of another.
        desk.remember(self.event(132).name)
        let copies = (1...132).map { desk.take(self.event($0, isRedelivered: true)) }
        #expect(copies.allSatisfy { $0 == .answered })
        desk.remember(self.event(133).name)
        #expect(desk.take(self.event(1, isRedelivered: true)) == .due(wantsAck: true))
    }

    /// Of what was answered late nothing is asked for again.
    @Test func theNewestAnswerCounts() {
        var desk = EventDesk()
        for number in [3, 5, 4, 2] as [UInt64] { desk.remember(self.event(number).name) }
        #expect(desk.lastAnswered == self.event(5).name)
        // The next broker has given it a number of its own.
        let other = MotionEvent.Name(sequence: 1, epoch: 1_000)
        desk.remember(other)
        #expect(desk.lastAnswered == other)
        // In a group a later event may be of an earlier epoch.
        let late = MotionEvent.Name(sequence: 2, epoch: 999)
        desk.remember(late)
        #expect(desk.lastAnswered == late)
    }

    /// The work may take long, and handle what comes meanwhile.
    @Test func oneByOneNoCopyIsHandedOut() {
        var desk = EventDesk()
        desk.beginSequence()
        #expect(desk.take(self.event(1)) == .kept)
        #expect(desk.take(self.event(1, isRedelivered: true)) == .kept)
        #expect(desk.next() == self.event(1))
        #expect(desk.take(self.event(1, isRedelivered: true)) == .kept)
        #expect(!desk.hasNext)
        // What an earlier run may have had is handed out.
        let other = self.event(2, isRedelivered: true)
        #expect(desk.take(other) == .kept)
        #expect(desk.finishGiven() == self.event(1))
        #expect(desk.next() == other)
        // Whoever answers for himself hears of every copy.
        desk.answersByItself = false
        #expect(desk.take(other) == .kept)
        #expect(desk.next() == other)
    }

    /// What the app was launched with is done before what came earlier and waits, or is being worked on: an answer would be for that, too.
    @Test func oneByOneWhatIsNotDoneIsNotAnsweredWithALaunch() {
        var desk = EventDesk()
        desk.beginSequence()
        #expect(desk.take(self.event(1)) == .kept)
        desk.remember(self.event(2).name)
        #expect(desk.take(self.event(2, isRedelivered: true)) == .kept)
        #expect(desk.lastAnswered == nil)
        #expect(desk.next() == self.event(1))
        #expect(desk.take(self.event(2, isRedelivered: true)) == .kept)
        #expect(desk.finishGiven() == self.event(1))
        desk.remember(self.event(1).name)
        #expect(desk.lastAnswered == self.event(1).name)
        #expect(desk.take(self.event(2, isRedelivered: true)) == .answered)
        #expect(!desk.hasNext)
    }

    /// What waits is for the next loop: in a task that is cancelled all work may be broken off, and would count as done.
    @Test func oneByOneWhoIsCancelledIsHandedNothing() async throws {
        let (signs, sign) = AsyncStream.makeStream(of: Void.self)
        let events = (1...3).map { self.event($0) }
        let task = Task { () async throws -> [UInt64?] in
            defer { sign.finish() }
            let client = JostleApp(app: "", on: .address("unix:path=/nowhere"), loop: try EventLoop())
            var iterator = client.events().makeAsyncIterator()
            for event in events { client.arrived(.event(event)) }
            let first = try await iterator.next()
            sign.yield()
            while !Task.isCancelled { await Task.yield() }
            let second = try await iterator.next()
            return [first?.sequence, second?.sequence, client.nextEvent()?.sequence]
        }
        for await _ in signs { break }
        task.cancel()
        let numbers = try await task.value
        #expect(numbers == [1, nil, 2])
    }

    @Test func oneByOneTheLastIsFinishedOnce() {
        var desk = EventDesk()
        desk.beginSequence()
        #expect(desk.take(self.event(1)) == .kept)
        #expect(desk.take(self.event(2)) == .kept)
        #expect(desk.finishGiven() == nil)
        #expect(desk.next() == self.event(1))
        #expect(desk.hasNext)
        #expect(desk.finishGiven() == self.event(1))
        #expect(desk.finishGiven() == nil)
        #expect(desk.next() == self.event(2))
        #expect(!desk.hasNext)
        // Whoever answered it is not answered for.
        desk.remember(self.event(2).name)
        #expect(desk.finishGiven() == nil)
        #expect(desk.next() == nil)
    }
}
