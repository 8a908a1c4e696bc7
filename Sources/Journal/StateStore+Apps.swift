import Arbitration
import Motion

extension StateStore {
    static let appTables = """
        CREATE TABLE app (
            app TEXT PRIMARY KEY, user INTEGER NOT NULL, proof TEXT NOT NULL, usage TEXT NOT NULL,
            modes TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE detector_option (
            app TEXT NOT NULL, detector TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value ANY NOT NULL,
            PRIMARY KEY (app, detector, key)) STRICT, WITHOUT ROWID;
        """

    /// Makes the durable apps be what they are now, all of it or nothing. On the disk when it returns.
    mutating func change(_ changes: DurableChanges) throws(StoreError) {
        try self.makeRoomBeside()
        let clear = try self.file.database.prepare("DELETE FROM detector_option WHERE app = ?")
        let delete = try self.file.database.prepare("DELETE FROM app WHERE app = ?")
        let insert = try self.file.database.prepare("INSERT OR REPLACE INTO app VALUES (?, ?, ?, ?, ?)")
        let option = try self.file.database.prepare("INSERT INTO detector_option VALUES (?, ?, ?, ?, ?)")
        try self.file.transaction { () throws(StoreError) in
            for (id, app) in changes.apps {
                try clear.bind(1, id.name)
                try clear.run()
                guard let app else {
                    try delete.bind(1, id.name)
                    try delete.run()
                    continue
                }
                try insert.bind(1, id.name)
                try insert.bind(2, UInt64(app.binding.user))
                try insert.bind(3, app.binding.proof.name)
                try insert.bind(4, app.usage)
                try insert.bind(5, app.modes.elements.map(\.name).joined(separator: " "))
                try insert.run()
                for detector in app.detectors {
                    for (key, value) in detector.options {
                        try Self.bind(id, detector.name, key, value, to: option)
                        try option.run()
                    }
                }
            }
        }
        try self.file.checkpointIfDue()
    }

    private static func bind(
        _ app: AppID, _ detector: String, _ key: String, _ value: OptionValue, to statement: borrowing Statement
    ) throws(StoreError) {
        try statement.bind(1, app.name)
        try statement.bind(2, detector)
        try statement.bind(3, key)
        switch value {
        case .text(let text):
            try statement.bind(4, "text")
            try statement.bind(5, text)
        case .number(let number):
            try statement.bind(4, "number")
            // There is no such number for SQLite, and no detector with one.
            try statement.bind(5, number.isNaN ? 0 : number)
        case .count(let count):
            try statement.bind(4, "count")
            try statement.bind(5, count)
        case .whole(let count):
            try statement.bind(4, "count")
            try statement.bind(5, UInt64(count))
        case .flag(let flag):
            try statement.bind(4, "flag")
            try statement.bind(5, flag)
        }
    }

    /// The durable apps, in the order of their ids. What makes no sense is left out.
    static func apps(in database: borrowing Database) throws(StoreError) -> [DurableApp] {
        let rows = try database.prepare("SELECT * FROM app ORDER BY app")
        var apps: [DurableApp] = []
        while try rows.step() {
            guard let user = UInt32(exactly: rows.number(1)),
                let proof = IdentityProof.allCases.first(where: { $0.name == rows.text(2) })
            else { continue }
            let modes = rows.text(4).split(separator: " ")
            apps.append(
                DurableApp(
                    AppID(rows.text(0)), IdentityBinding(user: user, proof: proof), usage: rows.text(3),
                    modes: WordSet(BackgroundMode.allCases.filter { modes.contains(Substring($0.name)) })))
        }
        let options = try database.prepare("SELECT * FROM detector_option ORDER BY app, detector")
        var index = 0
        while try options.step() {
            let id = options.text(0)
            while index < apps.count, apps[index].id.name != id,
                apps[index].id.name.utf8.lexicographicallyPrecedes(id.utf8)
            { index += 1 }
            guard index < apps.count, apps[index].id.name == id, let value = Self.value(options) else { continue }
            let name = options.text(1)
            if apps[index].detectors.last?.name != name {
                apps[index].detectors.append(DetectorRequest(name: name, options: [:]))
            }
            apps[index].detectors[apps[index].detectors.count - 1].options[options.text(2)] = value
        }
        return apps
    }

    private static func value(_ row: borrowing Statement) -> OptionValue? {
        switch row.text(3) {
        case "text": .text(row.text(4))
        case "number": .number(row.double(4))
        case "count": .count(UInt64(clamping: row.number(4)))
        case "flag": .flag(row.number(4) != 0)
        default: nil
        }
    }
}
