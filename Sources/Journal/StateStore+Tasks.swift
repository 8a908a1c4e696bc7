import Arbitration
import Background
import Motion

extension StateStore {
    static let taskTables = """
        CREATE TABLE task (
            user INTEGER NOT NULL, app TEXT NOT NULL, identifier TEXT NOT NULL, kind TEXT NOT NULL,
            earliest INTEGER NOT NULL, latest INTEGER, needs TEXT NOT NULL, discretionary INTEGER NOT NULL,
            attempt INTEGER NOT NULL, PRIMARY KEY (user, app, identifier)) STRICT, WITHOUT ROWID;
        CREATE TABLE terminated (
            user INTEGER NOT NULL, app TEXT NOT NULL, PRIMARY KEY (user, app)) STRICT, WITHOUT ROWID;
        """

    /// What the earliest time of a task comes from.
    static let taskWaits = """
        ALTER TABLE task ADD COLUMN since INTEGER; ALTER TABLE task ADD COLUMN delay INTEGER;
        ALTER TABLE task ADD COLUMN time INTEGER;
        """

    /// Makes the tasks be what they are now, all of it or nothing. On the disk when it returns.
    mutating func change(_ changes: TaskChanges) throws(StoreError) {
        try self.makeRoomBeside()
        let insert = try self.file.database.prepare(
            "INSERT OR REPLACE INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let delete = try self.file.database.prepare("DELETE FROM task WHERE user = ? AND app = ? AND identifier = ?")
        let terminate = try self.file.database.prepare("INSERT OR REPLACE INTO terminated VALUES (?, ?)")
        let open = try self.file.database.prepare("DELETE FROM terminated WHERE user = ? AND app = ?")
        try self.file.transaction { () throws(StoreError) in
            for (key, record) in changes.tasks {
                if let record {
                    try Self.bind(key.owner, to: insert)
                    try Self.bind(record, to: insert)
                    try insert.run()
                } else {
                    try Self.bind(key.owner, to: delete)
                    try delete.bind(3, key.identifier)
                    try delete.run()
                }
            }
            for (owner, isTerminated) in changes.terminated {
                if isTerminated {
                    try Self.bind(owner, to: terminate)
                    try terminate.run()
                } else {
                    try Self.bind(owner, to: open)
                    try open.run()
                }
            }
        }
        try self.file.checkpointIfDue()
    }

    private static func bind(_ owner: TaskOwner, to statement: borrowing Statement) throws(StoreError) {
        try statement.bind(1, UInt64(owner.user))
        try statement.bind(2, owner.app.name)
    }

    private static func bind(_ record: TaskRecord, to statement: borrowing Statement) throws(StoreError) {
        let request = record.request
        try statement.bind(3, request.identifier)
        try statement.bind(4, request.kind.name)
        try statement.bind(5, request.earliest.microseconds)
        try statement.bind(6, request.latest?.microseconds)
        try statement.bind(7, request.needs.elements.map(\.name).joined(separator: " "))
        try statement.bind(8, request.isDiscretionary)
        try statement.bind(9, UInt64(record.attempt))
        try statement.bind(10, record.wait?.since.microseconds)
        try statement.bind(11, record.wait?.delay.microseconds)
        try statement.bind(12, record.wait?.time.microseconds)
    }

    /// The tasks that wait or were under way, of each app the earliest first. What makes no sense is left out.
    static func tasks(in database: borrowing Database) throws(StoreError) -> [TaskRecord] {
        let rows = try database.prepare("SELECT * FROM task ORDER BY user, app, earliest, identifier")
        var tasks: [TaskRecord] = []
        while try rows.step() {
            let words = rows.text(6).split(separator: " ")
            let needs = words.compactMap { word in TaskNeed.allCases.first { $0.name == word } }
            guard let user = UInt32(exactly: rows.number(0)), needs.count == words.count,
                let kind = TaskKind.allCases.first(where: { $0.name == rows.text(3) }),
                let attempt = UInt32(exactly: rows.number(8))
            else { continue }
            let request = TaskRequest(
                rows.text(2), kind, earliest: Timestamp(microseconds: rows.number(4)),
                latest: rows.optionalNumber(5).map { Timestamp(microseconds: $0) }, needs: WordSet(needs),
                isDiscretionary: rows.number(7) != 0)
            var record = TaskRecord(TaskOwner(AppID(rows.text(1)), user: user), request, attempt: attempt)
            if let since = rows.optionalNumber(9), let delay = rows.optionalNumber(10),
                let time = rows.optionalNumber(11)
            {
                record.wait = TaskWait(
                    until: Timestamp(microseconds: time), TimeSpan(microseconds: delay),
                    since: Timestamp(microseconds: since))
            }
            tasks.append(record)
        }
        return tasks
    }

    /// The apps that their users terminated.
    static func terminatedApps(in database: borrowing Database) throws(StoreError) -> [TaskOwner] {
        let rows = try database.prepare("SELECT user, app FROM terminated ORDER BY user, app")
        var owners: [TaskOwner] = []
        while try rows.step() {
            guard let user = UInt32(exactly: rows.number(0)) else { continue }
            owners.append(TaskOwner(AppID(rows.text(1)), user: user))
        }
        return owners
    }
}
