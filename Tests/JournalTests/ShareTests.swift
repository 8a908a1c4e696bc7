import Arbitration
import Foundation
@testable import Journal
import Motion
import Randomness
import TestSupport
import Testing

/// Whose rows go when the journal is full.
@Suite struct ShareTests {
    private typealias Holder = JournalShares.Holder

    @Test func whoHasMostGivesUp() {
        let (noisy, other, quiet) = (
            Holder(app: "noisy", user: 1), Holder(app: "other", user: 1), Holder(app: "quiet", user: 1)
        )
        let rows = [noisy: 1_000, other: 300, quiet: 20]
        #expect(JournalShares.cuts(rows, excess: 100) == [noisy: 100])
        #expect(JournalShares.cuts(rows, excess: 900) == [noisy: 800, other: 100])
        #expect(JournalShares.cuts(rows, excess: 1_320) == rows)
        #expect(JournalShares.cuts([:], excess: 1).isEmpty)
    }

    /// A thousand names of one user are no more than that user.
    @Test func aUserIsNoMoreThanAnother() {
        var rows: [Holder: Int] = [Holder(app: "quiet", user: 2): 900]
        for name in 0..<1_000 { rows[Holder(app: "\(name)", user: 1)] = 10 }
        let cuts = JournalShares.cuts(rows, excess: 5_000)
        #expect(cuts.keys.allSatisfy { $0.user == 1 } && cuts.count == 1_000)
        #expect((5_000...6_000).contains(cuts.values.reduce(0, +)))
    }

    /// Enough goes, nobody gives up more than there is, and who gives up has no less left than who does not.
    @Test(arguments: [1, 2, 3] as [UInt64]) func sharesAreFair(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        for _ in 0..<500 {
            var rows: [Holder: Int] = [:]
            for app in 0..<Int.random(in: 1...20, using: &generator) {
                rows[Holder(app: "\(app)", user: 7)] = Int.random(in: 1...2_000, using: &generator)
            }
            let total = rows.values.reduce(0, +)
            let excess = Int.random(in: 1...total, using: &generator)
            let cuts = JournalShares.cuts(rows, excess: excess)
            let cut = cuts.values.reduce(0, +)
            #expect(cut >= excess && cut < excess + rows.count, "\(rows) \(excess)")
            let least = cuts.map { rows[$0]! - $1 }.min() ?? 0
            #expect(cuts.allSatisfy { $1 > 0 && $1 <= rows[$0]! })
            #expect(rows.allSatisfy { cuts[$0] != nil || $1 <= least + 1 }, "\(rows) \(excess) \(cuts)")
        }
    }

    private func event(_ app: String, _ sequence: UInt64) -> JournalEntry {
        let content = EventContent(
            sequence: sequence, epoch: sequence, generation: 1, time: .zero, detector: "d", peak: 3, isSimulated: false,
            isClipped: false)
        return .event(JournalEvent(app: AppID(app), content, .sent), user: 1_000)
    }

    /// An app that fills the journal several times over pushes its own history out of it, and nobody else's.
    @Test func aNoisyAppTrimsItsOwnRows() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        let quiet = verdicts(20)
        try keeper.keepAndWait(quiet)
        // Before they are handed in: some of them are written at once.
        var written = keeper.store.counts.written + 20
        for sequence in UInt64(1)...20 { keeper.store.keep(self.event("org.example.Quiet", sequence), at: 3_000_000) }
        // Another app of the same user, and one of another.
        let wave = verdicts(1, after: 1_000)[1]
        for round in 0..<8 {
            for row in 0..<750 {
                let sequence = UInt64(round * 750 + row + 1)
                keeper.store.keep(self.event("org.example.Noisy", sequence), at: 4_000_000)
                keeper.store.keep(
                    .verdict(self.noisy(wave), user: row.isMultiple(of: 2) ? 1_000 : 1_001, registration: 9),
                    at: 4_000_000)
            }
            written += 1_500
            let until = written
            try keeper.until("rows") { keeper.store.counts.written >= until }
        }
        let kept = try place.sql("journal.db", "SELECT app, count(*) FROM verdict GROUP BY app ORDER BY app")
        let lines = kept.split(separator: "\n").map(String.init)
        try #require(lines.count == 3, "\(kept)")
        #expect(lines[0] == "org.example.Gentle|20" && lines[1] == "org.example.Hard|20", "\(kept)")
        let rest = try #require(Int(lines[2].dropFirst("org.example.Noisy|".count)))
        #expect(rest > 200 && rest < 6_000)
        #expect(try keeper.ask(JournalQuery(app: AppID("org.example.Hard"))).verdicts.count == 20)
        let events = try place.sql(
            "journal.db", "SELECT app, count(*), max(sequence) FROM event GROUP BY app ORDER BY app DESC")
        #expect(events.hasPrefix("org.example.Quiet|20|20\n") && events.hasSuffix("|6000\n"), "\(events)")
        // The newest are kept, with none missing among them.
        let gaps = try place.sql(
            "journal.db",
            "SELECT max(sequence) - min(sequence) + 1 - count(*) FROM event WHERE app = 'org.example.Noisy'")
        #expect(gaps == "0\n")
        keeper.close()
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// An app that is judged all the time and gets nothing pushes no event out.
    @Test func verdictsPushNoEventsOut() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        for sequence in UInt64(1)...20 { keeper.store.keep(self.event("org.example.Quiet", sequence), at: 3_000_000) }
        let verdict = self.noisy(verdicts(1, after: 1_000)[1])
        var written: UInt64 = 20
        for _ in 0..<8 {
            for _ in 0..<1_500 { keeper.store.keep(.verdict(verdict, user: 1_000, registration: 9), at: 4_000_000) }
            written += 1_500
            let until = written
            try keeper.until("rows") { keeper.store.counts.written >= until }
        }
        keeper.close()
        #expect(try place.sql("journal.db", "SELECT count(*) FROM event") == "20\n")
        let left = try place.sql("journal.db", "SELECT count(*) FROM verdict")
        let count = try #require(Int(left.dropLast()))
        #expect(count > 500 && count < 12_000)
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// Rows go whole. Of names that have one each some lose it, and not all.
    @Test func ofNamesThatHaveARowEachSomeLoseIt() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        var verdict = verdicts(1, after: 1_000)[1]
        var most = 0
        for round in 1...50 {
            for row in 0..<150 {
                verdict.id = AppID("org.example.Name\(round * 150 + row)")
                keeper.store.keep(.verdict(verdict, user: 1_000, registration: 9), at: 4_000_000)
            }
            try keeper.until("rows") { keeper.store.counts.written >= UInt64(round * 150) }
            let count = try #require(Int(try place.sql("journal.db", "SELECT count(*) FROM verdict").dropLast()))
            most = max(most, count)
            #expect(count > most / 2, "\(count) of \(most)")
        }
        // It was full.
        #expect(most < 5_000)
    }

    private func noisy(_ verdict: Verdict) -> Verdict {
        var verdict = verdict
        verdict.id = AppID("org.example.Noisy")
        return verdict
    }

    /// A journal from before there were shares.
    @Test func anOlderJournalIsBroughtUpToDate() throws {
        let place = try Directory()
        let given = verdicts(5)
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(given)
            keeper.close()
        }
        try place.python(
            """
            c.executescript('''
                DROP TABLE change; DROP INDEX verdict_app; CREATE INDEX verdict_app ON verdict (app);
                DROP INDEX event_app; CREATE INDEX event_app ON event (app);
                ALTER TABLE event DROP COLUMN bytes; ALTER TABLE verdict DROP COLUMN bytes;
                ALTER TABLE verdict DROP COLUMN ended; ALTER TABLE verdict DROP COLUMN failure;
                ALTER TABLE verdict DROP COLUMN failures;
                CREATE INDEX verdict_wall ON verdict (wall); CREATE INDEX event_epoch ON event (epoch);
                PRAGMA user_version = 2;''')
            """, on: "journal.db")
        let keeper = Keeper(place)
        #expect(try keeper.ask(JournalQuery()).verdicts.map(\.verdict) == given)
        #expect(try place.sql("journal.db", "PRAGMA user_version") == "\(JournalStore.kind.migrations.count)\n")
        #expect(!place.has("journal.db.broken"))
    }
}
