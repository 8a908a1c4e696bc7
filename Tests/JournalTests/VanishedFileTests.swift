import Arbitration
import Foundation
@testable import Journal
import Motion
import TestSupport
import Testing

/// Files that others take away, cut short, overwrite or replace while the store has them open.
@Suite struct VanishedFileTests {
    enum Strike: String, CaseIterable, Sendable {
        case removed, movedAway, emptied, halved, overwritten, replaced

        func strike(_ path: String) throws {
            let command =
                switch self {
                case .removed: "rm '\(path)'"
                case .movedAway: "mv '\(path)' '\(path).away'"
                case .emptied: "truncate -s 0 '\(path)'"
                case .halved: "truncate -s $(($(stat -c%s '\(path)') / 2)) '\(path)'"
                case .overwritten:
                    "head -c $(stat -c%s '\(path)') /dev/urandom | dd of='\(path)' conv=notrunc status=none"
                case .replaced: "head -c 9000 /dev/urandom > '\(path).new' && mv '\(path).new' '\(path)'"
                }
            let result = try Tool.run(["sh", "-c", command])
            try #require(result.status == 0, "\(result.stderr)")
        }

        /// The name belongs to another file then, or to none.
        var takesAway: Bool { [.removed, .movedAway, .replaced].contains(self) }
    }

    private static let app = DurableApp(
        AppID("org.example.Player"), IdentityBinding(user: 1_000, proof: .unit), usage: "skips", modes: WordSet([]))

    /// A store that was at work for a while, with something at every place, and nothing to do.
    private func resting(_ place: Directory) throws -> (keeper: Keeper, end: UInt64) {
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            try keeper.keepAndWait(verdicts(300))
            keeper.close()
        }
        let keeper = Keeper(place, started: 10_000_000)
        let end = try keeper.epochs().end
        _ = keeper.store.set(Self.app.id, to: Self.app)
        try keeper.keepAndWait(verdicts(5, after: 10_000_000))
        try keeper.until("it is registered") { keeper.news.contains { $0.hasPrefix("committed") } }
        return (keeper, end)
    }

    /// What a broker does that hears that its disk forgot everything.
    private func until(_ what: String, _ keeper: Keeper, _ isSo: () -> Bool) throws {
        var seen = 0
        try keeper.until(what) {
            for news in keeper.news[seen...] where news == "forgotten" {
                _ = keeper.store.set(Self.app.id, to: Self.app)
            }
            seen = keeper.news.count
            return isSo()
        }
    }

    /// All is kept again in files that others find, and no epoch comes again.
    private func check(_ place: Directory, _ keeper: Keeper, _ end: UInt64, most: Int = 1) throws {
        try self.until("all is well", keeper) {
            let apps = try? place.sql("state.db", "SELECT app FROM app")
            return keeper.store.health == .ok && apps == "org.example.Player\n"
        }
        try keeper.keepAndWait(verdicts(1, after: 20_000_000))
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict WHERE epoch > 20000000") == "2\n")
        for name in ["state.db", "journal.db"] { #expect(try place.sql(name, "PRAGMA integrity_check") == "ok\n") }
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count <= most, "\(keeper.news)")
        #expect(keeper.store.counts.dropped == 0)
        keeper.close()
        // The clock went back, and the journal is not asked.
        let later = Keeper(place, started: 1)
        #expect(try later.epochs().first >= end)
    }

    /// Nobody writes anything: what is gone is noticed all the same.
    @Test(
        arguments: ["state.db", "journal.db"].flatMap { name in ["", "-wal", "-shm"].map { name + $0 } },
        Strike.allCases)
    func itIsNoticedAtRest(_ name: String, _ strike: Strike) throws {
        let place = try Directory()
        let (keeper, end) = try self.resting(place)
        try strike.strike(place.file(name))
        if strike.takesAway {
            try self.until("it is said", keeper) {
                keeper.news.contains { $0.hasPrefix("failed") && $0.contains(name) }
            }
        } else if name.hasSuffix("-shm"), strike != .overwritten {
            try self.until("it is said", keeper) {
                keeper.news.contains { $0.hasPrefix("failed") && $0.contains(name) }
            }
        } else if !name.hasSuffix("-shm"), strike == .emptied || (name.hasSuffix("-wal") && strike == .overwritten) {
            // Something is lost for good, of which the file knows.
            try self.until("it is set aside", keeper) { place.has("\(name.prefix { $0 != "-" }).broken") }
            try self.until("it is said", keeper) { keeper.news.contains { $0.hasPrefix("failed") } }
        }
        try self.check(place, keeper, end)
    }

    /// What stood in `-wal` is missed, whatever becomes of what is shared at the same time. In the other order all may be in its place
    /// before `-wal` is cut.
    @Test(arguments: ["state.db", "journal.db"]) func whatStandsBesideIsMissedWithWhatIsShared(_ name: String) throws {
        let place = try Directory()
        let (keeper, end) = try self.resting(place)
        let result = try Tool.run(["truncate", "-s", "0"] + ["-wal", "-shm"].map { place.file("\(name)\($0)") })
        try #require(result.status == 0, "\(result.stderr)")
        try self.until("it is set aside", keeper) { place.has("\(name).broken") }
        try self.check(place, keeper, end, most: 2)
    }

    // MARK: One file, step by step

    private static let kind = StoreFile.Kind(
        applicationID: 7, migrations: [StoreFile.firstMigration, "CREATE TABLE t (x TEXT) STRICT;"], isDurable: false)

    /// Opens `a.db` of a directory; throws when it is set aside for what it is.
    private func open(_ history: FileHistory) throws -> StoreFile {
        var held: HeldDirectory?
        var setAside: String?
        let file = try StoreFile.open(history, Self.kind, pause: .zero, in: &held, setAside: &setAside)
        if let setAside { throw Failure(setAside) }
        return file
    }

    private func insert(_ text: String, into file: borrowing StoreFile) throws(StoreError) {
        try file.transaction { () throws(StoreError) in
            try file.database.execute("INSERT INTO t VALUES ('\(text)')")
        }
    }

    /// A file with one row, which stands beside it; open no more.
    private func written(_ place: Directory, isInPlace: Bool = false) throws -> FileHistory {
        try #require(Tool.run(["mkdir", "-p", place.path]).status == 0)
        let history = FileHistory(of: place.file("a.db"))
        var file = try self.open(history)
        try self.insert("x", into: file)
        if isInPlace { try file.checkpoint() }
        return history
    }

    /// Has another program remove what is shared and read, which makes another one.
    private func replaceShared(_ place: Directory) throws {
        try place.python("import os;os.unlink(sys.argv[1]+'-shm');c.execute('SELECT * FROM t').fetchall()", on: "a.db")
        try #require(place.has("a.db-shm"))
    }

    /// For whatever reason it is opened anew.
    @Test(arguments: [0, 6_000]) func whatIsCutWhileItIsNotOpenIsMissed(_ size: Int) throws {
        let place = try Directory()
        let history = try self.written(place)
        try #require(place.size("a.db-wal") > 6_000)
        history.left(.unshared)
        try #require(Tool.run(["truncate", "-s", "\(size)", place.file("a.db-wal")]).status == 0)
        #expect(throws: Failure.self) { _ = try self.open(history) }
        #expect(place.has("a.db.broken"))
        let file = try self.open(history)
        let rows = try file.database.number("SELECT count(*) FROM t")
        #expect(rows == 0)
    }

    /// Who reads with another program and is the last to close puts all in its place, and removes what stood beside.
    @Test(arguments: [StoreError.Code.touched, .unshared, .full]) func whatOthersPutInPlaceIsWhole(
        _ code: StoreError.Code
    ) throws {
        let place = try Directory()
        let history = try self.written(place)
        history.left(code)
        try place.python("c.execute('SELECT * FROM t').fetchall();c.close()", on: "a.db")
        try #require(!place.has("a.db-wal"))
        let file = try self.open(history)
        try self.insert("y", into: file)
        let rows = try file.database.number("SELECT count(*) FROM t")
        #expect(rows == 2)
    }

    /// Another broker worked on it, and was killed: what it left beside may be less than what we had left.
    @Test func whatAnotherBrokerLeftIsWhole() throws {
        let place = try Directory()
        let history = try self.written(place)
        history.left(.taken)
        let other = """
            c.execute("INSERT INTO t VALUES ('y')"); c.commit(); c.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
            c.execute('UPDATE mark SET whole = 1 - whole'); c.execute('UPDATE mark SET whole = 1'); c.commit()
            import os; os._exit(0)
            """
        try place.python(other, on: "a.db")
        let file = try self.open(history)
        let rows = try file.database.number("SELECT count(*) FROM t")
        #expect(rows == 2)
    }

    /// Nothing that was missing is touched: SQLite finds what is shared empty, and as long as it was.
    @Test func whatIsSharedIsCutShortAndAsLongAgain() throws {
        let place = try Directory()
        let history = try self.written(place)
        let file = try self.open(history)
        var isCut = false
        var code: StoreError.Code?
        do throws(StoreError) {
            try file.transaction { () throws(StoreError) in
                try file.database.execute("INSERT INTO t VALUES ('y')")
                let shared = place.file("a.db-shm")
                isCut =
                    (try? Tool.run(["sh", "-c", "truncate -s 0 '\(shared)' && truncate -s 32768 '\(shared)'"]))?.status
                    == 0
            }
        } catch {
            code = error.code
        }
        #expect(isCut && code == .unshared)
        #expect(try place.sql("a.db", "SELECT x FROM t") == "x\n")
    }

    /// What counts as damaged because of that is not.
    @Test func whatIsReadWhileItIsCutShortIsNotBroken() throws {
        let place = try Directory()
        let history = try self.written(place)
        let file = try self.open(history)
        var codes: [StoreError.Code] = []
        for isCut in [false, true] {
            do throws(StoreError) {
                try file.transaction { () throws(StoreError) in
                    try file.database.execute("INSERT INTO t VALUES ('y')")
                    if isCut { _ = try? Strike.emptied.strike(place.file("a.db-shm")) }
                    _ = try file.database.number("SELECT count(*) FROM t")
                    throw StoreError(.broken, "malformed")
                }
            } catch {
                codes.append(error.code)
            }
        }
        #expect(codes == [.broken, .unshared])
        #expect(try place.sql("a.db", "SELECT x FROM t") == "x\n")
    }

    /// What we emptied ourselves lacks nothing, though the mark did not come to the disk.
    @Test func whatWeEmptiedIsWhole() throws {
        let place = try Directory()
        let history = try self.written(place, isInPlace: true)
        let empty = """
            c.execute('UPDATE mark SET whole = 0'); c.commit(); c.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
            import os; os._exit(0)
            """
        try place.python(empty, on: "a.db")
        try #require(place.size("a.db-wal") == 0)
        history.isInPlace()
        history.left(.unshared)
        let file = try self.open(history)
        let rows = try file.database.number("SELECT count(*) FROM t")
        #expect(rows == 1)
    }

    /// What is lost stays so until it is out of the way, and no longer.
    @Test func whatIsLostStaysLost() throws {
        let history = FileHistory(of: "a.db")
        history.left(.lost)
        for code in [StoreError.Code.unshared, .touched, .emptied, .broken] { history.left(code) }
        #expect(history.isLost)
        history.beginAnew()
        #expect(!history.isLost)
    }

    /// Who goes on with another one would write over what is committed with ours.
    @Test func whatIsSharedIsAnotherOneBeforeACommit() throws {
        let place = try Directory()
        let history = try self.written(place)
        let file = try self.open(history)
        var isReplaced = false
        var code: StoreError.Code?
        do throws(StoreError) {
            try file.transaction { () throws(StoreError) in
                try file.database.execute("INSERT INTO t VALUES ('y')")
                isReplaced = (try? self.replaceShared(place)) != nil
            }
        } catch {
            code = error.code
        }
        #expect(isReplaced && code == .unshared)
        #expect(try place.sql("a.db", "SELECT x FROM t") == "x\n")
    }

    @Test func whatIsSharedIsAnotherOneInACheckpoint() throws {
        let place = try Directory()
        let history = try self.written(place)
        var file = try self.open(history)
        try self.insert("y", into: file)
        let beside = try place.size("a.db-wal")
        try self.replaceShared(place)
        var code: StoreError.Code?
        do throws(StoreError) { _ = try file.makeRoom() } catch { code = error.code }
        #expect(code == .unshared)
        #expect(try place.size("a.db-wal") == beside)
    }

    /// The journal is tidied as it is written: what is read wrong meanwhile is not committed.
    @Test func whatIsSharedIsAnotherOneWhileTheJournalIsTidied() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(verdicts(5))
            keeper.close()
        }
        var held: HeldDirectory?
        var setAside: String?
        let history = FileHistory(of: place.file("journal.db"))
        let file = try StoreFile.open(history, JournalStore.kind, pause: .zero, in: &held, setAside: &setAside)
        var limits = Keeper.quick
        limits.journalBytes = 0
        limits.journalAge = .seconds(60)
        var store = try JournalStore(file, limits, StoreRun(started: 3_000_000, boot: "boot", version: "test"))
        try place.remove("journal.db-shm")
        var code: StoreError.Code?
        do throws(StoreError) { try store.tidy(at: 1_000_000_000) } catch { code = error.code }
        #expect(code == .unshared)
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "10\n")
    }

    // MARK: At work

    /// Rows go on meanwhile: what counts as written is in the file that has the name, or in the one that had it before.
    @Test(arguments: ["", "-wal", "-shm"], Strike.allCases)
    func itIsNoticedAtWork(_ suffix: String, _ strike: Strike) throws {
        let place = try Directory()
        let (keeper, end) = try self.resting(place)
        for round in UInt64(0)..<40 {
            keeper.keep(verdicts(5, after: 11_000_000 + round * 100))
            if round == 20 { try strike.strike(place.file("journal.db\(suffix)")) }
            try keeper.until("rows") { keeper.store.counts.written >= UInt64(10 + 10 * (round + 1)) }
        }
        let first = 11_000_000 + 2_200
        // What came behind is where everybody looks for it.
        #expect(
            try place.sql("journal.db", "SELECT count(DISTINCT epoch || app) FROM verdict WHERE epoch > \(first)")
                == "180\n")
        try self.check(place, keeper, end)
    }

    /// Reading takes locks, which stand in a file that is open to write, and closes it. Nothing is begun anew for that.
    @Test func othersMayRead() throws {
        let place = try Directory()
        let (keeper, _) = try self.resting(place)
        let files = ["state.db", "state.db-wal", "journal.db", "journal.db-wal"].map(place.file)
        func times() throws -> String { try Tool.run(["stat", "-c%y %s %i"] + files).stdout }
        let before = try times()
        for _ in 0..<10 {
            for name in ["state.db", "journal.db"] {
                try place.python("c.execute('SELECT count(*) FROM sqlite_schema').fetchall()", on: name)
                #expect(try place.sql(name, "PRAGMA quick_check") == "ok\n")
            }
        }
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 610)
        #expect(try times() == before)
        for round in UInt64(0)..<20 {
            let written = keeper.store.counts.written
            keeper.keep(verdicts(5, after: 11_000_000 + round * 100))
            try place.python("c.execute('SELECT count(*) FROM verdict').fetchall()", on: "journal.db")
            try keeper.until("rows") { keeper.store.counts.written == written + 10 }
        }
        #expect(keeper.store.health == .ok)
        #expect(!keeper.news.contains { $0.hasPrefix("failed") || $0.hasPrefix("setAside") }, "\(keeper.news)")
    }

    enum Place: String, CaseIterable, Sendable { case removed, movedAway, parentMovedAway, replaced }

    /// Two directories change their names, with `RENAME_EXCHANGE`, for which no command is there.
    private static let exchange = """
        import ctypes, sys
        here, there = (path.encode() for path in sys.argv[1:])
        sys.exit(ctypes.CDLL(None).renameat2(-100, here, -100, there, 2) != 0)
        """

    @Test(arguments: Place.allCases) func theDirectoryIsNoticed(_ fate: Place) throws {
        let place = try Directory()
        let (keeper, end) = try self.resting(place)
        let path = place.path
        let command =
            switch fate {
            // In one go: what is removed file by file is begun anew meanwhile.
            case .removed: "mv '\(path)' '\(path).gone' && rm -r '\(path).gone'"
            case .movedAway: "mv '\(path)' '\(path).away'"
            case .parentMovedAway: "mv \"$(dirname '\(path)')\" \"$(dirname '\(path)').away\""
            // In one go, too: a copy into what is begun anew meanwhile fails.
            case .replaced: "cp -r '\(path)' '\(path).away' && python3 -c '\(Self.exchange)' '\(path)' '\(path).away'"
            }
        let result = try Tool.run(["sh", "-c", command])
        try #require(result.status == 0, "\(result.stderr)")
        try self.until("it is said", keeper) { keeper.news.contains { $0.hasPrefix("failed") && $0.contains(path) } }
        try self.check(place, keeper, end)
        #expect(try Tool.run(["stat", "-c%a", path, place.file("lock")]).stdout == "700\n600\n")
    }

    /// Whoever moved the directory away and has another broker at its old place keeps both.
    @Test func anotherBrokerMayTakeThePlace() throws {
        let place = try Directory()
        let (keeper, _) = try self.resting(place)
        #expect(
            try Tool.run(["sh", "-c", "mv '\(place.path)' '\(place.path).away' && mkdir -p '\(place.path)'"]).status
                == 0)
        try keeper.until("it is said") { keeper.news.contains { $0.hasPrefix("failed") } }
        // Whoever is first.
        let other = Keeper(place, started: 40_000_000)
        if let block = try? other.epochs() {
            try other.keepAndWait(verdicts(1, after: block.first))
            try keeper.until("the other has it") { keeper.store.health == .degraded }
            other.close()
        }
        try keeper.until("recovery") { keeper.store.health == .ok }
    }

    /// Somebody does it again and again: that is said once.
    @Test func itIsNotSaidAgainAndAgain() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.calm = .milliseconds(500)
        let keeper = Keeper(place, limits: limits)
        _ = try keeper.epochs()
        // A round takes as long as the disk takes to make the file anew.
        var starts = [ContinuousClock.now]
        for round in UInt64(0)..<20 {
            try keeper.keepAndWait(verdicts(1, after: 1_000 * round))
            try place.remove("journal.db")
            starts.append(.now)
        }
        try keeper.until("recovery") { keeper.store.health == .ok }
        starts.append(.now)
        let longest = try #require(zip(starts, starts.dropFirst(2)).map { $1 - $0 }.max())
        let most = max(3, Keeper.mostTold(calm: .milliseconds(500), back: longest))
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count <= most, "\(longest): \(keeper.news)")
    }

    /// A program that reads holds what is shared; cutting it short ends neither it nor us.
    @Test func whatIsSharedIsCutShortWhileSomebodyReads() throws {
        let place = try Directory()
        let (keeper, end) = try self.resting(place)
        let script = """
            import sqlite3, sys
            c = sqlite3.connect('file:%s?mode=ro' % sys.argv[1], uri=True, isolation_level=None)
            c.execute('BEGIN'); c.execute('SELECT count(*) FROM verdict').fetchall(); print('reading')
            sys.stdin.read()
            """
        let reader = try BackgroundProgram(tool: ["python3", "-uc", script, place.file("journal.db")])
        _ = try reader.waitForLine { $0 == "reading" }
        for round in UInt64(0)..<30 {
            for name in ["journal.db-shm", "state.db-shm"] {
                if place.has(name) { try Strike.emptied.strike(place.file(name)) }
            }
            let written = keeper.store.counts.written
            keeper.keep(verdicts(5, after: 12_000_000 + round * 100))
            keeper.store.useEpochs(upTo: end + round * 70_000)
            try self.until("rows", keeper) { keeper.store.counts.written >= written + 10 }
        }
        _ = try? reader.terminate()
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict WHERE epoch > 12000000") == "300\n")
        // Each time it was over for good, by the short while that tests wait.
        try self.check(place, keeper, end, most: 30)
    }

    /// At any moment, also while what stands beside is put in its place: what was said to be on the disk is there.
    @Test func whatIsSharedIsCutShortAgainAndAgain() throws {
        let place = try Directory()
        let (keeper, epochs) = try self.resting(place)
        let script = """
            import os, random, sys, time
            seed = random.randrange(1 << 32)
            random.seed(seed)
            print('seed', seed)
            while True:
                time.sleep(random.random() / 50)
                try: os.truncate(sys.argv[1], 0)
                except FileNotFoundError: pass
            """
        let cutter = try BackgroundProgram(tool: ["python3", "-uc", script, place.file("state.db-shm")])
        print(try cutter.waitForLine { $0.hasPrefix("seed") })
        let end = DispatchTime.now() + 3
        var apps: [UInt64] = []
        while .now() < end {
            let id = AppID("org.example.App\(apps.count)")
            let app = DurableApp(id, Self.app.binding, usage: "skips", modes: Self.app.modes)
            let number = keeper.store.set(id, to: app)
            apps.append(number)
            keeper.store.useEpochs(upTo: epochs + number * 70_000)
            try keeper.until("it is on the disk") { .now() >= end || keeper.news.contains("committed(\(number))") }
        }
        _ = try cutter.terminate()
        let last = try #require(apps.last)
        try keeper.until("all is on the disk") { keeper.news.contains("committed(\(last))") }
        #expect(!keeper.news.contains { $0 == "forgotten" || $0.hasPrefix("setAside") }, "\(keeper.news)")
        keeper.close()
        #expect(try place.sql("state.db", "SELECT count(*) FROM app") == "\(apps.count + 1)\n")
    }
}
