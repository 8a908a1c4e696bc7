import Arbitration
import BrokerCore
import Detection
import Motion
import Scenarios
import Testing

/// Sample time where sensors differ in it: one is slower than another, or a trace runs ahead of the clock.
@Suite struct MotionTimeTests {
    private static let gyroscope = SensorDescription(
        name: "gyroscope", channels: ["x", "y", "z"], unit: "rad/s", range: 20, rates: [10], source: "test",
        isSimulated: false)

    private static let group: GroupConfiguration = {
        var group = GroupConfiguration(name: "g", place: Place(file: "test.conf", line: 1))
        group.mode = .exclusive
        group.commitWindow = .milliseconds(300)
        group.quiet = .milliseconds(400)
        return group
    }()

    private static func rule(_ line: Int, for app: String, strength: Int) -> Rule {
        var conditions = Conditions()
        conditions.apps.any = [NamePattern(app)]
        return Rule(
            name: app, place: Place(file: "test.conf", line: line), conditions: conditions, effect: .allow, group: "g",
            strength: strength)
    }

    /// The stronger app listens to the sensor whose samples come late.
    private static let policy = Policy(
        groups: [Self.group],
        rules: [Self.rule(3, for: "org.example.Slow", strength: 9), Self.rule(7, for: "*", strength: 0)])

    private static let slowDetector = DetectorRequest(
        name: "slow",
        options: [
            "sensor": .text("gyroscope"), "when": .text("x > 2rad/s"), "every": .text("100ms"), "rest": .text("0s"),
        ])

    private struct Both {
        var bench: Bench
        let quick: AppHandle
        let slow: AppHandle

        init(latency: TimeSpan) throws {
            self.bench = Bench(policy: MotionTimeTests.policy)
            self.bench.core.sensorAppeared(MotionTimeTests.gyroscope, at: self.bench.now, &self.bench.actions)
            self.quick = try self.bench.register(0, "org.example.Quick")
            self.slow = try self.bench.register(1, "org.example.Slow")
            _ = try self.bench.add(self.quick, Bench.planar("quick", 2, rest: "0s"))
            _ = try self.bench.add(self.slow, MotionTimeTests.slowDetector)
            self.bench.answerClaim()
            self.bench.core.claimAnswered(
                "gyroscope", SensorPace(rate: 10, batchLatency: latency), at: self.bench.now, &self.bench.actions)
            _ = self.bench.take()
        }

        /// Samples of the gyroscope from a time on, 100 ms apart, which arrive together and only now.
        mutating func feedSlow(_ values: [Double], from start: Timestamp, first: UInt64 = 0) {
            let times = values.indices.map { (start + .milliseconds(Int64($0) * 100)).microseconds }
            let rows: [Double] = values.flatMap { value -> [Double] in [value, 0, 0] }
            self.bench.core.samples(
                "gyroscope", first: first, times: times.span, values: rows.span, at: self.bench.now,
                &self.bench.actions)
        }

        /// Who was served, in order.
        mutating func served() -> [AppHandle] {
            defer { _ = self.bench.take() }
            return self.bench.events.map(\.0)
        }
    }

    /// Who is quick fires again behind the end of the window, and the batch that is to decide comes later still.
    @Test func aWindowWaitsForTheSlowerSensor() throws {
        var both = try Both(latency: .milliseconds(500))
        let start = both.bench.now + .milliseconds(100)
        both.bench.feed([3, 3, 3, 3, 3, 3])
        #expect(both.served() == [])
        both.feedSlow([0, 3, 0, 0, 0, 0], from: start)
        #expect(both.served().first == both.slow)
    }

    /// What is too late for anybody is not waited for: a sensor that stands still holds nobody up.
    @Test func aSilentSensorIsNotWaitedForForEver() throws {
        var both = try Both(latency: .milliseconds(500))
        both.bench.feed([3, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(both.served() == [])
        both.bench.feed([0])
        #expect(both.served() == [both.quick])
    }

    @Test func theClockAloneLetsGoWhatWaits() throws {
        var both = try Both(latency: .milliseconds(500))
        both.bench.feed([3, 3, 3, 3, 3])
        #expect(both.served() == [])
        let tick = try #require(both.bench.nextTick)
        #expect(tick == both.bench.now - .milliseconds(400) + .milliseconds(300 + 600))
        both.bench.now = tick
        both.bench.core.tick(at: tick, &both.bench.actions)
        // The hits behind the window belong to the same motion.
        #expect(both.served() == [both.quick, both.quick, both.quick, both.quick, both.quick])
    }

    /// Without a deadline between them nobody waits for anybody.
    @Test func whoCompetesWithNobodyDoesNotWait() throws {
        var bench = Bench(policy: Policy(otherwise: .allow, groups: Self.policy.groups))
        bench.core.sensorAppeared(Self.gyroscope, at: bench.now, &bench.actions)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(
            app, Bench.planar("quick", 2, rest: "0s"),
            DetectorRequest(
                name: "slow",
                options: [
                    "sensor": .text("gyroscope"), "when": .text("x > 2rad/s"), "every": .text("100ms"),
                ]))
        bench.answerClaim()
        bench.core.claimAnswered(
            "gyroscope", SensorPace(rate: 10, batchLatency: .seconds(5)), at: bench.now, &bench.actions)
        _ = bench.take()
        bench.feed([3])
        #expect(bench.events.count == 1)
        bench.feed([3])
        #expect(bench.events.count == 2)
    }

    /// A sensor that only others listen to has nothing to say, however slow it is.
    @Test func onlySensorsOfTheGroupAreWaitedFor() throws {
        let rules = [Self.rule(3, for: "org.example.Quick", strength: 0)]
        var group = Self.group
        group.commitsEagerly = false
        var bench = Bench(policy: Policy(otherwise: .allow, groups: [group], rules: rules))
        bench.core.sensorAppeared(Self.gyroscope, at: bench.now, &bench.actions)
        let quick = try bench.register(0, "org.example.Quick")
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(quick, Bench.planar("quick", 2, rest: "0s"))
        _ = try bench.add(other, Self.slowDetector)
        bench.answerClaim()
        bench.core.claimAnswered(
            "gyroscope", SensorPace(rate: 10, batchLatency: .seconds(5)), at: bench.now, &bench.actions)
        _ = bench.take()
        bench.feed([3, 0, 0])
        #expect(bench.events.map(\.0) == [])
        bench.feed([0])
        #expect(bench.events.map(\.0) == [quick])
    }

    /// The motion that a hit waited for comes to nothing: the hit does not wait for ever.
    @Test func hitsAreNotForgottenWithTheMotionTheyWaitFor() throws {
        var both = try Both(latency: .milliseconds(500))
        let third = try both.bench.register(2, "org.example.Third")
        _ = try both.bench.add(third, Bench.planar("third", 5))
        both.bench.answerClaim()
        both.bench.feed([3, 0, 0, 0, 6])
        let fired = both.bench.now
        both.bench.core.leave(both.quick, at: both.bench.now, &both.bench.actions)
        #expect(both.served() == [])
        #expect(both.bench.nextTick == fired + .milliseconds(600))
        for _ in 0..<2 {
            let tick = try #require(both.bench.nextTick)
            both.bench.core.tick(at: tick, &both.bench.actions)
        }
        #expect(both.served() == [third])
    }

    @Test func aDetectorThatIsRemovedTakesItsWaitingHitsAlong() throws {
        var both = try Both(latency: .milliseconds(500))
        both.bench.feed([3, 3, 3, 3, 3])
        try both.bench.core.removeDetectors(both.quick, ["quick"], at: both.bench.now, &both.bench.actions)
        both.bench.now = both.bench.now + .seconds(2)
        both.bench.core.tick(at: both.bench.now, &both.bench.actions)
        #expect(both.served() == [])
    }

    /// A trace is played an hour ahead of the clock; then a sensor takes its place, and everything works at once.
    @Test(arguments: [GroupMode.exclusive, .ordered, .broadcast])
    func whatRanAheadOfTheClockIsForgotten(_ mode: GroupMode) throws {
        var settings = AppSettings()
        settings.cooldown = .seconds(2)
        settings.quota = Quota(count: 2, period: .seconds(60), burst: 2)
        var group = GroupConfiguration(name: "g", place: Place(file: "test.conf", line: 1))
        group.mode = mode
        group.cooldown = .seconds(3)
        let rule = Rule(name: "any", place: Place(file: "test.conf", line: 3), effect: .allow, group: "g")
        let trace = SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [10], source: "test",
            isSimulated: true)
        var bench = Bench(policy: Policy(groups: [group], rules: [rule], everyApp: settings), sensor: trace)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("d", 2))
        bench.answerClaim()
        _ = bench.take()
        let before = bench.now
        bench.now = bench.now + .seconds(3_600)
        let ahead = [bench.now.microseconds]
        let row = [3.0, 0, 1]
        bench.core.samples(
            "accelerometer", first: 0, times: ahead.span, values: row.span, at: before, &bench.actions)
        #expect(bench.events.count == 1)
        bench.now = before + .milliseconds(10)
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        bench.core.sensorAppeared(Bench.sensor, at: bench.now, &bench.actions)
        bench.answerClaim()
        _ = bench.take()
        // Both cooldowns run from now on, as if the last event had just been.
        bench.feed([3])
        #expect(bench.events.count == 0)
        bench.feed([Double](repeating: 0, count: 31) + [3])
        #expect(bench.events.count == 1)
        #expect(bench.nextTick.map { $0 < bench.now + .seconds(60) } ?? true)
    }

    /// Time may be up before anything has moved: a recording goes on with that, too.
    @Test func whatFallsDueBeforeAnyMotionIsRecorded() throws {
        var settings = AppSettings()
        settings.grace = .seconds(5)
        var bench = Bench(policy: Policy(everyApp: settings), sensor: nil)
        bench.core.keepSteps()
        var recording = Recording(inputs: true, decisions: false, files: [], at: bench.now, epoch: 1_000)
        let app = try bench.register(0, "org.example.App")
        bench.core.report(.app(nil), at: bench.now, &bench.actions)
        let end = try #require(bench.nextTick)
        bench.now = end
        bench.core.tick(at: end, &bench.actions)
        let state = bench.core.arbiter.facts(of: app)?.state
        #expect(state == .suspended)
        for step in bench.core.takeSteps() { recording.add(step) }
        let text = recording.take().inputs
        #expect(recording.failure == nil && text.contains("\n5000ms patience end\n"), "\(text)")
    }
}
