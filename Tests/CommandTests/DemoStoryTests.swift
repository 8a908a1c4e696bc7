import Arbitration
import BrokerCore
import JostleClient
import Motion
import PolicyFiles
import TestSupport
import Testing
import Traces

@testable import jostle

/// The demo's story through the real core in virtual time: the bus and the machine have no part in the answer.
@Suite struct DemoStoryTests {
    private static let clients = DemoStory.apps.indices.map { AppHandle(UInt32($0)) }

    /// The broker with the demo's apps and detectors, and its sensor there.
    private func broker(_ sensor: SensorDescription, _ rules: DemoStory.Rules) throws -> Broker {
        var core = Broker(policy: try self.policy(rules), epoch: 0)
        var actions: [BrokerAction] = []
        try core.apply(.sensorAppeared(sensor), at: .zero, &actions)
        for (client, app) in zip(Self.clients, DemoStory.apps) {
            try core.apply(.register(client, AppID(app.id), AppEntrance(), user: 0), at: .zero, &actions)
            let detector = try DetectorSpec("shake.planar,threshold=\(app.threshold)g").detector
            try core.apply(.addDetectors(client, [detector.request]), at: .zero, &actions)
        }
        return core
    }

    private func policy(_ rules: DemoStory.Rules) throws -> Policy {
        switch rules {
        case .broadcast: return .builtIn
        case .exclusive:
            let file = PolicyFile(name: "10-demo.conf", bytes: Array(DemoStory.policy.utf8))
            return try #require(PolicyReader.read([file]).policy)
        }
    }

    /// The policy of the demo is the example that ships.
    @Test func thePolicyIsTheShippedExample() throws {
        let shipped = Programs.source("policies/examples/02-most-specific/policy.conf")
        #expect(try Tool.run(["cat", shipped]).stdout == DemoStory.policy)
    }

    /// Runs the story on a sensor read at `rate`, the shakes beginning `phase` after a sample.
    private func story(_ rules: DemoStory.Rules, rate: Double, phase: TimeSpan) throws -> DemoStory {
        var motion = try SyntheticMotion(script: DemoStory.rest)
        var core = try self.broker(motion.sensor, rules)
        var story = DemoStory(rules)
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
            self.explain(core, &story)
            index += 1
        }
        return story
    }

    /// Tells the story what the broker says of its apps.
    private func explain(_ core: borrowing Broker, _ story: inout DemoStory) {
        for app in DemoStory.apps {
            let query = VerdictQuery(.last, of: AppReference(AppID(app.id)), for: .user(0))
            for verdict in core.records.show(core.records.find(query), for: query, among: core.registry).map(\.verdict)
            {
                let told = DemoStory.Verdict(
                    app: app.id, time: verdict.time, reason: verdict.reason.name,
                    winner: verdict.contest?.winner?.name ?? "", decidedBy: verdict.decidedBy?.name ?? "", text: [])
                if story.verdicts.last(where: { $0.app == app.id }) != told { story.explained(told) }
            }
        }
    }

    /// The looks lie anywhere within the tenth of a second between them: the answer does not depend on it.
    @Test(arguments: 0..<20)
    func oneEventForEachAppAndShakeAtEveryPhase(_ step: Int64) throws {
        let (gentle, hard) = (DemoStory.shakes[0], DemoStory.shakes[1])
        let (app, player) = (DemoStory.apps[0], DemoStory.apps[1])
        for rate in [10.0, 25, 50, 400] {
            let today = try self.story(.broadcast, rate: rate, phase: .milliseconds(5 * step))
            #expect(today.differences.isEmpty, "at \(rate) Hz: \(today.differences)")
            #expect(today.arrivals.count == 3)
            #expect(today.arrivals(of: gentle, at: app).count == 1)
            #expect(today.arrivals(of: gentle, at: player).isEmpty)
            #expect(today.arrivals(of: hard, at: app).count == 1)
            #expect(today.arrivals(of: hard, at: player).count == 1)

            let decided = try self.story(.exclusive, rate: rate, phase: .milliseconds(5 * step))
            #expect(decided.differences.isEmpty, "at \(rate) Hz: \(decided.differences)")
            #expect(decided.arrivals(of: gentle, at: app).count == 1)
            #expect(decided.arrivals(of: hard, at: player).count == 1)
            #expect(decided.arrivals.count == 2)
            #expect(decided.verdict(of: hard, for: app)?.reason == "S4.outranked")
        }
    }

    private func arrival(_ app: Int, at time: Int64) -> DemoStory.Arrival {
        DemoStory.Arrival(app: DemoStory.apps[app].id, time: Timestamp(microseconds: time), peak: 3, delay: 1)
    }

    private func verdict(_ app: Int, at time: Int64, _ reason: String = "S5.sent") -> DemoStory.Verdict {
        DemoStory.Verdict(
            app: DemoStory.apps[app].id, time: Timestamp(microseconds: time), reason: reason,
            winner: DemoStory.apps[1].id, decidedBy: "specificity", text: [])
    }

    /// The judgement can fail: a missing, a second and a stray event are each noticed.
    @Test func whatIsNotAsTheArticleSaysIsNamed() {
        var right = DemoStory(.broadcast)
        right.shakeBegins(at: Timestamp(microseconds: 1_000_000))
        right.arrived(self.arrival(0, at: 1_100_000))
        right.shakeBegins(at: Timestamp(microseconds: 4_000_000))
        right.arrived(self.arrival(0, at: 4_100_000))
        for time: Int64 in [1_100_000, 4_100_000] { right.explained(self.verdict(0, at: time)) }
        right.explained(self.verdict(1, at: 4_200_000))
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

    /// The second act can fail as well: by an event too many, and by another reason than the policy's.
    @Test func whatIsNotAsThePolicySaysIsNamed() {
        var start = DemoStory(.exclusive)
        start.shakeBegins(at: Timestamp(microseconds: 1_000_000))
        start.arrived(self.arrival(0, at: 1_100_000))
        start.explained(self.verdict(0, at: 1_100_000))
        start.shakeBegins(at: Timestamp(microseconds: 4_000_000))
        start.arrived(self.arrival(1, at: 4_200_000))
        start.explained(self.verdict(1, at: 4_200_000))
        var right = start
        right.explained(self.verdict(0, at: 4_100_000, "S4.outranked"))
        #expect(right.differences.isEmpty)
        right.arrived(self.arrival(0, at: 4_100_000))
        #expect(right.differences == ["the demo app got 1 events of the hard shake, not 0"])
        #expect(
            start.differences == ["for the demo app the broker says 'nothing' of the hard shake, not 'S4.outranked'"])
        var other = start
        other.explained(self.verdict(0, at: 4_100_000, "S2.denied"))
        #expect(
            other.differences == ["for the demo app the broker says 'S2.denied' of the hard shake, not 'S4.outranked'"])
        var key = start
        key.explained(
            DemoStory.Verdict(
                app: DemoStory.apps[0].id, time: Timestamp(microseconds: 4_100_000), reason: "S4.outranked",
                winner: DemoStory.apps[1].id, decidedBy: "strength", text: []))
        #expect(key.differences == ["the broker says that 'org.jostle.Demo.Player' won the hard shake by 'strength'"])
    }

    @Test func aFleetsStoryIsWholeOrSaysWhatIsMissing() {
        var story = FleetStory()
        for step in FleetStory.Step.allCases.dropLast() { story.happened(step) }
        #expect(story.differences == ["not: \(FleetStory.Step.restored.rawValue)"])
        story.happened(.restored)
        #expect(story.differences.isEmpty)
        var reversed = FleetStory()
        for step in FleetStory.Step.allCases.reversed() { reversed.happened(step) }
        #expect(reversed.differences == ["not in this order"])
    }
}
