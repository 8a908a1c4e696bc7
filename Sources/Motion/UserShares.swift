/// Divides one limit among users, so that none of them can take it all.
///
/// A user may take more only while what it then has is at most half of what the others leave: the first may have a half,
/// the next a quarter at least, and whoever comes later still finds something. Root is no such user: it may take whatever is
/// free, a reserve included that nobody else touches and out of which comes what it has, as far as that goes.
package struct UserShares: Equatable, Sendable {
    /// The user who may take whatever is free.
    package static let root: UInt32 = 0
    /// Stands for all whose user is not known.
    package static let unknown = UInt32.max

    /// The most that all users have together.
    package let limit: Int
    /// The part of the limit that only root may use.
    package let reserve: Int
    /// What all users have together.
    package private(set) var taken = 0
    /// What each user has who has something, root too.
    package private(set) var holdings: [UInt32: Int] = [:]

    package init(limit: Int, reserve: Int) {
        precondition(reserve >= 0 && reserve <= limit)
        self.limit = limit
        self.reserve = reserve
    }

    /// The most that one user other than root may have, while no other has anything.
    package var share: Int { (self.limit - self.reserve) / 2 }

    /// What a user has.
    package func held(by user: UInt32) -> Int { self.holdings[user] ?? 0 }

    /// How much more a user may take now.
    package func room(for user: UInt32) -> Int {
        if user == Self.root { return max(0, self.limit - self.taken) }
        let (held, ofRoot) = (self.held(by: user), self.held(by: Self.root))
        // What root has comes out of its reserve first, and leaves the others what is theirs.
        let left = self.limit - max(self.reserve, ofRoot) - (self.taken - ofRoot - held)
        return max(0, left / 2 - held)
    }

    /// Whether a user may have an amount in all: what it has it may keep, also where that is more than it may take by now.
    package func admits(_ amount: Int, for user: UInt32) -> Bool {
        amount - self.held(by: user) <= self.room(for: user)
    }

    /// Takes an amount for a user, all of it or nothing. Returns false when that is more than the user may take.
    package mutating func take(_ amount: Int, for user: UInt32) -> Bool {
        guard amount >= 0, amount <= self.room(for: user) else { return false }
        self.add(amount, for: user)
        return true
    }

    /// Books an amount, room or not.
    mutating func add(_ amount: Int, for user: UInt32) {
        guard amount > 0 else { return }
        self.taken += amount
        self.holdings[user, default: 0] += amount
    }

    /// Gives back what a user took.
    package mutating func giveBack(_ amount: Int, for user: UInt32) {
        let held = self.held(by: user)
        precondition(amount >= 0 && amount <= held, "a user gives back what it took")
        self.taken -= amount
        self.holdings[user] = held == amount ? nil : held - amount
    }
}
