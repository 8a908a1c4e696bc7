import Motion

/// Bounds the calls to apps that have no answer yet, whether somebody still waits for it or not.
///
/// A bus keeps a place for each call of ours until it is answered or the callee leaves, and may have few: the system bus has 128, of which
/// pings may take 104. So a connection owes one answer of each kind at most, and no user's connections take all that is left.
package struct OwedAnswers: Sendable {
    package enum Kind: Hashable, Sendable {
        /// What an app is launched with.
        case launch
        case task
    }

    /// Whether a connection can be called now.
    package enum Leave: Sendable {
        case granted
        /// It has not answered the last one.
        case owing
        /// Others of its user have not, who take all that the user may.
        case crowded
    }

    private struct Debt: Hashable {
        let kind: Kind
        let connection: String
    }

    /// Whose connection owes what.
    private var debts: [Debt: UInt32] = [:]
    private var shares: [Kind: UserShares]

    /// Some places of the system bus stay free for the calls to the reader. Session buses have many, and one user as a rule.
    package init(isOnSystemBus: Bool) {
        self.shares = [
            .launch: UserShares(limit: isOnSystemBus ? 12 : 48, reserve: 0),
            .task: UserShares(limit: isOnSystemBus ? 6 : 24, reserve: 0),
        ]
    }

    /// A connection is to be called.
    package mutating func begin(_ kind: Kind, _ connection: String, of user: UInt32) -> Leave {
        let debt = Debt(kind: kind, connection: connection)
        guard self.debts[debt] == nil else { return .owing }
        guard self.shares[kind]?.take(1, for: user) == true else { return .crowded }
        self.debts[debt] = user
        return .granted
    }

    /// It has answered, or left.
    package mutating func end(_ kind: Kind, _ connection: String) {
        guard let user = self.debts.removeValue(forKey: Debt(kind: kind, connection: connection)) else { return }
        self.shares[kind]?.giveBack(1, for: user)
    }
}
