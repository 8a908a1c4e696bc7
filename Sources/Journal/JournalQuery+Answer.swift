import Arbitration
import Motion

extension JournalQuery {
    /// Fetches the verdicts that are asked for.
    func answer(from database: borrowing Database) throws(StoreError) -> JournalAnswer {
        var conditions: [String] = []
        var numbers: [Int64] = []
        func add(_ condition: String, _ number: Int64?) {
            guard let number else { return }
            conditions.append(condition)
            numbers.append(number)
        }
        // The first of the parameters, named so, as it may stand twice.
        if self.app != nil { conditions.append("v.app = ?1") }
        add("v.user = ?", self.user.map { Int64($0) })
        add("v.epoch = ?", self.epoch.map { Int64(clamping: $0) })
        // Looked up once, not for each verdict: an app that leaves and comes back is numbered from 1 again each time.
        let ofApp = self.app == nil ? "" : " AND e.app = ?1"
        add(
            "(v.app, v.epoch, v.run) IN (SELECT e.app, e.epoch, e.run FROM event e WHERE e.sequence = ?\(ofApp))",
            self.sequence.map { Int64(clamping: $0) })
        add("v.wall >= ?", self.since)
        add("v.wall <= ?", self.until)
        add("v.id > ?", self.after)
        let order = self.end == .newest ? "DESC" : "ASC"
        let statement = try database.prepare(
            """
            SELECT v.id, v.wall, v.detail, v.generation, r.started, r.boot, p.files, p.since, v.user, v.registration, v.reason, \
            v.failures, coalesce(v.failure, ''), coalesce(v.ended - v.wall, -1) \
            FROM verdict v \
            LEFT JOIN run r ON r.id = v.run LEFT JOIN policy p ON p.run = v.run AND p.generation = v.generation \
            \(conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")) ORDER BY v.id \(order) LIMIT ?
            """)
        var index: Int32 = 1
        if let app = self.app {
            try statement.bind(index, app.description)
            index += 1
        }
        for number in numbers {
            try statement.bind(index, number)
            index += 1
        }
        try statement.bind(index, Int64(self.limit))
        return try Self.read(statement, isReversed: self.end == .newest)
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
            let reason = Self.ends[statement.text(10)]
            let after = statement.number(13)
            let aftermath = Aftermath(
                failures: UInt32(clamping: statement.number(11)), failure: Self.failures[statement.text(12)],
                after: after < 0 ? nil : TimeSpan(microseconds: after))
            let files = statement.text(6).split(separator: "\n").map(String.init)
            answer.verdicts.append(
                StoredVerdict(
                    verdict: verdict, end: reason == verdict.reason ? nil : reason, aftermath: aftermath,
                    user: UInt32(truncatingIfNeeded: statement.number(8)),
                    registration: UInt64(bitPattern: statement.number(9)), wall: statement.number(1),
                    started: statement.number(4), boot: statement.text(5),
                    policy: JournalPolicy(generation: verdict.generation, files: files, since: statement.number(7))))
        }
        if isReversed { answer.verdicts.reverse() }
        return answer
    }

    /// The words on events that were kept, by their codes.
    private static let ends = Dictionary(
        uniqueKeysWithValues: Reason.allCases.filter(\.isOpen).map { ($0.name, $0) })

    private static let failures = Dictionary(uniqueKeysWithValues: LaunchFailure.allCases.map { ($0.name, $0) })
}
