import Arbitration
import Loop
import Motion
import Testing

@testable import BrokerCore

/// What is in an app's hands in a call while it comes by itself, reads and acknowledges, and while what it was called for ends.
@Suite struct CallTests {
    private func bench() -> QueueBench {
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        bench.perform { _ = $0.beginCall(at: $1, &$2) }
        return bench
    }

    // MARK: Queues

    /// With a large `QueueBytes` very much is handed over at once, and what is left of it is looked at then.
    @Test func aCallCostsNoMoreForEachEventHoweverManyThereAre() {
        func spent(_ count: Int) -> Int64 {
            var bench = QueueBench(keeping: 64 << 20, isSubscribed: false)
            for _ in 0..<count { bench.add(.ack, lifespan: 60_000, kind: .wake, .persistent) }
            for event in bench.persisted {
                bench.queue.persisted(EventName(sequence: event.sequence, epoch: event.epoch))
            }
            let begin = Clock.threadTime()
            var call: Handover?
            bench.perform { call = $0.beginCall(at: $1, &$2) }
            var queue = bench.queue
            let left = call?.left(in: &queue)
            let cost = Clock.threadTime() - begin
            #expect(left == call && left?.events.map(\.sequence) == (1...UInt64(count)).map { $0 })
            return cost
        }
        let (few, many) = (min(spent(512), spent(512)), spent(32_768))
        // As the square of it, it would be 4 096 times as much.
        #expect(many < 1_024 * few, "\(many) us and \(few) us")
    }

    /// The same where all of it is brought to the disk anew meanwhile, as when the clock is set, and where the call fails when as much has come
    /// since.
    @Test func aCallThatFailsCostsNoMoreForEachEventHoweverManyThereAre() {
        func spent(_ count: Int) -> Int64 {
            var bench = QueueBench(keeping: 64 << 20, isSubscribed: false)
            for _ in 0..<count { bench.add(.ack, lifespan: 60_000, kind: .wake, .persistent) }
            bench.perform { _ = $0.beginCall(at: $1, &$2) }
            for _ in 0..<count { bench.add(.ack, lifespan: 60_000, kind: .wake) }
            let begin = Clock.threadTime()
            for event in bench.persisted {
                bench.queue.persisted(EventName(sequence: event.sequence, epoch: event.epoch))
            }
            bench.perform { $0.callFailed(.silent, at: $1, &$2) }
            let cost = Clock.threadTime() - begin
            let waiting = bench.queue.waiting.all.map(\.event)
            #expect(waiting.map(\.sequence) == (1...UInt64(2 * count)).map { $0 })
            #expect(waiting.filter(\.isPersistent).map(\.sequence) == (1...UInt64(count)).map { $0 })
            return cost
        }
        let (few, many) = (min(spent(512), spent(512)), spent(32_768))
        // As above.
        #expect(many < 1_024 * few, "\(many) us and \(few) us")
    }

    /// Whoever acknowledges what came later has not had what it was to be called for.
    @Test func anAcknowledgementCoversNothingOfACall() {
        var bench = self.bench()
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        #expect(bench.take() == ["caught up 1", "send 2"])
        #expect(bench.ack(2) == .taken)
        #expect(bench.take() == ["2 S5.acknowledged"])
        bench.perform { $0.callFailed(.silent, at: $1, &$2) }
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        _ = bench.take()
        bench.pass(to: 1)
        #expect(bench.ack(3) == .taken)
        #expect(bench.ended.map(\.event.sequence) == [2, 1, 3])
    }

    /// And not what went out behind it, because its call had failed.
    @Test func anAcknowledgementCoversNothingThatWentLater() {
        var bench = self.bench()
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        bench.perform { $0.callFailed(.silent, at: $1, &$2) }
        bench.pass(to: 1)
        #expect(bench.take() == ["caught up 1", "send 2", "send 1 again"])
        #expect(bench.ack(2) == .taken)
        #expect(bench.take() == ["2 S5.acknowledged"])
        #expect(bench.ack(1) == .taken)
        #expect(bench.take() == ["1 S5.acknowledged"])
    }

    /// What another broker sent may be answered to this one, on a connection on which newer events of lower numbers were sent.
    @Test func anAnswerToWhatAnotherBrokerSentCoversNothingNew() throws {
        var other = QueueBench()
        other.add(.ack, lifespan: 60_000, kind: .store, .persistent)
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000)
        for event in other.persisted { bench.perform { $0.restore(event, at: $1, &$2) } }
        bench.pass(to: 1)
        #expect(bench.take() == ["send 1", "send 2 again"])
        #expect(bench.ack(2, epoch: 1) == .taken)
        #expect(bench.take() == ["forget 2", "2 S5.acknowledged"])
        #expect(bench.ack(1) == .taken)
        #expect(bench.take() == ["1 S5.acknowledged"])
    }

    /// It became another's while it was handed over, and then nobody was there: the app is told of it.
    @Test(arguments: [(LaunchFailure.notStarted, true), (.unknown, true), (.silent, false), (.left, false)])
    func whatEndsInACallThatNobodyHadIsTold(_ failure: LaunchFailure, _ isTold: Bool) {
        var bench = self.bench()
        bench.perform { $0.remove(epoch: 1, at: $1, &$2) }
        bench.perform { $0.callFailed(failure, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["1 S5.removed"] + (isTold ? ["gap 1-1 0/0/1"] : []) + ["caught up 1"])
    }

    /// A launch failed before anybody was called, as where its program hangs or its connection owes an answer: nobody has seen what it
    /// was for, and where that is over then, the app is told so.
    @Test(arguments: [LaunchFailure.silent, .left, .refused])
    func whatNobodyWasCalledWithIsUnseen(_ failure: LaunchFailure) {
        var bench = self.bench()
        bench.add(.ack, lifespan: 1_000, kind: .wake)
        bench.perform { $0.callFailed(.notStarted, at: $1, &$2) }
        bench.perform { _ = $0.beginCall(at: $1, &$2) }
        bench.perform { queue, _, _ in queue.setCalled(false) }
        bench.perform { $0.callFailed(failure, at: $1, &$2) }
        bench.pass(to: 1_000)
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["2 S5.launch-failed", "send 1", "gap 2-2 0/1/0", "caught up 2"])
    }

    /// What has become another's before anybody is called with it is not handed over: the call says so, and of what is behind it the app is
    /// told as ever.
    @Test func whatEndsBeforeAnybodyIsCalledIsNotHandedOver() {
        var bench = QueueBench(isSubscribed: false)
        for _ in 0..<3 { bench.add(.ack, lifespan: 60_000, kind: .wake) }
        var call = Handover(to: 7)
        bench.perform { queue, now, actions in
            call = queue.beginCall(at: now, &actions)
            call.user = 7
        }
        bench.perform { queue, _, _ in queue.setCalled(false) }
        for epoch: UInt64 in [1, 3] { bench.perform { $0.remove(epoch: epoch, at: $1, &$2) } }
        var left: Handover?
        // It may have to wait until it can be called.
        for _ in 0..<2 { bench.perform { queue, _, _ in left = call.left(in: &queue) } }
        #expect(left?.events.map(\.sequence) == [2] && left?.missing == 1)
        var (other, none) = (bench, left)
        other.perform { $0.remove(epoch: 2, at: $1, &$2) }
        other.perform { queue, now, _ in
            none = call.left(in: &queue)
            // Nobody need be called.
            queue.callPostponed(at: now)
        }
        #expect(none == nil && !other.queue.isCalled)
        bench.perform { queue, _, _ in queue.setCalled(true) }
        bench.perform { $0.callAnswered(at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(
            bench.take() == ["1 S5.removed", "3 S5.removed", "2 S5.acknowledged", "gap 3-3 0/0/1", "caught up 3"])
        other.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(other.take() == ["1 S5.removed", "3 S5.removed", "2 S5.removed", "gap 1-3 0/0/3", "caught up 3"])
    }

    /// What was on its way out when an app was suspended, and could not be sent after all, does not come behind what the app is called with.
    @Test(arguments: [Reliability.ack, .bestEffort]) func whatComesBackGoesWithWhatIsBehindIt(
        _ reliability: Reliability
    ) {
        var bench = QueueBench(isSubscribed: false)
        bench.add(reliability, lifespan: 60_000, kind: .wake)
        var out: [QueueAction] = []
        bench.perform { queue, now, actions in
            _ = queue.subscribe(at: now, &out)
            queue.setReachable(false, at: now, &actions)
        }
        bench.add(reliability, lifespan: 60_000, kind: .wake)
        var call: Handover?
        bench.perform { call = $0.beginCall(at: $1, &$2) }
        #expect(call?.events.map(\.sequence) == [2] && call?.missing == 0)
        let sent = out.compactMap { if case .send(let event) = $0 { event } else { nil } }
        #expect(sent.map(\.sequence) == [1])
        for event in sent { bench.perform { $0.takeBack(event, at: $1, &$2) } }
        bench.perform { queue, _, _ in call = call?.left(in: &queue) }
        #expect(call?.events.map(\.sequence) == [1, 2] && call?.missing == 0)
        #expect(call?.events.map(\.isRedelivered) == [false, false])
        _ = bench.take()
        bench.perform { $0.callAnswered(at: $1, &$2) }
        #expect(bench.take() == ["1 S5.acknowledged", "2 S5.acknowledged"])
        #expect(bench.queue.isIdle)
    }

    /// And so it is with what ends while it is found out whom to call, and with what is another user's by then.
    @Test func whatEndsBeforeAnybodyIsCalledIsTold() {
        var bench = self.bench()
        bench.perform { queue, _, _ in queue.setCalled(false) }
        bench.perform { $0.remove(epoch: 1, at: $1, &$2) }
        bench.perform { $0.callFailed(.silent, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["1 S5.removed", "gap 1-1 0/0/1", "caught up 1"])
        var nobodys = self.bench()
        nobodys.perform { queue, _, _ in queue.setCalled(false) }
        var other = QueueBench(isSubscribed: false)
        other.add(.ack, lifespan: 60_000, kind: .store)
        other.perform { $0.join(nobodys.queue, at: $1, &$2) }
        other.perform { $0.callFailed(.silent, at: $1, &$2) }
        other.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(other.take() == ["send 1", "send 2", "caught up 2"])
    }

    /// Somebody was called in the end, or is with the next launch: that may have been seen.
    @Test func whoIsCalledLateMayHaveSeenIt() {
        var bench = self.bench()
        bench.perform { queue, _, _ in queue.setCalled(false) }
        bench.perform { queue, _, _ in queue.setCalled(true) }
        bench.perform { $0.callFailed(.silent, at: $1, &$2) }
        var other = self.bench()
        other.perform { queue, _, _ in queue.setCalled(false) }
        other.perform { $0.callFailed(.silent, at: $1, &$2) }
        other.perform { _ = $0.beginCall(at: $1, &$2) }
        other.perform { $0.callFailed(.silent, at: $1, &$2) }
        for var bench in [bench, other] {
            bench.perform { _ = $0.subscribe(at: $1, &$2) }
            #expect(bench.take() == ["send 1 again", "caught up 1"])
        }
    }

    /// What the call said of what is missing is not said again, whatever became of what it was handed.
    @Test func whatACallToldIsNotToldAgain() {
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack, lifespan: 1, kind: .wake)
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        bench.pass(to: 1)
        var missing: UInt64 = 0
        bench.perform { missing = $0.beginCall(at: $1, &$2).missing }
        #expect(missing == 1)
        bench.perform { $0.remove(epoch: 2, at: $1, &$2) }
        bench.perform { $0.callAnswered(at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["1 S5.expired", "2 S5.removed", "caught up 2"])
    }

    /// Behind what its user had, what was nobody's has another number, which nobody has seen.
    @Test func whatEndsUnderANewNumberIsTold() {
        var nobodys = self.bench()
        nobodys.perform { $0.callFailed(.silent, at: $1, &$2) }
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack, lifespan: 60_000, kind: .store)
        bench.perform { $0.join(nobodys.queue, at: $1, &$2) }
        bench.add(.ack, lifespan: 60_000, kind: .store)
        bench.perform { $0.end(.dropped, &$2) { $0.event.sequence == 2 } }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["2 S5.queue-full", "send 1", "gap 2-2 1/0/0", "send 3", "caught up 3"])
    }

    /// All events of a motion have one epoch. Who names the last that he was handed as nobody's does not mean the one that has its number by now,
    /// and has not had what is his own before that.
    @Test func theOldNumberOfWhatWasNobodysNamesNoOther() throws {
        var nobodys = QueueBench(isSubscribed: false)
        for _ in 0..<3 { nobodys.add(.ack, lifespan: 60_000, kind: .wake, epoch: 7) }
        nobodys.perform { _ = $0.beginCall(at: $1, &$2) }
        nobodys.perform { $0.callFailed(.silent, at: $1, &$2) }
        var before = QueueBench(isSubscribed: false)
        before.add(.ack, lifespan: 60_000, kind: .store, .persistent)
        let own = try #require(before.persisted.first)
        var bench = QueueBench(isSubscribed: false)
        bench.perform { $0.restore(own, at: $1, &$2) }
        bench.perform { $0.join(nobodys.queue, at: $1, &$2) }
        #expect(bench.ack(3, epoch: 7) == .unknown && bench.take() == [])
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == (1...4).map { "send \($0) again" } + ["caught up 4"])
        #expect(bench.ack(3, epoch: 7) == .taken)
        #expect(bench.take() == ["forget 1"] + (1...3).map { "\($0) S5.acknowledged" })
    }

    /// It got another number while nobody was there to be called: what is sent then it has seen under that.
    @Test func whatNobodyHadUnderItsOldNumberIsSentUnderTheNew() {
        let nobodys = self.bench()
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack, lifespan: 60_000, kind: .store)
        bench.perform { $0.join(nobodys.queue, at: $1, &$2) }
        bench.perform { $0.callFailed(.notStarted, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 2", "caught up 2"])
        bench.perform { $0.end(.dropped, &$2) { $0.event.sequence == 2 } }
        bench.pass(to: 1)
        #expect(bench.take() == ["2 S5.queue-full"])
    }

    /// It came by itself and has read all, and nobody can start it for what it was to be called for: it is told what it misses.
    @Test func whatNobodyCanBeStartedForIsToldWhenNothingFollows() {
        var bench = self.bench()
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.perform { $0.callFailed(.unknown, at: $1, &$2) }
        #expect(bench.queue.deadline == bench.time)
        bench.pass(to: 1)
        #expect(bench.take() == ["caught up 1", "1 S5.launch-failed", "gap 1-1 0/1/0"])
        #expect(bench.queue.isIdle && bench.queue.deadline == nil)
    }

    /// What was on its way when its app left comes back, and keeps nothing from whoever comes next.
    @Test func whatComesBackFromWhoLeftHoldsNothing() {
        var bench = QueueBench()
        bench.room = 0
        // Both were on their way in one step, before the app was gone.
        var actions: [QueueAction] = []
        let stored = Self.event(kind: .store)
        bench.queue.detach(&actions)
        bench.queue.takeBack(stored, at: bench.time, &actions)
        bench.queue.takeBack(.caughtUp(CaughtUp(last: 1)))
        #expect(!bench.queue.isHeld && bench.queue.waitingCount == 1)
        bench.queue.takeBack(Self.event(kind: .live), at: bench.time, &actions)
        #expect(bench.queue.waitingCount == 1 && actions.last == .ended(Self.event(kind: .live), .removed))
        bench.room = nil
        bench.perform { $0.listen(at: $1, &$2) }
        #expect(bench.take() == ["send 7", "gap 8-8 0/0/1"])
    }

    /// What was on its way twice, and came back, is there once.
    @Test func whatComesBackTwiceIsThereOnce() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000)
        bench.pass(to: 1_000)
        #expect(bench.take() == ["send 1", "send 1 again"])
        var actions: [QueueAction] = []
        for event in bench.sent { bench.queue.takeBack(event, at: bench.time, &actions) }
        #expect(bench.queue.waitingCount == 1 && bench.queue.bytes == bench.queue.keptBytes && actions.isEmpty)
        bench.read()
        #expect(bench.take() == ["send 1"])
    }

    /// Its app left and is called for it, before it comes back: it stays in the call.
    @Test func whatComesBackIntoACallStaysThere() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 1_000, kind: .wake)
        bench.perform { queue, _, actions in queue.detach(&actions) }
        bench.perform { _ = $0.beginCall(at: $1, &$2) }
        var actions: [QueueAction] = []
        for event in bench.sent { bench.queue.takeBack(event, at: bench.time, &actions) }
        #expect(bench.queue.isCalled && bench.queue.waitingCount == 0 && actions.isEmpty)
        bench.perform { $0.callFailed(.notStarted, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 1", "caught up 1"])
    }

    /// It was sent, came back when it was sent again, and its app left: what that is sent when it is back covers nothing of it.
    @Test func whatCameBackBeforeItsAppLeftIsNotCoveredLater() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000, kind: .wake)
        bench.room = 0
        bench.pass(to: 1_000)
        #expect(bench.take() == ["send 1"] && bench.queue.waitingCount == 1)
        bench.room = nil
        bench.perform { queue, _, actions in queue.detach(&actions) }
        bench.perform { _ = $0.beginCall(at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.add(.ack, lifespan: 60_000)
        #expect(bench.take() == ["caught up 1", "send 2"])
        bench.perform { $0.callFailed(.silent, at: $1, &$2) }
        #expect(bench.ack(2) == .taken)
        #expect(bench.ended.map(\.event.sequence) == [2])
    }

    /// What was another's before it came back was never seen.
    @Test func whatComesBackAfterItsEndIsTold() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000)
        bench.perform { $0.remove(epoch: 1, at: $1, &$2) }
        var actions: [QueueAction] = []
        for event in bench.sent { bench.queue.takeBack(event, at: bench.time, &actions) }
        #expect(bench.queue.waitingCount == 0 && actions.isEmpty)
        bench.read()
        #expect(bench.take() == ["send 1", "1 S5.removed", "gap 1-1 0/0/1"])
    }

    /// The same where it was handed over under another number before: that the app may have seen, and this one it has not.
    @Test func whatComesBackUnderItsSecondNumberIsTold() {
        var nobodys = self.bench()
        nobodys.perform { $0.callFailed(.left, at: $1, &$2) }
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack, lifespan: 60_000, kind: .store)
        bench.perform { $0.join(nobodys.queue, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 2 again", "caught up 2"])
        bench.perform { $0.end(.removed, &$2) { $0.event.sequence == 2 } }
        var actions: [QueueAction] = []
        bench.queue.takeBack(bench.sent[1], at: bench.time, &actions)
        bench.read()
        #expect(bench.take() == ["2 S5.removed", "gap 2-2 0/0/1"] && actions.isEmpty)
    }

    /// It came back each time that it was sent, or only the last time, when the app had seen it.
    @Test(arguments: [1, 2]) func whatWasSentTwiceIsToldIfBothCameBack(_ times: Int) {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000)
        bench.pass(to: 1_000)
        bench.perform { $0.remove(epoch: 1, at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 1 again", "1 S5.removed"])
        var actions: [QueueAction] = []
        for event in bench.sent.suffix(times) { bench.queue.takeBack(event, at: bench.time, &actions) }
        bench.read()
        #expect(bench.take() == (times == 2 ? ["gap 1-1 0/0/1"] : []))
    }

    /// An app of whom one event is taken, and what was nobody's comes back: it was handed over under another number.
    private func comesBack(_ nobodys: QueueBench) -> QueueBench {
        var nobodys = nobodys
        nobodys.perform { _ = $0.beginCall(at: $1, &$2) }
        nobodys.perform { $0.callFailed(.left, at: $1, &$2) }
        var bench = QueueBench(isSubscribed: false)
        bench.add(lifespan: 60_000, kind: .store)
        bench.perform { $0.join(nobodys.queue, at: $1, &$2) }
        bench.room = QueueBench.bytes
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        return bench
    }

    /// What need not be acknowledged comes back as what it was: under this number nobody has seen it.
    @Test func whatCameBackAndHadAnotherNumberIsTold() {
        var nobodys = QueueBench(isSubscribed: false)
        nobodys.add(lifespan: 60_000, kind: .wake)
        var bench = self.comesBack(nobodys)
        #expect(bench.take() == ["send 1"] && bench.queue.waitingCount == 1)
        bench.perform { $0.end(.removed, &$2) { $0.event.sequence == 2 } }
        bench.read()
        #expect(bench.take() == ["2 S5.removed", "gap 2-2 0/0/1", "caught up 2"])
    }

    /// And so does what was only stored, and was handed over beside what its app was called for.
    @Test func whatWasHandedOverBesideAndCameBackIsTold() {
        var nobodys = QueueBench(isSubscribed: false)
        nobodys.add(lifespan: 60_000, kind: .store)
        nobodys.add(.ack, lifespan: 60_000, kind: .wake)
        var bench = self.comesBack(nobodys)
        #expect(bench.take() == ["send 1"] && bench.queue.waitingCount == 2)
        bench.perform { $0.end(.removed, &$2) { $0.event.sequence == 2 } }
        bench.read()
        #expect(bench.take() == ["2 S5.removed", "gap 2-2 0/0/1", "send 3 again", "caught up 3"])
    }

    private static func event(kind: DeliveryKind) -> Event {
        var terms = DeliveryTerms()
        terms.kind = kind
        let content = EventContent(
            sequence: kind == .store ? 7 : 8, epoch: 1, generation: 1, time: .zero, detector: "d", peak: 1,
            isSimulated: false, isClipped: false)
        return Event(content, terms, ends: .zero + .seconds(60))
    }

    // MARK: The whole

    private func waking(_ reliability: Reliability) throws -> (Bench, AppHandle, Launch) {
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.reliability = reliability
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "wake", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        var bench = Bench(policy: Policy(rules: [rule]))
        try bench.install(0, "org.example.A", [Bench.planar("jolt", 2, rest: "0ms")], user: 7, payer: 7)
        bench.feed([2.5])
        let launch = bench.take().compactMap { if case .launch(let launch, _) = $0 { launch } else { nil } }.first
        return (bench, AppHandle(0), try #require(launch))
    }

    /// Whoever came by itself meanwhile is sent what it could not be called for, at once, and is not called again.
    @Test func whoCameByItselfIsSentWhatItCouldNotBeCalledFor() throws {
        var (bench, app, launch) = try self.waking(.ack)
        try bench.core.register(app, AppID("org.example.A"), AppEntrance(), user: 7, at: bench.now, &bench.actions)
        _ = try bench.subscribe(app)
        _ = bench.take()
        bench.fail(launch, .refused)
        #expect(bench.events.map(\.1.sequence) == [1] && bench.events.map(\.1.isRedelivered) == [true])
        #expect(bench.core.arbiter.launches.waiting == 0)
        _ = bench.take()
        bench.tick(after: 1)
        #expect(!bench.take().contains { if case .launch = $0 { true } else { false } })
    }

    /// The same when nobody could be asked to call it: it has seen nothing of that.
    @Test func whoCameByItselfIsSentWhatItsCallWasPostponedFor() throws {
        var (bench, app, launch) = try self.waking(.ack)
        try bench.core.register(app, AppID("org.example.A"), AppEntrance(), user: 7, at: bench.now, &bench.actions)
        _ = try bench.subscribe(app)
        _ = bench.take()
        try bench.core.apply(.postponed(launch), at: bench.now, &bench.actions)
        #expect(bench.events.map(\.1.sequence) == [1] && bench.events.map(\.1.isRedelivered) == [false])
        #expect(bench.core.arbiter.launches.waiting == 0)
        _ = bench.take()
        bench.tick(after: 2)
        #expect(!bench.take().contains { if case .launch = $0 { true } else { false } })
    }

    /// It ends when it has gone out, and not when it was about to.
    @Test func whatComesBackHasNotEnded() throws {
        var (bench, app, launch) = try self.waking(.bestEffort)
        bench.fail(launch, .notStarted)
        try bench.core.register(app, AppID("org.example.A"), AppEntrance(), user: 7, at: bench.now, &bench.actions)
        _ = try bench.subscribe(app)
        let first = try #require(bench.events.first?.1)
        _ = bench.take()
        bench.core.unsent(app, first, at: bench.now, &bench.actions)
        #expect(Self.ends(&bench).isEmpty)
        bench.core.room(app, 10_000, at: bench.now, &bench.actions)
        let again = try #require(bench.events.first?.1)
        #expect(Self.ends(&bench).isEmpty)
        bench.core.sent(app, again, &bench.actions)
        #expect(Self.ends(&bench) == [.sent])
    }

    private static func ends(_ bench: inout Bench) -> [EventEnd] {
        bench.take().compactMap { if case .ended(_, _, _, let end) = $0 { end } else { nil } }
    }
}
