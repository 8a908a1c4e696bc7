import Foundation
@testable import Journal
import Motion
import TestSupport
import Testing

/// Files that are in order, but have other tables than ours, or something on them that is not ours.
@Suite struct ForeignTableTests {
    /// What somebody does to a file: it is set aside for that.
    struct Change: Sendable, CustomTestStringConvertible {
        let file: String
        let sql: String

        var testDescription: String { "\(self.file): \(self.sql)" }
    }

    private static let raise = "BEGIN SELECT raise(ABORT, 'no'); END"
    private static let changes = [
        Change(file: "state.db", sql: "DROP TABLE mark"),
        Change(file: "state.db", sql: "DROP TABLE epochs"),
        Change(file: "state.db", sql: "ALTER TABLE due RENAME TO other"),
        Change(file: "state.db", sql: "ALTER TABLE due DROP COLUMN strength"),
        Change(file: "state.db", sql: "CREATE TRIGGER t BEFORE UPDATE ON Epochs \(raise)"),
        Change(file: "state.db", sql: "PRAGMA user_version = 2"),
        Change(file: "journal.db", sql: "DROP TABLE mark"),
        Change(file: "journal.db", sql: "DROP TABLE verdict"),
        Change(file: "journal.db", sql: "DROP INDEX event_app"),
        Change(file: "journal.db", sql: "CREATE UNIQUE INDEX one ON verdict (delivered, epoch)"),
        Change(file: "journal.db", sql: "CREATE TRIGGER t BEFORE INSERT ON VERDICT \(raise)"),
        Change(file: "journal.db", sql: "PRAGMA user_version = 3"),
    ]

    private func make(_ change: Change, in place: Directory, _ end: String = "") throws {
        try place.python("c.execute(\"\"\"\(change.sql)\"\"\");c.commit()\n\(end)", on: change.file)
    }

    /// The one file is set aside, once, and all goes on in a new one; the other file is as it was.
    private func check(_ change: Change, _ keeper: Keeper, in place: Directory, after epoch: UInt64) throws {
        try keeper.until("it is set aside") { keeper.news.contains { $0.hasPrefix("setAside") } }
        try keeper.keepAndWait(verdicts(2, after: epoch))
        try keeper.until("all is well") { keeper.store.health == .ok }
        #expect(place.has("\(change.file).broken"))
        let told = keeper.news.filter { $0.hasPrefix("setAside") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains(change.file) }, "\(keeper.news)")
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count <= 1, "\(keeper.news)")
        #expect(keeper.store.counts.dropped == 0)
        let rows = try place.sql("journal.db", "SELECT count(*) FROM verdict")
        #expect(rows == (change.file == "state.db" ? "14\n" : "4\n"))
    }

    @Test(arguments: changes) func itIsSeenAtTheStart(_ change: Change) throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            try keeper.keepAndWait(verdicts(5))
            keeper.close()
        }
        try self.make(change, in: place)
        let keeper = Keeper(place, started: 60_000_000)
        let first = try keeper.epochs().first
        #expect(first >= 60_000_000)
        keeper.keep(verdicts(1, after: first))
        if change.file == "journal.db" { return try self.checkStart(change, keeper, in: place) }
        try keeper.keepAndWait(verdicts(1, after: first))
        #expect(place.has("state.db.broken") && keeper.store.health == .ok)
        try keeper.until("it is told") { keeper.news.contains { $0.hasPrefix("setAside") } }
        #expect(keeper.news.filter { $0.hasPrefix("setAside") }.count == 1, "\(keeper.news)")
    }

    private func checkStart(_ change: Change, _ keeper: Keeper, in place: Directory) throws {
        try keeper.until("rows") { keeper.store.counts.written >= 2 }
        #expect(place.has("journal.db.broken") && keeper.store.health == .ok)
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "2\n")
        try keeper.until("it is told") { keeper.news.contains { $0.hasPrefix("setAside") } }
        #expect(keeper.news.filter { $0.hasPrefix("setAside") }.count == 1, "\(keeper.news)")
    }

    @Test(arguments: changes) func itIsSeenAtRest(_ change: Change) throws {
        let place = try Directory()
        let keeper = Keeper(place)
        let end = try keeper.epochs().end
        try keeper.keepAndWait(verdicts(5))
        // Who closes it only when it was set aside has SQLite remove by its name what stands beside the one in its place.
        try self.make(change, in: place, "import os;os._exit(0)")
        try self.check(change, keeper, in: place, after: end)
        keeper.close()
        // No epoch comes again.
        #expect(try Keeper(place, started: 1).epochs().first >= end)
    }

    /// What others keep beside our tables is theirs, and an older file is made newer with it.
    @Test(arguments: [
        "CREATE TABLE notes (text); CREATE INDEX i ON notes (text)", "CREATE VIEW v AS SELECT * FROM mark", "ANALYZE",
        "VACUUM", "CREATE TABLE n (x); CREATE TRIGGER t AFTER INSERT ON n BEGIN DELETE FROM mark; END",
    ])
    func whatStandsBesideDoesNoHarm(_ sql: String) throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            try keeper.keepAndWait(verdicts(5))
            keeper.close()
        }
        for name in ["state.db", "journal.db"] { try place.python("c.executescript('\(sql)')", on: name) }
        let keeper = Keeper(place, started: 2_000_000)
        _ = try keeper.epochs()
        try keeper.keepAndWait(verdicts(2, after: 2_000_000))
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "14\n")
        #expect(!keeper.news.contains { $0.hasPrefix("setAside") || $0.hasPrefix("failed") }, "\(keeper.news)")
    }

    /// The kernel does not tell who wrote: a change in the moment in which we do so, too, is found when the file is looked over.
    @Test func itIsSeenWhenTheFileIsLookedOver() throws {
        let place = try Directory()
        try #require(Tool.run(["mkdir", "-p", place.path]).status == 0)
        let steps = [StoreFile.firstMigration, "CREATE TABLE t (x TEXT) STRICT;"]
        let kind = StoreFile.Kind(applicationID: 7, migrations: steps, isDurable: false)
        var held: HeldDirectory?
        var setAside: String?
        let history = FileHistory(of: place.file("a.db"))
        var file = try StoreFile.open(history, kind, pause: .zero, in: &held, setAside: &setAside)
        var changes = DirectoryWatch.Changes()
        changes.closed = ["a.db"]
        try file.check(changes)
        // We wrote since.
        try file.probe()
        try file.checkpoint()
        try place.python("c.execute('DROP TABLE t');c.commit()", on: "a.db")
        var code: StoreError.Code?
        do throws(StoreError) { try file.check(changes) } catch { code = error.code }
        #expect(code == .touched)
    }

    /// A statement of ours that is refused means the same: our tables refuse none.
    @Test func whatAResultMeans() {
        // SQLITE_ERROR, _CONSTRAINT_TRIGGER, _CORRUPT, _FULL, _IOERR, _IOERR_READ, _BUSY.
        let codes = [1, 1_811, 11, 13, 10, 266, 5].map { StoreError(Int32($0), "", while: "").code }
        #expect(codes == [.touched, .touched, .broken, .full, .unavailable, .unread, .unavailable])
    }
}
