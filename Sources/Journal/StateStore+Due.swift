import Arbitration
import Motion

extension StateStore {
    static let dueTable = """
        CREATE TABLE due (
            user INTEGER NOT NULL, app TEXT NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL,
            detector TEXT NOT NULL, sequence INTEGER NOT NULL, generation INTEGER NOT NULL, peak REAL NOT NULL,
            simulated INTEGER NOT NULL, clipped INTEGER NOT NULL, kind TEXT NOT NULL, reliability TEXT NOT NULL,
            lifespan INTEGER NOT NULL, ends INTEGER NOT NULL,
            PRIMARY KEY (user, app, epoch, time, detector)) STRICT, WITHOUT ROWID;
        """

    /// Stands in place of the user for what is nobody's yet: no user has this number.
    private static let nobody: Int64 = -1

    static let dueStrength = "ALTER TABLE due ADD COLUMN strength INTEGER NOT NULL DEFAULT 0;"

    /// Makes what is due be what it is now, all of it or nothing. On the disk when it returns.
    mutating func change(_ due: DueChanges) throws(StoreError) {
        try self.makeRoomBeside()
        let insert = try self.file.database.prepare(
            "INSERT OR REPLACE INTO due VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let delete = try self.file.database.prepare(
            "DELETE FROM due WHERE user = ? AND app = ? AND epoch = ? AND time = ? AND detector = ?")
        try self.file.transaction { () throws(StoreError) in
            for (key, event) in due.events {
                if let event {
                    try Self.bind(key, to: insert)
                    try Self.bind(event, to: insert)
                    try insert.run()
                } else {
                    try Self.bind(key, to: delete)
                    try delete.run()
                }
            }
        }
        try self.file.checkpointIfDue()
    }

    private static func bind(_ key: DueEvent.Key, to statement: borrowing Statement) throws(StoreError) {
        try statement.bind(1, key.user.map { Int64($0) } ?? Self.nobody)
        try statement.bind(2, key.app.name)
        try statement.bind(3, key.epoch)
        try statement.bind(4, key.time.microseconds)
        try statement.bind(5, key.detector)
    }

    private static func bind(_ event: DueEvent, to statement: borrowing Statement) throws(StoreError) {
        try statement.bind(6, event.content.sequence)
        try statement.bind(7, event.content.generation)
        try statement.bind(8, event.content.peak.isNaN ? 0 : event.content.peak)
        try statement.bind(9, event.content.isSimulated)
        try statement.bind(10, UInt64(event.content.note.rawValue) << 1 | (event.content.isClipped ? 1 : 0))
        try statement.bind(11, event.terms.kind.name)
        try statement.bind(12, event.terms.reliability.name)
        try statement.bind(13, event.terms.lifespan.microseconds)
        try statement.bind(14, event.ends)
        try statement.bind(15, Int64(event.strength))
    }

    /// What is due, for each app in the order of its numbers. What makes no sense is left out.
    static func due(in database: borrowing Database) throws(StoreError) -> [DueEvent] {
        let rows = try database.prepare("SELECT * FROM due ORDER BY user, app, sequence")
        var due: [DueEvent] = []
        while try rows.step() {
            let user = UInt32(exactly: rows.number(0))
            guard user != nil || rows.number(0) == Self.nobody, let epoch = UInt64(exactly: rows.number(2)),
                let sequence = UInt64(exactly: rows.number(5)), let generation = UInt64(exactly: rows.number(6)),
                let kind = DeliveryKind.allCases.first(where: { $0.name == rows.text(10) }),
                let reliability = Reliability.allCases.first(where: { $0.name == rows.text(11) })
            else { continue }
            var terms = DeliveryTerms()
            terms.kind = kind
            terms.reliability = reliability
            terms.durability = .persistent
            terms.lifespan = TimeSpan(microseconds: rows.number(12))
            let content = EventContent(
                sequence: sequence, epoch: epoch, generation: generation, time: Timestamp(microseconds: rows.number(3)),
                detector: rows.text(4), peak: rows.double(7), isSimulated: rows.number(8) != 0,
                isClipped: rows.number(9) & 1 != 0,
                // Above the mark stands what the detector noted.
                note: HitNote(rawValue: UInt16(clamping: rows.number(9) >> 1)))
            due.append(
                DueEvent(
                    app: AppID(rows.text(1)), user: user, content, terms, ends: rows.number(13),
                    strength: Int(clamping: rows.number(14))))
        }
        return due
    }
}
