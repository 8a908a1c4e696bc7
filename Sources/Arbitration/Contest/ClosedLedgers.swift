import Motion

/// Keeps what named apps that left have used up, for when they are back.
///
/// On a session bus names cost nothing. So they are bounded, and a user who leaves under many loses the oldest of its own.
struct ClosedLedgers: Sendable {
    private struct Entry: Sendable {
        var ledger: Ledger
        let user: UInt32
        /// Rises with each that is kept.
        let number: UInt64
    }

    private var entries: [AppID: Entry] = [:]
    private var shares = UserShares(limit: Self.most, reserve: Self.most / 2)
    private var lastNumber: UInt64 = 0

    /// Of all users.
    static let most = 4_096

    var count: Int { self.entries.count }

    /// Takes out what an app had used up when it left.
    mutating func take(_ id: AppID) -> Ledger? {
        guard let entry = self.entries.removeValue(forKey: id) else { return nil }
        self.shares.giveBack(1, for: entry.user)
        return entry.ledger
    }

    /// Keeps what an app had used up when it left.
    ///
    /// - Parameter isSpent: Whether one says no more than an empty one would.
    mutating func keep(_ ledger: Ledger, of id: AppID, _ user: UInt32?, where isSpent: (AppID, Ledger) -> Bool) {
        let user = user ?? UserShares.unknown
        _ = self.take(id)
        if self.shares.room(for: user) == 0 { self.makeRoom(for: user, isSpent) }
        guard self.shares.take(1, for: user) else { return }
        self.lastNumber &+= 1
        self.entries[id] = Entry(ledger: ledger, user: user, number: self.lastNumber)
    }

    /// Throws away what says nothing, and otherwise the oldest quarter of a user's, so that not each that comes looks at all.
    private mutating func makeRoom(for user: UInt32, _ isSpent: (AppID, Ledger) -> Bool) {
        for id in self.entries.filter({ isSpent($0.key, $0.value.ledger) }).keys { _ = self.take(id) }
        let own = self.entries.filter { $0.value.user == user }.sorted { $0.value.number < $1.value.number }
        guard self.shares.room(for: user) < max(1, own.count / 8) else { return }
        for (id, _) in own.prefix(max(1, own.count / 4)) { _ = self.take(id) }
    }

    /// Goes on from a sample time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        for id in self.entries.keys { self.entries[id]?.ledger.rewind(from: last, to: now) }
    }

    mutating func shrink() { self.entries.shrink() }
}
