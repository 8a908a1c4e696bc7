import Arbitration
import Detection
import Loop
import Motion

/// The durable record of events and verdicts: `journal.db`, bounded by age and size.
struct JournalStore: ~Copyable {
    var file: StoreFile
    private let limits: StoreLimits
    private let run: Int64
    private let verdicts: RowInsert
    private let events: RowInsert
    private let note: Statement
    private let end: Statement
    private let fail: Statement
    /// `nil`: no clip was ever kept here.
    private var clips: ClipTable?
    private let pageCount: Statement
    private let pageSize: Int64
    private let details = Details()
    /// The policies of this run that stand in the file.
    private var written: Set<UInt64> = []
    private var sinceTrim = 0
    /// When what is too old is looked for, though nothing is written, in the time of `Clock.monotonic`.
    private(set) var nextTrim: Int64
    private var doubt: ClockDoubt

    /// What verdicts become, made with the help of the one before.
    private final class Details {
        private var encoder = VerdictEncoder()
        private var place: (rule: Rule, text: String)?

        func bytes(of verdict: Verdict) -> [UInt8] { self.encoder.encode(verdict) }

        func place(of rule: Rule?) -> String? {
            guard let rule else { return nil }
            if let place, place.rule === rule { return place.text }
            let text = rule.place.lineDescription
            self.place = (rule, text)
            return text
        }
    }

    static let kind = StoreFile.Kind(
        applicationID: 0x4A73_7402,
        migrations: [
            StoreFile.firstMigration,
            """
            CREATE TABLE run (
                id INTEGER PRIMARY KEY, started INTEGER NOT NULL, boot TEXT NOT NULL, version TEXT NOT NULL) STRICT;
            CREATE TABLE policy (
                run INTEGER NOT NULL, generation INTEGER NOT NULL, since INTEGER NOT NULL, files TEXT NOT NULL,
                PRIMARY KEY (run, generation)) STRICT, WITHOUT ROWID;
            CREATE TABLE verdict (
                id INTEGER PRIMARY KEY, run INTEGER NOT NULL, epoch INTEGER NOT NULL, app TEXT NOT NULL,
                user INTEGER NOT NULL, registration INTEGER NOT NULL, detector TEXT NOT NULL,
                preset TEXT NOT NULL, time INTEGER NOT NULL, wall INTEGER NOT NULL, intensity REAL NOT NULL, reason TEXT NOT NULL, delivered INTEGER NOT NULL, generation INTEGER NOT NULL,
                rule TEXT, place TEXT, detail BLOB NOT NULL) STRICT;
            CREATE INDEX verdict_epoch ON verdict (epoch);
            CREATE INDEX verdict_app ON verdict (app);
            CREATE INDEX verdict_wall ON verdict (wall);
            CREATE TABLE event (
                id INTEGER PRIMARY KEY, run INTEGER NOT NULL, epoch INTEGER NOT NULL, app TEXT NOT NULL,
                sequence INTEGER NOT NULL, detector TEXT NOT NULL, time INTEGER NOT NULL, wall INTEGER NOT NULL,
                peak REAL NOT NULL, generation INTEGER NOT NULL, simulated INTEGER NOT NULL, sent INTEGER NOT NULL
                ) STRICT;
            CREATE INDEX event_epoch ON event (epoch);
            CREATE INDEX event_app ON event (app);
            """,
            // To count what each has without a look at the rows.
            "DROP INDEX verdict_app; CREATE INDEX verdict_app ON verdict (app, user);",
            // Each index costs each row. An event is looked up by its app's number; what was at a time, nearly in the order of
            // the rows, is looked for in all of them, and seldom.
            """
            DROP INDEX verdict_wall; DROP INDEX event_epoch; DROP INDEX event_app;
            CREATE INDEX event_app ON event (app, sequence);
            """,
            // What became of launches. Who is still to be launched for an event has not had it.
            """
            ALTER TABLE verdict ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE verdict ADD COLUMN failure TEXT;
            ALTER TABLE verdict ADD COLUMN ended INTEGER;
            UPDATE verdict SET delivered = 0 WHERE reason = 'S5.woken';
            """,
            // What was the case around the apps. A row holds until the next of its kind, app and value.
            """
            CREATE TABLE change (
                id INTEGER PRIMARY KEY, run INTEGER NOT NULL, wall INTEGER NOT NULL, kind TEXT NOT NULL,
                app TEXT NOT NULL, user INTEGER NOT NULL, value TEXT NOT NULL, rate REAL, count REAL) STRICT;
            CREATE INDEX change_app ON change (app, user);
            """,
            // About what each row takes, to sum up what each has without a look at the rows. To find that out for rows of which
            // there may be very many would take as much room again.
            """
            ALTER TABLE verdict ADD COLUMN bytes INTEGER NOT NULL DEFAULT 384;
            ALTER TABLE event ADD COLUMN bytes INTEGER NOT NULL DEFAULT 160;
            ALTER TABLE change ADD COLUMN bytes INTEGER NOT NULL DEFAULT 160;
            UPDATE change SET bytes = 96 + 2 * length(CAST(app AS BLOB)) + length(CAST(value AS BLOB));
            DROP INDEX verdict_app; CREATE INDEX verdict_app ON verdict (app, user, id, bytes);
            DROP INDEX event_app; CREATE INDEX event_app ON event (app, sequence, bytes);
            DROP INDEX change_app; CREATE INDEX change_app ON change (app, user, id, bytes);
            """,
        ], isDurable: false)

    init(
        _ file: consuming StoreFile, _ limits: StoreLimits, _ run: StoreRun
    ) throws(StoreError) {
        let number = try Self.number(of: run, in: file)
        let verdicts = try RowInsert(
            "verdict",
            [
                "run", "epoch", "app", "user", "registration", "detector", "preset", "time", "wall", "intensity",
                "reason",
                "delivered", "generation", "rule", "place", "detail", "bytes",
            ], in: file.database)
        let events = try RowInsert(
            "event",
            [
                "run", "epoch", "app", "sequence", "detector", "time", "wall", "peak", "generation", "simulated",
                "sent", "bytes",
            ], in: file.database)
        let note = try file.database.prepare(
            "INSERT INTO change (run, wall, kind, app, user, value, rate, count, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        // A verdict says in `detail` what was decided, in `reason` what came of it. Of several in one decision the last does.
        // It is looked for among those of its app, from the first to the last row of its epoch: an app may have very many, and so
        // may an epoch.
        let open = Reason.allCases.filter(\.isOpen).map { "'\($0.name)'" }.joined(separator: ", ")
        let rows = "FROM verdict WHERE epoch = ?1"
        let newest =
            "id = (SELECT max(id) FROM verdict WHERE app = ?2 AND user = ?3 AND +epoch = ?1 "
            + "AND id BETWEEN (SELECT min(id) \(rows)) AND (SELECT max(id) \(rows)))"
        let end = try file.database.prepare(
            "UPDATE verdict SET reason = ?4, delivered = ?5, ended = ?6 WHERE \(newest) AND reason IN (\(open))")
        let fail = try file.database.prepare(
            "UPDATE verdict SET failures = failures + 1, failure = ?4 WHERE \(newest)")
        var clips = try ClipTable.find(in: file, limits)
        let now = Clock.monotonic.now()
        let latest = try Self.latest(before: number, in: file)
        var doubt = ClockDoubt(latest: latest ?? run.started)
        if doubt.believes(run.started, at: now, after: Self.trimPause(limits.journalAge)) {
            try Self.removeOld(limits.journalAge, before: run.started, from: file)
            try clips?.removeOld(before: run.started, from: file)
        }
        let pageCount = try file.database.prepare("PRAGMA page_count")
        let pageSize = try file.database.number("PRAGMA page_size") ?? 4_096
        self.limits = limits
        self.pageCount = pageCount
        self.pageSize = pageSize
        self.run = number
        self.verdicts = verdicts
        self.events = events
        self.note = note
        self.end = end
        self.fail = fail
        self.clips = clips
        self.nextTrim = now + Self.trimPause(limits.journalAge)
        self.doubt = doubt
        self.file = file
    }

    /// The number of our run, which may have had this file open before.
    private static func number(of run: StoreRun, in file: borrowing StoreFile) throws(StoreError) -> Int64 {
        let known = try file.database.prepare("SELECT id FROM run WHERE started = ? AND boot = ?")
        try known.bind(1, run.started)
        try known.bind(2, run.boot)
        if try known.step() { return known.number(0) }
        known.reset()
        let insert = try file.database.prepare(
            "INSERT INTO run (started, boot, version) VALUES (?, ?, ?) RETURNING id")
        try insert.bind(1, run.started)
        try insert.bind(2, run.boot)
        try insert.bind(3, run.version)
        return try file.transaction { () throws(StoreError) in
            guard try insert.step() else { throw StoreError(.broken, "a run has no number") }
            let number = insert.number(0)
            try insert.run()
            return number
        }
    }

    // MARK: In

    /// Keeps all of it or nothing.
    mutating func append(_ rows: inout TakenRows, _ batch: Range<Int>) throws(StoreError) {
        try self.file.makeRoomBeside(limit: self.limits.journalBytes)
        let isPersistent = rows.isPersistent(batch)
        if isPersistent { try self.file.database.execute("PRAGMA synchronous = FULL") }
        var added: Set<UInt64> = []
        do {
            try self.file.transaction { () throws(StoreError) in
                var run = (verdicts: [Int](), events: [Int]())
                run.verdicts.reserveCapacity(batch.count)
                run.events.reserveCapacity(batch.count)
                for index in batch {
                    switch rows.kind(of: index) {
                    case .verdict: run.verdicts.append(index)
                    case .sent: run.events.append(index)
                    case .changed:
                        // It changes what stands there.
                        try self.insert(run.verdicts, run.events, of: &rows, &added)
                        run.verdicts.removeAll(keepingCapacity: true)
                        run.events.removeAll(keepingCapacity: true)
                        try rows.with(index) { content, user, wall throws(StoreError) in
                            try self.change(content, of: user, wall)
                        }
                    }
                }
                try self.insert(run.verdicts, run.events, of: &rows, &added)
            }
        } catch {
            if isPersistent { try? self.file.database.execute("PRAGMA synchronous = NORMAL") }
            throw error
        }
        if isPersistent { try self.file.database.execute("PRAGMA synchronous = NORMAL") }
        self.written.formUnion(added)
        self.sinceTrim += batch.count
    }

    /// Notes all these changes or none.
    mutating func append(_ changes: [ChangeRow]) throws(StoreError) {
        try self.file.makeRoomBeside(limit: self.limits.journalBytes)
        try self.file.transaction { () throws(StoreError) in
            for row in changes { try self.insert(row.change, row.wall) }
        }
        self.sinceTrim += changes.count
    }

    /// Keeps all of these clips or none. The first one makes their tables.
    mutating func append(_ clips: [ClipRow]) throws(StoreError) {
        guard !clips.isEmpty else { return }
        try self.file.makeRoomBeside(limit: self.limits.journalBytes)
        let run = self.run
        try self.file.transaction { () throws(StoreError) in
            if self.clips == nil {
                self.clips = try ClipTable.make(in: self.file.database, self.limits)
            }
            for clip in clips { try self.clips?.insert(clip, run: run) }
        }
        try self.clips?.makeRoom(in: self.file)
        self.sinceTrim += clips.count
    }

    /// Forgets all clips of these users; `nil`: everybody's. False: somebody who reads keeps what they were on the disk.
    mutating func forgetClips(of users: [UInt32?]) throws(StoreError) -> Bool {
        guard !users.isEmpty else { return true }
        // Nothing of them stays in the file, nor beside it.
        try self.file.database.execute("PRAGMA secure_delete = ON")
        let isGone: Bool
        do throws(StoreError) {
            try self.file.transaction { () throws(StoreError) in
                try self.clips?.forget(users, in: self.file.database)
            }
            isGone = try self.file.checkpoint()
        } catch {
            try? self.file.database.execute("PRAGMA secure_delete = OFF")
            throw error
        }
        try self.file.database.execute("PRAGMA secure_delete = OFF")
        return isGone
    }

    private borrowing func insert(_ change: JournalChange, _ wall: Int64) throws(StoreError) {
        try self.note.bind(1, self.run)
        try self.note.bind(2, wall)
        try self.note.bind(3, change.kind.rawValue)
        try self.note.bind(4, change.app)
        try self.note.bind(5, UInt64(change.user))
        try self.note.bind(6, change.value)
        try self.note.bind(7, change.rate.flatMap { $0.isFinite ? $0 : nil })
        try self.note.bind(8, change.count.flatMap { $0.isFinite ? $0 : nil })
        try self.note.bind(9, RoomTable.bytes(of: change.app, change.value.utf8.count))
        try self.note.run()
    }

    /// Puts in verdicts and events that went out.
    ///
    /// - Parameter added: The policies that are put down in this transaction.
    private borrowing func insert(
        _ verdicts: [Int], _ events: [Int], of rows: inout TakenRows, _ added: inout Set<UInt64>
    ) throws(StoreError) {
        let policies = rows.policies
        try self.verdicts.insert(verdicts) { index, statement, first throws(StoreError) in
            try rows.with(index) { content, user, wall throws(StoreError) in
                guard case .verdict(let verdict, let registration) = content else { return }
                let generation = verdict.generation
                if !self.written.contains(generation), added.insert(generation).inserted {
                    try self.insert(
                        policies[generation] ?? JournalPolicy(generation: generation, files: [], since: wall))
                }
                try self.bind(verdict, of: user, registration, wall, to: statement, from: first)
            }
        }
        try self.events.insert(events) { index, statement, first throws(StoreError) in
            try rows.with(index) { content, _, wall throws(StoreError) in
                guard case .event(let event) = content else { return }
                try self.bind(event, isSent: true, wall, to: statement, from: first)
            }
        }
    }

    private borrowing func bind(
        _ verdict: Verdict, of user: UInt32, _ registration: UInt64, _ wall: Int64,
        to insert: borrowing SteadyStatement, from first: Int32
    ) throws(StoreError) {
        let (app, place, detail) = (
            verdict.id.description, self.details.place(of: verdict.rule), self.details.bytes(of: verdict)
        )
        try insert.bind(first, self.run)
        try insert.bind(first + 1, verdict.epoch)
        try insert.bind(first + 2, app)
        try insert.bind(first + 3, UInt64(user))
        try insert.bind(first + 4, registration)
        try insert.bind(first + 5, verdict.detector)
        try insert.bind(first + 6, verdict.preset)
        try insert.bind(first + 7, verdict.time.microseconds)
        try insert.bind(first + 8, wall)
        // SQLite takes what is no number for nothing at all.
        try insert.bind(first + 9, verdict.intensity.isNaN ? 0 : verdict.intensity)
        try insert.bind(first + 10, verdict.reason.name)
        try insert.bind(first + 11, verdict.isReceived)
        try insert.bind(first + 12, verdict.generation)
        try insert.bind(first + 13, verdict.rule?.name)
        try insert.bind(first + 14, place)
        try insert.bind(first + 15, detail)
        let names = verdict.detector.utf8.count + verdict.preset.utf8.count + (verdict.rule?.name.utf8.count ?? 0)
        try insert.bind(
            first + 16, RoomTable.bytes(of: app, names + (place?.utf8.count ?? 0) + detail.count))
    }

    private borrowing func bind(
        _ event: JournalEvent, isSent: Bool, _ wall: Int64, to insert: borrowing SteadyStatement, from first: Int32
    ) throws(StoreError) {
        let app = event.app.description
        try insert.bind(first, self.run)
        try insert.bind(first + 1, event.content.epoch)
        try insert.bind(first + 2, app)
        try insert.bind(first + 3, event.content.sequence)
        try insert.bind(first + 4, event.content.detector)
        try insert.bind(first + 5, event.content.time.microseconds)
        try insert.bind(first + 6, wall)
        try insert.bind(first + 7, event.content.peak.isNaN ? 0 : event.content.peak)
        try insert.bind(first + 8, event.content.generation)
        try insert.bind(first + 9, event.content.isSimulated)
        try insert.bind(first + 10, isSent)
        try insert.bind(first + 11, RoomTable.bytes(of: app, event.content.detector.utf8.count))
    }

    /// Says of a verdict that stands there what came of it. Of several users one may have an app of the same name.
    private borrowing func change(
        _ content: JournalEntry.Content, of user: UInt32, _ wall: Int64
    ) throws(StoreError) {
        guard case .event(let event) = content else { return }
        switch event.fate {
        case .sent: break
        case .ended(let reason):
            // What was sent has its row.
            if !reason.isReceived {
                try self.events.insert([0]) { _, statement, first throws(StoreError) in
                    try self.bind(event, isSent: false, wall, to: statement, from: first)
                }
            }
            try self.end.bind(1, event.content.epoch)
            try self.end.bind(2, event.app.description)
            try self.end.bind(3, UInt64(user))
            try self.end.bind(4, reason.name)
            try self.end.bind(5, reason.isReceived)
            try self.end.bind(6, wall)
            try self.end.run()
        case .failed(let failure):
            try self.fail.bind(1, event.content.epoch)
            try self.fail.bind(2, event.app.description)
            try self.fail.bind(3, UInt64(user))
            try self.fail.bind(4, failure.name)
            try self.fail.run()
        }
    }

    private borrowing func insert(_ policy: JournalPolicy) throws(StoreError) {
        let insert = try self.file.database.prepare(
            "INSERT OR IGNORE INTO policy (run, generation, since, files) VALUES (?, ?, ?, ?)")
        try insert.bind(1, self.run)
        try insert.bind(2, policy.generation)
        try insert.bind(3, policy.since)
        try insert.bind(4, policy.files.joined(separator: "\n"))
        try insert.run()
    }

    /// Writes something that changes nothing, to see whether that is possible.
    mutating func probe() throws(StoreError) {
        try self.file.makeRoomBeside(limit: self.limits.journalBytes)
        try self.file.probe()
    }

    // MARK: Out

    /// The highest epoch of a verdict, for when `state.db` was lost.
    borrowing func lastEpoch() throws(StoreError) -> UInt64? {
        try self.file.database.number("SELECT max(epoch) FROM verdict").flatMap { UInt64(exactly: $0) }
    }

    /// Fetches the verdicts that are asked for.
    borrowing func answer(_ query: JournalQuery) throws(StoreError) -> JournalAnswer {
        try query.answer(from: self.file.database)
    }

    // MARK: Bounds

    /// Does what is to be done now and then after a commit: makes room, and puts things in their place.
    mutating func tidy(at wall: Int64) throws(StoreError) {
        // However many rows a commit had, the file is no larger than it may be when it is over.
        let isFull = try self.pages() > self.mostPages
        let now = Clock.monotonic.now()
        if self.sinceTrim >= Self.trimEvery || isFull || now >= self.nextTrim {
            let pause = Self.trimPause(self.limits.journalAge)
            self.sinceTrim = 0
            self.nextTrim = now + pause
            if self.doubt.believes(wall, at: now, after: pause) {
                try Self.removeOld(self.limits.journalAge, before: wall, from: self.file)
                try self.clips?.removeOld(before: wall, from: self.file)
            }
            try self.removeExcessChanges()
            try self.removeExcess()
        }
        try self.file.checkpointIfDue()
    }

    private static let trimEvery = 1_024
    /// About as many pages as so many rows take.
    private static let pagesOfTrim: Int64 = 128

    /// Nothing is older than it may be by more than this part of that.
    private static func trimPause(_ age: TimeSpan) -> Int64 { age.microseconds / 16 }

    /// When the last run before this one wrote last, in µs of the wall clock; `nil`: there was none that wrote.
    ///
    /// Where its tables do not agree the clock was set meanwhile, and what is earlier is right.
    private static func latest(before run: Int64, in file: borrowing StoreFile) throws(StoreError) -> Int64? {
        let newest = ["verdict", "event", "change"].map {
            "SELECT * FROM (SELECT run, wall FROM \($0) WHERE run < \(run) ORDER BY id DESC LIMIT 1)"
        }
        return try file.database.number(
            "WITH newest AS (\(newest.joined(separator: " UNION ALL "))) "
                + "SELECT min(wall) FROM newest WHERE run = (SELECT max(run) FROM newest)")
    }

    /// Removes what is too old at `wall`, but for the newest row of each table: others go by its number, and without it SQLite
    /// begins again at 1.
    private static func removeOld(
        _ age: TimeSpan, before wall: Int64, from file: borrowing StoreFile
    ) throws(StoreError) {
        let cut = wall.subtractingReportingOverflow(age.microseconds)
        guard !cut.overflow else { return }
        for table in ["verdict", "event", "change"] {
            // The oldest stand first, so that nothing is read but what goes, and what was written while the clock was ahead: that
            // says nothing of what stands behind it, and stays until its time has come, for it may be now that the clock is wrong.
            try file.transaction { () throws(StoreError) in
                try file.database.execute(
                    """
                    DELETE FROM \(table) WHERE wall < \(cut.partialValue) AND id < coalesce(
                        (SELECT id FROM \(table) WHERE wall BETWEEN \(cut.partialValue) AND \(wall)
                            ORDER BY id LIMIT 1),
                        (SELECT max(id) FROM \(table)))
                    """)
            }
        }
    }

    private borrowing func pages() throws(StoreError) -> Int64 {
        defer { self.pageCount.reset() }
        return try self.pageCount.step() ? self.pageCount.number(0) : 0
    }

    /// How many pages the file may have.
    private var mostPages: Int64 { self.limits.journalBytes / self.pageSize }

    /// Removes the oldest of whoever has most until the file is as small as it may be, and gives the room back.
    private mutating func removeExcess() throws(StoreError) {
        let most = self.mostPages
        // Not begun before there is much to remove: where very many have something, it takes long to find out who has most.
        let spare = max(most / 32, min(most / 8, Self.pagesOfTrim))
        if try self.usedPages() > most - spare { try self.makeRoom(leaving: most - most / 8) }
        try self.file.transaction { () throws(StoreError) in
            try self.file.database.execute(
                """
                DELETE FROM policy WHERE run < coalesce((SELECT run FROM verdict ORDER BY id LIMIT 1), \(self.run));
                DELETE FROM run WHERE id < min(
                    coalesce((SELECT run FROM verdict ORDER BY id LIMIT 1), \(self.run)),
                    coalesce((SELECT run FROM change ORDER BY id LIMIT 1), \(self.run)));
                """)
        }
        guard try self.pages() > most else { return }
        try self.file.transaction { () throws(StoreError) in
            try self.file.database.execute("PRAGMA incremental_vacuum")
        }
    }

    private mutating func makeRoom(leaving wanted: Int64) throws(StoreError) {
        var tables: [RoomTable] = [.verdicts, .events, .changes]
        if self.clips != nil { tables.append(.clips) }
        while case let used = try self.usedPages(), used > wanted {
            // Pages are given back only when all that stands in them is gone, so that it may take several goes.
            let part = max(Double(used - wanted) / Double(used), 1 / 32)
            guard try RoomTable.remove(part, of: tables, from: self.file) else { return }
            try self.clips?.someAreGone(from: self.file.database)
        }
    }

    private borrowing func usedPages() throws(StoreError) -> Int64 {
        try self.pages() - (try self.file.database.number("PRAGMA freelist_count") ?? 0)
    }

    /// Removes the oldest changes of whoever has most when there are too many: whoever is restless takes no room from what was
    /// decided.
    private borrowing func removeExcessChanges() throws(StoreError) {
        let most = self.limits.journalBytes / Self.changeShare
        let bytes = try RoomTable.changes.bytes(in: self.file.database)
        guard bytes > most else { return }
        let part = Double(bytes - (most - most / 8)) / Double(bytes)
        _ = try RoomTable.remove(part, of: [.changes], from: self.file)
    }

    /// Changes may have this part of the room.
    private static let changeShare: Int64 = 8
}
