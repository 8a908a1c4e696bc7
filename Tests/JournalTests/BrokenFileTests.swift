import Foundation
import Journal
import Motion
import TestSupport
import Testing

/// Disks that give back something else than they were given.
@Suite struct BrokenFileTests {
    /// What happens to a file while nobody has it open.
    enum Damage: String, CaseIterable, Sendable {
        case header, page, truncated, emptied, garbage, other, later, unwritable, unwritableAndOld

        func strike(_ name: String, in place: Directory) throws {
            var data = try place.bytes(name)
            switch self {
            // "SQLite format 3"
            case .header: data[3] ^= 0x10
            // The kind of a tree's page, and how many entries it has.
            case .page:
                for page in stride(from: 4_096, to: data.count, by: 4_096) { data[page] ^= 0x40 }
            case .truncated: data = data.prefix(data.count / 2 / 4_096 * 4_096)
            case .emptied: data = Data()
            case .garbage:
                var generator = SystemRandomNumberGenerator()
                data = Data((0..<data.count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            // Of another program.
            case .other: data[71] = 9
            // Of a version to come.
            case .later: data[63] = 99
            // Of a format that this SQLite may read, as the next byte says, and not write.
            case .unwritable: data[18] = 3
            // And has no -wal, by what it says.
            case .unwritableAndOld: (data[18], data[19]) = (3, 1)
            }
            try place.write(data, to: name)
        }

        /// What nothing is left of needs no place beside.
        var isKept: Bool { self != .emptied }
    }

    @Test(arguments: ["state.db", "journal.db"], Damage.allCases)
    func aBrokenFileIsSetAside(_ name: String, _ damage: Damage) throws {
        let place = try Directory()
        let end: UInt64
        do {
            let keeper = Keeper(place, started: 1_000_000)
            end = try keeper.epochs().end
            try keeper.keepAndWait(verdicts(200, after: end))
            keeper.close()
        }
        try damage.strike(name, in: place)

        // A minute later.
        let keeper = Keeper(place, started: 61_000_000)
        let block = try keeper.epochs()
        #expect(block.first >= 61_000_000 && block.first > end)
        let given = verdicts(2, after: block.first)
        try keeper.keepAndWait(given, from: 62_000_000)
        let found = try keeper.ask(JournalQuery())
        #expect(found.verdicts.suffix(4).map(\.verdict) == given)
        // The other file is as it was.
        #expect(found.verdicts.count == (name == "state.db" ? 404 : 4))
        #expect(keeper.store.health == .ok)
        #expect(place.has("\(name).broken") == damage.isKept)
        let told = keeper.news.filter { $0.hasPrefix("setAside") }
        #expect(told.count == (damage.isKept ? 1 : 0), "\(keeper.news)")
        #expect(told.allSatisfy { $0.contains(name) })
    }

    /// The epochs themselves, changed without a trace of it in the file's structure.
    @Test func epochsThatChangedAreNotBelieved() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            keeper.close()
        }
        try place.python("c.execute('UPDATE epochs SET reserved = 5');c.commit()", on: "state.db")
        let keeper = Keeper(place, started: 3_000_000)
        #expect(try keeper.epochs().first == 3_000_000)
        try keeper.until("told") { keeper.news.contains { $0.contains("has changed its epochs") } }
        #expect(place.has("state.db.broken"))
    }

    /// One row that changed is left out; the others are there.
    @Test func aVerdictThatChangedIsLeftOut() throws {
        let place = try Directory()
        let given = verdicts(3)
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(given)
            keeper.close()
        }
        let change = """
            (b,)=c.execute('SELECT detail FROM verdict WHERE id=2').fetchone()
            c.execute('UPDATE verdict SET detail=? WHERE id=2',(b[:40]+bytes([b[40]^4])+b[41:],))
            c.commit()
            """
        try place.python(change, on: "journal.db")
        let keeper = Keeper(place)
        let answer = try keeper.ask(JournalQuery())
        #expect(answer.unreadable == 1 && answer.verdicts.map(\.verdict) == [given[0]] + given[2...])
    }

    /// Copies a store as a crash would leave it, and lets `strike` at the copy.
    private func crashed(_ strike: (Directory) throws -> Void) throws -> (place: Directory, keeper: Keeper, end: UInt64)
    {
        let (place, copy) = (try Directory(), try Directory())
        let keeper = Keeper(place)
        let end = try keeper.epochs().end
        try keeper.keepAndWait(verdicts(50, after: 1_000_000))
        #expect(try Tool.run(["mkdir", "-p", copy.path]).status == 0)
        for name in ["state.db", "state.db-wal", "journal.db", "journal.db-wal"] {
            try copy.write(place.bytes(name), to: name)
        }
        try strike(copy)
        return (copy, Keeper(copy, started: 60_000_000), end)
    }

    @Test func afterACrashAllIsThere() throws {
        let (place, keeper, end) = try self.crashed { _ in }
        #expect(try keeper.epochs().first == 60_000_000 && end < 60_000_000)
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 100)
        #expect(!place.has("journal.db.broken") && !place.has("state.db.broken"))
    }

    /// Another program may put it all in one file by looking at it.
    @Test func afterACrashOthersMayLook() throws {
        let (place, keeper, _) = try self.crashed { place in
            for name in ["state.db", "journal.db"] {
                try place.python("c.execute('SELECT * FROM mark').fetchall();c.close()", on: name)
                #expect(!place.has("\(name)-wal"))
            }
        }
        _ = try keeper.epochs()
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 100)
        #expect(!place.has("journal.db.broken") && !place.has("state.db.broken"))
    }

    @Test func whatStoodBesideIsMissed() throws {
        let (place, keeper, end) = try self.crashed { place in
            try place.remove("journal.db-wal")
            try place.remove("state.db-wal")
        }
        let block = try keeper.epochs()
        #expect(block.first >= 60_000_000 && block.first > end)
        try keeper.keepAndWait(verdicts(1), from: 61_000_000)
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 2)
        #expect(place.has("journal.db.broken"))
        #expect(keeper.news.contains { $0.contains("journal.db lacks what was written last") })
    }

    /// What was broken off there is all there.
    @Test func aCheckpointMayBeBrokenOff() throws {
        let (place, keeper, _) = try self.crashed { place in
            // As it is while what stands beside is put in its place; the copy of `-wal` keeps it from being done.
            try place.python(
                "c.execute('UPDATE mark SET whole = 0');c.commit();import os;os._exit(0)", on: "journal.db")
            #expect(place.has("journal.db-wal"))
        }
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 100)
        #expect(!place.has("journal.db.broken"))
    }

    /// The power failed behind a checkpoint: `-wal` is as long as the mark alone, which did not come to the disk.
    @Test func theMarkMayNotHaveComeToTheDisk() throws {
        let (place, keeper, _) = try self.crashed { place in
            let beside = try place.bytes("state.db-wal")
            try #require(beside.count == 32 + 24 + 4_096)
            try place.write(beside.prefix(32) + Data(repeating: 0, count: beside.count - 32), to: "state.db-wal")
        }
        _ = try keeper.epochs()
        #expect(!place.has("state.db.broken"))
    }

    /// While another program puts in its place what stands beside, nobody can say that nothing does.
    @Test func anotherMayBeAtTheCheckpoint() throws {
        var holder: BackgroundProgram?
        let (place, keeper, _) = try self.crashed { place in
            try place.python(
                "c.execute('UPDATE mark SET whole = 0');c.commit();import os;os._exit(0)", on: "state.db")
            // With the lock that SQLite has for that, beside a file that it reads.
            let script = """
                import fcntl, os, signal, sqlite3, sys
                c = sqlite3.connect(sys.argv[1])
                c.execute('SELECT * FROM mark').fetchall()
                fcntl.lockf(os.open(sys.argv[1] + '-shm', os.O_RDWR), fcntl.LOCK_EX, 1, 121)
                print('held')
                signal.pause()
                """
            holder = try BackgroundProgram(tool: ["python3", "-uc", script, place.file("state.db")])
            _ = try holder?.waitForLine { $0 == "held" }
        }
        try keeper.until("it is said") {
            keeper.news.contains { $0.hasPrefix("failed") && $0.contains("another program") }
        }
        _ = try holder?.terminate()
        try keeper.until("all is well") { keeper.store.health == .ok }
        #expect(!place.has("state.db.broken"))
    }

    @Test func whatStandsBesideIsNotWhatItWas() throws {
        let (place, keeper, _) = try self.crashed { place in
            var data = try place.bytes("journal.db-wal")
            data[10] ^= 1
            try place.write(data, to: "journal.db-wal")
        }
        try keeper.keepAndWait(verdicts(1), from: 61_000_000)
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 2)
        #expect(place.has("journal.db.broken") && place.has("journal.db.broken-wal"))
    }

    /// What has the name already and is no file of ours stays where it is.
    @Test(arguments: ["state.db", "journal.db"]) func whatIsInTheWayStays(_ name: String) throws {
        let place = try Directory()
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        try keeper.keepAndWait(verdicts(5))
        let script = """
            mkdir "$0.broken" && echo mine >"$0.broken/mine" && ln -s "$0.broken/mine" "$0.broken.2-wal" &&
            echo older >"$0.broken.3" && truncate -s 0 "$0"
            """
        try #require(Tool.run(["sh", "-c", script, place.file(name)]).status == 0)
        try keeper.until("it is set aside") { keeper.news.contains { $0.hasPrefix("setAside") } }
        try keeper.keepAndWait(verdicts(1, after: 1_000))
        try keeper.until("all is well") { keeper.store.health == .ok }
        #expect(try place.bytes("\(name).broken/mine") == Data("mine\n".utf8))
        #expect(!place.has("\(name).broken.2") && place.has("\(name).broken.2-wal"))
        #expect(try place.bytes("\(name).broken.3") != Data("older\n".utf8))
        let told = keeper.news.filter { $0.hasPrefix("setAside") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("\(name).broken.3 now") }, "\(keeper.news)")
    }

    /// No place at all is said once, and is over when there is one.
    @Test func thereMayBeNoPlace() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            keeper.close()
        }
        let names = ["state.db.broken"] + (2...9).map { "state.db.broken.\($0)" }
        for name in names { try #require(mkdir(place.file(name), 0o700) == 0) }
        try place.write(Data(repeating: 7, count: 9_000), to: "state.db")
        let keeper = Keeper(place)
        #expect(try keeper.store.firstEpochs(within: .seconds(20)) == nil)
        try keeper.until("it is said") { keeper.news.contains { $0.contains("state.db.broken.9 is in the way") } }
        #expect(keeper.store.health == .degraded)
        try place.remove(names[4])
        try keeper.until("recovery") { keeper.store.health == .ok }
        #expect(try place.size(names[4]) == 9_000)
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count == 1, "\(keeper.news)")
    }

    /// While it is open, too.
    @Test func whatBreaksMeanwhileIsSetAside() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try keeper.keepAndWait(verdicts(2_000))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: place.file("journal.db")))
        let size = try place.size("journal.db")
        // Everything but the first page, from which nothing is read again.
        try handle.seek(toOffset: 4_096)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: size - 4_096))
        try handle.close()
        try keeper.until("it is noticed") {
            keeper.keep(verdicts(50, after: 5_000_000))
            return place.has("journal.db.broken") && keeper.store.health == .ok
        }
        let given = verdicts(1, after: 9_000_000)
        try keeper.keepAndWait(given)
        #expect(try keeper.ask(JournalQuery()).verdicts.suffix(2).map(\.verdict) == given)
        #expect(keeper.news.filter { $0.hasPrefix("setAside") }.count == 1)
        #expect(keeper.store.counts.dropped == 0)
    }
}
