import Arbitration
import BrokerCore
import Detection
import Motion
import Testing

/// Claims that come to nothing, or to less, and sensors that fall silent: what is said of them is true.
@Suite struct ClaimTests {
    private static let steady = {
        var sensor = Bench.sensor
        sensor.isSteady = true
        return sensor
    }()

    private func bench(_ sensor: SensorDescription = ClaimTests.steady) throws -> (Bench, AppHandle) {
        var bench = Bench(sensor: sensor)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("shake", 2))
        return (bench, app)
    }

    private func claims(_ bench: inout Bench) -> [SensorPace] {
        bench.take().compactMap { if case .claim(_, let pace) = $0 { pace } else { nil } }
    }

    private func isAvailable(_ bench: Bench, _ app: AppHandle) -> Bool? {
        bench.core.registry[app]?.detectors["shake"].map { bench.core.sensing.effective($0.effective).isAvailable }
    }

    private func obstacle(_ bench: Bench, _ app: AppHandle) -> String? {
        bench.whyNot(app)?.detectors.first?.obstacle
    }

    // MARK: Refusals

    @Test func aRefusedClaimIsToldAndTriedAgain() throws {
        var (bench, app) = try self.bench()
        #expect(self.claims(&bench).count == 1)
        #expect(self.isAvailable(bench, app) == true)
        bench.core.claimFailed("accelerometer", "claimants is at its limit", at: bench.now, &bench.actions)
        #expect(bench.actions == [.availability(sensor: "accelerometer")])
        #expect(self.isAvailable(bench, app) == false)
        #expect(self.obstacle(bench, app)?.contains("claimants is at its limit") == true)
        #expect(bench.core.sensing["accelerometer"]?.standing.name == "refused")
        _ = bench.take()

        // Each time later: 1 s, 2 s, … 60 s.
        var waits: [Int64] = []
        for _ in 0..<9 {
            let next = try #require(bench.nextTick)
            waits.append((next - bench.now).microseconds / 1_000_000)
            bench.core.tick(at: next - TimeSpan(microseconds: 1), &bench.actions)
            #expect(self.claims(&bench) == [])
            bench.now = next
            bench.core.tick(at: next, &bench.actions)
            #expect(self.claims(&bench).count == 1)
            bench.core.claimFailed("accelerometer", "claimants is at its limit", at: next, &bench.actions)
            #expect(bench.take() == [], "that is no news")
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])

        bench.answerClaim()
        #expect(bench.actions == [.availability(sensor: "accelerometer")])
        #expect(self.isAvailable(bench, app) == true && self.obstacle(bench, app) == nil)
        bench.feed([0, 3])
        #expect(bench.events.count == 1)
    }

    /// The reader says so when there may be a place.
    @Test func whatChangesIsTriedAtOnce() throws {
        var (bench, app) = try self.bench()
        bench.core.claimFailed("accelerometer", "no", at: bench.now, &bench.actions)
        _ = bench.take()
        bench.core.sensorAppeared(Self.steady, at: bench.now, &bench.actions)
        #expect(self.claims(&bench).count == 1)
        // Not more often than that.
        bench.core.sensorAppeared(Self.steady, at: bench.now, &bench.actions)
        #expect(self.claims(&bench) == [])
        #expect(self.isAvailable(bench, app) == false, "nobody has answered yet")
        bench.answerClaim()
        #expect(self.isAvailable(bench, app) == true)
    }

    /// A sensor that is told once more as it was has not been away: what goes on there goes on.
    @Test func whatIsToldOnceMoreBreaksNothingOff() throws {
        var (bench, _) = try self.bench()
        bench.answerClaim()
        bench.feed([0, 0])
        bench.core.sensorAppeared(Self.steady, at: bench.now, &bench.actions)
        bench.feed([0], skipping: 1)
        #expect(bench.core.sensing["accelerometer"]?.lost == 1)
    }

    @Test func aClaimThatWasToReplaceAnotherLeavesItInForce() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        _ = bench.take()
        _ = try bench.add(app, Self.fast)
        #expect(self.claims(&bench).count == 1)
        bench.core.claimFailed("accelerometer", "too fast", at: bench.now, &bench.actions)
        #expect(bench.take() == [] && self.isAvailable(bench, app) == true)
        bench.feed([0, 3])
        #expect(bench.events.count == 1)
        // It is tried again all the same.
        #expect(bench.nextTick != nil)
    }

    @Test func whatNobodyWantsAnyMoreIsNoObstacle() throws {
        var (bench, app) = try self.bench()
        bench.core.claimFailed("accelerometer", "no", at: bench.now, &bench.actions)
        _ = bench.take()
        bench.core.pause(true, at: bench.now, &bench.actions)
        #expect(bench.take().contains(.availability(sensor: "accelerometer")))
        #expect(bench.nextTick == nil && self.isAvailable(bench, app) == true)
        bench.core.claimFailed("accelerometer", "an old answer", at: bench.now, &bench.actions)
        #expect(bench.take() == [] && self.isAvailable(bench, app) == true)
    }

    // MARK: Less than was wanted

    private static let fast = DetectorRequest(
        name: "fast", options: ["when": .text("norm(x, y, z) > 9g"), "every": .text("1ms")])

    @Test func whoWantedMoreThanMayBeHadIsTold() throws {
        var (bench, app) = try self.bench(
            SensorDescription(
                name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [], source: "test",
                isSimulated: false))
        _ = try bench.add(app, Self.fast)
        _ = bench.take()
        bench.core.claimAnswered(
            "accelerometer", SensorPace(rate: 200), allowed: 200, at: bench.now, &bench.actions)
        #expect(bench.actions == [.availability(sensor: "accelerometer")])
        func effective(_ name: String) throws -> EffectiveDetector {
            bench.core.sensing.effective(try #require(bench.core.registry[app]?.detectors[name]).effective)
        }
        let (fast, shake) = (try effective("fast"), try effective("shake"))
        #expect(
            fast.isAvailable && fast.rate == 200
                && fast.warnings.contains { $0.id == .rateNotAllowed && $0.message.contains("at 200.0 Hz at most") })
        #expect(shake.isAvailable && !shake.warnings.contains { $0.id == .rateNotAllowed })
        // Who comes later is told at once.
        let later = try bench.add(app, DetectorRequest(name: "late", options: Self.fast.options))
        #expect(later[0].warnings.contains { $0.id == .rateNotAllowed })
    }

    // MARK: Silence

    /// Ten samples a second: three of them are missed after 300 ms.
    @Test func aSensorThatFallsSilentHasStalled() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        _ = bench.take()
        // Some devices take their time.
        bench.core.checkSilence(at: bench.now + .seconds(60), &bench.actions)
        #expect(bench.take() == [])
        bench.feed([0, 0])
        let due = try #require(bench.core.sensing.nextSilence(at: bench.now))
        #expect(due - bench.now == .milliseconds(300))
        bench.core.checkSilence(at: due - TimeSpan(microseconds: 1), &bench.actions)
        #expect(bench.take() == [] && self.isAvailable(bench, app) == true)
        bench.core.checkSilence(at: due, &bench.actions)
        #expect(bench.take() == [.availability(sensor: "accelerometer")])
        #expect(self.isAvailable(bench, app) == false && self.obstacle(bench, app)?.contains("stalled") == true)
        #expect(bench.core.sensing.nextSilence(at: due) == nil, "nothing more can be found out by waiting")
        bench.feed([0])
        #expect(bench.take() == [.availability(sensor: "accelerometer")] && self.isAvailable(bench, app) == true)
    }

    // MARK: Resting

    /// Another session is in front: no group waits for these detectors, nobody takes it for a fault of the sensor, and nothing is
    /// detected across.
    @Test(arguments: [(Resting.inactive, "another user's session is in front"), (.unknown, "polkit does not say")])
    func aClaimThatRestsIsToldAndGoesOn(_ resting: Resting, _ words: String) throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        bench.feed([0, 0])
        _ = bench.take()
        let pace = SensorPace(rate: 10)
        bench.core.paceChanged("accelerometer", pace, resting, at: bench.now, &bench.actions)
        #expect(bench.take() == [.availability(sensor: "accelerometer")])
        #expect(self.isAvailable(bench, app) == false)
        #expect(self.obstacle(bench, app)?.contains(words) == true)
        #expect(bench.core.sensing["accelerometer"]?.standing.name == "resting")
        #expect(bench.core.sensing.nextSilence(at: bench.now) == nil)
        // A claim that is refused meanwhile changes nothing about that, nor does the same again.
        bench.core.claimFailed("accelerometer", "not in front", at: bench.now, &bench.actions)
        bench.core.paceChanged("accelerometer", pace, resting, at: bench.now, &bench.actions)
        bench.core.sensorAppeared(Self.steady, at: bench.now, &bench.actions)
        #expect(bench.core.sensing["accelerometer"]?.standing == .resting(resting))
        #expect(bench.core.sensing.nextSilence(at: bench.now + .seconds(60)) == nil)
        _ = bench.take()

        bench.core.paceChanged("accelerometer", pace, nil, at: bench.now, &bench.actions)
        #expect(bench.take().contains(.availability(sensor: "accelerometer")))
        #expect(self.isAvailable(bench, app) == true)
        let gaps = bench.core.sensing["accelerometer"]?.gaps
        bench.feed([0], skipping: 1)
        #expect(bench.core.sensing["accelerometer"]?.gaps == gaps.map { $0 + 1 })
        // Now it has to speak again.
        #expect(bench.core.sensing.nextSilence(at: bench.now) != nil)
    }

    /// A reader that could not tell us that our claim goes on shows it by what it sends; what was under way already shows nothing.
    @Test func samplesEndARest() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        bench.feed([0, 0])
        bench.core.paceChanged(
            "accelerometer", SensorPace(rate: 10), .inactive, at: bench.now + .milliseconds(150), &bench.actions)
        _ = bench.take()
        bench.feed([0])
        #expect(bench.take() == [] && bench.core.sensing["accelerometer"]?.standing == .resting(.inactive))
        bench.feed([0])
        #expect(bench.take() == [.availability(sensor: "accelerometer")] && self.isAvailable(bench, app) == true)
        #expect(bench.core.sensing.nextSilence(at: bench.now) != nil)
    }

    /// What the reader says of a claim that is released comes too late.
    @Test func whatIsReleasedDoesNotRest() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        bench.core.pause(true, at: bench.now, &bench.actions)
        _ = bench.take()
        bench.core.paceChanged("accelerometer", SensorPace(rate: 10), .inactive, at: bench.now, &bench.actions)
        bench.answerClaim()
        #expect(bench.take() == [] && self.isAvailable(bench, app) == true)
        #expect(bench.core.sensing["accelerometer"]?.inForce == nil)
    }

    /// What rested was that reader's claim.
    @Test func anotherReadersClaimDoesNotRest() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        bench.core.paceChanged("accelerometer", SensorPace(rate: 10), .inactive, at: bench.now, &bench.actions)
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        bench.core.sensorAppeared(Self.steady, at: bench.now, &bench.actions)
        bench.answerClaim()
        #expect(self.isAvailable(bench, app) == true)
    }

    /// At a hundred samples a second a quarter of a second must pass.
    @Test func aShortBreakIsNoSilence() throws {
        var (bench, _) = try self.bench()
        bench.answerClaim(rate: 100)
        bench.feed([0])
        #expect(bench.core.sensing.nextSilence(at: bench.now).map { $0 - bench.now } == .milliseconds(250))
    }

    /// What comes late says nothing of now.
    @Test func onlyWhatIsNewEndsASilence() throws {
        var (bench, app) = try self.bench()
        bench.answerClaim()
        bench.feed([0, 0])
        let old = bench.now
        bench.now = bench.now + .seconds(20)
        bench.core.checkSilence(at: bench.now, &bench.actions)
        #expect(self.isAvailable(bench, app) == false)
        for step in 1...5 {
            let times = [(old + .milliseconds(100 * Int64(step))).microseconds]
            let row = [0.0, 0, 1]
            bench.core.samples(
                "accelerometer", first: 1 + UInt64(step), times: times.span, values: row.span, at: bench.now,
                &bench.actions)
        }
        #expect(self.isAvailable(bench, app) == false)
        let row = [0.0, 0, 1]
        let times = [bench.now.microseconds]
        bench.core.samples(
            "accelerometer", first: 7, times: times.span, values: row.span, at: bench.now, &bench.actions)
        #expect(self.isAvailable(bench, app) == true)
    }

    /// Fixes come when they come, a trace ends, a device is unplugged, motion is switched off.
    @Test func whoNeedNotSpeakIsNeverStalled() throws {
        let ends: [(String, (inout Bench) throws -> Void)] = [
            ("not steady", { _ in }),
            (
                "unplugged",
                { bench in
                    var gone = Self.steady
                    gone.isAvailable = false
                    bench.core.sensorAppeared(gone, at: bench.now, &bench.actions)
                }
            ),
            ("paused", { $0.core.pause(true, at: $0.now, &$0.actions) }),
            (
                "unclaimed",
                { bench in
                    try bench.core.removeDetectors(AppHandle(0), ["shake"], at: bench.now, &bench.actions)
                }
            ),
            ("no reader", { $0.core.sensorsLost(at: $0.now, &$0.actions) }),
        ]
        for (name, end) in ends {
            var (bench, _) = try self.bench(name == "not steady" ? Bench.sensor : Self.steady)
            bench.answerClaim()
            bench.feed([0, 0])
            try end(&bench)
            _ = bench.take()
            #expect(bench.core.sensing.nextSilence(at: bench.now) == nil, "\(name)")
            bench.core.checkSilence(at: bench.now + .seconds(60), &bench.actions)
            #expect(bench.take() == [] && bench.core.sensing["accelerometer"]?.standing != .stalled, "\(name)")
        }
    }

    /// One sensor that falls silent says nothing of another.
    @Test func eachSensorIsSilentForItself() throws {
        var (bench, app) = try self.bench()
        _ = try bench.add(
            app,
            DetectorRequest(
                name: "turn", options: ["sensor": .text("gyroscope"), "when": .text("norm(x, y, z) > 100rad/s")]))
        var gyroscope = SensorDescription(
            name: "gyroscope", channels: ["x", "y", "z"], unit: "rad/s", rates: [100], source: "test",
            isSimulated: false)
        gyroscope.isSteady = true
        bench.core.sensorAppeared(gyroscope, at: bench.now, &bench.actions)
        bench.answerClaim()
        bench.core.claimAnswered("gyroscope", SensorPace(rate: 100), at: bench.now, &bench.actions)
        let (times, row) = ([bench.now.microseconds], [0.0, 0, 0])
        bench.core.samples("gyroscope", first: 0, times: times.span, values: row.span, at: bench.now, &bench.actions)
        bench.feed([0, 0, 0, 0])
        _ = bench.take()
        bench.core.checkSilence(at: bench.now, &bench.actions)
        #expect(bench.take() == [.availability(sensor: "gyroscope")])
        #expect(bench.core.sensing["gyroscope"]?.standing == .stalled)
        #expect(bench.core.sensing["accelerometer"]?.standing == .ready)
    }
}
