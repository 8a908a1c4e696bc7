import Arbitration
@testable import BrokerCore
import Detection
import Loop
import Motion
import Traces
import Testing

/// What was decided can be asked about, by whom it concerns and as long as it is kept.
@Suite struct ExplanationTests {
    /// Two apps of two users in one group, after a hard shake that the stricter one got.
    private func decided(_ limits: BrokerLimits = BrokerLimits()) throws -> (Bench, gentle: AppHandle, hard: AppHandle)
    {
        var bench = Bench(policy: Bench.contest(.exclusive), limits: limits)
        let (gentle, hard) = (AppHandle(0), AppHandle(1))
        try bench.core.register(
            gentle, AppID("org.example.Gentle"), AppEntrance(), user: 1_000, at: bench.now, &bench.actions)
        try bench.core.register(
            hard, AppID("org.example.Hard"), AppEntrance(), user: 1_001, at: bench.now, &bench.actions)
        _ = try bench.add(gentle, Bench.planar("gentle", 2))
        _ = try bench.add(hard, Bench.planar("hard", 3.5))
        bench.answerClaim()
        bench.feed([0, 4.5])
        return (bench, gentle, hard)
    }

    /// The apps and reasons that an answer shows.
    private func answer(_ bench: Bench, _ query: VerdictQuery) -> [String] {
        bench.core.records.show(bench.core.records.find(query), for: query, among: bench.core.registry).map {
            "\($0.verdict.id.name) \($0.verdict.reason.name)"
        }
    }

    private func viewer(_ bench: Bench, _ client: AppHandle) throws -> Viewer {
        .app(try #require(bench.core.registry[client]).reference)
    }

    private static let both = ["org.example.Hard S5.sent", "org.example.Gentle S4.outranked"]

    @Test func whoSeesWhat() throws {
        let (bench, gentle, hard) = try self.decided()
        let epoch = try #require(bench.events.first?.1.epoch)
        let (asGentle, asHard) = (try self.viewer(bench, gentle), try self.viewer(bench, hard))
        for event in [VerdictQuery.Event.last, .epoch(epoch)] {
            #expect(self.answer(bench, VerdictQuery(event, for: .user(0))) == Self.both)
            #expect(self.answer(bench, VerdictQuery(event, for: .user(1_000))) == [Self.both[1]])
            #expect(self.answer(bench, VerdictQuery(event, for: .user(1_001))) == [Self.both[0]])
            #expect(self.answer(bench, VerdictQuery(event, for: .user(1_002))) == [])
            #expect(self.answer(bench, VerdictQuery(event, for: asGentle)) == [Self.both[1]])
            #expect(self.answer(bench, VerdictQuery(event, for: asHard)) == [Self.both[0]])
            let other = AppReference(AppID("org.example.Hard"))
            #expect(self.answer(bench, VerdictQuery(event, of: other, for: .user(0))) == [Self.both[0]])
            #expect(self.answer(bench, VerdictQuery(event, of: other, for: .user(1_000))) == [])
        }
    }

    /// A disk may have changed any bit of what is read there.
    @Test(arguments: [Int64.min, 0, .max]) func aTimeThatCannotBeIsToldOf(_ wall: Int64) throws {
        let (bench, _, _) = try self.decided()
        let query = VerdictQuery(.last, of: AppReference(AppID("org.example.Gentle")), for: .user(0))
        var record = try #require(bench.core.records.find(query).last)
        record.aftermath.failed(.unknown)
        record.origin = VerdictRecord.Origin(wall: wall, policyFiles: [], isPast: true)
        for now in [Int64.min, 0, .max] {
            let past = try #require(WhyNot.PastFailure(record, at: now))
            #expect(past.wall == wall && past.age >= .zero)
        }
    }

    /// Names of other apps are for root, and for their user.
    @Test func whoIsNamed() throws {
        let (bench, gentle, _) = try self.decided()
        func winner(_ viewer: Viewer) -> String? {
            let query = VerdictQuery(.last, of: AppReference(AppID("org.example.Gentle")), for: viewer)
            return bench.core.records.show(bench.core.records.find(query), for: query, among: bench.core.registry)
                .first?.verdict.contest?
                .winner?.name
        }
        #expect(winner(.user(0)) == "org.example.Hard")
        #expect(winner(.user(1_000)) == "another app")
        #expect(winner(try self.viewer(bench, gentle)) == "another app")

        var same = Bench(policy: Bench.contest(.exclusive))
        for (index, name) in ["org.example.Gentle", "org.example.Hard"].enumerated() {
            let client = AppHandle(UInt32(index))
            try same.core.register(client, AppID(name), AppEntrance(), user: 1_000, at: same.now, &same.actions)
            _ = try same.add(client, Bench.planar("d", index == 0 ? 2 : 3.5))
        }
        same.answerClaim()
        same.feed([0, 4.5])
        let query = VerdictQuery(.last, of: AppReference(AppID("org.example.Gentle")), for: .user(1_000))
        #expect(
            same.core.records.show(same.core.records.find(query), for: query, among: same.core.registry).first?.verdict
                .contest?.winner?.name == "org.example.Hard"
        )
    }

    /// An app that came back asks about what it did before; a client without a name has nothing to be known by.
    @Test func whoCameBack() throws {
        for (name, sees) in [("org.example.App", true), ("", false)] {
            var bench = Bench(policy: Policy(otherwise: .deny))
            let client = AppHandle(3)
            func register(_ bench: inout Bench) throws {
                try bench.core.register(
                    client, AppID(name), AppEntrance(proof: name.isEmpty ? .uid : .name), user: 7, at: bench.now,
                    &bench.actions)
                _ = try bench.add(client, Bench.planar("d", 2))
            }
            try register(&bench)
            bench.answerClaim()
            bench.feed([0, 3])
            bench.core.leave(client, at: bench.now, &bench.actions)
            try register(&bench)
            let own = try #require(bench.core.registry[client]).reference
            let query = VerdictQuery(.last, of: own, for: .app(own))
            #expect(self.answer(bench, query).isEmpty != sees)
            // Its user may know.
            #expect(self.answer(bench, VerdictQuery(.last, for: .user(7))) == ["\(name) S2.no-rule"])
        }
    }

    @Test func anAppsOwnNumberLeadsToTheEpoch() throws {
        var (bench, _, hard) = try self.decided()
        let still = [Double](repeating: 0, count: 15)
        bench.feed(still + [4.6])
        let events = bench.events
        try #require(events.count == 2)
        let own = try #require(bench.core.registry[hard]).reference
        for (_, event) in events {
            let query = VerdictQuery(.sequence(event.sequence), of: own, for: .app(own))
            #expect(bench.core.records.find(query).map(\.verdict.epoch) == [event.epoch])
        }
        #expect(bench.core.records.find(VerdictQuery(.sequence(3), of: own, for: .app(own))).isEmpty)
    }

    @Test func theOldestGoFirst() throws {
        var limits = BrokerLimits()
        limits.verdicts = 3
        var (bench, _, _) = try self.decided(limits)
        var epochs: [UInt64] = []
        let still = [Double](repeating: 0, count: 15)
        for _ in 0..<4 {
            bench.feed(still + [2.5] + still)
            epochs.append(try #require(bench.events.last?.1.epoch))
        }
        func isKept(_ epoch: UInt64) -> Bool {
            !bench.core.records.find(VerdictQuery(.epoch(epoch), for: .user(0))).isEmpty
        }
        #expect(epochs.map(isKept) == [false, true, true, true])
        let gone = VerdictQuery(.epoch(epochs[0]), for: .user(0))
        #expect(
            bench.core.records.absence(of: gone, bench.core.arbiter)
                == "epoch \(epochs[0]) is not kept any more; the oldest is \(epochs[1])")
        let unknown = VerdictQuery(.epoch(epochs[3] + 1), for: .user(0))
        #expect(
            bench.core.records.absence(of: unknown, bench.core.arbiter) == "there was no epoch \(epochs[3] + 1) yet")
    }

    /// Whatever is thrown at it, no more is held than is allowed, and what is left is the newest.
    @Test(arguments: [1_000, 2_000, 20_000])
    func bytesAreBounded(_ bytes: Int) throws {
        var limits = BrokerLimits()
        limits.verdictBytes = bytes
        var bench = Bench(policy: Policy(otherwise: .allow), limits: limits)
        let client = try bench.register(0, "org.example." + String(repeating: "x", count: 200))
        _ = try bench.add(client, Bench.planar(String(repeating: "d", count: 100), 2, rest: "0s"))
        bench.answerClaim()
        bench.feed([Double](repeating: 3, count: 100))
        let newest = try #require(bench.events.last?.1.epoch)
        let kept = (0..<100).reversed().prefix { back in
            !bench.core.records.find(VerdictQuery(.epoch(newest - UInt64(99 - back)), for: .user(0))).isEmpty
        }.count
        #expect(kept * 300 <= bytes)
        #expect(kept >= bytes / 2_000)
    }

    /// What would become of an app's detectors is found out one after the other, as long as the app is there.
    @Test func eachDetectorIsLookedAtByItself() throws {
        var bench = Bench()
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("a", 2), Bench.planar("b", 3), Bench.planar("c", 4))
        bench.answerClaim()
        let begun = WhyNot(client, of: bench.core, at: bench.now)
        var answer = try #require(begun)
        #expect(answer.detectors.isEmpty && answer.detectorCount == 3)
        for count in 1...3 {
            #expect(!answer.isComplete)
            let isThere = answer.look(in: bench.core, for: .user(0), at: bench.now)
            #expect(isThere && answer.detectors.count == count)
        }
        #expect(answer.isComplete && answer.detectors.map(\.name) == ["a", "b", "c"])
        var other = try #require(begun)
        bench.leave(client)
        let isThere = other.look(in: bench.core, for: .user(0), at: bench.now)
        #expect(!isThere && other.detectors.isEmpty)
    }

    /// The number of a detector that is taken away meanwhile may be that of another's.
    @Test func whatIsTakenAwayMeanwhileIsNotLookedAt() throws {
        var bench = Bench()
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("a", 2), Bench.planar("b", 3))
        bench.answerClaim()
        let begun = WhyNot(client, of: bench.core, at: bench.now)
        var answer = try #require(begun)
        try bench.remove(client, ["a"])
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(other, Bench.planar("c", 2))
        while !answer.isComplete {
            let isThere = answer.look(in: bench.core, for: .user(0), at: bench.now)
            #expect(isThere)
        }
        #expect(answer.detectors.map(\.name) == ["b"] && answer.detectorCount == 1)
    }

    /// What this thread has computed for something, in seconds: the least of some times.
    private func spent(_ body: () -> Void) -> Double {
        (0..<3).reduce(Double.infinity) { least, _ in
            let begin = Clock.threadTime()
            body()
            return min(least, Double(Clock.threadTime() - begin) / 1e6)
        }
    }

    /// The verdict of a hard shake, as that of so many apps.
    private func verdicts(_ count: Int) throws -> [VerdictRecord] {
        let (bench, _, _) = try self.decided()
        let query = VerdictQuery(.last, of: AppReference(AppID("org.example.Hard")), for: .user(0))
        let record = try #require(bench.core.records.find(query).first)
        return (0..<count).map { number in
            var other = record
            other.verdict.id = AppID("org.example.App\(number)")
            return other
        }
    }

    /// What of an epoch is in memory and on the disk is there once, and it takes as long as there are apps.
    @Test func aLargeEpochIsJoinedAsItIsLong() throws {
        let records = try self.verdicts(4_096)
        let stored = records.map { record in
            var ended = record
            ended.verdict.reason = .acknowledged
            return ended
        }
        #expect(Array(records[..<4_095]).joined(by: stored) == Array(records[..<4_095] + stored[4_095...]))
        var refused = stored[0]
        refused.verdict.reason = .outranked
        #expect(records.joined(by: [refused]) == records + [refused])
        let few = self.spent { _ = Array(records[..<512]).joined(by: Array(stored[..<512])) }
        let many = self.spent { _ = records.joined(by: stored) }
        #expect(many < 32 * few, "\(many) s and \(few) s")
    }

    /// Whoever has a part in it: what becomes of an event is noted as quickly in a large epoch as in as many small ones.
    @Test func eventsOfALargeEpochEndAsQuicklyAsOthers() throws {
        var limits = BrokerLimits()
        limits.verdictBytes = 1 << 28
        let records = try self.verdicts(limits.verdicts)
        let event = try #require(try self.decided().0.events.first?.1)
        func timeOfEnds(epoch: (Int) -> UInt64) -> Double {
            var verdicts = RecentVerdicts(limits)
            for (index, record) in records.enumerated() {
                var record = record
                record.verdict.epoch = epoch(index)
                verdicts.keep(record)
            }
            let spent = self.spent {
                for (index, record) in records.enumerated() {
                    var ended = event
                    ended.content.epoch = epoch(index)
                    verdicts.end(ended, of: record.verdict.id, record.user, .expired, at: event.time)
                }
            }
            let query = VerdictQuery(.epoch(epoch(0)), for: .user(0))
            #expect(verdicts.find(query).allSatisfy { $0.verdict.reason == .expired })
            return spent
        }
        let (small, large) = (timeOfEnds { UInt64($0) + 1 }, timeOfEnds { _ in 1 })
        #expect(large < 8 * small, "\(large) s and \(small) s")
    }

    /// Who may not see what others' apps did is not told either that there was something.
    @Test func absenceTellsNothingOfOthers() throws {
        var (bench, gentle, hard) = try self.decided()
        let first = try #require(bench.events.first?.1.epoch)
        let still = [Double](repeating: 0, count: 15)
        let viewers = [Viewer.user(1_000), .user(1_002), try self.viewer(bench, gentle)]
        func words(_ epoch: UInt64) -> [String] {
            viewers.map { bench.core.records.absence(of: VerdictQuery(.epoch(epoch), for: $0), bench.core.arbiter) }
        }
        // From here on only the app of another user hears anything.
        bench.core.leave(gentle, at: bench.now, &bench.actions)
        let (next, before) = (first + 1, words(first + 1))
        #expect(before == Array(repeating: "epoch \(next) has no verdict that you may see", count: 3))
        bench.feed(still + [4.6] + still)
        #expect(bench.core.records.find(VerdictQuery(.epoch(next), for: .user(1_001))).count == 1)
        #expect(words(next) == before)
        #expect(words(first - 1)[1] == "epoch \(first - 1) has no verdict that you may see")
        #expect(words(first - 1)[0] == "epoch \(first - 1) is not kept any more; the oldest is \(first)")
        _ = hard

        // An order that goes on is nobody's business but of those who have the event.
        var open = Bench(policy: Bench.contest(.ordered))
        try open.core.register(
            AppHandle(0), AppID("org.example.App"), AppEntrance(), user: 1_000, at: open.now, &open.actions)
        _ = try open.add(AppHandle(0), Bench.planar("d", 2))
        open.answerClaim()
        open.feed([0, 3])
        let epoch = try #require(open.events.first?.1.epoch)
        func say(_ user: UInt32) -> String {
            open.core.records.absence(of: VerdictQuery(.epoch(epoch), for: .user(user)), open.core.arbiter)
        }
        #expect(say(1_000) == "epoch \(epoch) is not decided yet")
        #expect(say(1_001) == "epoch \(epoch) has no verdict that you may see")
    }

    @Test func anOrderThatIsNotThroughIsSaidToBeOpen() throws {
        var bench = Bench(policy: Bench.contest(.ordered))
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("d", 2))
        bench.answerClaim()
        bench.feed([0, 3])
        let epoch = try #require(bench.events.first?.1.epoch)
        let query = VerdictQuery(.epoch(epoch), for: .user(0))
        #expect(bench.core.records.find(query).isEmpty)
        #expect(bench.core.records.absence(of: query, bench.core.arbiter) == "epoch \(epoch) is not decided yet")
        try bench.core.answer(client, EventName(sequence: 1, epoch: epoch), .consume, at: bench.now, &bench.actions)
        #expect(self.answer(bench, query) == ["org.example.App S5.taken"])
    }

    // MARK: Why not

    private func lines(_ bench: Bench, _ client: AppHandle, peak: Double? = nil) throws -> [String] {
        try #require(bench.whyNot(client, peak: peak)).lines
    }

    @Test func whatWouldHappenNow() throws {
        var (bench, gentle, hard) = try self.decided()
        // The motion is not over.
        var said = try self.lines(bench, gentle)
        #expect(said[0] == "org.example.Gentle  foreground, registered 200 ms ago")
        #expect(said[1] == "  it has had no event since it registered")
        #expect(said[2].hasPrefix("  S4.outranked once, last 0 ms ago, epoch "))
        #expect(said[3].hasPrefix("  gentle (shake.planar) above 2.0 g: if it fired now, that would count to epoch "))
        #expect(said[3].hasSuffix("which is not over: S4.outranked"))
        #expect(said.last?.contains("it would have got it if it asked for more than 3.5 g") == true)
        said = try self.lines(bench, hard)
        #expect(said.last?.contains("it would get one more event of epoch ") == true)
        bench.feed([Double](repeating: 0, count: 15))
        said = try self.lines(bench, gentle)
        #expect(said[3].hasSuffix("if it fired now and nothing else did, it would get the event"))
        #expect(said.last?.contains("S4 group") == true)
        #expect(bench.core.sensing.hits(of: gentle) == 1)
    }

    /// What waits for an app that is away it has not had, and no more once it is too old; what it is sent it has.
    @Test func whatIsKeptForAnAppHasNotCome() throws {
        var terms = DeliveryTerms()
        terms.kind = .store
        let rule = Rule(name: "all", place: Place(file: "t.conf", line: 1), effect: .allow, terms: terms)
        var bench = Bench(policy: Policy(rules: [rule]))
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("d", 2))
        bench.answerClaim()
        try bench.core.tell(client, .suspended, at: bench.now, &bench.actions)
        bench.feed([2.5])
        #expect(bench.tally(of: client)?.lastEvent != nil)
        var said = try self.lines(bench, client)
        #expect(said[1] == "  it has had no event since it registered", "\(said)")
        let kept = "if it fired now and nothing else did, the event would be kept for it until it is back"
        bench.feed([Double](repeating: 0, count: 40))
        bench.tick()
        said = try self.lines(bench, client)
        #expect(said[1] == "  it has had no event since it registered" && said[2].hasPrefix("  S5.expired once"))
        #expect(said.contains { $0.hasSuffix(kept) }, "\(said)")
        #expect(bench.whyNot(client)?.silentSince == bench.core.registry[client]?.registered)
        bench.feed([2.5])
        _ = bench.take()
        try bench.core.tell(client, .foreground, at: bench.now, &bench.actions)
        let event = try #require(bench.events.last?.1)
        bench.core.sent(client, event, &bench.actions)
        said = try self.lines(bench, client)
        #expect(said[1].hasPrefix("  its last event came ") && said[1].hasSuffix(", epoch \(event.epoch)"), "\(said)")
    }

    /// A run is full of shakes that are none; whoever asks is told how many there were.
    @Test func whatARhythmHeldIsSaid() throws {
        var bench = Bench()
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, DetectorRequest(name: "undo", options: ["preset": .text("shake")]))
        bench.answerClaim(rate: 50)
        bench.feed(try SyntheticMotion(script: "rest 4s"), count: 200)
        #expect(try !self.lines(bench, client).joined().contains("held by activity"))
        bench.feed(try SyntheticMotion(script: "run 20s; rest 3s"), count: 1_150)
        #expect(bench.events.isEmpty)
        let why = try #require(bench.whyNot(client))
        let held = try #require(why.detectors.first).held
        #expect(held.count > 5 && held.count <= 20)
        let line = try #require(why.lines.last)
        #expect(line.hasPrefix("    held by activity \(held.count) times, the last time "), "\(line)")
        let ago = try #require(why.detectors.first?.heldAgo)
        #expect(ago > .milliseconds(2_900) && ago < .seconds(5))
        // Whoever registers now has had nothing held.
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(other, DetectorRequest(name: "undo", options: ["preset": .text("shake")]))
        #expect(try !self.lines(bench, other).joined().contains("held by activity"))
    }

    /// A fall is what weighs less than its threshold: so it is said, and so it is weighed.
    @Test func whatAsksForLittleIsBelowItsThreshold() throws {
        var conditions = Conditions()
        conditions.intensity = IntensityCondition(
            dimension: .acceleration, ranges: RangeSet(-Double.infinity..<0.4))
        let rule = Rule(name: "fall", place: Place(file: "t.conf", line: 1), conditions: conditions, effect: .allow)
        var bench = Bench(policy: Policy(rules: [rule]))
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, DetectorRequest(name: "fall", options: ["preset": .text("free-fall")]))
        let said = try self.lines(bench, client)
        let line = "  fall (free-fall) below 0.4 g: if it fired now and nothing else did, it would get the event"
        #expect(said.contains(line), "\(said)")
    }

    @Test func whatCannotHappenNow() throws {
        var bench = Bench(policy: Policy(otherwise: .deny))
        let client = try bench.register(0, "org.example.App")
        #expect(try self.lines(bench, client).last == "  it has no detector")
        _ = try bench.add(client, Bench.planar("d", 2))
        try bench.core.mute(for: .seconds(2), at: bench.now)
        var said = try self.lines(bench, client)
        #expect(said.contains("  motion is muted for another 2.0 s"))
        #expect(said.contains { $0.hasSuffix("it would get no event, S2.no-rule") })
        bench.core.pause(true, at: bench.now, &bench.actions)
        said = try self.lines(bench, client)
        let off = "it cannot fire, motion is switched off; 'jostle resume' switches it on"
        #expect(said.last == "  d (shake.planar) above 2.0 g: \(off)")
        bench.core.pause(false, at: bench.now, &bench.actions)
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        said = try self.lines(bench, client)
        #expect(said.last == "  d (shake.planar) above 2.0 g: it cannot fire, there is no accelerometer")
        #expect(bench.whyNot(AppHandle(9)) == nil)
    }

    /// Where what was refused is refused before a rule that might allow it is tried, the rule that refused is named.
    @Test func whatARuleThatDeniesHolds() throws {
        var conditions = Conditions()
        conditions.states = WordSet([.foreground])
        let not = Rule(
            name: "not-in-front", place: Place(file: "t.conf", line: 4), conditions: conditions, effect: .deny)
        let otherwise = Rule(
            name: "else", place: Place(file: "t.conf", line: 7), conditions: Conditions(), effect: .allow)
        var bench = Bench(policy: Policy(rules: [not, otherwise]))
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("d", 2))
        let said = try self.lines(bench, client).joined(separator: "\n")
        #expect(said.contains("[Rule not-in-front] Priority=0 did not match; WhenState=foreground holds"), "\(said)")
    }

    @Test func howStrongTheMotionWouldBe() throws {
        var conditions = Conditions()
        conditions.intensity = IntensityCondition(dimension: .acceleration, ranges: RangeSet(4.0..<Double.infinity))
        let strong = Rule(
            name: "strong", place: Place(file: "t.conf", line: 4), conditions: conditions, effect: .allow)
        var bench = Bench(policy: Policy(rules: [strong]))
        let client = try bench.register(0, "org.example.App")
        _ = try bench.add(client, Bench.planar("d", 2))
        #expect(
            try self.lines(bench, client).last?.contains("WhenIntensity does not hold") == true)
        let heard = try #require(bench.whyNot(client, peak: 5))
        #expect(heard.detectors.map(\.isHeard) == [true])
    }

    @Test func anAnswerHasItsLimit() throws {
        var limits = BrokerLimits()
        limits.answerRows = 2
        var bench = Bench(policy: Bench.contest(.broadcast), limits: limits)
        for index in 0..<4 {
            let client = try bench.register(UInt32(index), "org.example.App\(index)")
            for number in 0..<3 { _ = try bench.add(client, Bench.planar("d\(number)", 2)) }
        }
        bench.answerClaim()
        bench.feed([0, 3])
        #expect(self.answer(bench, VerdictQuery(.last, for: .user(0))).count == 2)
        let why = try #require(bench.whyNot(AppHandle(1)))
        #expect(why.detectors.map(\.name) == ["d0", "d1"])
        #expect(why.lines.last == "  and 1 more detectors")
        let one = try #require(bench.whyNot(AppHandle(1), detector: "d2"))
        #expect(one.detectors.map(\.name) == ["d2"])
    }
}
