import Arbitration
import Background
import Foundation
@testable import Journal
import Motion
import TestSupport
import Testing

/// Files as earlier versions left them: nothing in them is lost, and whoever has them can go on.
///
/// `Tests/StoredFiles` has one of each version, as SQL. Whoever adds a migration writes that of the new version with
/// `JOSTLE_WRITE_STORED=1`; those of the older ones stay as they are.
@Suite(.serialized) struct StoredFileTests {
    private static let journals = Array(2...JournalStore.kind.migrations.count)
    private static let states = Array(2...StateStore.kind.migrations.count)

    /// Makes a file of a version in the directory, and once more beside it.
    private func lay(_ name: String, _ version: Int, in place: Directory) throws {
        let source = Programs.source("Tests/StoredFiles/\(name)-\(version).sql")
        let script = """
            import os, sqlite3, sys
            os.makedirs(sys.argv[2], mode=0o700, exist_ok=True)
            for name in sys.argv[3:]:
                database = sqlite3.connect(os.path.join(sys.argv[2], name))
                database.executescript(open(sys.argv[1]).read())
                database.close()
            """
        let made = try Tool.run(["python3", "-c", script, source, place.path, "\(name).db", "\(name).before"])
        try #require(made.status == 0, "JOSTLE_WRITE_STORED=1 writes \(source): \(made.stderr)")
        #expect(try place.sql("\(name).db", "PRAGMA user_version") == "\(version)\n")
    }

    /// Every row that was in the older file is in the newer one, with every column.
    private func expectAllRows(_ name: String, but others: String..., in place: Directory) throws {
        let script = """
            import sqlite3, sys
            old, new = [sqlite3.connect(f'file:{path}?mode=ro', uri=True) for path in sys.argv[1:3]]
            for (table,) in old.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                if table in sys.argv[3:]: continue
                columns = ', '.join(column[1] for column in old.execute(f'PRAGMA table_info({table})'))
                try: there = set(new.execute(f'SELECT {columns} FROM {table}'))
                except sqlite3.Error as error: print(table, error); continue
                rows = old.execute(f'SELECT {columns} FROM {table}').fetchall()
                if not rows: print(table, 'has nothing that could be lost')
                for row in rows:
                    if row not in there: print(table, row)
            """
        let paths = [place.file("\(name).before"), place.file("\(name).db")]
        let compared = try Tool.run(["python3", "-c", script] + paths + ["mark"] + others)
        #expect(compared.status == 0 && compared.stdout == "", "lost: \(compared.stdout) \(compared.stderr)")
    }

    // MARK: The journal

    private static let gentle = AppID("org.example.Gentle")
    private static let hard = AppID("org.example.Hard")

    /// What the verdicts in every stored journal say, in their order.
    private static let told = [
        "1 org.example.Gentle 1000/5 d0 shake 0 3.0 S4.outranked any 10-a.conf:5 2000000 1000000/boot /etc/a.conf+/etc/b.conf@7",
        "1 org.example.Hard 1000/5 d1 shake 0 3.0 S5.sent>S5.acknowledged any 10-a.conf:5 3000000 1000000/boot "
            + "/etc/a.conf+/etc/b.conf@7",
        "2 org.example.Gentle 1001/6 d0 shake 2000000 3.0 S4.outranked any 10-a.conf:5 4000000 1000000/boot "
            + "/etc/a.conf+/etc/b.conf@7",
        "2 org.example.Hard 1001/6 d1 shake 2000000 3.0 S5.sent>S5.expired any 10-a.conf:5 5000000 1000000/boot "
            + "/etc/a.conf+/etc/b.conf@7",
        "1001 org.example.Gentle 1000/5 d0 shake 0 3.0 S4.outranked any 10-a.conf:5 501000000 500000000/boot "
            + "/etc/other.conf@500000001",
        "1001 org.example.Hard 1000/5 d1 shake 0 3.0 S5.sent any 10-a.conf:5 502000000 500000000/boot "
            + "/etc/other.conf@500000001",
    ]

    private static func tell(_ stored: StoredVerdict) -> String {
        let verdict = stored.verdict
        let place = verdict.rule?.place.lineDescription.split(separator: "/").last ?? "-"
        let end = stored.end.map { ">\($0.name)" } ?? ""
        return [
            "\(verdict.epoch) \(verdict.id) \(stored.user)/\(stored.registration) \(verdict.detector) \(verdict.preset)",
            "\(verdict.time.microseconds) \(verdict.intensity) \(verdict.reason.name)\(end) \(verdict.rule?.name ?? "-")",
            "\(place) \(stored.wall) \(stored.started)/\(stored.boot)",
            "\(stored.policy.files.joined(separator: "+"))@\(stored.policy.since)",
        ].joined(separator: " ")
    }

    private static func event(
        _ app: AppID, _ sequence: UInt64, epoch: UInt64, _ fate: JournalEvent.Fate, of user: UInt32 = 1_000
    ) -> JournalEntry {
        let content = EventContent(
            sequence: sequence, epoch: epoch, generation: 1, time: .zero, detector: "d1", peak: 3, isSimulated: true,
            isClipped: false)
        return .event(JournalEvent(app: app, content, fate), user: user)
    }

    /// Fills a journal with what is told above.
    private func fillJournal(in place: Directory) throws {
        do {
            let keeper = Keeper(place)
            keeper.store.keep(JournalPolicy(generation: 1, files: ["/etc/a.conf", "/etc/b.conf"], since: 7))
            for (index, verdict) in verdicts(2).enumerated() {
                let (user, registration): (UInt32, UInt64) = index < 2 ? (1_000, 5) : (1_001, 6)
                keeper.store.keep(
                    .verdict(verdict, user: user, registration: registration), at: Int64(2 + index) * 1_000_000)
            }
            keeper.store.keep(Self.event(Self.hard, 1, epoch: 1, .sent), at: 3_000_000)
            keeper.store.keep(Self.event(Self.hard, 1, epoch: 1, .ended(.acknowledged)), at: 3_000_001)
            keeper.store.keep(Self.event(Self.hard, 2, epoch: 2, .ended(.expired), of: 1_001), at: 5_000_001)
            keeper.store.note(JournalChange(.lock, user: 1_000, "locked"), at: 5_000_002)
            keeper.store.note(
                JournalChange(.asks, app: Self.hard.description, user: 1_000, "accelerometer", rate: 50, count: 10),
                at: 5_000_003)
            keeper.close()
        }
        let keeper = Keeper(place, started: 500_000_000)
        keeper.store.keep(JournalPolicy(generation: 1, files: ["/etc/other.conf"], since: 500_000_001))
        keeper.keep(verdicts(1, after: 1_000), from: 501_000_000)
        keeper.store.keep(Self.event(Self.hard, 3, epoch: 1_001, .sent), at: 502_000_000)
        keeper.close()
    }

    @Test(arguments: journals) func nothingOfAJournalIsLost(_ version: Int) throws {
        let place = try Directory()
        try self.lay("journal", version, in: place)
        do {
            let keeper = Keeper(place, started: 900_000_000)
            let answer = try keeper.ask(JournalQuery())
            #expect(answer.verdicts.map(Self.tell) == Self.told && answer.unreadable == 0)
            // Events are found by what they were to their app.
            for (sequence, row) in [(1, 1), (2, 3), (3, 5)] as [(UInt64, Int)] {
                let found = try keeper.ask(JournalQuery(app: Self.hard, sequence: sequence)).verdicts
                #expect(found.map(Self.tell) == [Self.told[row]])
            }
            #expect(!keeper.news.contains { $0.hasPrefix("setAside") })
            keeper.close()
        }
        try self.expectAllRows("journal", in: place)
        #expect(try place.sql("journal.db", "PRAGMA user_version") == "\(JournalStore.kind.migrations.count)\n")

        // It goes on: with new ones, and with the end of what the older one left open.
        let later = verdicts(1, after: 2_000)
        do {
            let keeper = Keeper(place, started: 910_000_000)
            try keeper.keepAndWait(later, from: 911_000_000)
            keeper.store.keep(
                Self.event(Self.hard, 3, epoch: 1_001, .ended(.acknowledged)), at: 913_000_000)
            let all = try keeper.ask(JournalQuery()).verdicts
            #expect(all.dropFirst(Self.told.count).map(\.verdict) == later)
            #expect(all[Self.told.count - 1].end == .acknowledged)
            keeper.close()
        }
        // Epochs go on behind it when nothing else tells of them.
        try place.remove("state.db")
        #expect(try Keeper(place, started: 1).epochs().first == 2_002)
    }

    // MARK: What must outlive the broker

    private static let user: UInt32 = 1_000

    private static func due(_ sequence: UInt64, strength: Int) -> DueEvent {
        var terms = DeliveryTerms()
        terms.kind = sequence == 1 ? .wake : .store
        terms.reliability = sequence == 1 ? .ack : .bestEffort
        terms.durability = .persistent
        terms.lifespan = .seconds(3_600)
        let content = EventContent(
            sequence: sequence, epoch: 70_000 + sequence, generation: 3, time: Timestamp(microseconds: 1_234_567),
            detector: "skip", peak: 2.5, isSimulated: sequence == 1, isClipped: sequence == 2,
            note: HitNote(sequence == 1 ? .movedThrough(filter: 100) : .entered))
        return DueEvent(
            app: AppID("org.example.Hard"), user: Self.user, content, terms, ends: 1_700_000_000_000_000,
            strength: strength)
    }

    private static let owner = TaskOwner(AppID("org.example.Mail"), user: user)
    private static let tasks = [
        TaskRecord(
            owner, TaskRequest("news", .refresh, earliest: Timestamp(microseconds: 1_700_000_000_000_000)), attempt: 2),
        TaskRecord(
            owner,
            TaskRequest(
                "sync", .processing, earliest: Timestamp(microseconds: 1_700_000_000_000_001),
                latest: Timestamp(microseconds: 1_800_000_000_000_000), needs: WordSet([.idle, .power]),
                isDiscretionary: true)),
    ]

    private static let apps = [
        DurableApp(
            AppID("org.example.A"), IdentityBinding(user: user, proof: .flatpak),
            usage: "Skips, with 'quotes' and ünïcode", modes: WordSet([.audio, .push]),
            detectors: [
                DetectorRequest(
                    name: "a b",
                    options: ["preset": .text("shake.planar"), "threshold": .number(2.25), "every": .count(100_000)]),
                DetectorRequest(
                    name: "skip", options: ["when": .text("x > 1g\n"), "loud": .flag(true), "quiet": .flag(false)]),
            ]),
        DurableApp(
            AppID("org.example.B"), IdentityBinding(user: .max, proof: .name), usage: "Waits", modes: WordSet([])),
    ]

    private static let reserved: UInt64 = 77_065_536

    /// What a state file has; a version that did not know something has nothing of it.
    private struct Held: Equatable {
        var epochs: UInt64 = 0
        var due: [DueEvent] = []
        var tasks: [TaskRecord] = []
        var terminated: [TaskOwner] = []
        var apps: [DurableApp] = []

        static func of(version: Int) -> Held {
            Held(
                epochs: StoredFileTests.reserved,
                // The fifth did not know yet who goes first.
                due: version < 3 ? [] : (1...2).map { StoredFileTests.due($0, strength: version < 6 ? 0 : 9) },
                tasks: version < 4 ? [] : StoredFileTests.tasks,
                terminated: version < 4 ? [] : [StoredFileTests.owner],
                apps: version < 5 ? [] : StoredFileTests.apps)
        }

        /// What a store tells when it starts.
        init(_ keeper: Keeper) throws {
            self.epochs = try keeper.epochs().first
            for news in keeper.store.takeNews() {
                switch news {
                case .restored(let due): self.due += due
                case .restoredTasks(let tasks, let terminated): (self.tasks, self.terminated) = (tasks, terminated)
                case .apps(let apps): self.apps = apps
                case .setAside(let what), .failed(let what): throw Failure(what)
                default: break
                }
            }
        }

        private init(
            epochs: UInt64, due: [DueEvent], tasks: [TaskRecord], terminated: [TaskOwner], apps: [DurableApp]
        ) {
            (self.epochs, self.due, self.tasks) = (epochs, due, tasks)
            (self.terminated, self.apps) = (terminated, apps)
        }
    }

    private func fillState(in place: Directory) throws {
        let keeper = Keeper(place, started: Int64(Self.reserved) - 65_536)
        _ = try keeper.epochs()
        for sequence in 1...2 as ClosedRange<UInt64> { keeper.store.keep(Self.due(sequence, strength: 9)) }
        for task in Self.tasks { _ = keeper.store.keep(task) }
        keeper.store.keep(Self.owner, isTerminated: true)
        for app in Self.apps { _ = keeper.store.set(app.id, to: app) }
        keeper.close()
    }

    @Test(arguments: states) func nothingOfAStateFileIsLost(_ version: Int) throws {
        let place = try Directory()
        try self.lay("state", version, in: place)
        var expected = Held.of(version: version)
        do {
            let keeper = Keeper(place, started: 1)
            #expect(try Held(keeper) == expected)
            keeper.close()
        }
        try self.expectAllRows("state", but: "epochs", in: place)
        #expect(try place.sql("state.db", "PRAGMA user_version") == "\(StateStore.kind.migrations.count)\n")

        // It goes on: with more of everything, and without what is done.
        let task = TaskRecord(
            TaskOwner(AppID("org.example.News"), user: Self.user), TaskRequest("z", .refresh, earliest: .zero))
        let app = DurableApp(
            AppID("org.example.C"), IdentityBinding(user: 7, proof: .name), usage: "x", modes: WordSet([.audio]))
        do {
            let keeper = Keeper(place, started: 1)
            _ = try keeper.epochs()
            for due in expected.due.prefix(1) { keeper.store.forget(due) }
            keeper.store.keep(Self.due(3, strength: 4))
            _ = keeper.store.keep(task)
            keeper.store.keep(Self.owner, isTerminated: false)
            _ = keeper.store.set(app.id, to: app)
            keeper.close()
        }
        expected.epochs += 2 * 65_536
        expected.due = expected.due.dropFirst() + [Self.due(3, strength: 4)]
        expected.tasks.append(task)
        expected.terminated = []
        expected.apps.append(app)
        #expect(try Held(Keeper(place, started: 1)) == expected)
    }

    /// What is nobody's yet is not root's, and comes back as it was.
    @Test func whatIsNobodysIsNobodysAgain() throws {
        let place = try Directory()
        let due = ([nil, 0, Self.user] as [UInt32?]).map { user in
            var due = Self.due(1, strength: 1)
            due.user = user
            return due
        }
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            for due in due { keeper.store.keep(due) }
            keeper.close()
        }
        #expect(try place.sql("state.db", "SELECT group_concat(user) FROM due") == "-1,0,\(Self.user)\n")
        // No user has such a number.
        try place.python("c.execute('UPDATE due SET user = -2 WHERE user = 0');c.commit()", on: "state.db")
        do {
            let keeper = Keeper(place)
            #expect(try Held(keeper).due == [due[0], due[2]])
            keeper.store.forget(due[0])
            keeper.close()
        }
        #expect(try Held(Keeper(place)).due == [due[2]])
    }

    // MARK: Making them

    /// The files of the present version have the tables that it makes.
    @Test func thePresentOnesAreThere() throws {
        let place = try Directory()
        try self.fillJournal(in: place)
        try self.compare("journal", JournalStore.kind, in: place)
        try place.remove("state.db")
        try self.fillState(in: place)
        try self.compare("state", StateStore.kind, in: place)
    }

    private func compare(_ name: String, _ kind: StoreFile.Kind, in place: Directory) throws {
        let version = kind.migrations.count
        if getenv("JOSTLE_WRITE_STORED") != nil { try self.write(name, version, of: place) }
        let stored = try Directory()
        try self.lay(name, version, in: stored)
        let tables = "SELECT name, sql FROM sqlite_schema ORDER BY 1"
        #expect(try stored.sql("\(name).db", tables) == place.sql("\(name).db", tables))
        #expect(try stored.sql("\(name).db", "PRAGMA application_id") == "\(kind.applicationID)\n")
    }

    private func write(_ name: String, _ version: Int, of place: Directory) throws {
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)
            print('PRAGMA auto_vacuum = INCREMENTAL;')
            for name in 'application_id', 'user_version':
                print(f'PRAGMA {name} = {database.execute(f"PRAGMA {name}").fetchone()[0]};')
            for line in database.iterdump(): print(line)
            print('PRAGMA journal_mode = WAL;')
            """
        let dump = try Tool.run(["python3", "-c", script, place.file("\(name).db")])
        try #require(dump.status == 0, "\(dump.stderr)")
        let path = Programs.source("Tests/StoredFiles/\(name)-\(version).sql")
        try Data(dump.stdout.utf8).write(to: URL(fileURLWithPath: path))
    }
}
