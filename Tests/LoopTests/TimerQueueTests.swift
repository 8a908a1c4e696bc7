import Testing

@testable import Loop
import Randomness

@Suite struct TimerQueueTests {
    /// What is due, in the order in which it is to run, each named by its handler's word.
    private func run(_ queue: inout TimerQueue, at now: Int64) {
        var due: [TimerQueue.Due] = []
        queue.takeDue(at: now, into: &due)
        for entry in due { queue.fire(entry)?() }
    }

    @Test func equalDeadlinesKeepTheOrderOfScheduling() {
        var queue = TimerQueue()
        var order: [Int] = []
        for index in 0..<100 { _ = queue.insert(at: 7, firesOnce: true) { order.append(index) } }
        self.run(&queue, at: 6)
        #expect(order.isEmpty)
        self.run(&queue, at: 7)
        #expect(order == Array(0..<100))
    }

    @Test func movingPutsATimerBehindItsEquals() {
        var queue = TimerQueue()
        var order: [Int] = []
        let first = queue.insert(at: 7, firesOnce: true) { order.append(1) }
        _ = queue.insert(at: 7, firesOnce: true) { order.append(2) }
        queue.move(first, to: 7)
        self.run(&queue, at: 7)
        #expect(order == [2, 1])
    }

    @Test func firedTimerCanBeMovedAndARemovedOneCannot() {
        var queue = TimerQueue()
        var count = 0
        let timer = queue.insert(at: 1, firesOnce: false) { count += 1 }
        self.run(&queue, at: 1)
        self.run(&queue, at: 2)
        #expect(count == 1)
        queue.move(timer, to: 3)
        #expect(queue.earliest == 3)
        self.run(&queue, at: 3)
        #expect(count == 2)
        #expect(queue.remove(timer) != nil)
        #expect(queue.remove(timer) == nil)
        queue.move(timer, to: 4)
        #expect(queue.earliest == nil)
    }

    @Test func handleOfARemovedTimerDoesNotNameTheNextInItsSlot() {
        var queue = TimerQueue()
        let old = queue.insert(at: 1, firesOnce: false) {}
        _ = queue.remove(old)
        let new = queue.insert(at: 2, firesOnce: false) {}
        #expect(old.slot == new.slot)
        #expect(queue.remove(old) == nil)
        queue.move(old, to: 9)
        #expect(queue.earliest == 2)
    }

    @Test func timerThatFiresOnceGivesItsSlotBack() {
        var queue = TimerQueue()
        let first = queue.insert(at: 1, firesOnce: true) {}
        self.run(&queue, at: 1)
        let second = queue.insert(at: 1, firesOnce: true) {}
        #expect(first.slot == second.slot)
        #expect(queue.remove(first) == nil)
    }

    @Test func dueTimerThatIsMovedOrRemovedBeforeItsTurnDoesNotRun() {
        var queue = TimerQueue()
        let moved = queue.insert(at: 1, firesOnce: false) {}
        let removed = queue.insert(at: 1, firesOnce: false) {}
        let kept = queue.insert(at: 1, firesOnce: false) {}
        var due: [TimerQueue.Due] = []
        queue.takeDue(at: 1, into: &due)
        // Even to a deadline that has passed: it is for the next round.
        queue.move(moved, to: 0)
        _ = queue.remove(removed)
        // The slot's next timer must not be taken for the removed one.
        _ = queue.insert(at: 1, firesOnce: false) {}
        #expect(due.map { queue.fire($0) != nil } == [false, false, true])
        queue.move(kept, to: 5)
        #expect(queue.count == 3)
        #expect(queue.isConsistent)
    }

    @Test func extremeDeadlinesAreOrdered() {
        var queue = TimerQueue()
        _ = queue.insert(at: .max, firesOnce: true) {}
        _ = queue.insert(at: .min, firesOnce: true) {}
        #expect(queue.earliest == .min)
        self.run(&queue, at: .max - 1)
        #expect(queue.earliest == .max)
    }

    /// Any sequence of operations against a list that is searched from end to end.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func agreesWithASlowModel(seed: UInt64) {
        struct Timer {
            var name: Int
            var id: TimerQueue.ID
            var deadline: Int64?
            var order: Int
        }
        var generator = SeededRandom(seed: seed)
        var queue = TimerQueue()
        var model: [Timer] = []
        var fired: [Int] = []
        var order = 0
        var now: Int64 = 0
        for step in 0..<300 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4:
                let deadline = now + Int64.random(in: -2...20, using: &generator)
                let id = queue.insert(at: deadline, firesOnce: false) { fired.append(step) }
                model.append(Timer(name: step, id: id, deadline: deadline, order: order))
                order += 1
            case 4..<6:
                guard let index = model.indices.randomElement(using: &generator) else { continue }
                let deadline = now + Int64.random(in: -2...20, using: &generator)
                queue.move(model[index].id, to: deadline)
                model[index].deadline = deadline
                model[index].order = order
                order += 1
            case 6..<8:
                guard let index = model.indices.randomElement(using: &generator) else { continue }
                #expect(queue.remove(model.remove(at: index).id) != nil)
            default:
                now += Int64.random(in: 0...5, using: &generator)
                let expected = model.filter { $0.deadline.map { $0 <= now } ?? false }
                    .sorted { ($0.deadline ?? 0, $0.order) < ($1.deadline ?? 0, $1.order) }
                    .map(\.name)
                for index in model.indices where expected.contains(model[index].name) { model[index].deadline = nil }
                fired = []
                self.run(&queue, at: now)
                #expect(fired == expected, "seed \(seed), step \(step)")
            }
            #expect(queue.isConsistent, "seed \(seed), step \(step)")
            #expect(queue.earliest == model.compactMap(\.deadline).min(), "seed \(seed), step \(step)")
        }
    }
}
