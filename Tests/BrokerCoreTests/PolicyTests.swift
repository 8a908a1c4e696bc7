import Arbitration
import BrokerCore
import Detection
import Motion
import Testing

/// What the arbiter decides is what apps get.
@Suite struct PolicyTests {
    /// A gentle and a hard detector in one group, at the end of all rests.
    private func contest(
        _ mode: GroupMode, sensor: SensorDescription = Bench.sensor
    ) throws -> (bench: Bench, gentle: AppHandle, hard: AppHandle) {
        var bench = Bench(policy: Bench.contest(mode), sensor: sensor)
        let gentle = try bench.register(0, "org.example.Gentle")
        let hard = try bench.register(1, "org.example.Hard")
        _ = try bench.add(gentle, Bench.planar("gentle", 2))
        _ = try bench.add(hard, Bench.planar("hard", 3.5))
        bench.answerClaim()
        bench.feed([0])
        _ = bench.take()
        return (bench, gentle, hard)
    }

    private static let still = [Double](repeating: 0, count: 15)

    private static func deny(_ app: String) -> Policy {
        var conditions = Conditions()
        conditions.apps.any = [NamePattern(app)]
        return Policy(
            otherwise: .allow,
            rules: [Rule(name: "no", place: Place(file: "t", line: 1), conditions: conditions, effect: .deny)])
    }

    // MARK: Exclusive

    @Test func onlyTheMostSpecificGetsTheEvent() throws {
        var (bench, gentle, hard) = try self.contest(.exclusive)
        bench.feed([4.5])
        #expect(bench.events.map(\.0) == [hard])
        #expect(bench.events.map(\.1.detector) == ["hard"])
        #expect(bench.core.sensing.hits(of: gentle) == 1)
        #expect(bench.tally(of: gentle)?.denied == 1)
        #expect(bench.tally(of: gentle)?.lastEvent == nil)
        #expect(bench.tally(of: hard)?.denied == 0)
    }

    @Test func aGentleMotionWaitsForTheWindow() throws {
        var (bench, gentle, hard) = try self.contest(.exclusive)
        bench.feed([2.5, 0, 0, 0])
        #expect(bench.events.isEmpty)
        bench.feed([0])
        #expect(bench.events.map(\.0) == [gentle])
        bench.feed(Self.still)
        _ = bench.take()
        bench.feed([4.5])
        #expect(bench.events.map(\.0) == [hard])
    }

    /// Who has another threshold from now on has hit with the old one.
    @Test func anotherThresholdLosesNothingThatWaits() throws {
        var (bench, gentle, _) = try self.contest(.exclusive)
        bench.feed([2.5])
        let old = Bench.contest(.exclusive)
        var settings = AppSettings()
        settings.sensing.thresholds = ["shake.planar": "3g"]
        let policy = Policy(
            otherwise: .deny, groups: old.groups, rules: old.rules, apps: [AppID("org.example.Gentle"): settings])
        bench.core.swap(policy, at: bench.now, &bench.actions)
        bench.feed([0, 0, 0, 0])
        #expect(bench.events.map(\.0) == [gentle])
        bench.feed(Self.still)
        _ = bench.take()
        bench.feed([2.5, 0, 0, 0, 0])
        #expect(bench.events.isEmpty)
    }

    /// The window closes by the clock when samples stop.
    @Test func theWindowClosesWithoutAnotherSample() throws {
        var (bench, gentle, _) = try self.contest(.exclusive)
        bench.feed([2.5])
        let tick = try #require(bench.nextTick)
        // The window, and the time that a sample may be under way.
        #expect(tick == bench.now + .milliseconds(450))
        bench.core.tick(at: tick, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
        // Quiet comes to its end by the clock, too, and then nothing waits any more.
        let end = try #require(bench.nextTick)
        bench.core.tick(at: end, &bench.actions)
        #expect(bench.nextTick == nil)
    }

    /// Who cannot fire is not waited for.
    @Test func anAppThatLeftIsNotWaitedFor() throws {
        var (bench, gentle, hard) = try self.contest(.exclusive)
        bench.feed([2.5])
        #expect(bench.events.isEmpty)
        bench.core.leave(hard, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
    }

    @Test func aSensorThatIsGoneIsNotWaitedFor() throws {
        var (bench, gentle, _) = try self.contest(.exclusive)
        bench.feed([2.5])
        #expect(bench.events.isEmpty)
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
    }

    /// Motion that was made is told as made, and none that was measured is, whatever has its sensor by the time it is decided.
    @Test(arguments: [false, true], [false, true])
    func whetherItWasMadeIsKnownOfTheMotion(_ isMade: Bool, _ isGone: Bool) throws {
        var (first, second) = (Bench.sensor, Bench.sensor)
        first.isSimulated = isMade
        second.isSimulated = !isMade
        var (bench, gentle, _) = try self.contest(.exclusive, sensor: first)
        bench.feed([2.5])
        #expect(bench.events.isEmpty)
        if isGone { bench.core.sensorsLost(at: bench.now, &bench.actions) }
        bench.core.sensorAppeared(second, at: bench.now, &bench.actions)
        bench.feed([0, 0, 0, 0, 0])
        #expect(bench.events.map(\.0) == [gentle])
        #expect(bench.events.map(\.1.isSimulated) == [isMade])
    }

    /// The event of an owner that leaves without a word goes to the next.
    @Test func anOwnerThatLeavesIsReplaced() throws {
        var (bench, gentle, hard) = try self.contest(.exclusive)
        bench.feed([4.5])
        let first = try #require(bench.events.first?.1.epoch)
        _ = bench.take()
        bench.core.leave(hard, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
        #expect(bench.events.allSatisfy { $0.1.epoch > first })
    }

    /// The quiet ends before a sample of the same time is looked at: what that one starts is a motion of its own.
    @Test func aMotionAfterTheQuietIsANewOne() throws {
        var (bench, gentle, hard) = try self.contest(.exclusive)
        bench.feed([4.5] + [Double](repeating: 0, count: 9) + [2.5, 0, 0, 0, 0])
        #expect(bench.events.map(\.0) == [hard, gentle])
        #expect(Set(bench.events.map(\.1.epoch)).count == 2)
        #expect(bench.tally(of: gentle)?.denied == 1)
    }

    /// Samples that travel together are decided as if they had come one by one.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func batchesChangeNothing(_ seed: UInt64) throws {
        print("seed \(seed)")
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var values: [Double] = []
        for _ in 0..<400 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            values.append(state % 6 == 0 ? Double((state >> 8) % 500) / 100 : 0)
        }
        var single = try self.contest(.exclusive).bench
        single.feed(values)
        var batched = try self.contest(.exclusive).bench
        var index = 0
        while index < values.count {
            let count = min(7, values.count - index)
            batched.feed(together: Array(values[index..<index + count]))
            index += count
        }
        #expect(single.events.count > 10)
        // All but when they die: that counts from when the samples came.
        let (one, other) = (single.events.map(\.1), batched.events.map(\.1))
        #expect(one.map(\.sequence) == other.map(\.sequence) && one.map(\.epoch) == other.map(\.epoch))
        #expect(one.map(\.time) == other.map(\.time) && one.map(\.peak) == other.map(\.peak))
        #expect(one.map(\.detector) == other.map(\.detector))
        #expect(single.events.map(\.0) == batched.events.map(\.0))
    }

    // MARK: Rules

    @Test func whatARuleDeniesIsCounted() throws {
        var bench = Bench(policy: Self.deny("org.example.Denied"))
        let denied = try bench.register(0, "org.example.Denied")
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(denied, Bench.planar("one", 2, rest: "0ms"))
        _ = try bench.add(other, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5, 2.5, 2.5])
        #expect(bench.events.map(\.0) == [other, other, other])
        let tally = try #require(bench.tally(of: denied))
        #expect(bench.core.sensing.hits(of: denied) == 3)
        #expect([tally.denied, tally.delivered, bench.core.mailboxes[denied]?.dropped] == [3, 0, 0])
        #expect(bench.tally(of: other)?.denied == 0)
    }

    @Test func everyEventNamesItsPolicy() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5])
        #expect(bench.core.arbiter.generation == 1)
        bench.core.swap(.builtIn, at: bench.now, &bench.actions)
        #expect(bench.core.arbiter.generation == 2)
        bench.feed([2.5])
        #expect(bench.events.map(\.1.generation) == [1, 2])
    }

    @Test func aNewPolicyFindsEverythingInPlace() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5])
        bench.core.swap(Self.deny("org.example.App"), at: bench.now, &bench.actions)
        bench.feed([2.5])
        bench.core.swap(.builtIn, at: bench.now, &bench.actions)
        bench.feed([2.5])
        #expect(bench.events.map(\.1.generation) == [1, 3])
        #expect(bench.tally(of: app)?.denied == 1)
        let epochs = bench.events.map(\.1.epoch)
        #expect(epochs == epochs.sorted() && Set(epochs).count == 2)
    }

    /// What is open is decided by the policy it began with.
    @Test func anOpenEpisodeKeepsItsPolicy() throws {
        var (bench, gentle, _) = try self.contest(.exclusive)
        bench.feed([2.5])
        #expect(bench.events.isEmpty)
        bench.core.swap(.builtIn, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [gentle])
        #expect(bench.events.map(\.1.generation) == [1])
    }

    /// While policy has the word about a threshold, the app's own changes unseen: what it asked for last holds afterwards.
    @Test func whatWasAskedForLastHoldsWhenPolicySaysNoMore() throws {
        let id = AppID("org.example.App")
        var settings = AppSettings()
        settings.sensing.thresholds = ["one": "3g"]
        var bench = Bench(policy: Policy(otherwise: .allow, apps: [id: settings]))
        let app = try bench.register(0, id.name)
        for asked in [1.2, 2] {
            let effective = try bench.add(app, Bench.planar("one", asked))
            #expect(effective.first?.detector.threshold == 3)
        }
        bench.core.swap(.builtIn, at: bench.now, &bench.actions)
        let threshold = bench.core.registry[app]?.detectors["one"]?.effective.threshold
        #expect(threshold == 2)
    }

    // MARK: Ordered

    @Test func whoPassesLeavesItToTheNext() throws {
        var (bench, gentle, hard) = try self.contest(.ordered)
        bench.feed([4.5])
        #expect(bench.events.map(\.0) == [hard])
        let epoch = try #require(bench.events.first?.1.epoch)
        // Not yet its turn.
        try bench.core.answer(gentle, EventName(sequence: 1, epoch: epoch), .consume, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [hard])
        try bench.core.answer(hard, EventName(sequence: 1, epoch: epoch), .pass, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [hard, gentle])
        #expect(bench.events.allSatisfy { $0.1.epoch == epoch })
    }

    @Test func whoConsumesEndsTheOrder() throws {
        var (bench, gentle, hard) = try self.contest(.ordered)
        bench.feed([4.5])
        let epoch = try #require(bench.events.first?.1.epoch)
        try bench.core.answer(hard, EventName(sequence: 1, epoch: epoch), .consume, at: bench.now, &bench.actions)
        bench.feed(Self.still)
        #expect(bench.events.map(\.0) == [hard])
        #expect(bench.tally(of: gentle)?.denied == 1)
    }

    @Test func whoIsSilentHasPassed() throws {
        var (bench, gentle, hard) = try self.contest(.ordered)
        bench.feed([4.5])
        #expect(bench.events.map(\.0) == [hard])
        let tick = try #require(bench.nextTick)
        #expect(tick == bench.now + .milliseconds(400))
        bench.core.tick(at: tick, &bench.actions)
        #expect(bench.events.map(\.0) == [hard, gentle])
    }

    /// The broker stood still for longer than an app may take: a sample is read first, and the answer that came in time behind it.
    @Test func whoseAnswerIsReadLateIsNotSilent() throws {
        for isAnswered in [true, false] {
            var (bench, gentle, hard) = try self.contest(.ordered)
            bench.feed([4.5])
            let epoch = try #require(bench.events.first?.1.epoch)
            bench.now = bench.now + .milliseconds(500)
            bench.feed([0, 0])
            #expect(bench.events.map(\.0) == [hard])
            if isAnswered {
                let event = EventName(sequence: 1, epoch: epoch)
                try bench.core.answer(hard, event, .consume, at: bench.now, &bench.actions)
            }
            let tick = try #require(bench.nextTick)
            bench.core.tick(at: max(tick, bench.now), &bench.actions)
            #expect(bench.events.map(\.0) == (isAnswered ? [hard] : [hard, gentle]))
        }
    }

    @Test func onlyAppsAnswer() {
        var bench = Bench()
        #expect(throws: Refusal.unknownClient) {
            try bench.core.answer(
                AppHandle(9), EventName(sequence: 1, epoch: 1), .consume, at: bench.now, &bench.actions)
        }
    }

    /// A new policy with every batch of samples, and each hit is still one event, in order.
    @Test func noEventIsLostToANewPolicy() throws {
        var rules: [Rule] = []
        for index in 0..<500 {
            var conditions = Conditions()
            conditions.apps.any = [NamePattern("org.example.Other\(index)")]
            rules.append(
                Rule(
                    name: "r\(index)", place: Place(file: "test.conf", line: index + 1), conditions: conditions,
                    effect: index % 2 == 0 ? .allow : .deny))
        }
        let policies = [Policy(otherwise: .allow, rules: rules), Policy(otherwise: .allow, rules: rules.dropLast(1))]
        var bench = Bench(policy: policies[0])
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("d", 1, rest: "0s"))
        bench.answerClaim()
        var events: [Event] = []
        for round in 0..<50 {
            bench.feed([2, 3])
            bench.core.swap(policies[(round + 1) % 2], at: bench.now, &bench.actions)
            events += bench.events.map(\.1)
            _ = bench.take()
        }
        #expect(events.map(\.sequence) == Array(1...100))
        #expect(Set(events.map(\.epoch)).count == 100)
        #expect(events.map { Int($0.generation) } == (0..<100).map { $0 / 2 + 1 })
    }
}
