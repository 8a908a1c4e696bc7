import Arbitration
import Motion
import Randomness
import Testing

@testable import Journal

/// What is due, or is no more, until the disk has heard of it.
@Suite struct WaitingDueTests {
    private static let most = 8

    private static func event(_ number: Int) -> DueEvent {
        DueEvent(
            app: AppID("org.example.A"), user: 1,
            EventContent(
                sequence: UInt64(number), epoch: UInt64(number), generation: 1, time: .zero, detector: "d", peak: 1,
                isSimulated: false, isClipped: false), DeliveryTerms(), ends: 1)
    }

    /// A disk, the writer before it and what waits for that, as a broker after the other has them.
    private struct Way {
        var waiting = WaitingDue()
        var taken = DueChanges()
        var disk: Set<DueEvent.Key> = []

        mutating func take() { self.waiting.take(into: &self.taken) }

        mutating func commit() {
            self.write()
            self.taken = DueChanges()
            self.waiting.setTaken(0)
        }

        /// All of it is on the disk, which fails behind that: the writer still has it.
        mutating func commitAndFail() {
            self.write()
            self.taken.mayBeThere()
            self.waiting.setTaken(self.taken.count)
        }

        private mutating func write() {
            for (key, event) in self.taken.events {
                if event == nil { self.disk.remove(key) } else { self.disk.insert(key) }
            }
        }
    }

    /// The disk has some and the writer others, and it hangs; an app gets one event after the other.
    @Test func whatComesAndGoesWhileTheDiskHangsIsBounded() {
        var way = Way()
        for number in 1...3 { way.waiting.add(Self.event(number), upTo: Self.most) }
        way.take()
        way.commit()
        for number in 4...6 { way.waiting.add(Self.event(number), upTo: Self.most) }
        way.take()
        // Far more than there is room for are due, and all are over before the disk answers.
        for number in 7...1_000 { way.waiting.add(Self.event(number), upTo: Self.most) }
        #expect(way.waiting.outstanding == Self.most)
        for number in 1...1_000 { way.waiting.remove(Self.event(number)) }
        #expect(way.waiting.outstanding == 3 + 6)
        // Such as never waited for anything.
        for number in 1_001...2_000 { way.waiting.remove(Self.event(number)) }
        #expect(way.waiting.outstanding == 3 + 6)
        way.commit()
        way.take()
        way.commit()
        #expect(way.disk.isEmpty && way.waiting.isEmpty && way.waiting.outstanding == 0)
    }

    @Test func whatWasThereBeforeIsTakenFromThere() {
        var way = Way()
        let event = Self.event(1)
        way.disk = [event.key]
        way.waiting.restored([event])
        way.waiting.remove(event)
        way.take()
        way.commit()
        #expect(way.disk.isEmpty)
    }

    /// The disk has lost more than may wait for it.
    @Test func allThatTheDiskLostIsWrittenAgain() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.waitingRows = 0
        let keeper = Keeper(place, limits: limits)
        _ = try keeper.epochs()
        for number in 1...20 { keeper.store.keep(Self.event(number), again: true) }
        // For what is new there is no room.
        keeper.store.keep(Self.event(21))
        keeper.close()
        #expect(try place.sql("state.db", "SELECT count(*), max(epoch) FROM due") == "20|20\n")
    }

    /// As much waits for the disk as may when what was nobody's becomes somebody's: it is taken from there as the one and comes there as
    /// the other.
    @Test func whatBecomesSomebodysIsThereHoweverMuchWaits() {
        var way = Way()
        var nobodys = Self.event(100)
        nobodys.user = nil
        way.disk = [nobodys.key]
        way.waiting.restored([nobodys])
        for number in 1...Self.most { way.waiting.add(Self.event(number), upTo: Self.most) }
        let hasRoom = way.waiting.add(Self.event(99), upTo: Self.most)
        #expect(!hasRoom)
        way.waiting.add(Self.event(100), isKnown: true)
        way.waiting.remove(nobodys)
        way.take()
        way.commit()
        #expect(way.disk == Set((1...Self.most).map { Self.event($0).key } + [Self.event(100).key]))
    }

    /// Whatever the disk does: nothing is there that is over, and all is that was handed over and is not.
    @Test(arguments: 0..<200 as Range<UInt64>) func theDiskHasInTheEndWhatIsDue(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var way = Way()
        var (due, handedOver): (Set<Int>, Set<Int>) = ([], [])
        for _ in 0..<300 {
            let number = Int.random(in: 0..<20, using: &random)
            let event = Self.event(number)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7:
                // What is due already is not handed over again, unless the disk has lost it.
                guard due.insert(number).inserted else { continue }
                if way.waiting.add(event, upTo: Self.most) { handedOver.insert(number) }
            case 7..<14:
                // Also what was never handed over may be over.
                due.remove(number)
                handedOver.remove(number)
                way.waiting.remove(event)
            case 14, 15: way.take()
            case 16: if random.chance(0.5) { way.commit() } else { way.commitAndFail() }
            case 17: way.waiting.setTaken(way.taken.count)
            case 18 where due.contains(number):
                if way.waiting.add(event, isKnown: true, upTo: Self.most) { handedOver.insert(number) }
            default:
                guard random.chance(0.2) else { continue }
                // The next broker begins with what there is.
                (way.waiting, way.taken) = (WaitingDue(), DueChanges())
                let there = (0..<20).filter { way.disk.contains(Self.event($0).key) }
                way.waiting.restored(there.map { Self.event($0) })
                (due, handedOver) = (Set(there), Set(there))
            }
        }
        way.take()
        way.commit()
        let there = Set((0..<20).filter { way.disk.contains(Self.event($0).key) })
        #expect(there == handedOver)
    }
}
