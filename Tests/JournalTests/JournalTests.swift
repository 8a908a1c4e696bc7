import Arbitration
import Glibc
@testable import Journal
import Motion
import TestSupport
import Testing

/// What is kept, and how it is found again.
@Suite struct JournalTests {
    @Test func whatIsKeptIsFoundAgain() throws {
        let place = try Directory()
        let given = verdicts(20)
        #expect(given.count == 40)
        do {
            let keeper = Keeper(place)
            keeper.store.keep(JournalPolicy(generation: 1, files: ["/etc/a.conf", "/etc/b.conf"], since: 7))
            keeper.keep(given)
            // Asked at once, and answered with all that came before.
            #expect(try keeper.ask(JournalQuery()).verdicts.map(\.verdict) == given)
            #expect(keeper.store.counts.written == 40 && keeper.store.counts.dropped == 0)
            #expect(keeper.store.health == .ok)
            keeper.close()
        }
        // A clean end leaves nothing beside the files.
        #expect(!place.has("journal.db-wal") && !place.has("state.db-wal"))

        let keeper = Keeper(place, started: 900_000_000)
        keeper.store.keep(JournalPolicy(generation: 1, files: ["/etc/other.conf"], since: 900_000_001))
        let later = verdicts(1, after: 1_000)
        try keeper.keepAndWait(later, from: 901_000_000)
        let all = try keeper.ask(JournalQuery())
        #expect(all.verdicts.map(\.verdict) == given + later && all.unreadable == 0)
        for (stored, verdict) in zip(all.verdicts, given) {
            #expect(Explanation(stored.verdict) == Explanation(verdict))
            #expect(stored.policy == JournalPolicy(generation: 1, files: ["/etc/a.conf", "/etc/b.conf"], since: 7))
            #expect(stored.started == 1_000_000 && stored.boot == "boot" && stored.user == 1_000)
        }
        #expect(all.verdicts.last?.policy.files == ["/etc/other.conf"])

        let hard = AppID("org.example.Hard")
        #expect(try keeper.ask(JournalQuery(epoch: 3)).verdicts.map(\.verdict) == given.filter { $0.epoch == 3 })
        #expect(
            try keeper.ask(JournalQuery(epoch: 3, app: hard)).verdicts.map(\.verdict)
                == given.filter { $0.epoch == 3 && $0.id == hard })
        #expect(
            try keeper.ask(JournalQuery(app: hard, limit: 2)).verdicts.map(\.verdict.epoch)
                == [given.last?.epoch, later.first?.epoch])
        #expect(try keeper.ask(JournalQuery(epoch: 999)).verdicts.isEmpty)
        // Another user's app of the same name is another app.
        #expect(try keeper.ask(JournalQuery(app: hard, user: 1_001)).verdicts.isEmpty)
        #expect(try keeper.ask(JournalQuery(app: hard, user: 1_000)).verdicts.count == 21)
        // Two seconds of the wall clock, both ends included.
        #expect(
            try keeper.ask(JournalQuery(since: 4_000_000, until: 6_000_000)).verdicts.map(\.wall)
                == [4_000_000, 5_000_000, 6_000_000])
        // All of it, a part at a time.
        var found: [Verdict] = []
        var last: Int64?
        while true {
            let part = try keeper.ask(JournalQuery(after: last, keeping: .oldest, limit: 7))
            guard let next = part.last else { break }
            found += part.verdicts.map(\.verdict)
            last = next
        }
        #expect(found == given + later)
    }

    /// An app that leaves and comes back is numbered from 1 again each time. Who asks for that keeps nobody waiting.
    @Test func aNumberThatThousandsOfEventsHaveIsFoundSoon() throws {
        let place = try Directory()
        let (given, hard) = (verdicts(1), AppID("org.example.Hard"))
        do {
            let keeper = Keeper(place)
            let content = EventContent(
                sequence: 1, epoch: 1, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: false,
                isClipped: false)
            keeper.store.keep(.event(JournalEvent(app: hard, content, .sent), user: 1_000), at: 1)
            try keeper.keepAndWait(given)
            keeper.close()
        }
        try place.python(
            """
            c.executescript('''
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO event (run, epoch, app, sequence, detector, time, wall, peak, generation, simulated, sent)
                SELECT run, epoch + i, app, sequence, detector, time, wall, peak, generation, simulated, sent
                FROM event, n;
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO verdict (run, epoch, app, user, registration, detector, preset, time, wall, intensity, reason,
                    delivered, generation, detail)
                SELECT run, epoch + 20000 + i, app, user, registration, detector, preset, time, wall, intensity, reason,
                    delivered, generation, detail FROM verdict, n WHERE app = 'org.example.Hard';''')
            """, on: "journal.db")
        // It waits 20 s for an answer, and not a minute.
        let keeper = Keeper(place)
        let found = try keeper.ask(JournalQuery(app: hard, user: 1_000, sequence: 1)).verdicts
        #expect(found.map(\.verdict) == given.filter { $0.id == hard })
        #expect(try keeper.ask(JournalQuery(user: 1_000, sequence: 1)).verdicts == found)
    }

    @Test func othersCanReadItWithSQL() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        keeper.store.keep(
            .event(
                JournalEvent(
                    app: AppID("org.example.Hard"),
                    EventContent(
                        sequence: 1, epoch: 1, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: true,
                        isClipped: false), .sent), user: 1_000), at: 1)
        try keeper.keepAndWait(verdicts(1))
        let rows = try place.sql(
            "journal.db",
            "SELECT epoch, app, detector, preset, time, wall, reason, delivered, rule, place FROM verdict ORDER BY app")
        #expect(
            rows == """
                1|org.example.Gentle|d0|shake|0|2000000|S4.outranked|0|any|/etc/jostle/policy.d/10-a.conf:5
                1|org.example.Hard|d1|shake|0|3000000|S5.sent|1|any|/etc/jostle/policy.d/10-a.conf:5

                """)
        #expect(
            try place.sql("journal.db", "SELECT app, sequence, epoch, peak, simulated, sent FROM event")
                == "org.example.Hard|1|1|3.0|1|1\n")
        // For nobody else.
        #expect(
            try Tool.run(["stat", "-c%a", place.path, place.file("journal.db"), place.file("journal.db-wal")]).stdout
                == "700\n600\n600\n")
    }

    // MARK: Ends

    /// What became of an event that was kept is what its verdict says, also later; of others' verdicts it says nothing.
    @Test(arguments: Reason.allCases.filter(\.isEnd))
    func theEndOfAnEventIsFoundAgain(_ end: Reason) throws {
        let place = try Directory()
        let given = verdicts(2)
        let hard = AppID("org.example.Hard")
        let gentle = AppID("org.example.Gentle")
        func content(_ epoch: UInt64) -> EventContent {
            EventContent(
                sequence: epoch, epoch: epoch, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: true,
                isClipped: false)
        }
        func ends(_ keeper: Keeper) throws -> [Reason?] {
            let stored = try keeper.ask(JournalQuery()).verdicts
            #expect(stored.map(\.verdict) == given, "as it was decided")
            return stored.map(\.end)
        }
        let expected = given.map { $0.id == hard && $0.epoch == 1 ? end : nil }
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(given)
            keeper.store.keep(.event(JournalEvent(app: hard, content(1), .sent), user: 1_000), at: 9_000_000)
            for (app, epoch, user) in [(hard, 1, 1_000), (hard, 2, 1_001), (gentle, 2, 1_000)]
                as [(AppID, UInt64, UInt32)]
            {
                keeper.store.keep(
                    .event(JournalEvent(app: app, content(epoch), .ended(end)), user: user), at: 9_000_001)
            }
            #expect(try ends(keeper) == expected)
            keeper.close()
        }
        let keeper = Keeper(place, started: 900_000_000)
        #expect(try ends(keeper) == expected)
        #expect(
            try place.sql(
                "journal.db", "SELECT reason, delivered FROM verdict WHERE epoch = 1 AND app = 'org.example.Hard'")
                == "\(end.name)|\(end.isReceived ? 1 : 0)\n")
        #expect(
            try place.sql("journal.db", "SELECT sent FROM event WHERE epoch = 1 ORDER BY id")
                == (end == .acknowledged ? "1\n" : "1\n0\n"))
        // It may come to its end under the next broker, and the last word stands.
        keeper.store.keep(
            .event(JournalEvent(app: hard, content(1), .ended(.acknowledged)), user: 1_000), at: 901_000_000)
        #expect(try ends(keeper) == given.map { $0.id == hard && $0.epoch == 1 ? .acknowledged : nil })
    }

    /// One motion may be kept for thousands of apps, and come to its end for all of them in one moment. Nobody waits long for what he asks of
    /// the disk then.
    @Test func theEndsOfThousandsInOneDecisionAreKeptSoon() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(verdicts(1))
            keeper.close()
        }
        try place.python(
            """
            c.executescript('''
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO verdict (run, epoch, app, user, registration, detector, preset, time, wall, intensity, reason,
                    delivered, generation, detail)
                SELECT run, epoch, 'org.example.A' || i, user, registration, detector, preset, time, wall, intensity,
                    '\(Reason.stored.name)', 0, generation, detail FROM verdict, n WHERE app = 'org.example.Hard';''')
            """, on: "journal.db")
        var limits = Keeper.quick
        limits.waitingRows = 100_000
        let keeper = Keeper(place, limits: limits)
        let content = EventContent(
            sequence: 1, epoch: 1, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: false,
            isClipped: false)
        for number in 1...5_000 {
            let event = JournalEvent(app: AppID("org.example.A\(number)"), content, .ended(.expired))
            keeper.store.keep(.event(event, user: 1_000), at: 9_000_000)
        }
        // It waits 20 s for an answer, and not a minute.
        _ = try keeper.ask(JournalQuery(limit: 1))
        let ended = try place.sql(
            "journal.db", "SELECT count(*) FROM verdict WHERE reason = '\(Reason.expired.name)'")
        #expect(ended == "5000\n")
    }

    /// How often the app could not be launched for an event is kept, and when that was over.
    @Test func failedLaunchesAreFoundAgain() throws {
        let place = try Directory()
        let given = verdicts(2)
        let hard = AppID("org.example.Hard")
        let content = EventContent(
            sequence: 1, epoch: 1, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: true,
            isClipped: false)
        func keep(_ keeper: Keeper, _ fate: JournalEvent.Fate, of user: UInt32 = 1_000, at wall: Int64) {
            keeper.store.keep(.event(JournalEvent(app: hard, content, fate), user: user), at: wall)
        }
        func found(_ keeper: Keeper) throws -> [Aftermath] { try keeper.ask(JournalQuery()).verdicts.map(\.aftermath) }
        func expected(_ aftermath: Aftermath) -> [Aftermath] {
            given.map { $0.id == hard && $0.epoch == 1 ? aftermath : Aftermath() }
        }
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(given, from: 1_000_000)
            keep(keeper, .failed(.silent), at: 8_000_000)
            keep(keeper, .failed(.notStarted), at: 9_000_000)
            // Another user's.
            keep(keeper, .failed(.unknown), of: 1_001, at: 9_000_000)
            #expect(try found(keeper) == expected(Aftermath(failures: 2, failure: .notStarted)))
            keeper.close()
        }
        let keeper = Keeper(place, started: 900_000_000)
        #expect(try found(keeper) == expected(Aftermath(failures: 2, failure: .notStarted)))
        let row = try #require(try keeper.ask(JournalQuery()).verdicts.first { $0.verdict.id == hard })
        keep(keeper, .ended(.launchFailed), at: row.wall + 5_000_000)
        #expect(
            try found(keeper) == expected(Aftermath(failures: 2, failure: .notStarted, after: .seconds(5))))
    }

    @Test func theOldestGoWhenItIsFull() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        let given = verdicts(4_000)
        try keeper.keepAndWait(given)
        let kept = try keeper.ask(JournalQuery()).verdicts.map(\.verdict)
        #expect(kept.count > 500 && kept.count < given.count)
        // Both apps have as much, of which one has the longer name.
        for app in [AppID("org.example.Gentle"), AppID("org.example.Hard")] {
            let (own, all) = (kept.filter { $0.id == app }, given.filter { $0.id == app })
            #expect(own.count > 250 && own == Array(all.suffix(own.count)), "\(app)")
        }
        keeper.close()
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// What somebody reads on and on keeps all that is written from its place: it stands beside the journal, and is no more than that.
    @Test func whoReadsForLongDoesNotFillTheDisk() throws {
        let place = try Directory()
        let keeper = Keeper(place, limits: Keeper.small)
        try keeper.keepAndWait(verdicts(1))
        let given = verdicts(200)
        var rows = 2
        func keepMore() throws {
            keeper.keep(given)
            rows += given.count
            // Until it was tried.
            _ = try keeper.ask(JournalQuery(limit: 1))
        }
        do {
            let reader = try Database(place.file("journal.db"), readOnly: true)
            try reader.execute("BEGIN; SELECT count(*) FROM verdict")
            for _ in 0..<200 where !keeper.news.contains(where: { $0.hasPrefix("failed") }) { try keepMore() }
            try #require(keeper.news.contains { $0.contains("reading for too long") }, "\(keeper.news)")
            let beside = try place.size("journal.db-wal")
            #expect(beside < 16 << 20)
            for _ in 0..<10 { try keepMore() }
            #expect(try place.size("journal.db-wal") == beside && keeper.store.health == .degraded)
            try reader.execute("COMMIT")
        }
        try keeper.until("it goes on") { keeper.store.counts.written == UInt64(rows) && keeper.store.health == .ok }
        keeper.close()
        #expect(keeper.store.counts.dropped == 0)
        #expect(try place.size("journal.db") <= 1 << 20)
    }

    /// The same of what outlives the broker.
    @Test func whoReadsTheOtherFileForLongDoesNotFillTheDisk() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        let id = AppID("org.example.Player")
        var last: UInt64 = 0
        func registerMore() throws {
            let usage = String(repeating: "\(last % 10)", count: 8 << 20)
            let binding = IdentityBinding(user: 1_000, proof: .unit)
            last = keeper.store.set(id, to: DurableApp(id, binding, usage: usage, modes: WordSet([])))
            // Until it was tried.
            try keeper.until("an answer") {
                keeper.news.contains { $0 == "committed(\(last))" || $0.hasPrefix("uncommitted") }
            }
        }
        do {
            let reader = try Database(place.file("state.db"), readOnly: true)
            try reader.execute("BEGIN; SELECT count(*) FROM app")
            for _ in 0..<20 where !keeper.news.contains(where: { $0.hasPrefix("failed") }) { try registerMore() }
            try #require(keeper.news.contains { $0.contains("reading for too long") }, "\(keeper.news.last ?? "")")
            let beside = try place.size("state.db-wal")
            #expect(beside < 96 << 20)
            // It is tried again and again.
            try keeper.until("three more tries") { keeper.news.filter { $0.hasPrefix("uncommitted") }.count >= 4 }
            #expect(try place.size("state.db-wal") == beside && keeper.store.health == .degraded)
            try reader.execute("COMMIT")
        }
        try keeper.until("it goes on") {
            keeper.news.contains("committed(\(last))") && keeper.store.health == .ok
        }
        #expect(try place.size("state.db-wal") < 16 << 20)
    }

    /// Memory that grows with the file, once it is full, would be taken by all who have a file of that size.
    @Test(arguments: [RoomTable.verdicts, .events, .changes])
    func toMakeRoomNothingIsSortedInMemory(_ table: RoomTable) throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try keeper.keepAndWait(verdicts(10))
        keeper.close()
        let database = try Database("\(place.path)/journal.db", readOnly: true)
        let plan = try database.prepare("EXPLAIN QUERY PLAN \(table.sums)")
        var steps: [String] = []
        while try plan.step() { steps.append(plan.text(3)) }
        #expect(steps == ["SCAN \(table.name) USING COVERING INDEX \(table.name)_app"])
    }

    @Test func theOldGoByThemselves() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        let given = verdicts(50)
        do {
            let keeper = Keeper(place, limits: limits)
            try keeper.keepAndWait(given)
            keeper.close()
        }
        // The last one was made at 101 s.
        let keeper = Keeper(place, started: 121_000_000, limits: limits)
        let kept = try keeper.ask(JournalQuery()).verdicts
        #expect(kept.map(\.verdict) == Array(given.suffix(41)) && kept.first?.wall == 61_000_000)
    }

    /// Nothing is written that would have them looked for, and nobody starts anew.
    @Test func theOldGoWhileNothingIsWritten() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .milliseconds(800)
        let now = Int64(time(nil)) * 1_000_000
        let keeper = Keeper(place, started: now, limits: limits)
        try keeper.keepAndWait(verdicts(1), from: now)
        try keeper.until("all but the newest are gone") {
            (try? place.sql("journal.db", "SELECT id FROM verdict")) == "2\n"
        }
        #expect(keeper.store.health == .ok)
        keeper.close()
    }

    /// The clock was a year ahead for a while: what came before, and after it was right again, goes when it is old.
    @Test func theOldGoBehindWhatWasWrittenAhead() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        let given = verdicts(30)
        do {
            let keeper = Keeper(place, limits: limits)
            try keeper.keepAndWait(Array(given[..<20]))
            try keeper.keepAndWait(Array(given[20..<21]), from: 31_536_000_000_000)
            try keeper.keepAndWait(Array(given[21...]), from: 22_000_000)
            keeper.close()
        }
        func kept(at wall: Int64) throws -> [Verdict] {
            let keeper = Keeper(place, started: wall, limits: limits)
            defer { keeper.close() }
            return try keeper.ask(JournalQuery()).verdicts.map(\.verdict)
        }
        // A clock that is far behind has nothing go.
        #expect(try kept(at: 0) == given)
        #expect(try kept(at: 85_000_000) == [given[20]] + given[24...])
    }

    /// Somebody may set it yet, and what would have gone by it does not come back.
    @Test func aClockThatIsDecadesAheadTakesNothing() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        do {
            let keeper = Keeper(place, limits: limits)
            try keeper.keepAndWait(verdicts(5))
            keeper.close()
        }
        let ahead: Int64 = 4_000_000_000_000_000
        for time in [ahead, 14_000_000, ahead + 1_000_000] {
            let keeper = Keeper(place, started: time, limits: limits)
            try keeper.keepAndWait(verdicts(1, after: 100), from: time)
            if time >= ahead { try keeper.keepAndWait(verdicts(1, after: 200), from: 13_000_000) }
            keeper.close()
        }
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "20\n")
    }

    /// A system may have been off for years.
    @Test func aClockThatStaysAheadIsBelieved() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(verdicts(5))
            keeper.close()
        }
        var limits = Keeper.quick
        limits.journalAge = .milliseconds(800)
        let now = Int64(time(nil)) * 1_000_000
        let keeper = Keeper(place, started: now, limits: limits)
        try keeper.keepAndWait(verdicts(1, after: 100), from: now)
        try keeper.until("all but the newest are gone") {
            (try? place.sql("journal.db", "SELECT id FROM verdict")) == "12\n"
        }
        keeper.close()
    }

    /// Whoever goes by the numbers of rows misses none: they go on when all that was is too old.
    @Test func noNumberComesAgainWhenAllIsOld() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.journalAge = .seconds(60)
        func event(_ sequence: UInt64) -> JournalEntry {
            let content = EventContent(
                sequence: sequence, epoch: sequence, generation: 1, time: .zero, detector: "d", peak: 3,
                isSimulated: false, isClipped: false)
            return .event(JournalEvent(app: AppID("org.example.Hard"), content, .sent), user: 1_000)
        }
        do {
            let keeper = Keeper(place, limits: limits)
            try keeper.keepAndWait(verdicts(5))
            for sequence in UInt64(1)...5 { keeper.store.keep(event(sequence), at: 2_000_000) }
            keeper.close()
        }
        let keeper = Keeper(place, started: 1_000_000_000_000, limits: limits)
        try keeper.keepAndWait(verdicts(1, after: 100), from: 1_000_000_000_000)
        keeper.store.keep(event(6), at: 1_000_000_000_000)
        keeper.close()
        #expect(try place.sql("journal.db", "SELECT id FROM verdict ORDER BY id") == "10\n11\n12\n")
        #expect(try place.sql("journal.db", "SELECT id FROM event ORDER BY id") == "5\n6\n")
    }

    /// However much is to go, the newest row of each table stays, and with it where numbers go on.
    @Test func theNewestStays() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try keeper.keepAndWait(verdicts(5))
        keeper.close()
        var held: HeldDirectory?
        var setAside: String?
        let history = FileHistory(of: place.file("journal.db"))
        let file = try StoreFile.open(history, JournalStore.kind, pause: .zero, in: &held, setAside: &setAside)
        var rounds = 0
        let tables: [RoomTable] = [.verdicts, .events]
        while rounds < 10, try RoomTable.remove(1, of: tables, from: file) { rounds += 1 }
        let (count, newest) = (
            try file.database.number("SELECT count(*) FROM verdict"),
            try file.database.number("SELECT max(id) FROM verdict")
        )
        #expect(rounds == 1 && count == 1 && newest == 10)
    }

    @Test func whatFindsNoRoomIsLeftOutAndCounted() throws {
        let place = try Directory()
        // No directory can be made where a file is.
        let parent = String(place.path.dropLast(2))
        #expect(try Tool.run(["touch", parent]).status == 0)
        var limits = Keeper.quick
        limits.waitingRows = 16
        let keeper = Keeper(place, limits: limits)
        #expect(try keeper.store.firstEpochs(within: .seconds(20)) == nil)
        try keeper.until("trouble") { keeper.store.health == .degraded }
        let given = verdicts(20)
        keeper.keep(given)
        #expect(keeper.store.counts.dropped == 24 && keeper.store.counts.written == 0)
        #expect(throws: JournalFailure.self) { try keeper.ask(JournalQuery()) }
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count <= 2)

        #expect(try Tool.run(["rm", parent]).status == 0)
        try keeper.until("recovery") { keeper.store.health == .ok }
        try keeper.until("rows") { keeper.store.counts.written == 16 }
        #expect(try keeper.ask(JournalQuery()).verdicts.map(\.verdict) == Array(given.prefix(16)))
        #expect(keeper.news.contains { $0.hasPrefix("epochs") })
        #expect(keeper.news.contains("recovered"))
    }

    @Test func somebodyElseMayHoldIt() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        try keeper.keepAndWait(verdicts(1))
        let holder = try BackgroundProgram(tool: [
            "python3", "-uc",
            "import signal,sqlite3,sys;c=sqlite3.connect(sys.argv[1]);c.execute('BEGIN IMMEDIATE');print('held');signal.pause()",
            place.file("journal.db"),
        ])
        _ = try holder.waitForLine { $0 == "held" }
        keeper.keep(verdicts(1, after: 1))
        try keeper.until("trouble") { keeper.store.health == .degraded }
        // What is there can be read.
        #expect(try keeper.ask(JournalQuery()).verdicts.count == 2)
        _ = try holder.terminate()
        try keeper.until("recovery") { keeper.store.health == .ok && keeper.store.counts.written == 4 }
        #expect(keeper.store.counts.dropped == 0)
    }
}
