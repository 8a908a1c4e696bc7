import Motion

/// Keeps what named apps that left have used up, for when they are back.
///
/// On a session bus names cost nothing. So they are bounded, and a user who leaves under many loses the oldest of its own.
struct ClosedLedgers: Sendable {
    /// Whose it is: another user's app of that name is another app.
    private struct Owner: Hashable, Sendable {
        let id: AppID
        let user: UInt32

        init(_ id: AppID, _ user: UInt32?) {
            self.id = id
            self.user = user ?? UserShares.unknown
        }
    }

    private struct Entry: Sendable {
        var ledger: Ledger
        /// Rises with each that is kept.
        let number: UInt64
    }

    private var entries: [Owner: Entry] = [:]
    private var shares = UserShares(limit: Self.most, reserve: Self.most / 2)
    private var lastNumber: UInt64 = 0

    /// Of all users.
    static let most = 4_096

    var count: Int { self.entries.count }

    /// Takes out what an app had used up when it left.
    mutating func take(_ id: AppID, of user: UInt32?) -> Ledger? { self.take(Owner(id, user)) }

    private mutating func take(_ owner: Owner) -> Ledger? {
        guard let entry = self.entries.removeValue(forKey: owner) else { return nil }
        self.shares.giveBack(1, for: owner.user)
        return entry.ledger
    }

    /// Keeps what an app had used up when it left.
    ///
    /// - Parameter isSpent: Whether one says no more than an empty one would.
    mutating func keep(_ ledger: Ledger, of id: AppID, _ user: UInt32?, where isSpent: (AppID, Ledger) -> Bool) {
        let owner = Owner(id, user)
        _ = self.take(owner)
        if self.shares.room(for: owner.user) == 0 { self.makeRoom(for: owner.user, isSpent) }
        guard self.shares.take(1, for: owner.user) else { return }
        self.lastNumber &+= 1
        self.entries[owner] = Entry(ledger: ledger, number: self.lastNumber)
    }

    /// Throws away what says nothing, and otherwise the oldest quarter of a user's, so that not each that comes looks at all.
    private mutating func makeRoom(for user: UInt32, _ isSpent: (AppID, Ledger) -> Bool) {
        for owner in self.entries.filter({ isSpent($0.key.id, $0.value.ledger) }).keys { _ = self.take(owner) }
        let own = self.entries.filter { $0.key.user == user }.sorted { $0.value.number < $1.value.number }
        guard self.shares.room(for: user) < max(1, own.count / 8) else { return }
        for (owner, _) in own.prefix(max(1, own.count / 4)) { _ = self.take(owner) }
    }

    /// Goes on from a sample time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        for owner in self.entries.keys { self.entries[owner]?.ledger.rewind(from: last, to: now) }
    }

    mutating func shrink() { self.entries.shrink() }
}
