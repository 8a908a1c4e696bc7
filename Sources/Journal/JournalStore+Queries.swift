import Arbitration
import Motion

extension JournalStore {
    /// The highest epoch of a verdict, for when `state.db` was lost.
    borrowing func lastEpoch() throws(StoreError) -> UInt64? {
        try self.file.database.number("SELECT max(epoch) FROM verdict").flatMap { UInt64(exactly: $0) }
    }

    /// Fetches the verdicts that are asked for.
    borrowing func answer(_ query: JournalQuery) throws(StoreError) -> JournalAnswer {
        var conditions: [String] = []
        var numbers: [Int64] = []
        func add(_ condition: String, _ number: Int64?) {
            guard let number else { return }
            conditions.append(condition)
            numbers.append(number)
        }
        add("v.epoch = ?", query.epoch.map { Int64(clamping: $0) })
        add(
            "EXISTS (SELECT 1 FROM event e WHERE e.epoch = v.epoch AND e.run = v.run AND e.app = v.app AND e.sequence = ?)",
            query.sequence.map { Int64(clamping: $0) })
        add("v.wall >= ?", query.since)
        add("v.wall <= ?", query.until)
        add("v.id > ?", query.after)
        if query.app != nil { conditions.append("v.app = ?") }
        let order = query.end == .newest ? "DESC" : "ASC"
        let statement = try self.file.database.prepare(
            """
            SELECT v.id, v.wall, v.detail, v.generation, r.started, r.boot, p.files, p.since, v.user, v.registration FROM verdict v \
            LEFT JOIN run r ON r.id = v.run LEFT JOIN policy p ON p.run = v.run AND p.generation = v.generation \
            \(conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")) ORDER BY v.id \(order) LIMIT ?
            """)
        var index: Int32 = 1
        for number in numbers {
            try statement.bind(index, number)
            index += 1
        }
        if let app = query.app {
            try statement.bind(index, app.description)
            index += 1
        }
        try statement.bind(index, Int64(query.limit))
        return try Self.read(statement, isReversed: query.end == .newest)
    }

    private static func read(
        _ statement: borrowing Statement, isReversed: Bool
    ) throws(StoreError) -> JournalAnswer {
        var answer = JournalAnswer()
        while try statement.step() {
            answer.last = max(answer.last ?? .min, statement.number(0))
            guard let verdict = try? Verdict(encoded: statement.bytes(2)) else {
                answer.unreadable += 1
                continue
            }
            let files = statement.text(6).split(separator: "\n").map(String.init)
            answer.verdicts.append(
                StoredVerdict(
                    verdict: verdict, user: UInt32(truncatingIfNeeded: statement.number(8)),
                    registration: UInt64(bitPattern: statement.number(9)), wall: statement.number(1),
                    started: statement.number(4), boot: statement.text(5),
                    policy: JournalPolicy(generation: verdict.generation, files: files, since: statement.number(7))))
        }
        if isReversed { answer.verdicts.reverse() }
        return answer
    }
}
