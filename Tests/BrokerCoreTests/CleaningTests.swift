import Arbitration
@testable import BrokerCore
import Motion
import Testing

/// Many go at once: what is left to do is done later, and nobody notices but by the memory.
@Suite struct CleaningTests {
    private static let flood = (0..<1_000).map { Bench.planar("flood\($0)", 1.2 + Double($0) / 1_000, rest: "0ms") }

    private static func add(_ bench: inout Bench, _ client: AppHandle) throws {
        for batch in DetectorBatch.split(Self.flood) {
            _ = try bench.core.addDetectors(client, Array(batch), at: bench.now, &bench.actions)
        }
    }

    @Test func whatIsLeftBehindMakesNoEvents() throws {
        var bench = Bench()
        let good = try bench.register(0, "org.example.Good")
        _ = try bench.add(good, Bench.planar("d", 2, rest: "0ms"))
        let flood = try bench.register(1, "org.example.Flood")
        try Self.add(&bench, flood)
        bench.feed([0])
        bench.leave(flood)
        #expect(bench.core.registry[flood] == nil && bench.isCleaningDue && !bench.isShrinkingDue)
        _ = bench.take()
        bench.feed([9])
        #expect(bench.events.map(\.0) == [good] && bench.events.map(\.1.sequence) == [1])
        #expect(
            !bench.actions.contains { if case .keep(let record) = $0 { record.verdict.app.index == 1 } else { false } })
        // Another takes its number.
        let other = try bench.register(1, "org.example.Other")
        _ = try bench.add(other, Bench.planar("d", 3, rest: "0ms"))
        var steps = 0
        while bench.isCleaningDue {
            bench.clean()
            steps += 1
        }
        #expect(steps > 10)
        _ = bench.take()
        bench.feed([0, 9])
        #expect(bench.events.map(\.0) == [good, other])
    }

    /// The claim is given up with the last detector, not before.
    @Test func theSensorIsReleasedAtLast() throws {
        var bench = Bench()
        let flood = try bench.register(1, "org.example.Flood")
        try Self.add(&bench, flood)
        bench.leave(flood)
        _ = bench.take()
        while bench.isCleaningDue {
            #expect(bench.actions.isEmpty)
            bench.clean()
        }
        #expect(bench.take() == [.release(sensor: "accelerometer")])
    }

    @Test func whoComesBackFindsItsShareFree() throws {
        var limits = BrokerLimits()
        limits.detectors = 8_000
        var bench = Bench(limits: limits)
        for _ in 0..<3 {
            let flood = try bench.register(1, "org.example.Flood", user: 1_000)
            try Self.add(&bench, flood)
            #expect(throws: Refusal.self) { try bench.add(flood, Bench.planar("more", 2)) }
            bench.leave(flood)
        }
        #expect(bench.isCleaningDue)
    }

    /// Beside one that was never flooded, a broker that gave memory back does the same, before, after and in between.
    @Test func givingMemoryBackChangesNothing() throws {
        var (bench, twin) = (Bench(), Bench())
        func both(_ body: (inout Bench) throws -> Void) throws {
            try body(&bench)
            try body(&twin)
        }
        let conditions = [
            "norm(x, y, z) > 1.5g", "rms(x, 300ms) > 1g and abs(y) < 8g", "mean(x, 500ms) > 0.5g or x > 3g",
            "count(x > 0.5g, 1s) >= 2",
        ]
        let good = AppHandle(0)
        try both { bench in
            _ = try bench.register(0, "org.example.Good")
            for (index, text) in conditions.enumerated() {
                let options: [String: OptionValue] = ["when": .text(text), "rest": .text("0ms")]
                _ = try bench.add(good, DetectorRequest(name: "d\(index)", options: options))
            }
            bench.feed([0, 2, 0])
        }
        for round in 0..<4 {
            let flood = try bench.register(1, "org.example.Flood")
            for (index, text) in conditions.enumerated() {
                for step in 0..<120 {
                    let own = text + " or y > \(step + 1)mg"
                    let options: [String: OptionValue] = ["when": .text(own), "rest": .text("1h")]
                    _ = try bench.add(flood, DetectorRequest(name: "f\(index).\(step)", options: options))
                }
            }
            if round.isMultiple(of: 2) { try both { $0.feed([1.6, 0.2]) } }
            bench.leave(flood)
            try both { $0.feed([3.5, 0]) }
            while bench.isCleaningDue { bench.clean() }
            #expect(bench.isShrinkingDue)
            bench.core.shrink()
            #expect(!bench.isShrinkingDue)
            try both { bench in
                bench.feed([1.7, 0, 4, 4, 0, -1])
                let more = try bench.register(2, "org.example.More")
                _ = try bench.add(more, Bench.planar("d", 2, rest: "0ms"))
                bench.feed([0, 5, 0])
                bench.leave(more)
            }
            func told(_ bench: inout Bench) -> [String] {
                defer { bench.actions = [] }
                return bench.events.filter { $0.0 != AppHandle(1) }.map {
                    "\($0.0.index) \($0.1.detector) \($0.1.time) \($0.1.peak)"
                }
            }
            let (ours, theirs) = (told(&bench), told(&twin))
            #expect(!ours.isEmpty && ours == theirs)
        }
    }

    /// Between the moment at which memory is due to be given back and that at which it is, others leave: it is given back for them, too.
    @Test func whoLeavesMeanwhileIsShrunkFor() throws {
        var bench = Bench()
        let first = try bench.register(1, "org.example.First")
        try Self.add(&bench, first)
        let second = try bench.register(2, "org.example.Second")
        try Self.add(&bench, second)
        bench.leave(first)
        while bench.isCleaningDue { bench.clean() }
        #expect(bench.isShrinkingDue)
        bench.leave(second)
        bench.core.shrink()
        #expect(bench.isCleaningDue && !bench.isShrinkingDue)
        while bench.isCleaningDue { bench.clean() }
        #expect(bench.isShrinkingDue)
        bench.core.shrink()
        #expect(!bench.isShrinkingDue)
    }

    /// A thousand apps register, leave and register again: none is refused before its user has its share.
    @Test func aThousandAppsRegister() throws {
        var bench = Bench()
        let share = Int(try #require(bench.core.limits.table["apps-per-user"]))
        for round in 0..<3 {
            for index in 0..<1_000 as Range<UInt32> {
                let client = try bench.register(index, "org.example.App\(index)", user: 1_000)
                _ = try bench.add(client, Bench.planar("d", 2))
            }
            if round == 2 { break }
            for index in 0..<1_000 as Range<UInt32> { bench.leave(AppHandle(index)) }
            #expect(!bench.isCleaningDue && bench.isShrinkingDue)
            bench.core.shrink()
        }
        for index in 1_000..<UInt32(share) { _ = try bench.register(index, "org.example.App\(index)", user: 1_000) }
        #expect(throws: Refusal.self) { try bench.register(UInt32(share), "org.example.Last", user: 1_000) }
        _ = try bench.register(UInt32(share), "org.example.Last", user: 1_001)
    }
}
