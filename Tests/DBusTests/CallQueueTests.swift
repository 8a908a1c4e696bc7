import Motion
import Randomness
import Testing

@testable import DBus

@Suite struct CallQueueTests {
    /// Takes all that can be taken; each call ends at once.
    private func drain(_ queue: inout CallQueue<String>) -> [String] {
        var taken: [String] = []
        while let call = queue.next() {
            taken.append(call)
            queue.ended(String(call.prefix(1)))
        }
        return taken
    }

    @Test func sendersTakeTurnsAndEachKeepsItsOrder() {
        var queue = CallQueue<String>()
        for call in ["a1", "a2", "a3", "b1", "c1", "b2"] {
            #expect(queue.offer(call, from: String(call.prefix(1)), bytes: 10) == [])
        }
        #expect(self.drain(&queue) == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(queue.isIdle && queue.outstanding(of: "a") == 0)
    }

    @Test func aSenderHasABoundedNumberOutstanding() {
        var queue = CallQueue<String>()
        for number in 0..<CallLimits.outstanding { #expect(queue.offer("a\(number)", from: "a", bytes: 1) == []) }
        #expect(queue.offer("one too many", from: "a", bytes: 1) == ["one too many"])
        // Others are not concerned, and what was taken counts until it ends.
        #expect(queue.offer("b", from: "b", bytes: 1) == [])
        #expect(queue.next() == "a0")
        #expect(queue.offer("a", from: "a", bytes: 1) == ["a"])
        #expect(queue.begin("a") == false)
        queue.ended("a")
        #expect(queue.begin("a") == true)
        #expect(queue.outstanding(of: "a") == CallLimits.outstanding)
    }

    @Test func whatIsPutBackComesBeforeWhatWasAskedLater() {
        var queue = CallQueue<String>()
        for call in ["a1", "a2", "a3", "b1", "b2"] { _ = queue.offer(call, from: String(call.prefix(1)), bytes: 10) }
        #expect([queue.next(), queue.next(), queue.next()] == ["a1", "b1", "a2"])
        #expect(queue.putBack([("a1", 10), ("a2", 10)], of: "a") == [])
        // They had a place, and have it still: none is counted twice.
        #expect(queue.outstanding(of: "a") == 3)
        #expect(self.drain(&queue) == ["b2", "a1", "a2", "a3"])
        queue.ended("b")
        #expect(queue.isIdle && queue.outstanding(of: "a") == 0 && queue.outstanding(of: "b") == 0)
        // Who has nothing outstanding any more has left.
        #expect(queue.putBack([("a1", 10)], of: "a") == ["a1"])
        #expect(queue.isIdle)
        // Nor is a held sender served by it.
        _ = queue.offer("c1", from: "c", bytes: 10)
        #expect(queue.next() == "c1")
        queue.hold("c")
        #expect(queue.putBack([("c1", 10)], of: "c") == [])
        #expect(queue.isIdle)
        queue.release("c")
        #expect(self.drain(&queue) == ["c1"])
        // It costs room like any other; there is none without end.
        _ = queue.offer("d1", from: "d", bytes: 10)
        #expect(queue.next() == "d1")
        #expect(queue.putBack([("d1", CallLimits.waitingBytes)], of: "d") == ["d1"])
        #expect(queue.isIdle && queue.outstanding(of: "d") == 0)
    }

    @Test func whoeverHasMostWaitingMakesRoom() {
        var queue = CallQueue<String>()
        let big = CallLimits.waitingBytes / 4 - CallLimits.overhead
        for number in 0..<3 { #expect(queue.offer("a\(number)", from: "a", bytes: big) == []) }
        #expect(queue.offer("b0", from: "b", bytes: big) == [])
        // All is taken: a call of somebody else costs the one who has most his latest.
        #expect(queue.offer("c0", from: "c", bytes: 100) == ["a2"])
        // That one gets no more himself.
        #expect(queue.offer("a3", from: "a", bytes: big) == ["a3"])
        #expect(queue.outstanding(of: "a") == 2)
        #expect(self.drain(&queue) == ["a0", "b0", "c0", "a1"])
        // One that is larger than all that may wait never does.
        #expect(queue.offer("d", from: "d", bytes: CallLimits.waitingBytes) == ["d"])
        #expect(queue.outstanding(of: "d") == 0)
    }

    @Test func aHeldSenderIsPassedOver() {
        var queue = CallQueue<String>()
        for call in ["a1", "b1", "a2"] { _ = queue.offer(call, from: String(call.prefix(1)), bytes: 1) }
        queue.hold("a")
        #expect(queue.isHeld("a"))
        #expect(self.drain(&queue) == ["b1"])
        #expect(queue.isIdle)
        _ = queue.offer("a3", from: "a", bytes: 1)
        #expect(queue.next() == nil)
        queue.release("a")
        #expect(self.drain(&queue) == ["a1", "a2", "a3"])
    }

    @Test func theCallsOfWhoLeftAreForgotten() {
        var queue = CallQueue<String>()
        for call in ["a1", "a2", "b1"] { _ = queue.offer(call, from: String(call.prefix(1)), bytes: 1) }
        #expect(queue.next() == "a1")
        #expect(queue.drop("a") == ["a2"])
        #expect(queue.outstanding(of: "a") == 1)
        queue.ended("a")
        #expect(queue.outstanding(of: "a") == 0)
        #expect(self.drain(&queue) == ["b1"])
        #expect(queue.drop("nobody") == [])
    }

    // MARK: Users

    /// A queue that one user's connections have filled, each with one call of 16 KiB.
    private func crowded(_ user: UInt32 = 7) -> CallQueue<String> {
        var queue = CallQueue<String>()
        for number in 0..<250 { _ = queue.offer("crowd\(number)", from: "crowd\(number)", of: user, bytes: 16 << 10) }
        return queue
    }

    @Test func aUserHasOneShareHoweverManyConnectionsHeHas() {
        var queue = self.crowded()
        // 248 of them fit in, and the user has no room for more.
        #expect((0..<250).count { queue.waiting(of: "crowd\($0)") == 1 } == 248)
        #expect(queue.offer("more", from: "more", of: 7, bytes: 16 << 10) == ["more"])
        // Somebody else's larger call costs the crowd what it needs: by name among equals, from the last on.
        let refused = queue.offer("large", from: "victim", of: 8, bytes: 60 << 10)
        #expect(refused == ["crowd99", "crowd98", "crowd97", "crowd96"])
        #expect(queue.waiting(of: "victim") == 1)
        // And what the other has is not taken for another of the crowd, although no sender has more.
        #expect(queue.offer("more", from: "more", of: 7, bytes: 16 << 10) == ["more"])
        // Nor for somebody without a user, as long as the crowd has more.
        let others = queue.offer("new", from: "new", bytes: 30 << 10)
        #expect(others == ["crowd95", "crowd94"])
        #expect(queue.waiting(of: "new") == 1 && queue.waiting(of: "victim") == 1)
    }

    @Test func whoeverHasMostOfOneUserMakesRoomForHisOther() {
        var queue = CallQueue<String>()
        let quarter = CallLimits.waitingBytes / 4 - CallLimits.overhead
        for call in ["a0", "b0", "c0", "a1"] {
            #expect(queue.offer(call, from: String(call.prefix(1)), of: 7, bytes: quarter) == [])
        }
        #expect(queue.offer("d0", from: "d", of: 7, bytes: 100) == ["a1"])
        // Then all have the same, and whoever would have more is refused.
        #expect(queue.offer("a2", from: "a", of: 7, bytes: quarter) == ["a2"])
        #expect(queue.waiting(of: "a") == 1 && queue.outstanding(of: "a") == 1)
    }

    @Test func aUserHasOneTurnHoweverManyConnectionsHeHas() {
        var queue = self.crowded()
        for number in 0..<3 { #expect(queue.offer("v\(number)", from: "victim", of: 8, bytes: 10) == []) }
        var taken: [String] = []
        while taken.count < 8, let call = queue.next() { taken.append(call) }
        #expect(taken == ["crowd0", "v0", "crowd1", "v1", "crowd2", "v2", "crowd3", "crowd4"])
    }

    @Test func aSenderJoinsHisUserWhenThatIsKnown() {
        var queue = CallQueue<String>()
        for call in ["a1", "b1", "c1", "a2", "b2", "c2"] {
            _ = queue.offer(call, from: String(call.prefix(1)), bytes: 10)
        }
        queue.setUser(7, of: "b")
        queue.setUser(7, of: "a")
        #expect(queue.user(of: "a") == 7 && queue.user(of: "c") == nil)
        // The place of the first of them is that of both.
        #expect(self.drain(&queue) == ["b1", "c1", "a1", "c2", "b2", "a2"])
        // Nobody is remembered for nothing, and nobody comes to be by it.
        queue.setUser(7, of: "a")
        #expect(queue.user(of: "a") == nil && queue.isIdle)
        // One who is held brings his calls with him and no turn.
        _ = queue.offer("a1", from: "a", bytes: 10)
        queue.hold("a")
        queue.setUser(7, of: "a")
        _ = queue.offer("b1", from: "b", of: 7, bytes: 10)
        #expect(queue.next() == "b1")
        #expect(queue.next() == nil)
        queue.release("a")
        #expect(queue.next() == "a1")
    }

    // MARK: Walks

    /// What is to be refused, worked out from a list of all that waits.
    private struct Model {
        var waiting: [(call: Int, sender: String, bytes: Int)] = []
        var outstanding: [String: Int] = [:]
        var users: [String: UInt32] = [:]

        /// Users before senders without one, as the queue orders them among equals.
        private func payer(of sender: String) -> String {
            self.users[sender].map { "0 user \($0)" } ?? "1 sender \(sender)"
        }

        private func heaviest(among entries: [(call: Int, sender: String, bytes: Int)], by key: (String) -> String)
            -> (name: String, bytes: Int)?
        {
            Dictionary(grouping: entries) { key($0.sender) }.map { ($0.key, $0.value.reduce(0) { $0 + $1.bytes }) }
                .max { ($0.1, $0.0) < ($1.1, $1.0) }
        }

        mutating func offer(_ call: Int, from sender: String, bytes: Int) -> [Int] {
            guard self.outstanding[sender, default: 0] < CallLimits.outstanding else { return [call] }
            let cost = bytes + CallLimits.overhead
            var refused: [Int] = []
            while self.waiting.reduce(cost, { $0 + $1.bytes }) > CallLimits.waitingBytes {
                let own = self.waiting.filter { self.payer(of: $0.sender) == self.payer(of: sender) }
                var victim = self.heaviest(among: own) { $0 }
                var least = own.filter { $0.sender == sender }.reduce(cost) { $0 + $1.bytes }
                let payer = self.heaviest(among: self.waiting, by: self.payer)
                if let payer, payer.name != self.payer(of: sender), payer.bytes > own.reduce(cost, { $0 + $1.bytes }) {
                    victim = self.heaviest(among: self.waiting.filter { self.payer(of: $0.sender) == payer.name }) {
                        $0
                    }
                    least = 0
                }
                guard let victim, victim.name != sender, victim.bytes > least,
                    let last = self.waiting.lastIndex(where: { $0.sender == victim.name })
                else { return refused + [call] }
                refused.append(self.waiting.remove(at: last).call)
                self.outstanding[victim.name, default: 0] -= 1
            }
            self.waiting.append((call, sender, cost))
            self.outstanding[sender, default: 0] += 1
            return refused
        }

        mutating func remove(_ call: Int) -> String? {
            guard let index = self.waiting.firstIndex(where: { $0.call == call }) else { return nil }
            return self.waiting.remove(at: index).sender
        }

        /// Who has had nothing outstanding is not remembered.
        mutating func forget(_ sender: String, isHeld: Bool) {
            if self.outstanding[sender, default: 0] == 0, !isHeld { self.users[sender] = nil }
        }
    }

    /// Whose turn it was last, among those who have waited for theirs all along.
    private struct Turns {
        private var since: [String: (step: Int, served: Int)] = [:]

        /// Who is ready now; whoever was not starts anew.
        mutating func update(_ ready: Set<String>, at step: Int) {
            self.since = self.since.filter { ready.contains($0.key) }
            for name in ready where self.since[name] == nil { self.since[name] = (step, -1) }
        }

        /// False: another was ready before this one's last turn, and has had none since.
        mutating func serve(_ name: String, at step: Int) -> Bool {
            let last = self.since[name]?.served ?? -1
            defer { self.since[name]?.served = step }
            return last < 0
                || !self.since.contains { $0.key != name && $0.value.step < last && $0.value.served < last }
        }
    }

    /// What is offered is taken once or refused once, as the model says; never more waits than may; a sender's calls keep their order;
    /// and no user waits for another's second turn, nor a sender for another's of his user.
    @Test(arguments: [1, 2, 3] as [UInt64]) func nothingIsLostOrDoubled(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var queue = CallQueue<Int>()
        var model = Model()
        var taken = Set<Int>()
        var latest: [String: Int] = [:]
        var (payers, senders) = (Turns(), [String: Turns]())
        // "a" to "e" are of one user, the others of one each; "h" is never known.
        let users: [String: UInt32] = ["a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 2, "g": 3]
        let names = "abcdefgh".map(String.init)
        func payer(_ sender: String) -> String { queue.user(of: sender).map { "\($0)" } ?? sender }
        for number in 0..<20_000 {
            let sender = names.randomElement(using: &generator) ?? "a"
            switch Int.random(in: 0..<11, using: &generator) {
            case 0..<5:
                let user = Bool.random(using: &generator) ? users[sender] : nil
                let bytes = Int.random(in: 0...200_000, using: &generator)
                if let user, model.outstanding[sender, default: 0] < CallLimits.outstanding, model.users[sender] == nil
                {
                    model.users[sender] = user
                }
                let expected = model.offer(number, from: sender, bytes: bytes)
                #expect(queue.offer(number, from: sender, of: user, bytes: bytes) == expected, "\(number)")
            case 5..<8:
                guard let call = queue.next() else { continue }
                #expect(taken.insert(call).inserted)
                guard let owner = model.remove(call) else {
                    Issue.record("\(call) was refused and taken")
                    continue
                }
                #expect(call > latest[owner] ?? -1)
                latest[owner] = call
                #expect(!queue.isHeld(owner))
                let name = payer(owner)
                let isDue = (payers.serve(name, at: number), senders[name, default: Turns()].serve(owner, at: number))
                #expect(isDue == (true, true), "\(owner) had his turn")
                queue.ended(owner)
                model.outstanding[owner, default: 0] -= 1
            case 8: if Bool.random(using: &generator) { queue.hold(sender) } else { queue.release(sender) }
            case 9:
                guard let user = users[sender] else { continue }
                if queue.user(of: sender) == nil, queue.outstanding(of: sender) > 0 || queue.isHeld(sender) {
                    model.users[sender] = user
                }
                queue.setUser(user, of: sender)
            default:
                let calls = queue.drop(sender)
                #expect(calls == model.waiting.filter { $0.sender == sender }.map(\.call))
                for call in calls { #expect(model.remove(call) == sender) }
                model.outstanding[sender] = 0
                model.users[sender] = nil
            }
            for name in names {
                model.forget(name, isHeld: queue.isHeld(name))
                #expect(queue.user(of: name) == model.users[name])
                #expect(queue.outstanding(of: name) == model.outstanding[name, default: 0])
                #expect(queue.waiting(of: name) == model.waiting.count { $0.sender == name })
            }
            let ready = names.filter { queue.waiting(of: $0) > 0 && !queue.isHeld($0) }
            payers.update(Set(ready.map(payer)), at: number)
            for name in Set(names.map(payer)).union(senders.keys) {
                senders[name, default: Turns()].update(Set(ready.filter { payer($0) == name }), at: number)
            }
            #expect(queue.isIdle == ready.isEmpty)
            let bytes = Dictionary(
                model.waiting.map { (queue.user(of: $0.sender) ?? UserShares.unknown, $0.bytes) }, uniquingKeysWith: +)
            #expect(queue.waitingBytes == bytes)
        }
        let left = queue.dropAll()
        #expect(left.count == model.waiting.count && queue.isIdle)
    }
}
