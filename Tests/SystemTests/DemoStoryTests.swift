import Arbitration
import BrokerCore
import JostleClient
import Motion
import Testing
import Traces

@testable import jostle

/// The demo's story through the real core in virtual time: the bus and the machine have no part in the answer.
@Suite struct DemoStoryTests {
    private static let clients = DemoStory.apps.indices.map { ClientID(UInt32($0)) }

    /// The broker with the demo's apps and detectors, and its sensor there.
    private func broker(_ sensor: SensorDescription) throws -> BrokerCore {
        var core = BrokerCore(epoch: 0)
        var actions: [BrokerAction] = []
        core.sensorAppeared(sensor, at: .zero, &actions)
        for (client, app) in zip(Self.clients, DemoStory.apps) {
            try core.register(client, AppID(app.id), AppEntrance(), at: .zero, &actions)
            let detector = try DetectorSpec("shake.planar,threshold=\(app.threshold)g").detector
            _ = try core.addDetectors(client, [detector.request], at: .zero, &actions)
        }
        return core
    }

    /// Runs the story on a sensor read at `rate`, the shakes beginning `phase` after a sample.
    private func story(rate: Double, phase: TimeSpan) throws -> DemoStory {
        var motion = try SyntheticMotion(script: DemoStory.rest)
        var core = try self.broker(motion.sensor)
        var story = DemoStory()
        var shakes = DemoStory.shakes[...]
        var next = TimeSpan.milliseconds(500) + phase
        let length = DemoStory.shakeLength + DemoStory.quiet
        let end = next + length + length
        var index: Int64 = 0
        while SyntheticMotion.offset(ofSample: index, rate: rate) < end {
            let offset = SyntheticMotion.offset(ofSample: index, rate: rate)
            if let shake = shakes.first, next <= offset {
                try motion.inject(shake.motion, at: next)
                story.shakeBegins(at: .zero + next)
                shakes = shakes.dropFirst()
                next = next + length
            }
            var block = SampleBlock(channels: 3)
            motion.record(index..<index + 1, rate: rate, into: &block)
            var actions: [BrokerAction] = []
            core.samples(
                "accelerometer", first: UInt64(index), times: block.times.span, values: block.values.span,
                at: .zero + offset, &actions)
            for action in actions {
                guard case .deliver(let client, let event) = action else { continue }
                story.arrived(
                    DemoStory.Arrival(
                        app: DemoStory.apps[Int(client.index)].id, time: event.time, peak: event.peak, delay: 0))
            }
            index += 1
        }
        return story
    }

    /// The looks lie anywhere within the tenth of a second between them: the article's answer does not depend on it.
    @Test(arguments: 0..<20)
    func oneEventForEachAppAndShakeAtEveryPhase(_ step: Int64) throws {
        for rate in [10.0, 25, 50, 400] {
            let story = try self.story(rate: rate, phase: .milliseconds(5 * step))
            #expect(story.differences.isEmpty, "at \(rate) Hz: \(story.differences)")
            #expect(story.arrivals.count == 3)
            let (gentle, hard) = (DemoStory.shakes[0], DemoStory.shakes[1])
            let (app, player) = (DemoStory.apps[0], DemoStory.apps[1])
            #expect(story.arrivals(of: gentle, at: app).count == 1)
            #expect(story.arrivals(of: gentle, at: player).isEmpty)
            #expect(story.arrivals(of: hard, at: app).count == 1)
            #expect(story.arrivals(of: hard, at: player).count == 1)
        }
    }

    private func arrival(_ app: Int, at time: Int64) -> DemoStory.Arrival {
        DemoStory.Arrival(app: DemoStory.apps[app].id, time: Timestamp(microseconds: time), peak: 3, delay: 1)
    }

    /// The judgement can fail: a missing, a second and a stray event are each noticed.
    @Test func whatIsNotAsTheArticleSaysIsNamed() {
        var right = DemoStory()
        right.shakeBegins(at: Timestamp(microseconds: 1_000_000))
        right.arrived(self.arrival(0, at: 1_100_000))
        right.shakeBegins(at: Timestamp(microseconds: 4_000_000))
        right.arrived(self.arrival(0, at: 4_100_000))
        var missing = right
        right.arrived(self.arrival(1, at: 4_200_000))
        #expect(right.differences.isEmpty)
        #expect(missing.differences == ["the music player got 0 events of the hard shake, not 1"])
        missing.arrived(self.arrival(1, at: 1_200_000))
        #expect(missing.differences.first == "the music player got 1 events of the gentle shake, not 0")
        var twice = right
        twice.arrived(self.arrival(0, at: 4_900_000))
        #expect(twice.differences == ["the demo app got 2 events of the hard shake, not 1"])
        var stray = right
        stray.arrived(self.arrival(0, at: 900_000))
        stray.arrived(self.arrival(0, at: 6_800_000))
        #expect(stray.differences == ["2 events belong to no shake"])
    }
}
