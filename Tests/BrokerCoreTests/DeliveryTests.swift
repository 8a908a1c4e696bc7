import Arbitration
import BrokerCore
import Motion
import Testing

/// Queues at work in the broker: who has which, who loses what, and what outlives whom.
@Suite struct DeliveryTests {
    private static func policy(
        _ set: (inout DeliveryTerms) -> Void = { _ in }, group: GroupConfiguration? = nil, queueBytes: Int = 1 << 20
    ) -> Policy {
        var terms = DeliveryTerms()
        terms.lifespan = .seconds(60)
        set(&terms)
        var settings = AppSettings()
        settings.queueBytes = queueBytes
        return Policy(
            groups: group.map { [$0] } ?? [],
            rules: [
                Rule(
                    name: "all", place: Place(file: "test.conf", line: 1), effect: .allow, group: group?.name,
                    terms: terms)
            ], everyApp: settings)
    }

    private static func group(_ mode: GroupMode) -> GroupConfiguration {
        var group = GroupConfiguration(name: "g", place: Place(file: "test.conf", line: 1))
        group.mode = mode
        group.select = [.specificity]
        return group
    }

    /// An app with a detector that each sample above 2 g hits.
    private func app(_ bench: inout Bench, _ index: UInt32, _ name: String, threshold: Double = 2) throws -> AppHandle {
        let client = try bench.register(index, name)
        _ = try bench.add(client, Bench.planar("one", threshold, rest: "0ms"))
        return client
    }

    private func name(_ event: Event) -> EventName { EventName(sequence: event.sequence, epoch: event.epoch) }

    // MARK: Coming back

    @Test func whatAnAppDidNotAcknowledgeWaitsForIt() throws {
        var bench = Bench(policy: Self.policy { $0.reliability = .ack })
        let client = try self.app(&bench, 0, "org.example.A")
        bench.feed([2.5, 0, 2.6])
        let events = bench.events.map(\.1)
        #expect(events.map(\.sequence) == [1, 2])
        try bench.core.answer(client, self.name(events[0]), .consume, at: bench.now, &bench.actions)
        bench.core.leave(client, at: bench.now, &bench.actions)
        _ = bench.take()

        let again = try bench.register(3, "org.example.A")
        let count = try bench.core.subscribe(again, since: nil, at: bench.now, &bench.actions)
        #expect(count == 1)
        #expect(bench.events.map(\.1.sequence) == [2])
        #expect(bench.events.map(\.1.isRedelivered) == [true])
        #expect(bench.actions.last == .mark(again, .caughtUp(CaughtUp(last: 2))))
        // Its numbers go on.
        _ = try bench.add(again, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5])
        #expect(bench.events.map(\.1.sequence) == [2, 3])
    }

    @Test func whoAddsDetectorsNeedNotSubscribe() throws {
        var bench = Bench(policy: Self.policy { $0.kind = .store })
        let client = try self.app(&bench, 0, "org.example.A")
        try bench.core.tell(client, .suspended, at: bench.now, &bench.actions)
        bench.feed([2.5, 0, 2.6])
        #expect(bench.events.isEmpty)
        bench.core.leave(client, at: bench.now, &bench.actions)
        let again = try bench.register(0, "org.example.A")
        #expect(bench.events.isEmpty)
        _ = try bench.add(again, Bench.planar("other", 9))
        #expect(bench.events.map(\.1.sequence) == [1, 2])
        // Nobody asked to be told of the end of it.
        #expect(bench.actions.allSatisfy { if case .mark = $0 { false } else { true } })
    }

    @Test func anotherUserOrNobodyInParticularGetsNothingOfIt() throws {
        var bench = Bench(policy: Self.policy { $0.reliability = .ack })
        let client = try self.app(&bench, 0, "org.example.A")
        let anonymous = try bench.register(1, "")
        _ = try bench.add(anonymous, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5])
        #expect(bench.events.count == 2)
        bench.core.leave(client, at: bench.now, &bench.actions)
        bench.core.leave(anonymous, at: bench.now, &bench.actions)
        _ = bench.take()
        let other = AppHandle(0)
        try bench.core.register(
            other, AppID("org.example.A"), AppEntrance(), user: 4_711, at: bench.now, &bench.actions)
        #expect(try bench.core.subscribe(other, since: nil, at: bench.now, &bench.actions) == 0)
        let nobody = try bench.register(1, "")
        #expect(try bench.core.subscribe(nobody, since: nil, at: bench.now, &bench.actions) == 0)
        #expect(bench.events.isEmpty)
    }

    @Test func whatNobodyFetchesExpires() throws {
        var bench = Bench(policy: Self.policy { $0.reliability = .ack })
        let client = try self.app(&bench, 0, "org.example.A")
        bench.feed([2.5])
        bench.core.leave(client, at: bench.now, &bench.actions)
        _ = bench.take()
        let tick = try #require(bench.nextTick)
        bench.core.tick(at: tick, &bench.actions)
        bench.core.tick(at: bench.now + .seconds(60), &bench.actions)
        let ends = bench.actions.compactMap { action -> EventEnd? in
            if case .ended(_, _, _, let end) = action { end } else { nil }
        }
        #expect(ends == [.expired])
        // The numbers begin again.
        let again = try self.app(&bench, 0, "org.example.A")
        _ = bench.take()
        bench.now = bench.now + .seconds(61)
        bench.feed([0, 2.5])
        #expect(bench.events.map(\.1.sequence) == [1] && bench.events.first?.0 == again)
    }

    /// What was promised to an app is not given up for others that leave later: those are told that there is no room.
    @Test func whoLeavesLaterPushesNobodyOut() throws {
        var limits = BrokerLimits()
        limits.absentApps = 2
        var bench = Bench(policy: Self.policy { $0.reliability = .ack }, limits: limits)
        for index in 0..<3 as Range<UInt32> { _ = try self.app(&bench, index, "org.example.A\(index)") }
        bench.feed([2.5])
        _ = bench.take()
        for index in 0..<3 as Range<UInt32> {
            bench.core.leave(AppHandle(index), at: bench.now, &bench.actions)
        }
        let ended = bench.actions.compactMap { action -> String? in
            if case .ended(let app, _, _, let end) = action { "\(app) \(end.reason.name)" } else { nil }
        }
        #expect(ended == ["org.example.A2 S5.unkept"])
        let query = VerdictQuery(.last, of: AppReference(AppID("org.example.A2")), for: .user(0))
        #expect(bench.core.records.find(query).map(\.verdict.reason) == [.unkept])
        for (index, count) in [1, 1, 0].enumerated() {
            let client = try bench.register(UInt32(index), "org.example.A\(index)")
            #expect(try bench.core.subscribe(client, since: nil, at: bench.now, &bench.actions) == count)
        }
    }

    /// Of whom nothing is kept any more has no place among those that left, nor of whom nothing could be taken from the disk.
    @Test func whoHasNothingLeftHasNoPlace() throws {
        var bench = Bench(
            policy: Self.policy {
                $0.reliability = .ack
                $0.durability = .persistent
            })
        let client = try self.app(&bench, 0, "org.example.A")
        bench.feed([2.5])
        let stored = bench.actions.compactMap { action -> StoredEvent? in
            if case .persist(let stored) = action { stored } else { nil }
        }
        bench.core.leave(client, at: bench.now, &bench.actions)
        let kept = bench.core.mailboxes.absentBoxes.count
        #expect(stored.count == 1 && kept == 1)
        let narrow = Self.policy({ $0.reliability = .ack }, queueBytes: 2)
        bench.core.swap(narrow, at: bench.now, &bench.actions)
        let left = bench.core.mailboxes.absentBoxes.count
        #expect(left == 0)
        var next = Bench(policy: narrow)
        next.core.restore(stored, at: bench.now, &next.actions)
        let taken = next.core.mailboxes.absentBoxes.count
        #expect(taken == 0)
    }

    // MARK: Whose it is

    /// An owner that dies without a word leaves its event to the next, and must not find it when it comes back.
    @Test func whatAnHeirGotIsNotKeptForTheDead() throws {
        var bench = Bench(policy: Self.policy({ $0.reliability = .ack }, group: Self.group(.exclusive)))
        let gentle = try self.app(&bench, 0, "org.example.Gentle", threshold: 2)
        let hard = try self.app(&bench, 1, "org.example.Hard", threshold: 3)
        bench.feed([3.5])
        #expect(bench.events.map(\.0) == [hard])
        _ = bench.take()
        bench.core.leave(hard, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
        let again = try bench.register(1, "org.example.Hard")
        #expect(try bench.core.subscribe(again, since: nil, at: bench.now, &bench.actions) == 0)
    }

    @Test func whoWasSilentInAnOrderIsNotSentTheEventAgain() throws {
        var bench = Bench(policy: Self.policy({ $0.reliability = .ack }, group: Self.group(.ordered)))
        let gentle = try self.app(&bench, 0, "org.example.Gentle", threshold: 2)
        let hard = try self.app(&bench, 1, "org.example.Hard", threshold: 3)
        bench.feed([3.5])
        let offered = try #require(bench.events.first)
        #expect(offered.0 == hard && offered.1.answerBy == bench.now + .milliseconds(400))
        _ = bench.take()
        bench.core.tick(at: bench.now + .milliseconds(400), &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
        #expect(bench.core.mailboxes[hard]?.unacknowledgedCount == 0)
        // Too late: the event is the other's.
        try bench.core.answer(hard, self.name(offered.1), .consume, at: bench.now, &bench.actions)
        #expect(bench.core.mailboxes[gentle]?.unacknowledgedCount == 1)
        bench.core.tick(at: bench.now + .seconds(30), &bench.actions)
        #expect(bench.events.allSatisfy { $0.0 == gentle })
    }

    /// An answer covers what was sent before: of that, too, it says whether the next one may have it.
    @Test(arguments: [(Answer.consume, [Reason.taken, .consumed], [UInt64]()), (.pass, [.passed], [1, 2])])
    func whatAnAnswerCoversIsAnswered(_ answer: Answer, _ verdicts: [Reason], _ sequences: [UInt64]) throws {
        var group = Self.group(.ordered)
        group.quiet = .milliseconds(100)
        var bench = Bench(policy: Self.policy({ $0.reliability = .ack }, group: group))
        let gentle = try self.app(&bench, 0, "org.example.Gentle", threshold: 2)
        let hard = try self.app(&bench, 1, "org.example.Hard", threshold: 3)
        bench.feed([3.5, 0, 3.5])
        let offered = bench.events
        #expect(offered.map(\.0) == [hard, hard])
        #expect(offered.map(\.1.sequence) == [1, 2] && offered.first?.1.epoch != offered.last?.1.epoch)
        _ = bench.take()
        let last = try #require(offered.last?.1)
        try bench.core.answer(hard, self.name(last), answer, at: bench.now, &bench.actions)
        let reasons = offered.map { _, event in
            bench.core.records.find(VerdictQuery(.epoch(event.epoch), for: .user(0))).map(\.verdict.reason)
        }
        #expect(reasons == [verdicts, verdicts])
        // However long nothing more is said.
        bench.core.tick(at: bench.now + .milliseconds(399), &bench.actions)
        let next = bench.events
        #expect(next.allSatisfy { $0.0 == gentle } && next.map(\.1.sequence) == sequences)
        #expect(next.map(\.1.epoch) == (sequences.isEmpty ? [] : offered.map(\.1.epoch)))
    }

    /// What an app says that it is done with when it subscribes it has answered.
    @Test func whatAnAppSubscribesBehindIsAnswered() throws {
        var bench = Bench(policy: Self.policy({ $0.reliability = .ack }, group: Self.group(.ordered)))
        _ = try self.app(&bench, 0, "org.example.Gentle", threshold: 2)
        let hard = try self.app(&bench, 1, "org.example.Hard", threshold: 3)
        bench.feed([3.5])
        let offered = try #require(bench.events.first)
        #expect(offered.0 == hard)
        _ = bench.take()
        let kept = try bench.core.subscribe(hard, since: self.name(offered.1), at: bench.now, &bench.actions)
        #expect(kept == 0)
        bench.core.tick(at: bench.now + .milliseconds(400), &bench.actions)
        #expect(bench.events.isEmpty)
    }

    /// So it is with what need not be acknowledged, where the answer names what the app was sent.
    @Test(arguments: [(Answer.consume, [Reason.taken, .consumed], [UInt64]()), (.pass, [.passed], [1, 2])])
    func whatAnAnswerCoversNeedNotBeKept(_ answer: Answer, _ verdicts: [Reason], _ sequences: [UInt64]) throws {
        var group = Self.group(.ordered)
        group.quiet = .milliseconds(100)
        var bench = Bench(policy: Self.policy(group: group))
        let gentle = try self.app(&bench, 0, "org.example.Gentle", threshold: 2)
        let hard = try self.app(&bench, 1, "org.example.Hard", threshold: 3)
        bench.feed([3.5, 0, 3.5])
        let offered = bench.events
        #expect(offered.map(\.0) == [hard, hard] && offered.map(\.1.sequence) == [1, 2])
        _ = bench.take()
        let last = try #require(offered.last?.1)
        let wrong = EventName(sequence: last.sequence, epoch: last.epoch + 9)
        try bench.core.answer(hard, wrong, answer, at: bench.now, &bench.actions)
        #expect(bench.events.isEmpty)
        try bench.core.answer(hard, self.name(last), answer, at: bench.now, &bench.actions)
        let reasons = offered.map { _, event in
            bench.core.records.find(VerdictQuery(.epoch(event.epoch), for: .user(0))).map(\.verdict.reason)
        }
        #expect(reasons == [verdicts, verdicts])
        bench.core.tick(at: bench.now + .milliseconds(399), &bench.actions)
        let next = bench.events
        #expect(next.allSatisfy { $0.0 == gentle } && next.map(\.1.sequence) == sequences)
        let stale = bench.core.arbiter.staleAnswers
        // Only of the name that was wrong.
        #expect(stale == 1)
    }

    @Test func aRemovedDetectorTakesItsEventsWithIt() throws {
        var bench = Bench(policy: Self.policy { $0.reliability = .ack })
        let client = try self.app(&bench, 0, "org.example.A")
        _ = try bench.add(client, Bench.planar("two", 2, rest: "0ms"))
        bench.feed([2.5])
        #expect(bench.core.mailboxes[client]?.unacknowledgedCount == 2)
        try bench.core.removeDetectors(client, ["one"], at: bench.now, &bench.actions)
        #expect(bench.core.mailboxes[client]?.unacknowledgedCount == 1)
        // Replacing it is removing it; the same again is not.
        _ = try bench.add(client, Bench.planar("two", 2, rest: "0ms"))
        #expect(bench.core.mailboxes[client]?.unacknowledgedCount == 1)
        _ = try bench.add(client, Bench.planar("two", 3, rest: "0ms"))
        #expect(bench.core.mailboxes[client]?.unacknowledgedCount == 0)
    }

    @Test func nobodyFillsAnothersQueue() throws {
        var bench = Bench(policy: Self.policy({ $0.kind = .store }, queueBytes: 4 * 310))
        let full = try self.app(&bench, 0, "org.example.Full")
        let other = try self.app(&bench, 1, "org.example.Other")
        try bench.core.tell(full, .suspended, at: bench.now, &bench.actions)
        bench.feed([2.5, 2.5, 2.5, 2.5])
        #expect(bench.core.mailboxes[full]?.waitingCount == 2)
        #expect(bench.core.mailboxes[full]?.dropped == 2)
        #expect(bench.events.count { $0.0 == other } == 4)
        #expect(bench.core.mailboxes[other]?.dropped == 0)
        // Another policy, other limits.
        bench.core.swap(Self.policy({ $0.kind = .store }, queueBytes: 2 * 310), at: bench.now, &bench.actions)
        #expect(bench.core.mailboxes[full]?.waitingCount == 1)
    }

    /// What became of an event is told in place of its having been sent.
    @Test func theVerdictSaysWhatBecameOfIt() throws {
        var bench = Bench(policy: Self.policy { $0.reliability = .ack })
        let client = try self.app(&bench, 0, "org.example.A")
        bench.feed([2.5, 0, 2.5])
        let events = bench.events.map(\.1)
        try bench.core.answer(client, self.name(events[0]), .consume, at: bench.now, &bench.actions)
        bench.core.tick(at: bench.now + .seconds(60), &bench.actions)
        let reasons = events.map { event in
            bench.core.records.find(VerdictQuery(.epoch(event.epoch), for: .user(0))).map(\.verdict.reason)
        }
        #expect(reasons == [[.acknowledged], [.expired]])
    }

    // MARK: The disk

    @Test func whatIsRestoredWaitsForItsApp() throws {
        var bench = Bench(
            policy: Self.policy {
                $0.reliability = .ack
                $0.durability = .persistent
            })
        _ = try self.app(&bench, 0, "org.example.A")
        bench.feed([2.5, 0, 2.5])
        let stored = bench.actions.compactMap { action -> StoredEvent? in
            if case .persist(let stored) = action { stored } else { nil }
        }
        #expect(stored.map(\.event.sequence) == [1, 2])

        var next = Bench(policy: Self.policy { $0.reliability = .ack })
        next.core.restore(stored, at: bench.now, &next.actions)
        let client = try next.register(0, "org.example.A")
        #expect(try next.core.subscribe(client, since: nil, at: bench.now, &next.actions) == 2)
        #expect(next.events.map(\.1.sequence) == [1, 2])
        #expect(next.events.allSatisfy { $0.1.isRedelivered && $0.1.isPersistent })
        // Done with, it is taken from the disk.
        try next.core.answer(client, self.name(stored[1].event), .consume, at: bench.now, &next.actions)
        let forgotten = next.actions.compactMap { action -> UInt64? in
            if case .forget(let stored) = action { stored.event.sequence } else { nil }
        }
        #expect(forgotten == [1, 2])
    }
}
