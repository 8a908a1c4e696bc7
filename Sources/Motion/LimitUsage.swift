/// What is held of one limit, and by whom: a look into the book by which that limit is checked.
package struct LimitUsage: Equatable, Sendable {
    /// As `Limits` names it.
    package let name: String
    /// Of what there are several, each with such a limit of its own; `nil`: there is one limit for all.
    package let part: Part?
    /// The most that all have together, and the part of it that only root may have.
    package let limit: Int
    package let reserve: Int
    /// What all have together.
    package let held: Int
    /// What each user has who has something.
    private let holdings: [UInt32: Int]
    /// `nil`: nobody has a share; when there is no room, whoever has most makes some.
    private let shares: UserShares?

    package enum Part: Hashable, Comparable, Sendable {
        case interface(String)
        case sensor(String)
    }

    package init(_ name: String, of part: Part? = nil, _ shares: UserShares) {
        self.name = name
        self.part = part
        self.limit = shares.limit
        self.reserve = shares.reserve
        self.held = shares.taken
        self.holdings = shares.holdings
        self.shares = shares
    }

    /// - Parameter holdings: What each user has who has something.
    package init(_ name: String, _ limit: Int, heldBy holdings: [UInt32: Int]) {
        self.name = name
        self.part = nil
        self.limit = limit
        self.reserve = 0
        self.held = holdings.values.reduce(0, +)
        self.holdings = holdings
        self.shares = nil
    }

    /// Who has something.
    package var users: some Sequence<UInt32> { self.holdings.keys }

    package func held(by user: UInt32) -> Int { self.holdings[user] ?? 0 }

    /// The most that a user may have, as the others are now; `nil`: nobody has a share.
    package func share(of user: UInt32) -> Int? { self.shares.map { $0.held(by: user) + max(0, $0.room(for: user)) } }
}
