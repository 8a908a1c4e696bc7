import Arbitration
import BrokerCore
import Detection
import Motion
import Testing

@Suite struct Registration {
    @Test func registeringTwiceChangesNothing() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        _ = try bench.register(0, "org.example.App")
        #expect(bench.core.registry[app]?.detectors.count == 1)
    }

    @Test func theNumberOfAppsIsLimited() throws {
        var limits = BrokerLimits()
        limits.apps = 2
        var bench = Bench(limits: limits)
        _ = try bench.register(0, "org.example.A")
        _ = try bench.register(1, "org.example.B")
        #expect(throws: Refusal.noRoom(name: "apps", value: 2, message: "too many apps")) {
            try bench.register(2, "org.example.C")
        }
        bench.core.leave(AppHandle(0), at: bench.now, &bench.actions)
        _ = try bench.register(2, "org.example.C")
    }

    @Test func whoIsNotRegisteredCannotDoAnything() {
        var bench = Bench()
        #expect(throws: Refusal.unknownClient) { try bench.add(AppHandle(7), Bench.planar("one", 2)) }
        #expect(throws: Refusal.unknownClient) {
            try bench.core.removeDetectors(AppHandle(7), [], at: bench.now, &bench.actions)
        }
        bench.core.leave(AppHandle(7), at: bench.now, &bench.actions)
        bench.core.room(AppHandle(7), 1_000, at: bench.now, &bench.actions)
        #expect(bench.actions.isEmpty)
    }
}

@Suite struct Detectors {
    @Test func allOrNone() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        let bad = DetectorRequest(name: "two", options: ["preset": .text("shake.planr")])
        #expect(throws: Refusal.self) { try bench.add(app, Bench.planar("one", 2), bad) }
        #expect(bench.core.registry[app]?.detectors.isEmpty == true)
        #expect(bench.take().isEmpty)
    }

    @Test func aNameTwiceInOneCallIsRefused() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        #expect(throws: Refusal.duplicateDetector("one")) {
            try bench.add(app, Bench.planar("one", 2), Bench.planar("one", 3))
        }
    }

    @Test func theSameNameAgainReplaces() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.feed([0, 2.5, 0])
        #expect(bench.events.count == 1)
        _ = try bench.add(app, Bench.planar("one", 3))
        #expect(bench.core.registry[app]?.detectors.count == 1)
        bench.feed(Array(repeating: 0, count: 11) + [2.5, 0])
        #expect(bench.events.count == 1)
        bench.feed([3.5])
        #expect(bench.events.count == 2)
    }

    /// The same request again is no new detector: the rest of the old one goes on.
    @Test func theSameRequestAgainKeepsTheRest() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.feed([2.5, 0])
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.feed([2.5, 0])
        #expect(bench.events.count == 1)
        _ = try bench.add(app, Bench.planar("one", 2.1))
        bench.feed([2.5])
        #expect(bench.events.count == 2)
    }

    @Test func theNumberOfPacesIsLimited() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        func pace(_ index: Int) -> DetectorRequest {
            var request = Bench.planar("\(index)", 2)
            request.options["every"] = .text("\(100 + index)ms")
            return request
        }
        for index in 0..<64 { _ = try bench.add(app, pace(index)) }
        _ = try bench.add(app, Bench.planar("again", 3))
        do {
            _ = try bench.add(app, pace(64))
            Issue.record("nothing was refused")
        } catch let refusal as Refusal {
            guard case .noRoom("paces", 64, _) = refusal else {
                Issue.record("refused by \(refusal)")
                return
            }
        }
    }

    @Test func removingAnUnknownOneRemovesNone() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        #expect(throws: Refusal.unknownDetector("two")) {
            try bench.core.removeDetectors(app, ["one", "two"], at: bench.now, &bench.actions)
        }
        #expect(bench.core.registry[app]?.detectors.count == 1)
    }

    /// Nobody can have so many: it is no question of which they are.
    @Test func noMoreAreRemovedThanAnAppCanHave() throws {
        var limits = BrokerLimits()
        limits.detectorsPerApp = 2
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2), Bench.planar("two", 2))
        let refusal = Refusal.limit(name: "detectors-per-app", value: 2, message: "too many detectors of one app")
        #expect(throws: refusal) {
            try bench.core.removeDetectors(app, ["one", "two", "three"], at: bench.now, &bench.actions)
        }
        #expect(bench.core.registry[app]?.detectors.count == 2)
        try bench.core.removeDetectors(app, ["one", "two"], at: bench.now, &bench.actions)
        #expect(bench.core.registry[app]?.detectors.isEmpty == true)
    }

    @Test(arguments: [
        ("detectors-per-call", 3), ("detectors-per-app", 2), ("detectors", 2), ("detector-name-bytes", 4),
        ("options-per-detector", 1), ("option-bytes", 5),
    ])
    func eachLimitIsNamed(_ name: String, _ value: Int) throws {
        var limits = BrokerLimits()
        switch name {
        case "detectors-per-call": limits.detectorsPerCall = value
        case "detectors-per-app": limits.detectorsPerApp = value
        case "detectors": limits.detectors = value
        case "detector-name-bytes": limits.detectorNameBytes = value
        case "options-per-detector": limits.optionsPerDetector = value
        default: limits.optionBytes = value
        }
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        do {
            _ = try bench.add(
                app, Bench.planar("first", 2), Bench.planar("second", 2), Bench.planar("third", 2),
                Bench.planar("fourth", 2))
            Issue.record("nothing was refused")
        } catch let refusal as Refusal {
            switch refusal {
            case .limit(name, UInt64(value), _): #expect(name != "detectors")
            case .noRoom(name, UInt64(value), _): #expect(name == "detectors")
            default: Issue.record("refused by \(refusal)")
            }
            #expect(limits.table[name] == UInt64(value))
        }
        #expect(bench.core.registry[app]?.detectors.isEmpty == true)
    }
}

@Suite struct Claims {
    @Test func theSensorIsClaimedAtTheFastestRateAndReleasedWithTheLast() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        let slow = try bench.add(app, Bench.planar("slow", 2))
        #expect(slow.first?.isAvailable == true)
        #expect(slow.first?.rate == 10)
        #expect(bench.take() == [.claim(sensor: "accelerometer", SensorPace(rate: 10))])
        var fast = Bench.planar("fast", 2)
        fast.options["every"] = .text("20ms")
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(other, fast)
        #expect(bench.take() == [.claim(sensor: "accelerometer", SensorPace(rate: 50))])
        bench.core.leave(other, at: bench.now, &bench.actions)
        #expect(bench.take() == [.claim(sensor: "accelerometer", SensorPace(rate: 10))])
        try bench.core.removeDetectors(app, ["slow"], at: bench.now, &bench.actions)
        #expect(bench.take() == [.release(sensor: "accelerometer")])
    }

    @Test func samplesMayTravelTogetherIfTheBrokerWasToldSo() throws {
        var bench = Bench(batchLatency: .milliseconds(100))
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        let pace = SensorPace(rate: 10, batchLatency: .milliseconds(100))
        #expect(bench.take() == [.claim(sensor: "accelerometer", pace)])
    }

    @Test func anAbsentSensorIsClaimedWhenItComes() throws {
        var bench = Bench(sensor: nil)
        let app = try bench.register(0, "org.example.App")
        let effective = try bench.add(app, Bench.planar("one", 2))
        #expect(effective.first?.isAvailable == false)
        #expect(effective.first?.rate == nil)
        #expect(bench.core.sensing.missesSensor)
        #expect(bench.take().isEmpty)
        bench.core.sensorAppeared(Bench.sensor, at: bench.now, &bench.actions)
        #expect(bench.take() == [.claim(sensor: "accelerometer", SensorPace(rate: 10))])
        bench.answerClaim()
        bench.feed([2.5])
        #expect(bench.events.count == 1)
    }

    /// The reader keeps a claim while the device is unplugged: it is not made anew, and nothing is detected across.
    @Test func aClaimOutlivesTheDevice() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        let request = DetectorRequest(name: "held", options: ["when": .text("held(x > 2g, 300ms)")])
        #expect(try bench.add(app, request).map(\.isAvailable) == [true])
        _ = bench.take()
        bench.answerClaim()
        bench.feed([3, 3])
        var away = Bench.sensor
        away.isAvailable = false
        for sensor in [away, Bench.sensor] {
            bench.core.sensorAppeared(sensor, at: bench.now, &bench.actions)
            #expect(bench.core.sensing["accelerometer"]?.isAvailable == sensor.isAvailable)
            let other = try bench.add(app, Bench.planar("other", 5))
            #expect(other.map(\.isAvailable) == [sensor.isAvailable])
        }
        bench.feed([3, 3])
        #expect(bench.take().isEmpty)
        bench.feed([3, 3])
        #expect(bench.events.count == 1)
    }

    @Test func aReaderThatComesBackIsClaimedAgain() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        _ = bench.take()
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        #expect(bench.core.sensing.missesSensor)
        bench.core.sensorAppeared(Bench.sensor, at: bench.now, &bench.actions)
        #expect(bench.take() == [.claim(sensor: "accelerometer", SensorPace(rate: 10))])
    }

    /// However soon the next reader is there: what the first one saw and what the next one sees is not one motion.
    @Test func nothingIsDetectedAcrossALostReader() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, DetectorRequest(name: "held", options: ["when": .text("held(x > 2g, 300ms)")]))
        bench.answerClaim()
        bench.feed([3, 3])
        bench.core.sensorsLost(at: bench.now, &bench.actions)
        bench.core.sensorAppeared(Bench.sensor, at: bench.now, &bench.actions)
        bench.answerClaim()
        bench.feed([3, 3])
        #expect(bench.events.isEmpty)
        bench.feed([3, 3])
        #expect(bench.events.count == 1)
    }
}

@Suite struct Streams {
    @Test func broadcastGivesEachAppItsOwnEvent() throws {
        var bench = Bench()
        let low = try bench.register(0, "org.example.Low")
        let high = try bench.register(1, "org.example.High")
        _ = try bench.add(low, Bench.planar("low", 2.3))
        _ = try bench.add(high, Bench.planar("high", 3.5))
        _ = bench.take()
        bench.feed([0, 2.8, 0])
        #expect(bench.events.map(\.0) == [low])
        bench.feed(Array(repeating: 0, count: 12))
        _ = bench.take()
        bench.feed([4.5])
        #expect(Set(bench.events.map(\.0)) == [low, high])
        let numbers = bench.events.map(\.1.sequence)
        #expect(numbers.sorted() == [1, 2])
        let epochs = bench.events.map(\.1.epoch)
        #expect(Set(epochs).count == 2)
        #expect(epochs.allSatisfy { $0 > 1_000 })
    }

    @Test func aMissingNumberIsAGap() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.answerClaim()
        bench.feed([0, 0, 0])
        bench.feed([0], skipping: 5)
        let stream = try #require(bench.core.sensing["accelerometer"])
        #expect(stream.gaps == 1)
        #expect(stream.lost == 5)
        #expect(stream.received == 4)
    }

    /// Numbers begin again with every answered claim; that is no gap.
    @Test func aNewClaimIsNoGap() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.answerClaim()
        bench.feed([0, 0, 0])
        bench.answerClaim(rate: 50)
        bench.feed([0])
        #expect(bench.core.sensing["accelerometer"]?.gaps == 0)
        #expect(bench.core.sensing["accelerometer"]?.inForce?.rate == 50)
    }

    @Test func samplesFromTheFutureAreRefusedUnlessReplayed() throws {
        for isSimulated in [false, true] {
            var sensor = Bench.sensor
            sensor.isSimulated = isSimulated
            var bench = Bench(sensor: sensor)
            let app = try bench.register(0, "org.example.App")
            _ = try bench.add(app, Bench.planar("one", 2))
            let times = [bench.now.microseconds + 5_000_000]
            let row = [3.0, 0, 1]
            bench.core.samples(
                "accelerometer", first: 0, times: times.span, values: row.span, at: bench.now, &bench.actions)
            #expect(bench.events.count == (isSimulated ? 1 : 0))
            #expect(bench.core.sensing["accelerometer"]?.counters.refusedSamples == (isSimulated ? 0 : 1))
        }
    }

    /// Fixes come when they come, also behind a trace that ran ahead of the clock.
    @Test(arguments: [false, true]) func whatFixesSayTogetherIsFound(_ isRebuilt: Bool) throws {
        let channels = SensorDescription.channels(of: SensorDescription.location)
        let sensor = SensorDescription(
            name: SensorDescription.location, channels: channels, unit: "", rates: [1], source: "test",
            isSimulated: true)
        var bench = Bench(policy: Policy(otherwise: .allow), sensor: sensor)
        let app = try bench.register(0, "org.example.App")
        let options: [String: OptionValue] = [
            "when": .text("abs(delta(speed)) > 1m/s"), "sensor": .text(SensorDescription.location),
        ]
        _ = try bench.add(app, DetectorRequest(name: "one", options: options))
        func fix(_ bench: inout Bench, _ number: UInt64, ahead: TimeSpan = .zero, speed: Double) {
            let times = [(bench.now + ahead).microseconds]
            let row = [46, 14.5, speed, 0, 5]
            bench.core.samples(
                sensor.name, first: number, times: times.span, values: row.span, at: bench.now, &bench.actions)
        }
        fix(&bench, 0, ahead: isRebuilt ? .seconds(100) : .zero, speed: 0)
        bench.core.sensorAppeared(sensor, at: bench.now, &bench.actions)
        bench.now = bench.now + .seconds(2)
        fix(&bench, 1, speed: 0)
        bench.now = bench.now + .seconds(2)
        fix(&bench, 2, speed: 10)
        #expect(bench.events.map(\.1.content.detector) == ["one"])
    }

    /// The range is the sensor's, known when it appears.
    @Test func motionBeyondTheRangeIsMarked() throws {
        var bench = Bench(sensor: nil)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2, rest: "0ms"))
        bench.core.sensorAppeared(Bench.sensor, at: bench.now, &bench.actions)
        bench.feed([2.5, 0, 16, 0, 3])
        #expect(bench.events.map(\.1.isClipped) == [false, true, false])
    }

    @Test func whatBecameOfEventsIsCounted() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5, 0, 2.6])
        let events = bench.events.map(\.1)
        bench.core.sent(app, events[0], &bench.actions)
        bench.core.unsent(app, events[1], at: bench.now, &bench.actions)
        let tally = try #require(bench.tally(of: app))
        let mailbox = try #require(bench.core.mailboxes[app])
        #expect([bench.core.sensing.hits(of: app), tally.delivered, mailbox.dropped] == [2, 1, 0])
        #expect(mailbox.waitingCount == 1)
        #expect(tally.lastEvent?.detector == "one")
        #expect(tally.lastEvent?.peak == 2.6)
    }

    /// The last bucket closes by the clock when no sample comes that would close it.
    @Test func aBucketClosesWithoutAnotherSample() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        var request = Bench.planar("one", 2)
        request.options["every"] = .text("300ms")
        request.options["decimation"] = .text("peak")
        _ = try bench.add(app, request)
        #expect(bench.nextTick == nil)
        bench.feed([0, 2.5])
        #expect(bench.events.isEmpty)
        let tick = try #require(bench.nextTick)
        #expect(tick > bench.now)
        bench.core.tick(at: tick, &bench.actions)
        #expect(bench.events.count == 1)
        #expect(bench.nextTick == nil)
    }

    @Test func mutedMotionMakesNoEvents() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        try bench.core.mute(for: .milliseconds(350), at: bench.now)
        bench.feed([2.5, 2.5, 2.5])
        #expect(bench.events.isEmpty)
        bench.feed([2.5])
        #expect(bench.events.count == 1)
        #expect(throws: Refusal.muteTooLong(limit: .seconds(10))) {
            try bench.core.mute(for: .seconds(11), at: bench.now)
        }
    }

    @Test func pausedMotionNeedsNoSensor() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        bench.actions.removeAll()
        bench.core.pause(true, at: bench.now, &bench.actions)
        #expect(bench.actions == [.release(sensor: "accelerometer")])
        bench.core.pause(true, at: bench.now, &bench.actions)
        // What is added in the meantime waits too.
        _ = try bench.add(app, Bench.planar("two", 3))
        #expect(bench.actions == [.release(sensor: "accelerometer")])
        bench.actions.removeAll()
        bench.core.pause(false, at: bench.now, &bench.actions)
        guard case .claim("accelerometer", _) = bench.actions.first, bench.actions.count == 1 else {
            Issue.record("\(bench.actions)")
            return
        }
        bench.feed([2.5])
        #expect(bench.events.count == 1)
    }

    @Test func removedDetectorsMakeNoEvents() throws {
        var bench = Bench()
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Bench.planar("one", 2))
        try bench.core.removeDetectors(app, ["one"], at: bench.now, &bench.actions)
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(other, Bench.planar("two", 3))
        bench.feed([2.5, 0, 2.5])
        #expect(bench.events.isEmpty)
    }
}

/// The same inputs in the same order give the same actions.
@Suite struct Determinism {
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func inputsReplayExactly(_ seed: UInt64) {
        let inputs = Self.inputs(seed)
        print("seed \(seed): \(inputs.count) inputs")
        let first = Self.run(inputs)
        let second = Self.run(inputs)
        #expect(first.count == second.count)
        let difference = zip(first, second).enumerated().first { $1.0 != $1.1 }?.offset
        #expect(difference == nil)
        let events = first.filter { if case .deliver = $0 { true } else { false } }.count
        #expect(events > 20)
    }

    private static func run(_ inputs: [(Timestamp, BrokerInput)]) -> [BrokerAction] {
        var core = Broker(epoch: 0)
        var actions: [BrokerAction] = []
        for (time, input) in inputs {
            let before = actions.count
            _ = try? core.apply(input, at: time, &actions)
            // Some events come back, as if their app did not read; a later input tells of room.
            for case .deliver(let client, let event) in actions[before...] where event.sequence % 3 == 0 {
                _ = try? core.apply(.unsent(client, event), at: time, &actions)
            }
        }
        return actions
    }

    /// Apps that come and go, detectors that change, samples that sometimes are missing.
    private static func inputs(_ seed: UInt64) -> [(Timestamp, BrokerInput)] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ bound: UInt64) -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state % bound
        }
        var inputs: [(Timestamp, BrokerInput)] = [(.zero, .sensorAppeared(Bench.sensor))]
        var next: UInt64 = 0
        for step in 1...2_000 {
            let now = Timestamp(microseconds: Int64(step) * 50_000)
            let client = AppHandle(UInt32(random(8)))
            switch random(28) {
            case 20:
                let front = [nil, AppID("org.example.App1"), AppID("org.example.App2")][Int(random(3))]
                inputs.append((now, .life(.foreground(random(4) == 0 ? .none : .app(front)))))
            case 21:
                let state: AppState? = [nil, .background, .suspended, .inactive][Int(random(4))]
                inputs.append((now, .life(.told(client, state))))
            case 22: inputs.append((now, .life(.locked(random(4) == 0))))
            case 23: inputs.append((now, .life(.sleep(random(4) == 0))))
            case 24:
                let request = AssertionRequest(AssertionID(random(4)), "a", warning: .seconds(5))
                inputs.append((now, .life(.beginAssertion(client, request))))
            case 25: inputs.append((now, .life(.endAssertion(client, AssertionID(random(4))))))
            case 26: inputs.append((now, .life(.beginActivity(client, ActivityID(random(4)), .audio))))
            case 27: inputs.append((now, .life(.endActivity(client, ActivityID(random(4))))))
            case 0:
                inputs.append(
                    (now, .register(client, AppID("org.example.App\(client.index)"), AppEntrance(), user: 1_000)))
            case 1:
                let detector = Bench.planar("d\(random(3))", 1 + Double(random(30)) / 10)
                inputs.append((now, .addDetectors(client, [detector])))
            case 2: inputs.append((now, .removeDetectors(client, ["d\(random(3))"])))
            case 3 where random(5) == 0: inputs.append((now, .leave(client)))
            case 4: inputs.append((now, .room(client, Int(random(2_000)))))
            case 5: inputs.append((now, .tick))
            case 6 where random(3) == 0:
                let policies = [
                    Policy.builtIn, Bench.contest(.exclusive), Bench.contest(.ordered),
                    Bench.contest(.broadcast, .ack),
                ]
                inputs.append((now, .policy(policies[Int(random(4))])))
            case 7:
                let event = EventName(sequence: random(100), epoch: random(200))
                inputs.append((now, .answer(client, event, random(2) == 0 ? .pass : .consume)))
            case 8 where random(5) == 0: inputs.append((now, .subscribe(client, since: nil)))
            default:
                if random(50) == 0 { next += random(5) }
                var block = SampleBlock(channels: 3)
                block.append(now, [Double(random(500)) / 100, 0, 1])
                inputs.append((now, .samples(sensor: "accelerometer", first: next, block)))
                next += 1
            }
        }
        return inputs
    }
}
