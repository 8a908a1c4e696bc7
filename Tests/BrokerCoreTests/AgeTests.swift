import Arbitration
import BrokerCore
import Motion
import Testing

/// What happened long ago is not told as if it happened now.
@Suite struct AgeTests {
    private static func sensor(ownClock: Bool) -> SensorDescription {
        var sensor = Bench.sensor
        sensor.isSimulated = true
        sensor.hasOwnClock = ownClock
        return sensor
    }

    /// Samples 100 ms apart that arrive so long after the last of them.
    private func feed(_ bench: inout Bench, _ values: [Double], late: TimeSpan) {
        let times = values.indices.map { bench.now.microseconds + Int64($0 + 1) * 100_000 }
        let rows: [Double] = values.flatMap { value -> [Double] in [value, 0, 1] }
        bench.now = Timestamp(microseconds: times.last ?? 0) + late
        bench.core.samples(
            "accelerometer", first: 0, times: times.span, values: rows.span, at: bench.now, &bench.actions)
    }

    @Test(arguments: [0, 2_500, 2_899, 3_000, 20_000])
    func aGestureIsAsOldAsItsSamples(_ late: Int64) throws {
        var bench = Bench(sensor: Self.sensor(ownClock: false))
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("shake", 2))
        bench.answerClaim()
        _ = bench.take()
        // It is two samples old when the last one comes.
        self.feed(&bench, [0, 3, 0], late: .milliseconds(late))
        let isFresh = late + 100 < 3_000
        #expect(bench.events.count == (isFresh ? 1 : 0))
        #expect(bench.core.mailboxes[app]?.expired == (isFresh ? 0 : 1))
        guard !isFresh else { return }
        // It had a number, and the app is told that it does not get it.
        let marks = bench.actions.compactMap { if case .mark(_, .gap(let gap)) = $0 { gap } else { nil } }
        #expect(marks == [Gap(first: 1, last: 1, losses: Losses(expired: 1))])
        #expect(
            bench.actions.contains { if case .ended(_, _, _, .expired) = $0 { true } else { false } },
            "how it ended is written down")
        // And is what its verdict says, which is written down first.
        let query = VerdictQuery(.last, of: AppReference(AppID("org.example.App")), for: .user(0))
        #expect(bench.core.records.find(query).map(\.verdict.reason) == [.expired])
        let kept = bench.actions.firstIndex { if case .keep = $0 { true } else { false } }
        let ended = bench.actions.firstIndex { if case .ended = $0 { true } else { false } }
        #expect(try #require(kept) < #require(ended))
        _ = bench.take()
        bench.feed([0, 3])
        #expect(bench.events.map(\.1.sequence) == [2])
    }

    /// A trace that is played slowly is behind the clock for that reason alone.
    @Test func aClockOfItsOwnMakesNothingOld() throws {
        var bench = Bench(sensor: Self.sensor(ownClock: true))
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("shake", 2))
        bench.answerClaim()
        self.feed(&bench, [0, 3, 0], late: .seconds(60))
        #expect(bench.events.count == 1)
    }

    /// What the claim itself lets samples wait is no age.
    @Test func whatIsHeldBackIsNotOldForThat() throws {
        var bench = Bench(batchLatency: .seconds(5))
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("shake", 2))
        bench.core.claimAnswered(
            "accelerometer", SensorPace(rate: 10, batchLatency: .seconds(5)), at: bench.now, &bench.actions)
        self.feed(&bench, [0, 3, 0], late: .milliseconds(4_700))
        #expect(bench.events.count == 1)
        self.feed(&bench, [0, 3, 0], late: .milliseconds(8_000))
        #expect(bench.events.count == 1)
    }

    /// Nothing is put on the disk for it, and nobody started.
    @Test func whatIsTooOldWakesNobody() throws {
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.lifespan = .seconds(60)
        terms.durability = .persistent
        let rule = Rule(
            name: "wake", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        var bench = Bench(policy: Policy(otherwise: .deny, groups: [], rules: [rule]))
        let app = AppHandle(0)
        try bench.core.install(
            app, AppID("org.example.App"), AppEntrance(), [Bench.planar("shake", 2)], user: 0, at: bench.now,
            &bench.actions)
        bench.answerClaim()
        _ = bench.take()
        func isStarted() -> Bool { bench.actions.contains { if case .launch = $0 { true } else { false } } }
        func isKept() -> Bool { bench.actions.contains { if case .persist = $0 { true } else { false } } }
        self.feed(&bench, [0, 3, 0], late: .seconds(90))
        #expect(!isStarted() && !isKept())
        self.feed(&bench, [0, 3, 0], late: .seconds(30))
        #expect(isStarted() && isKept())
    }
}
