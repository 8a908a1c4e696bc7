import Arbitration
import BrokerCore
import Loop
import Motion
import Testing

/// What is due to an app, until it has it.
@Suite struct EventQueueTests {
    // MARK: Best effort

    @Test func whatCanGoGoesAtOnce() {
        var bench = QueueBench()
        bench.add()
        bench.add()
        #expect(bench.take() == ["send 1", "send 2"])
        #expect(bench.queue.isIdle && bench.queue.bytes == 0 && bench.queue.deadline == nil)
    }

    @Test func whoDoesNotReadGetsTheNewestAndAGap() {
        // Room for four: half of it is the bus's.
        var bench = QueueBench(keeping: 8 * QueueBench.bytes)
        bench.add()
        bench.room = 0
        for _ in 0..<6 { bench.add() }
        #expect(bench.take() == ["send 1", "2 S5.queue-full", "3 S5.queue-full"])
        #expect(bench.queue.bytes == 4 * QueueBench.bytes)
        bench.read()
        #expect(bench.take() == ["gap 2-3 2/0/0", "send 4", "send 5", "send 6", "send 7"])
        bench.add()
        #expect(bench.take() == ["send 8"])
        #expect(bench.queue.isIdle && bench.queue.dropped == 2)
    }

    @Test func whatIsReadInPiecesKeepsItsOrder() {
        var bench = QueueBench()
        bench.room = 0
        for _ in 0..<6 { bench.add() }
        bench.read(2 * QueueBench.bytes + 10)
        #expect(bench.take() == ["send 1", "send 2"])
        bench.add()
        bench.read(Mark.bytes)
        #expect(bench.take() == ["send 3"])
        bench.read()
        #expect(bench.take() == ["send 4", "send 5", "send 6", "send 7"])
    }

    @Test func anUndeliveredEventDiesAtItsTime() {
        var bench = QueueBench()
        bench.room = 0
        bench.add()
        bench.add(lifespan: 1_000)
        bench.now = 500
        bench.add()
        #expect(bench.queue.deadline.map { $0 <= Timestamp.zero + .milliseconds(1_000) } == true)
        bench.pass(to: 999)
        #expect(bench.take().isEmpty)
        bench.pass(to: 1_000)
        #expect(bench.take() == ["2 S5.expired"])
        bench.pass(to: 3_000)
        #expect(bench.take() == ["1 S5.expired"])
        bench.read()
        #expect(bench.take() == ["gap 1-2 0/2/0", "send 3"])
        #expect(bench.queue.expired == 2)
    }

    /// Also when no event follows that could say so.
    @Test func aGapIsToldWhenNothingFollows() {
        var bench = QueueBench()
        bench.room = 0
        bench.add()
        bench.add()
        bench.pass(to: 60_000)
        _ = bench.take()
        bench.read()
        #expect(bench.take() == ["gap 1-2 0/2/0"])
        #expect(bench.queue.isIdle)
    }

    @Test func aGapThatComesBackIsToldLater() {
        var bench = QueueBench()
        bench.room = 0
        for _ in 0..<3 { bench.add(lifespan: 100) }
        bench.pass(to: 100)
        bench.add()
        _ = bench.take()
        bench.read(Mark.bytes - 1)
        #expect(bench.take().isEmpty)
        bench.add()
        bench.read(Mark.bytes)
        #expect(bench.take() == ["gap 1-3 0/3/0"])
        bench.read()
        #expect(bench.take() == ["send 4", "send 5"])
    }

    /// Gaps lie where the events were that are missing, each with its own reasons.
    @Test func gapsStandWhereTheyBelong() {
        var bench = QueueBench()
        bench.room = 0
        bench.add()
        bench.add(lifespan: 100)
        bench.add(detector: "gone")
        bench.add()
        bench.add(lifespan: 100)
        bench.add()
        bench.pass(to: 100)
        bench.perform { $0.remove(detector: "gone", at: $1, &$2) }
        _ = bench.take()
        bench.read()
        #expect(bench.take() == ["send 1", "gap 2-3 0/1/1", "send 4", "gap 5-5 0/1/0", "send 6"])
    }

    @Test func anEventThatFitsNowhereIsTold() {
        var bench = QueueBench(keeping: 100)
        bench.add()
        bench.room = 0
        bench.add()
        bench.add()
        #expect(bench.take() == ["send 1", "2 S5.queue-full", "3 S5.queue-full"])
        bench.read()
        #expect(bench.take() == ["gap 2-3 2/0/0"])
    }

    @Test func whatItMayKeepCanShrink() {
        var bench = QueueBench()
        bench.room = 0
        for _ in 0..<4 { bench.add() }
        bench.perform { $0.setLimit(keeping: 4 * QueueBench.bytes, at: $1, &$2) }
        #expect(bench.take() == ["1 S5.queue-full", "2 S5.queue-full"])
        #expect(bench.queue.bytes == 2 * QueueBench.bytes)
    }

    // MARK: Acknowledgements

    @Test func itIsSentAgainUntilItIsAcknowledged() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 10_000)
        #expect(bench.take() == ["send 1"])
        bench.pass(to: 999)
        #expect(bench.take().isEmpty)
        bench.pass(to: 1_000)
        #expect(bench.take() == ["send 1 again"])
        bench.pass(to: 2_999)
        #expect(bench.take().isEmpty)
        bench.pass(to: 3_000)
        bench.pass(to: 7_000)
        #expect(bench.take() == ["send 1 again", "send 1 again"])
        #expect(bench.ack(1) == .taken)
        #expect(bench.take() == ["1 S5.acknowledged"])
        #expect(bench.queue.isIdle && bench.queue.deadline == nil)
    }

    @Test func whatNobodyAcknowledgesExpires() {
        var bench = QueueBench()
        bench.add(.ack)
        bench.pass(to: 1_000)
        // The third sending would be at the moment it dies.
        bench.pass(to: 3_000)
        #expect(bench.take() == ["send 1", "send 1 again", "1 S5.expired"])
        bench.add()
        // The app may have had it: there is no gap.
        #expect(bench.take() == ["send 2"])
    }

    @Test func oneAcknowledgementCoversAllBefore() {
        var bench = QueueBench()
        for _ in 0..<5 { bench.add(.ack) }
        _ = bench.take()
        #expect(bench.ack(3) == .taken)
        #expect(bench.take() == ["1 S5.acknowledged", "2 S5.acknowledged", "3 S5.acknowledged"])
        #expect(bench.queue.unacknowledgedCount == 2)
        // Twice is not wrong, and does nothing.
        #expect(bench.ack(3) == .taken)
        #expect(bench.take().isEmpty && bench.queue.staleAcks == 0)
    }

    @Test(arguments: [(2, 1), (2, 3), (9, 9), (0, 0), (.max, .max)] as [(UInt64, UInt64)])
    func whatTheAppDoesNotHaveItCannotAcknowledge(_ sequence: UInt64, _ epoch: UInt64) {
        var bench = QueueBench()
        for _ in 0..<3 { bench.add(.ack) }
        _ = bench.take()
        #expect(bench.ack(sequence, epoch: epoch) != .taken)
        #expect(bench.take().isEmpty && bench.queue.unacknowledgedCount == 3)
        #expect(bench.queue.staleAcks == 1)
    }

    @Test func whatWasNotSentCannotBeAcknowledged() {
        var bench = QueueBench(isSubscribed: false)
        bench.add(.ack)
        #expect(bench.ack(1) == .unknown)
        #expect(bench.queue.waitingCount == 1)
    }

    @Test func atMostTheCreditWindowIsOut() {
        var bench = QueueBench()
        for _ in 0..<20 { bench.add(.ack) }
        #expect(bench.take() == (1...16).map { "send \($0)" })
        // Others wait their turn, or the order were lost.
        bench.add()
        #expect(bench.take().isEmpty)
        #expect(bench.ack(2) == .taken)
        #expect(bench.take() == ["1 S5.acknowledged", "2 S5.acknowledged", "send 17", "send 18"])
        #expect(bench.ack(18) == .taken)
        #expect(bench.take().suffix(3) == ["send 19", "send 20", "send 21"])
        #expect(bench.queue.unacknowledgedCount == 2)
    }

    @Test func nothingIsSentAgainToWhoDoesNotRead() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000)
        bench.room = 0
        bench.add()
        bench.pass(to: 20_000)
        #expect(bench.take() == ["send 1", "2 S5.expired"])
        // And nothing is waited for but its end.
        #expect(bench.queue.deadline.map { $0 > bench.time } == true)
        bench.read()
        #expect(bench.take() == ["send 1 again", "gap 2-2 0/1/0"])
    }

    @Test func whoseTurnIsOverIsNotSentTheEvent() {
        var bench = QueueBench()
        bench.room = 0
        bench.add(.ack, answerBy: 400)
        bench.pass(to: 400)
        bench.read()
        #expect(bench.take() == ["1 S5.expired", "gap 1-1 0/1/0"])
    }

    @Test func anEventThatIsAnothersNowIsTakenAway() {
        var bench = QueueBench()
        bench.add(.ack)
        bench.add(.ack)
        bench.perform { $0.remove(epoch: 1, at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 2", "1 S5.removed"])
        // The fence: what it says about it now changes nothing.
        #expect(bench.ack(1) == .taken)
        #expect(bench.queue.unacknowledgedCount == 1)
    }

    // MARK: Away and back

    @Test func whatIsKeptIsReplayedThenCaughtUpThenLive() {
        var bench = QueueBench(isSubscribed: false)
        bench.add(kind: .store)
        bench.add(.ack, kind: .store)
        bench.add(lifespan: 100, kind: .store)
        bench.pass(to: 200)
        #expect(bench.take() == ["3 S5.expired"])
        var count = 0
        bench.perform { count = $0.subscribe(at: $1, &$2) }
        #expect(count == 2)
        #expect(bench.take() == ["send 1", "send 2", "gap 3-3 0/1/0", "caught up 3"])
        bench.add()
        #expect(bench.take() == ["send 4"])
    }

    @Test func caughtUpComesBeforeWhatCameSince() {
        var bench = QueueBench(isSubscribed: false)
        for _ in 0..<17 { bench.add(.ack, kind: .store) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.add()
        #expect(bench.take() == (1...16).map { "send \($0)" })
        #expect(bench.ack(16) == .taken)
        #expect(bench.take().suffix(3) == ["send 17", "caught up 17", "send 18"])
    }

    @Test func nothingKeptIsCaughtUpAtOnce() {
        var bench = QueueBench(isSubscribed: false)
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["caught up 0"])
    }

    @Test func whoLeavesFindsWhatItDidNotAcknowledge() {
        var bench = QueueBench()
        bench.add(.ack)
        bench.add(.ack)
        bench.room = 0
        bench.add()
        bench.add(kind: .store)
        _ = bench.take()
        bench.perform { queue, _, actions in queue.detach(&actions) }
        // Live is for those that are there.
        #expect(bench.take() == ["3 S5.removed"])
        bench.room = nil
        bench.now = 500
        bench.perform {
            _ = $0.acknowledge(EventName(sequence: 1, epoch: 1), at: $1, &$2)
            _ = $0.subscribe(at: $1, &$2)
        }
        #expect(
            bench.take() == [
                "1 S5.acknowledged", "send 2 again", "gap 3-3 0/0/1", "send 4", "caught up 4",
            ])
    }

    @Test func whoSubscribesAgainGetsItAgain() {
        var bench = QueueBench()
        bench.add(.ack)
        bench.add(.ack)
        bench.perform {
            _ = $0.acknowledge(EventName(sequence: 1, epoch: 1), at: $1, &$2)
            _ = $0.subscribe(at: $1, &$2)
        }
        #expect(
            bench.take() == ["send 1", "send 2", "1 S5.acknowledged", "send 2 again", "caught up 2"])
    }

    @Test func whoIsSuspendedFindsItAfterwards() {
        var bench = QueueBench()
        bench.perform { $0.setReachable(false, at: $1, &$2) }
        bench.add(kind: .store)
        bench.add(kind: .store)
        #expect(bench.take().isEmpty)
        bench.pass(to: 1_000)
        bench.perform { $0.setReachable(true, at: $1, &$2) }
        #expect(bench.take() == ["send 1", "send 2"])
    }

    // MARK: The disk

    @Test func whatGoesAtOnceNeedsNoDisk() {
        var bench = QueueBench()
        bench.add(.bestEffort, lifespan: 3_000, kind: .live, .persistent)
        #expect(bench.take() == ["send 1"])
    }

    @Test func whatIsKeptIsPersistedAfterItWasSent() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 9_000, kind: .live, .persistent)
        #expect(bench.take() == ["send 1", "persist 1"])
        #expect(bench.sent.map(\.isPersistent) == [false])
        bench.queue.persisted(EventName(sequence: 1, epoch: 1))
        bench.pass(to: 1_000)
        #expect(bench.sent.map(\.isPersistent) == [false, true])
        _ = bench.take()
        #expect(bench.ack(1) == .taken)
        #expect(bench.take() == ["forget 1", "1 S5.acknowledged"])
    }

    /// Its app came anew, and has another event of that number: of that the disk has said nothing.
    @Test func whatIsOnTheDiskIsKnownByItsEpoch() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 9_000)
        bench.queue.persisted(EventName(sequence: 1, epoch: 7))
        bench.pass(to: 1_000)
        #expect(bench.take() == ["send 1", "send 1 again"])
        #expect(bench.sent.map(\.isPersistent) == [false, false])
    }

    /// What is sent and comes back was on the disk all the while, and is taken from there once it has gone.
    @Test func whatComesBackIsOnTheDiskAllTheWhile() {
        var bench = QueueBench(isSubscribed: false)
        bench.add(.bestEffort, lifespan: 60_000, kind: .store, .persistent)
        bench.add(.bestEffort, lifespan: 60_000, kind: .store, .persistent)
        #expect(bench.take() == ["persist 1", "persist 2"])
        bench.room = QueueBench.bytes
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        #expect(bench.take() == ["send 1", "forget 1"])
        bench.read()
        #expect(bench.take() == ["send 2", "caught up 2", "forget 2"])
    }

    /// What went at once and comes back was on no disk, and is put there.
    @Test func whatComesBackIsPutOnTheDiskOnce() {
        var bench = QueueBench()
        bench.room = 0
        bench.add(.bestEffort, lifespan: 60_000, kind: .store, .persistent)
        #expect(bench.take() == ["persist 1"])
        bench.read(QueueBench.bytes - 1)
        #expect(bench.take() == [])
        bench.read()
        #expect(bench.take() == ["send 1", "forget 1"])
    }

    /// With a large `QueueBytes` very much goes out in one go that is on the disk, with as many gaps between; and most of it comes back.
    @Test(arguments: [nil, 64 * QueueBench.bytes]) func whatGoesOutCostsNoMoreForEachHoweverManyThereAre(_ room: Int?) {
        func spent(_ count: Int) -> Int64 {
            var bench = QueueBench(keeping: 64 << 20, isSubscribed: false)
            for _ in 0..<count {
                bench.add(.bestEffort, lifespan: 60_000, kind: .store, .persistent)
                bench.add(.bestEffort, lifespan: 1_000, kind: .store)
            }
            bench.pass(to: 1_000)
            bench.room = room
            let begin = Clock.threadTime()
            bench.perform { _ = $0.subscribe(at: $1, &$2) }
            let cost = Clock.threadTime() - begin
            #expect(bench.queue.isHeld == (room != nil))
            #expect(bench.sent.count + bench.queue.waitingCount == count)
            #expect(bench.forgotten.count == bench.sent.count)
            return cost
        }
        let (few, many) = (min(spent(512), spent(512)), spent(32_768))
        // As the square of it, it would be 4 096 times as much.
        #expect(many < 512 * few, "\(many) us and \(few) us")
    }

    @Test func whatIsRestoredMayHaveCome() {
        var bench = QueueBench()
        bench.add(.ack, lifespan: 60_000, kind: .store, .persistent)
        bench.add(.ack, lifespan: 60_000, kind: .store, .volatile)
        bench.add(.ack, lifespan: 60_000, kind: .store, .persistent)
        let kept = bench.persisted
        var other = QueueBench(isSubscribed: false)
        for event in kept { other.perform { $0.restore(event, at: $1, &$2) } }
        other.add(kind: .store)
        other.perform {
            _ = $0.acknowledge(EventName(sequence: 1, epoch: 1), at: $1, &$2)
            _ = $0.subscribe(at: $1, &$2)
        }
        // Nothing is said of what was in between: its end is not known here.
        #expect(
            other.take() == ["forget 1", "1 S5.acknowledged", "send 3 again", "send 4", "caught up 4"])
        #expect(other.sent.map(\.isPersistent) == [true, false])
    }

    // MARK: Sizes

    @Test(arguments: [0, 1, 1_000, 256 << 10, 64 << 20])
    func busAndQueueTogetherHoldWhatPolicySays(_ total: Int) {
        let queue = EventQueue(keeping: total)
        #expect(queue.limit + EventQueue.busShare(of: total) == total)
        #expect(EventQueue.busShare(of: total) <= 128 << 10)
    }
}
