/// Who gives up how much when the journal is full: whoever has most.
///
/// Each user may have as much as any other, and each app as much as any other of its user; what somebody does not need is
/// there for the others. So whoever has little keeps all of it.
package enum JournalShares {
    package struct Holder: Hashable, Sendable {
        package let app: String
        package let user: Int64

        package init(app: String, user: Int64) {
            self.app = app
            self.user = user
        }
    }

    /// How much each gives up so that `excess` of all is gone, or a little more. Who gives up nothing is not named.
    package static func cuts(_ held: [Holder: Int], excess: Int) -> [Holder: Int] {
        let users = Dictionary(grouping: held.keys, by: \.user)
        let totals = users.mapValues { holders in holders.reduce(0) { $0 + (held[$1] ?? 0) } }
        let share = self.share(totals.values, keeping: totals.values.reduce(0, +) - excess)
        var cuts: [Holder: Int] = [:]
        for (user, holders) in users where totals[user] ?? 0 > share {
            let amounts = holders.map { held[$0] ?? 0 }
            let most = self.share(amounts, keeping: share)
            for (holder, amount) in zip(holders, amounts) where amount > most { cuts[holder] = amount - most }
        }
        return cuts
    }

    /// The most that each may have so that all together have no more than `most`.
    private static func share(_ amounts: some Collection<Int>, keeping most: Int) -> Int {
        var left = max(0, most)
        var others = amounts.count
        for amount in amounts.sorted() {
            guard amount <= left / others else { return left / others }
            left -= amount
            others -= 1
        }
        return .max
    }
}
