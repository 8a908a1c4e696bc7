import Foundation
import Glibc
import Journal
import Testing

/// What else than a journal may stand where one is to be read.
@Suite struct ReaderPlaceTests {
    private func problem(_ place: Directory) throws -> String {
        let failure = #expect(throws: JournalFailure.self) { _ = try JournalReader(in: place.path).bounds() }
        return try #require(failure).description
    }

    /// A journal with something in it that nobody has open.
    private func journal() throws -> Directory {
        let place = try Directory()
        let keeper = Keeper(place)
        try keeper.keepAndWait(verdicts(1))
        keeper.close()
        return place
    }

    /// Nobody is waited for who would have to write first.
    @Test func aPipeIsNoJournal() throws {
        let place = try Directory()
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        let path = place.file("journal.db")
        try #require(mkfifo(path, 0o600) == 0)
        // Whoever opens it all the same does not hang.
        let end = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        try #require(end >= 0)
        defer { close(end) }
        #expect(try self.problem(place) == "\(path) is no journal: it is no file")
    }

    /// Only who can look knows that there is none.
    @Test func whatCannotBeLookedAtIsNotMissing() throws {
        let place = try Directory()
        #expect(try self.problem(place) == "there is no journal \(place.file("journal.db"))")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        // Also root cannot look at it.
        try #require(symlink("journal.db", place.file("journal.db")) == 0)
        let said = try self.problem(place)
        #expect(said == "look at \(place.file("journal.db")): Too many levels of symbolic links")
    }

    /// SQLite would take it for new, and throw away what stands beside it.
    @Test func besideAnEmptyOneAllStays() throws {
        let place = try self.journal()
        let beside = Data(repeating: 1, count: 5_000)
        try place.write(Data(), to: "journal.db")
        try place.write(beside, to: "journal.db-wal")
        #expect(try self.problem(place) == "\(place.file("journal.db")) is no journal: it is empty")
        #expect(place.has("journal.db-wal"))
        #expect(try place.bytes("journal.db-wal") == beside)
    }

    // MARK: What is followed

    /// Whether a feed is that of the files there, and whether it is answered.
    private func standing(of feed: borrowing JournalFeed) -> [Bool] {
        let newest = try? feed.newest()
        return [feed.isCurrent(), newest.map { $0.verdict > 0 } ?? false]
    }

    /// The broker goes on with others: it heeds no lock in what has no name, and may write over what is read.
    @Test(arguments: ["", "-wal", "-shm"]) func whatIsReadIsWhatTheBrokerHas(_ suffix: String) throws {
        let place = try self.journal()
        let feed = try JournalFeed(in: place.path)
        let before = self.standing(of: feed)
        try place.remove("journal.db\(suffix)")
        let after = self.standing(of: feed)
        #expect(before == [true, true] && after == [false, false], "\(before), \(after)")
    }

    /// Whoever follows a journal adds to the numbers of its rows.
    @Test func numbersThatNoJournalComesToAreNotFollowed() throws {
        let place = try self.journal()
        try place.python(
            "c.execute('UPDATE verdict SET id = 9223372036854775807 WHERE id = 2');c.commit()", on: "journal.db")
        let feed = try JournalFeed(in: place.path)
        let standing = self.standing(of: feed)
        #expect(standing == [true, false])
    }

    /// What SQLite makes of what is missing may be too little, as if the journal were another one.
    @Test func whatIsCutShortAnswersNothing() throws {
        let place = try self.journal()
        let feed = try JournalFeed(in: place.path)
        let before = self.standing(of: feed)
        try #require(truncate(place.file("journal.db-shm"), 0) == 0)
        let newest = try? feed.newest()
        let after = self.standing(of: feed)
        #expect(before == [true, true] && after == [false, false], "\(before), \(after)")
        #expect(newest?.verdict == nil)
    }
}
