import Arbitration
@testable import Journal
import Motion
import Testing

/// What is noted besides events and verdicts: it is there as it was told, in its order, and makes room as the rest does.
@Suite(.serialized) struct ChangeTests {
    private static let changes = [
        JournalChange(.lock, user: 1_000, "locked"), JournalChange(.foreground, user: 1_000, "org.example.A"),
        JournalChange(.state, app: "org.example.A", user: 1_001, "background"),
        JournalChange(.asks, app: "org.example.A", user: 1_001, "accelerometer", rate: 50, count: 12.5),
        JournalChange(.sensor, user: 1_000, "accelerometer", rate: 0), JournalChange(.end, user: 1_000),
    ]

    private func read(_ place: Directory, to until: Int64 = .max) throws -> [(wall: Int64, change: JournalChange)] {
        var found: [(Int64, JournalChange)] = []
        try JournalReader(in: place.path).eachChange(to: until) { _, wall, change in found.append((wall, change)) }
        return found
    }

    @Test func theyComeBackAsTheyWere() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            for (index, change) in Self.changes.enumerated() { keeper.store.note(change, at: 2_000_000 + Int64(index)) }
            keeper.close()
            // Nobody counts them.
            #expect(keeper.store.counts.written == 0)
        }
        let found = try self.read(place)
        #expect(found.map(\.change) == Self.changes && found.map(\.wall) == (0..<6).map { 2_000_000 + $0 })
        #expect(try self.read(place, to: 2_000_003).map(\.change) == Array(Self.changes.prefix(3)))
    }

    /// Whoever gives a journal away may have made it of anything; what has rows without end is read by nobody.
    @Test(arguments: [
        """
        DROP TABLE verdict; CREATE VIEW verdict AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)
            SELECT i AS id, i AS wall FROM c
        """, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM verdict; END",
        "DROP TABLE event; CREATE VIRTUAL TABLE event USING fts5(app, wall, sent)",
        "ALTER TABLE event ADD COLUMN long TEXT AS (hex(zeroblob(450000000))) VIRTUAL",
        "CREATE TABLE other (id INTEGER PRIMARY KEY, run, wall, kind, app TEXT AS (hex(zeroblob(450000000))), user, value, rate, count);"
            + "INSERT INTO other (id, wall, kind) VALUES (1, 1, 'lock'); DROP TABLE change; ALTER TABLE other RENAME TO change",
    ])
    func whatHasMoreThanTablesIsNoJournal(_ harm: String) throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            keeper.store.note(JournalChange(.lock, user: 1_000, "locked"), at: 1)
            keeper.close()
        }
        #expect(try self.read(place).count == 1)
        do {
            let database = try Database("\(place.path)/journal.db")
            try database.execute(harm)
        }
        #expect(throws: JournalFailure.self) { _ = try self.read(place) }
    }

    /// A file that is nearly all hole may say that a text is longer than any memory.
    @Test func whatIsTooLongIsNotRead() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            keeper.store.note(JournalChange(.lock, user: 1_000, "locked"), at: 1)
            keeper.close()
        }
        for (half, isRead) in [(1_000, true), (9 << 20, false)] {
            do {
                let database = try Database("\(place.path)/journal.db")
                try database.execute("UPDATE change SET value = hex(zeroblob(\(half)))")
            }
            if isRead {
                #expect(try self.read(place).map(\.change.value.utf8.count) == [2 * half])
            } else {
                #expect(throws: JournalFailure.self) { _ = try self.read(place) }
            }
        }
    }

    /// A few pages of which each leads to the next again and again have more rows than anybody could read.
    @Test func whatHasMorePagesThanItsFileIsNotRead() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            keeper.store.note(JournalChange(.lock, user: 1_000, "locked"), at: 1)
            keeper.close()
        }
        #expect(try self.read(place).count == 1)
        try place.python(
            """
            import struct
            c.execute('PRAGMA wal_checkpoint(TRUNCATE)'); c.execute('PRAGMA journal_mode = DELETE')
            root = c.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'change'").fetchone()[0]
            size = c.execute('PRAGMA page_size').fetchone()[0]; c.close()
            data = bytearray(open(sys.argv[1], 'rb').read())
            leaf = data[(root - 1) * size:root * size]; assert leaf[0] == 13
            pages = len(data) // size
            data += leaf
            for level in range(6):
                count = (size - 12) // 7
                child = pages + 1 + level
                page = bytearray(size)
                page[:12] = struct.pack('>BHHHBI', 5, 0, count, size - 5 * count, 0, child)
                for i in range(count):
                    place = size - 5 * (i + 1)
                    page[place:place + 5] = struct.pack('>IB', child, 1)
                    page[12 + 2 * i:14 + 2 * i] = struct.pack('>H', place)
                data += page
            data[(root - 1) * size:root * size] = data[-size:]
            data[28:32] = struct.pack('>I', len(data) // size)
            open(sys.argv[1], 'wb').write(data)
            """, on: "journal.db")
        #expect {
            _ = try self.read(place)
        } throws: {
            "\($0)".contains("it takes more work than a file of its size can hold")
        }
    }

    /// What others keep beside our tables is theirs, to who reads as to the broker.
    @Test(arguments: [
        "CREATE VIEW mine AS SELECT app, count(*) AS n FROM event GROUP BY app",
        "CREATE TABLE notes (text); CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM verdict; END",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
    ])
    func whatStandsBesideIsNotRead(_ sql: String) throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            keeper.store.note(JournalChange(.lock, user: 1_000, "locked"), at: 1)
            keeper.close()
        }
        do {
            let database = try Database("\(place.path)/journal.db")
            try database.execute(sql)
        }
        #expect(try self.read(place).count == 1)
        let newest = try JournalFeed(in: place.path).newest()
        #expect(newest.event == 0 && newest.verdict == 0)
    }

    /// They wait while the disk fails, the newest of them.
    @Test func theyWaitForTheDisk() throws {
        var waiting = WaitingRows(WaitingRows.Pace(linger: 10, spacing: 100, many: 4))
        #expect(waiting.deadline == nil)
        for number in 0..<(WaitingRows.mostChanges + 1) {
            waiting.add(ChangeRow(change: JournalChange(.lock, user: 1, "\(number)"), wall: Int64(number)), at: 5)
        }
        #expect(waiting.deadline == 15 && !waiting.isDue(at: 14) && waiting.isDue(at: 15) && waiting.outstanding == 0)
        var taken = TakenRows()
        taken.take(from: &waiting, at: 15)
        #expect(waiting.isEmpty && waiting.deadline == nil && taken.isEmpty)
        #expect(taken.changes.count == WaitingRows.mostChanges / 2 + 1)
        #expect(taken.lastWall == Int64(WaitingRows.mostChanges))
        taken.dropChanges()
        #expect(taken.changes.isEmpty)
    }

    /// Of too many that wait the restless lose their own: neither another app nor another user does.
    @Test func whoIsRestlessLosesItsOwnThatWait() {
        var waiting = WaitingRows(WaitingRows.Pace(linger: 10, spacing: 100, many: 4))
        var taken = TakenRows()
        func add(_ app: String, _ user: UInt32) {
            waiting.add(ChangeRow(change: JournalChange(.state, app: app, user: user, "foreground"), wall: 1), at: 5)
        }
        func apps() -> [String] {
            taken.take(from: &waiting, at: 15)
            return taken.changes.map(\.change.app)
        }
        add("org.example.Other", 2)
        add("org.example.Quiet", 1)
        for number in 0..<(3 * WaitingRows.mostChanges) { add("-\(number % 64)", 1) }
        let first = apps()
        #expect(first.prefix(2) == ["org.example.Other", "org.example.Quiet"])
        #expect(first.count > WaitingRows.mostChanges / 2 && first.count <= WaitingRows.mostChanges)
        for number in 0..<WaitingRows.mostChanges { add("-\(number % 64)", 1) }
        let second = apps()
        #expect(second.prefix(2) == ["org.example.Other", "org.example.Quiet"])
        #expect(second.count == WaitingRows.mostChanges)
        // Under a name each they are one user still.
        for number in 0..<(2 * WaitingRows.mostChanges) { add("-\(100 + number)", 1) }
        let third = apps()
        #expect(third.first == "org.example.Other" && third.count == WaitingRows.mostChanges)
    }

    /// An app that changes all the time pushes its own history out, and not what was decided for others.
    @Test func whoIsRestlessPushesItsOwnOut() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        let given = verdicts(200)
        try keeper.keepAndWait(given)
        for round in 0..<20 {
            for step in 0..<1_000 {
                keeper.store.note(
                    JournalChange(
                        .state, app: "org.example.Restless", user: 1_002,
                        step.isMultiple(of: 2) ? "foreground" : "background"),
                    at: 500_000_000 + Int64(round * 1_000 + step))
            }
            // Until these are written.
            _ = try keeper.ask(JournalQuery(limit: 1))
        }
        #expect(try keeper.ask(JournalQuery()).verdicts.map(\.verdict) == given)
        keeper.close()
        let left = try self.read(place)
        #expect(left.count > 500 && left.count < 5_000 && left.last?.wall == 500_019_999)
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// What somebody says at length takes as much room as what others say often, and no more.
    @Test func whatIsLongPushesNothingOfOthersOut() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        let given = verdicts(200)
        try keeper.keepAndWait(given)
        for step in 0..<100 {
            keeper.store.note(
                JournalChange(.state, app: "org.example.Quiet", user: 1_001, "\(step)"), at: 400_000_000 + Int64(step))
        }
        let long = String(repeating: "x", count: 4_000)
        for round in 0..<20 {
            for step in 0..<50 {
                keeper.store.note(
                    JournalChange(
                        .asks, app: "org.example.Restless", user: 1_002, "\(step)\(long)", rate: 50, count: 1),
                    at: 500_000_000 + Int64(round * 50 + step))
            }
            // Until these are written.
            _ = try keeper.ask(JournalQuery(limit: 1))
        }
        #expect(try keeper.ask(JournalQuery()).verdicts.map(\.verdict) == given)
        keeper.close()
        let left = try self.read(place)
        #expect(left.filter { $0.change.user == 1_001 }.count == 100 && left.last?.wall == 500_000_999)
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// Both go when they are too old.
    @Test func theOldGo() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        do {
            let keeper = Keeper(place, limits: limits)
            for second in 0..<100 {
                keeper.store.note(JournalChange(.lock, user: 1, "\(second)"), at: 2_000_000 + Int64(second) * 1_000_000)
            }
            keeper.close()
        }
        Keeper(place, started: 121_000_000, limits: limits).close()
        // A start that writes nothing opens nothing.
        let keeper = Keeper(place, started: 121_000_000, limits: limits)
        _ = try keeper.ask(JournalQuery())
        keeper.close()
        #expect(try self.read(place).first?.wall == 61_000_000)
    }
}
