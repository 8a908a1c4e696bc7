import Arbitration
import Foundation
@testable import Journal
import Motion
import Synchronization
import TestSupport
import Testing

/// Files that are what they were, but that nobody may look at for a while.
@Suite struct HiddenFileTests {
    /// Why not.
    enum Veil: String, CaseIterable, Sendable {
        case mayNotBeSearched, leadsInACircle

        var reason: String {
            switch self {
            case .mayNotBeSearched: "Permission denied"
            case .leadsInACircle: "Too many levels of symbolic links"
            }
        }

        func hide(_ place: Directory) throws {
            switch self {
            case .mayNotBeSearched: try #require(chmod(place.path, 0) == 0)
            case .leadsInACircle:
                let above = HiddenFileTests.above(place)
                try #require(symlink(above, "\(above).away") == 0)
                try self.exchange(above)
            }
        }

        func lift(_ place: Directory) throws {
            switch self {
            case .mayNotBeSearched: try #require(chmod(place.path, 0o700) == 0)
            case .leadsInACircle:
                let above = HiddenFileTests.above(place)
                try self.exchange(above)
                try #require(unlink("\(above).away") == 0)
            }
        }

        /// In one go: there is no moment in which nothing has the name.
        private func exchange(_ path: String) throws {
            typealias Rename =
                @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
            let rename = unsafeBitCast(try #require(dlsym(nil, "renameat2")), to: Rename.self)
            try #require(rename(AT_FDCWD, path, AT_FDCWD, "\(path).away", Self.exchange) == 0)
        }

        /// `RENAME_EXCHANGE`.
        private static let exchange: UInt32 = 2
    }

    private static let app = DurableApp(
        AppID("org.example.Player"), IdentityBinding(user: 1_000, proof: .unit), usage: "skips", modes: WordSet([]))

    /// What the directory is in.
    private static func above(_ place: Directory) -> String {
        String(place.path.prefix(place.path.count - "/b".utf8.count))
    }

    /// A store whose thread may not look everywhere, as root may: a thread takes after the one that makes it.
    private func keeper(_ place: Directory) throws -> Keeper {
        guard geteuid() == 0 else { return Keeper(place) }
        typealias Change = @convention(c) (UInt32) -> Int32
        let change = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: Change.self)
        try #require(chown(String(Self.above(place).dropLast("/a".utf8.count)), Self.nobody, Self.nobody) == 0)
        _ = change(Self.nobody)
        defer { _ = change(0) }
        return Keeper(place)
    }

    private static let nobody: UInt32 = 65_534

    /// Which files there are, by name and number.
    private func files(_ place: Directory) throws -> String {
        try Tool.run(["ls", "-1i", place.path]).stdout
    }

    private func check(_ place: Directory, _ keeper: Keeper, rows: Int) throws {
        try keeper.until("all is well") {
            keeper.store.health == .ok && keeper.store.counts.written >= UInt64(rows)
        }
        #expect(keeper.store.counts == (UInt64(rows), 0))
        #expect(
            try place.sql("journal.db", "SELECT count(*), count(DISTINCT epoch || app) FROM verdict")
                == "\(rows)|\(rows)\n")
        #expect(!keeper.news.contains { $0.hasPrefix("setAside") || $0.hasPrefix("forgotten") }, "\(keeper.news)")
    }

    @Test(arguments: Veil.allCases) func whatCannotBeSeenIsNotLost(_ veil: Veil) throws {
        let place = try Directory()
        let keeper = try self.keeper(place)
        let end = try keeper.epochs().end
        try keeper.keepAndWait(verdicts(10))
        let files = try self.files(place)
        try veil.hide(place)
        // Nobody writes anything: it is noticed all the same.
        try keeper.until("it is said") { keeper.news.contains { $0.hasPrefix("failed") && $0.contains(veil.reason) } }
        #expect(keeper.store.health == .degraded)
        keeper.keep(verdicts(10, after: 1_000))
        keeper.store.useEpochs(upTo: end)
        _ = keeper.store.set(Self.app.id, to: Self.app)
        try keeper.until("it is not registered") { keeper.news.contains { $0.hasPrefix("uncommitted") } }
        #expect(keeper.store.counts.written == 20)
        try veil.lift(place)
        try keeper.until("it is registered") { keeper.news.contains { $0.hasPrefix("committed") } }
        try self.check(place, keeper, rows: 40)
        #expect(try self.files(place) == files)
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count == 1, "\(keeper.news)")
        #expect(try place.sql("state.db", "SELECT app FROM app") == "org.example.Player\n")
        keeper.close()
        #expect(try Keeper(place, started: 1).epochs().first > end)
    }

    /// Whatever is under way at that moment is written once.
    @Test(arguments: Veil.allCases) func nothingIsWrittenTwice(_ veil: Veil) throws {
        let place = try Directory()
        let keeper = try self.keeper(place)
        _ = try keeper.epochs()
        for round in UInt64(0)..<60 {
            keeper.keep(verdicts(5, after: 1_000 + round * 100))
            usleep(UInt32(round) * 50)
            try veil.hide(place)
            keeper.keep(verdicts(5, after: 1_050 + round * 100))
            usleep(UInt32(60 - round) * 50)
            try veil.lift(place)
        }
        try self.check(place, keeper, rows: 1_200)
    }

    /// What could not be removed from beside a new file in such a moment would undo its first page, whenever it is opened next.
    @Test func nothingBesideANewFileUndoesIt() throws {
        let place = try Directory()
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        var watch = DirectoryWatch(place.path)
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        try keeper.keepAndWait(verdicts(1))
        let written = watch.drain().written
        #expect(written.isSuperset(of: ["state.db", "journal.db"]))
        #expect(!written.contains { $0.hasSuffix("-journal") }, "\(written)")
    }

    @Test(arguments: Veil.allCases) func itMayBeHiddenAtTheStart(_ veil: Veil) throws {
        let place = try Directory()
        let first = try self.keeper(place)
        let end = try first.epochs().end
        try first.keepAndWait(verdicts(10))
        first.close()
        try veil.hide(place)
        let keeper = try self.keeper(place)
        #expect(try keeper.store.firstEpochs(within: .seconds(20)) == nil)
        keeper.keep(verdicts(10, after: end))
        try keeper.until("it is said") { keeper.news.contains { $0.hasPrefix("failed") && $0.contains(veil.reason) } }
        try veil.lift(place)
        try keeper.until("epochs") { keeper.news.contains { $0.hasPrefix("epochs") } }
        try keeper.until("all is well") { keeper.store.health == .ok && keeper.store.counts.written == 20 }
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "40\n")
        #expect(!keeper.news.contains { $0.hasPrefix("setAside") }, "\(keeper.news)")
        keeper.close()
        #expect(try Keeper(place, started: 1).epochs().first > end)
    }

    /// The circle may appear after we looked, so that it is SQLite that walks it.
    @Test func aCircleFitsTheStack() throws {
        let place = try Directory()
        let circle = String(Self.above(place).dropLast("/a".utf8.count)) + "/circle"
        try #require(symlink(circle, circle) == 0)
        let message = Mutex("")
        let isWalked = DispatchSemaphore(value: 0)
        let thread = Thread {
            do throws(StoreError) { _ = try Database(circle) } catch {
                message.withLock { $0 = error.description }
            }
            isWalked.signal()
        }
        thread.stackSize = StoreWriter.Launch.stackBytes
        thread.start()
        isWalked.wait()
        #expect(message.withLock { $0 }.contains(circle))
    }
}
