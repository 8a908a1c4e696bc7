import FleetCore
import Motion
import Testing

@Suite struct TopicTests {
    private let topics = FleetTopics(device: "kiosk-17")

    @Test func topicsAreThoseOfTheirDevice() {
        #expect(self.topics.presence == "jostle/1/kiosk-17/presence")
        #expect(self.topics.event(of: "skip") == "jostle/1/kiosk-17/event/skip")
        #expect(
            self.topics.event(of: "skip", for: "org.example.App") == "jostle/1/kiosk-17/apps/org.example.App/event/skip"
        )
        #expect(FleetTopics.desired(ofGroup: "north") == "jostle/1/@north/desired")
    }

    @Test func aNameIsOneLevel() {
        #expect(FleetTopics.level("a/b+c#d%") == "a%2Fb%2Bc%23d%25")
        #expect(FleetTopics.level("größe") == "größe")
        #expect(FleetTopics.level("a\u{0}") == "a%00")
    }

    @Test(
        arguments: [
            (0x7F, "%7F"), (0x80, "%C2%80"), (0x9F, "%C2%9F"), (0xA0, nil), (0xFDCF, nil), (0xFDD0, "%EF%B7%90"),
            (0xFDEF, "%EF%B7%AF"), (0xFDF0, nil), (0xFFFD, nil), (0xFFFE, "%EF%BF%BE"), (0xFFFF, "%EF%BF%BF"),
            (0x1_FFFE, "%F0%9F%BF%BE"), (0x10_FFFD, nil), (0x10_FFFF, "%F4%8F%BF%BF"),
        ] as [(UInt32, String?)])
    func whatAServerRefusesIsWrittenOut(code: UInt32, written: String?) throws {
        let character = String(try #require(Unicode.Scalar(code)))
        let level = FleetTopics.level("a\(character)é")
        #expect(Array(level.utf8) == Array("a\(written ?? character)é".utf8))
    }

    @Test func namesAreWhatATopicCanHave() {
        #expect(FleetTopics.isName("kiosk-17.a_b"))
        for name in ["", "a/b", "+", "#", "@group", "a b", String(repeating: "x", count: 65)] {
            #expect(!FleetTopics.isName(name))
        }
    }

    @Test func aRequestSaysItsVerb() {
        #expect(self.topics.verb(of: self.topics.request("explain")) == "explain")
        #expect(self.topics.verb(of: self.topics.request("") + "a/b") == nil)
        #expect(self.topics.verb(of: "jostle/1/other/request/explain") == nil)
    }
}

@Suite struct ReconnectTests {
    @Test func pausesGrowUpToTheLongest() {
        var times = ReconnectTimes()
        var bounds: [Int64] = []
        for _ in 0..<12 { bounds.append(times.failed(at: .zero, chance: 0).microseconds * 2) }
        #expect(bounds.prefix(4) == [1_000_000, 2_000_000, 4_000_000, 8_000_000])
        #expect(bounds.last == ReconnectTimes.longest.microseconds)
    }

    @Test func devicesDoNotComeAllAtOnce() {
        var pauses: Set<Int64> = []
        for device in 0..<1_000 {
            var times = ReconnectTimes()
            for _ in 0..<8 { _ = times.failed(at: .zero, chance: UInt64(device)) }
            let pause = times.failed(at: .zero, chance: UInt64(device) &* 0x9E37_79B9_7F4A_7C15)
            #expect(pause >= TimeSpan.seconds(60) && pause <= TimeSpan.seconds(120))
            pauses.insert(pause.microseconds / 1_000_000)
        }
        #expect(pauses.count > 50)
    }

    @Test func aConnectionThatLastedBeginsAnew() {
        var times = ReconnectTimes()
        for _ in 0..<6 { _ = times.failed(at: .zero, chance: 0) }
        times.connected(at: .zero)
        #expect(times.failed(at: .zero + .seconds(1), chance: 0) > .seconds(10))
        times.connected(at: .zero)
        #expect(times.failed(at: .zero + .seconds(31), chance: 0) == .milliseconds(500))
    }
}
