import Arbitration
import Detection
import Foundation
@testable import Journal
import Motion
import TestSupport
import Testing

/// Clips in the journal: they come back, belong to users, are bounded, and are forgotten when somebody says so.
@Suite(.serialized) struct ClipTests {
    private func detector(_ name: String = "skip") throws -> CompiledDetector {
        try DetectorCompiler.compile(
            DetectorRequest(name: name, options: ["preset": .text("shake.planar"), "threshold": .number(2.5)]), for: nil
        )
    }

    /// Has a clip kept with moments of these users, cut at `wall`.
    private func keep(
        _ keeper: Keeper, _ users: [UInt32], app: String = "org.example.A", at wall: Int64 = 2_000_000_000_000,
        samples: Int = 150, isNear: Bool = true, detector: CompiledDetector? = nil
    ) throws {
        let detector = try detector ?? self.detector()
        var ring = ClipCutter(ClipTerms(.seconds(10)), channels: ["x", "y", "z"])
        for row in 0..<samples {
            let time = Int64(row + 1) * 20_000
            ring.take([time].span, [Double(row % 7), -1, 0.25].span, upTo: time)
        }
        let last = Timestamp(microseconds: Int64(samples) * 20_000)
        for (index, user) in users.enumerated() {
            ring.add(
                ClipMoment(
                    app: AppID(app), user: user, id: DetectorID(UInt32(index)), detector, time: last, peak: 2.125,
                    isNear: isNear))
        }
        ring.finish()
        keeper.store.keepClip(at: wall, last + .seconds(1)) { clip in
            ring.cut("accelerometer", into: &clip)
            return !clip.moments.isEmpty
        }
        // Until it is written.
        _ = try keeper.ask(JournalQuery(limit: 1))
    }

    private func read(_ place: Directory) throws -> [StoredClip] {
        var found: [StoredClip] = []
        #expect(try JournalReader(in: place.path).eachClip(from: 0, to: .max) { found.append($0) } == 0)
        return found
    }

    private func forget(_ keeper: Keeper, _ user: UInt32?) throws {
        var result: Result<JournalAnswer, JournalFailure>?
        keeper.store.forgetClips(of: user) { result = $0 }
        _ = try keeper.ask(JournalQuery(limit: 1))
        _ = try #require(result).get()
    }

    @Test func theyComeBackForTheirUsers() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try self.keep(keeper, [1_000, 1_001, 1_000])
            keeper.close()
            #expect(keeper.store.counts.dropped == 0)
        }
        let found = try self.read(place)
        #expect(found.map(\.user) == [1_000, 1_001] && found.map(\.moments.count) == [2, 1])
        let clip = try #require(found.first)
        #expect(clip.sensor == "accelerometer" && clip.channels == ["x", "y", "z"] && clip.motion.count == 150)
        // A second before it was cut.
        #expect(clip.wall == 1_999_999_000_000 && clip.motion.times.last == 3_000_000)
        #expect(abs(clip.motion.values[3 * 6] - 6) < 0.001 && abs(clip.motion.values[1] + 1) < 0.001)
        let moment = try #require(clip.moments.first)
        #expect(moment.isNear && moment.peak == 2.125 && moment.threshold == 2.5 && moment.app == "org.example.A")
        let again = try DetectorCompiler.compile(DetectorText.read(moment.options, name: moment.detector), for: nil)
        #expect(again.isSame(as: try self.detector()) && moment.preset == "shake.planar")
    }

    /// A clip is cut into memory that is there, on the thread that waits for nobody: it is neither copied nor does it grow.
    @Test func theirMemoryGoesRound() throws {
        func places(_ clip: MotionClip) -> [UInt] {
            [
                clip.times.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) },
                clip.values.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) },
            ]
        }
        let place = try Directory()
        let keeper = Keeper(place)
        keeper.store.expectClips()
        var ring = ClipCutter(ClipTerms(.seconds(1)), channels: ["x", "y", "z"])
        let detector = try self.detector()
        var known: Set<[UInt]> = []
        for round in 0..<40 {
            for row in 1...60 {
                let time = Int64(round * 60 + row) * 20_000
                ring.take([time].span, [Double(row), -1, 0.25].span, upTo: time)
            }
            let last = Timestamp(microseconds: Int64(round + 1) * 1_200_000)
            ring.add(
                ClipMoment(
                    app: AppID("org.example.A"), user: 1_000, id: DetectorID(1), detector, time: last, peak: 2,
                    isNear: true))
            ring.finish()
            // Also while all of it is on its way.
            keeper.store.keepClip(at: 2_000_000_000_000, last) { clip in
                let before = places(clip)
                ring.cut("accelerometer", into: &clip)
                #expect(clip.times.count > 40 && places(clip) == before, "round \(round)")
                known.insert(before)
                return true
            }
            if round % 8 == 7 { _ = try keeper.ask(JournalQuery(limit: 1)) }
        }
        // Four, and one for what is left out.
        #expect(known.count <= 5)
        keeper.close()
    }

    /// A broker that keeps none has none of their tables, and reads what another one left.
    @Test func withoutThemNothingIsThere() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(verdicts(3))
            try self.forget(keeper, nil)
            keeper.close()
        }
        #expect(
            try place.sql("journal.db", "SELECT count(*) FROM sqlite_schema WHERE name IN ('clip', 'moment')") == "0\n")
        #expect(try !JournalReader(in: place.path).hasClips && self.read(place).isEmpty)
        #expect(!place.has("journal.db.broken"))
    }

    @Test func theyAreForgotten() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try self.keep(keeper, [1_000, 1_001], app: "org.example.VerySecretIndeed")
        try self.forget(keeper, 1_000)
        #expect(try self.read(place).map(\.user) == [1_001])
        try self.forget(keeper, nil)
        #expect(try self.read(place).isEmpty)
        #expect(try place.sql("journal.db", "SELECT count(*) FROM moment") == "0\n")
        // Neither in the file nor beside it is anything of them.
        for name in ["journal.db", "journal.db-wal"] where place.has(name) {
            #expect(try place.bytes(name).range(of: Data("VerySecretIndeed".utf8)) == nil, "\(name)")
        }
        try self.keep(keeper, [1_000])
        keeper.close()
        #expect(try self.read(place).count == 1)
    }

    /// Somebody who reads keeps what they were on the disk: that is said, and no failure of the disk.
    @Test func whileSomebodyReadsTheyAreNotGone() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try self.keep(keeper, [1_000], app: "org.example.VerySecretIndeed")
        do {
            let reader = try Database(place.file("journal.db"), readOnly: true)
            try reader.execute("BEGIN; SELECT count(*) FROM clip")
            #expect(throws: JournalFailure.self) { try self.forget(keeper, nil) }
            #expect(!keeper.news.contains { $0.hasPrefix("failed") }, "\(keeper.news)")
            try reader.execute("COMMIT")
        }
        try self.forget(keeper, nil)
        #expect(try self.read(place).isEmpty)
        for name in ["journal.db", "journal.db-wal"] where place.has(name) {
            #expect(try place.bytes(name).range(of: Data("VerySecretIndeed".utf8)) == nil, "\(name)")
        }
        keeper.close()
    }

    /// An app that moves all the time pushes out its own clips, and no more than a quarter of the room is theirs.
    @Test func theyAreBounded() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalBytes = 1 << 20
        let keeper = Keeper(place, limits: limits)
        let given = verdicts(50)
        try keeper.keepAndWait(given)
        try self.keep(keeper, [1_000], app: "org.example.Quiet", at: 1_000_000_000_000)
        for round in 0..<400 {
            try self.keep(keeper, [1_000], app: "org.example.Restless", at: 2_000_000_000_000 + Int64(round))
        }
        keeper.close()
        let found = try self.read(place)
        #expect(
            found.contains { $0.moments.first?.app == "org.example.Quiet" } && found.count < 400 && found.count > 50)
        let bytes = try #require(
            Int(try place.sql("journal.db", "SELECT sum(length(motion)) FROM clip").filter(\.isNumber)))
        #expect(bytes <= limits.journalBytes / 4)
        #expect(
            try place.sql("journal.db", "SELECT count(*) FROM moment WHERE clip NOT IN (SELECT id FROM clip)") == "0\n")
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "\(given.count)\n")
    }

    /// What a clip's moments say takes more than its motion, where conditions are long; it is of the same quarter.
    @Test func whatTheirMomentsSayIsBounded() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalBytes = 1 << 20
        let keeper = Keeper(place, limits: limits)
        let given = verdicts(50)
        try keeper.keepAndWait(given)
        let condition = "z > 0.5g" + String(repeating: " or z > 0.5g", count: 100)
        let detector = try DetectorCompiler.compile(
            DetectorRequest(name: "long", options: ["when": .text(condition)]), for: nil)
        for round in 0..<100 {
            try self.keep(
                keeper, Array(repeating: 1_000, count: 16), at: 2_000_000_000_000 + Int64(round), samples: 20,
                detector: detector)
        }
        keeper.close()
        let said = try place.sql("journal.db", "SELECT sum(length(options)), count(*) >= 16 FROM moment")
        let bytes = try #require(Int(said.prefix(while: \.isNumber)))
        #expect(bytes <= limits.journalBytes / 4 && said.hasSuffix("|1\n"), "\(said)")
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "\(given.count)\n")
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// A journal whose clips an earlier version kept.
    @Test func thoseOfBeforeAreCounted() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try self.keep(keeper, [1_000])
            keeper.close()
        }
        try place.python("c.execute('DROP INDEX moment_clip');c.commit()", on: "journal.db")
        let keeper = Keeper(place)
        try self.keep(keeper, [1_001])
        keeper.close()
        #expect(try self.read(place).map(\.user) == [1_000, 1_001] && !place.has("journal.db.broken"))
        #expect(
            try place.sql("journal.db", "SELECT count(*) FROM sqlite_schema WHERE name = 'moment_clip'") == "1\n")
    }

    /// They go when they are too old, also when none is kept any more.
    @Test func theOldGo() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try self.keep(keeper, [1_000], at: 2_000_000_000_000)
            try self.keep(keeper, [1_000], at: 2_000_100_000_000)
            keeper.close()
        }
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        let keeper = Keeper(place, started: 2_000_120_000_000, limits: limits)
        _ = try keeper.ask(JournalQuery(limit: 1))
        keeper.close()
        #expect(try self.read(place).map(\.wall) == [2_000_099_000_000])
    }

    /// What cannot be read is left out and told, whoever wrote it.
    @Test func brokenOnesAreLeftOut() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            for _ in 0..<3 { try self.keep(keeper, [1_000]) }
            keeper.close()
        }
        try place.python(
            "c.execute(\"UPDATE clip SET motion = x'01030201' WHERE id = 2\");c.commit()", on: "journal.db")
        var found: [Int64] = []
        #expect(try JournalReader(in: place.path).eachClip(from: 0, to: .max) { found.append($0.id) } == 1)
        #expect(found == [1, 3])
    }
}
