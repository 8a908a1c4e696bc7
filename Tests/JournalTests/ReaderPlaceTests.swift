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
}
