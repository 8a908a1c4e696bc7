import Motion
import Randomness
import Testing

/// What is shown of shares is what was taken.
@Suite struct UsageTableTests {
    private typealias Key = UsageTable.Key
    private typealias Row = UsageTable.Row

    /// The parts of some limits, what they have, and what each user has by a count of our own.
    private struct Books {
        static let users: [UInt32] = [0, 7, 1_000, 1_001, UserShares.unknown]
        var shares: [(name: String, part: LimitUsage.Part?, shares: UserShares)] = [
            ("streams", nil, UserShares(limit: 64, reserve: 4)), ("apps", nil, UserShares(limit: 200, reserve: 100)),
            ("claims", .sensor("light"), UserShares(limit: 32, reserve: 2)),
            ("claims", .sensor("accelerometer"), UserShares(limit: 32, reserve: 2)),
            ("claims", .interface("org.example.Z"), UserShares(limit: 16, reserve: 0)),
        ]
        private var taken: [Key: Int] = [:]

        mutating func step(_ generator: inout SeededRandom) {
            let index = Int.random(in: self.shares.indices, using: &generator)
            let user = Self.users.randomElement(using: &generator) ?? 0
            let key = Key(user: user, limit: self.shares[index].name, part: self.shares[index].part)
            let amount = Int.random(in: 0...5, using: &generator)
            if Bool.random(using: &generator) {
                if self.shares[index].shares.take(amount, for: user) { self.taken[key, default: 0] += amount }
            } else {
                let back = min(amount, self.taken[key] ?? 0)
                self.shares[index].shares.giveBack(back, for: user)
                self.taken[key, default: 0] -= back
            }
        }

        mutating func giveAllBack() {
            for (key, amount) in self.taken {
                guard let user = key.user,
                    let index = self.shares.firstIndex(where: { $0.name == key.limit && $0.part == key.part })
                else { continue }
                self.shares[index].shares.giveBack(amount, for: user)
            }
            self.taken = [:]
        }

        var table: UsageTable { UsageTable(self.shares.map { LimitUsage($0.name, of: $0.part, $0.shares) }) }

        func held(_ key: Key) -> Int {
            if key.user != nil { return self.taken[key] ?? 0 }
            return self.taken.filter { $0.key.limit == key.limit && $0.key.part == key.part }.values.reduce(0, +)
        }

        var holdings: Set<Key> { Set(self.taken.filter { $0.value > 0 }.keys) }
    }

    @Test(arguments: someSeeds(1...12)) func whatIsShownIsWhatIsHeld(_ seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var books = Books()
        for _ in 0..<400 {
            books.step(&generator)
            let rows = books.table.rows(for: .everything)
            #expect(rows.map(\.key) == rows.map(\.key).sorted())
            #expect(rows.prefix(books.shares.count).allSatisfy { $0.key.user == nil && $0.share == nil })
            for row in rows { #expect(row.held == books.held(row.key), "\(row)") }
            #expect(Set(rows.dropFirst(books.shares.count).map(\.key)) == books.holdings)
            // What a user may hold it can take, and no more.
            for row in rows {
                guard let user = row.key.user, let share = row.share,
                    var shares = books.shares.first(where: { $0.name == row.key.limit && $0.part == row.key.part })?
                        .shares
                else { continue }
                #expect(share >= row.held && row.limit == shares.limit)
                #expect(shares.take(share - row.held, for: user) && !shares.take(1, for: user), "\(row)")
            }
        }
        books.giveAllBack()
        let rows = books.table.rows(for: .everything)
        #expect(rows.count == books.shares.count && rows.allSatisfy { $0.held == 0 })
    }

    @Test(arguments: someSeeds(1...12)) func pagesAreTheListInPieces(_ seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var books = Books()
        for _ in 0..<200 { books.step(&generator) }
        for viewer in [UsageTable.Viewer.everything] + Books.users.map({ .user($0) }) {
            let all = books.table.rows(for: viewer)
            if case .user(let user) = viewer {
                #expect(all == books.table.rows(for: .everything).filter { $0.key.user == nil || $0.key.user == user })
            }
            for count in [1, 2, 3, 7, 100] {
                var rows: [Row] = []
                while true {
                    let page = books.table.rows(for: viewer, after: rows.last?.key, atMost: count)
                    #expect(page.count <= count)
                    guard !page.isEmpty else { break }
                    rows += page
                }
                #expect(rows == all)
            }
        }
        // The last row need not be there any more.
        let gone = Key(user: 8, limit: "no", part: nil)
        let rows = books.table.rows(for: .everything).filter { ($0.key.user ?? 0) > 8 }
        #expect(!rows.isEmpty && books.table.rows(for: .everything, after: gone) == rows)
    }

    /// Where nobody has a share, what each has is shown all the same.
    @Test func whatIsNotDividedHasNoShares() {
        let table = UsageTable([LimitUsage("bytes", 10, heldBy: [1: 4, 2: 5])])
        let key = { Key(user: $0, limit: "bytes", part: nil) }
        #expect(
            table.rows(for: .everything) == [
                Row(key(nil), held: 9, limit: 10, reserve: 0, share: nil),
                Row(key(1), held: 4, limit: 10, reserve: 0, share: nil),
                Row(key(2), held: 5, limit: 10, reserve: 0, share: nil),
            ])
    }
}
