import Arbitration
import Background
import Foundation
import Journal
import Motion
import Randomness
import TestSupport
import Testing

/// Disks that change bits of what they were given, anywhere.
@Suite struct FlippedBitTests {
    /// `make fuzz-files` says how often; the suite does it shortly.
    private static let count = ProcessInfo.processInfo.environment["JOSTLE_FLIPS"].flatMap(UInt64.init) ?? 48
    private static let first = ProcessInfo.processInfo.environment["JOSTLE_FIRST_FLIP"].flatMap(UInt64.init) ?? 0
    private static let names = ["state.db", "state.db-wal", "journal.db", "journal.db-wal"]
    /// Seeds in one test: each has files of its own to begin with.
    private static let batch: UInt64 = 12

    /// Files of a broker that has a bit of everything, as it leaves them and as a crash does.
    private struct Files {
        var closed: [String: Data] = [:]
        var crashed: [String: Data] = [:]
        var end: UInt64 = 0

        init() throws {
            let place = try Directory()
            let keeper = Keeper(place)
            self.end = try keeper.epochs().end
            try keeper.keepAndWait(verdicts(60))
            var terms = DeliveryTerms()
            (terms.kind, terms.reliability, terms.durability) = (.wake, .ack, .persistent)
            terms.lifespan = .seconds(3_600)
            for sequence in UInt64(1)...40 {
                let content = EventContent(
                    sequence: sequence, epoch: sequence, generation: 1, time: Timestamp(microseconds: 1_234_567),
                    detector: "skip", peak: 2.5, isSimulated: false, isClipped: false, note: HitNote(.entered))
                keeper.store.keep(
                    DueEvent(app: AppID("org.example.Hard"), user: 1_000, content, terms, ends: .max, strength: 5))
            }
            let owner = TaskOwner(AppID("org.example.Mail"), user: 1_000)
            _ = keeper.store.keep(
                TaskRecord(owner, TaskRequest("news", .refresh, earliest: Timestamp(microseconds: 5)), attempt: 2))
            let app = AppID("org.example.A")
            _ = keeper.store.set(
                app,
                to: DurableApp(
                    app, IdentityBinding(user: 1_000, proof: .flatpak), usage: "Skips", modes: WordSet([.audio]),
                    detectors: [DetectorRequest(name: "skip", options: ["preset": .text("shake.planar")])]))
            try keeper.keepAndWait(verdicts(5), from: 3_000_000)
            self.crashed = try Self.read(place)
            keeper.close()
            self.closed = try Self.read(place)
        }

        private static func read(_ place: Directory) throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in FlippedBitTests.names where place.has(name) { files[name] = try place.bytes(name) }
            return files
        }
    }

    /// Each file is opened as far as it is whole, or set aside with a word; either way the next broker begins soon, uses no epoch again,
    /// and keeps what it is given.
    @Test(arguments: Array(stride(from: first, to: first + count, by: UInt64.Stride(batch))))
    func aFileWithFlippedBits(from first: UInt64) throws {
        let files = try Files()
        for seed in first..<first + Self.batch { try self.play(seed, files) }
    }

    private func play(_ seed: UInt64, _ files: Files) throws {
        var random = SeededRandom(seed: seed)
        var given = random.chance(0.5) ? files.closed : files.crashed
        let name = try #require(given.keys.sorted().randomElement(using: &random))
        var bytes = try #require(given[name])
        for _ in 0..<(1 << Int.random(in: 0...6, using: &random)) where !bytes.isEmpty {
            // Half of them where the file says what it is, and its pages what they hold.
            let page = Int.random(in: 0...(bytes.count - 1) / 4_096, using: &random) * 4_096
            let place =
                random.chance(0.5)
                ? min(bytes.count - 1, page + Int.random(in: 0..<128, using: &random))
                : Int.random(in: 0..<bytes.count, using: &random)
            bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        given[name] = bytes
        let place = try Directory()
        #expect(try Tool.run(["mkdir", "-p", place.path]).status == 0)
        for (name, bytes) in given { try place.write(bytes, to: name) }

        let start = ContinuousClock.now
        let keeper = Keeper(place, started: 61_000_000)
        let block = try keeper.epochs()
        #expect(block.first >= 61_000_000 && block.first > files.end, "seed \(seed), \(name)")
        let new = verdicts(2, after: block.first)
        try keeper.keepAndWait(new, from: 62_000_000)
        let found = try keeper.ask(JournalQuery())
        #expect(found.verdicts.suffix(4).map(\.verdict) == new, "seed \(seed), \(name): \(keeper.news)")
        // What is found broken only now has been set aside, and the one in its place may be about to be made.
        try keeper.until("seed \(seed), \(name): all well") { keeper.store.health == .ok }
        for kind in ["state.db", "journal.db"] where place.has("\(kind).broken") {
            #expect(keeper.news.contains { $0.contains(kind) }, "seed \(seed), \(name): \(keeper.news)")
        }
        keeper.close()
        #expect(ContinuousClock.now - start < .seconds(20), "seed \(seed), \(name)")
    }
}
