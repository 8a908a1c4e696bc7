/// What is held of several limits, as rows for whoever may see them.
///
/// There is a row for all users of each limit, and one for each user who has something of it. They come in one order, so that a page
/// begins behind the last row of another, which need not be there any more.
package struct UsageTable: Sendable {
    /// In the order of their names and parts.
    private let limits: [LimitUsage]

    /// What a row is about.
    package struct Key: Hashable, Sendable {
        /// `nil`: all users.
        package var user: UInt32?
        package var limit: String
        package var part: LimitUsage.Part?

        package init(user: UInt32?, limit: String, part: LimitUsage.Part?) {
            self.user = user
            self.limit = limit
            self.part = part
        }
    }

    package struct Row: Equatable, Sendable {
        package var key: Key
        package var held: Int
        /// The most that all have together, and the part of it that only root may have.
        package var limit: Int
        package var reserve: Int
        /// The most that the user may have, as the others are now; `nil`: all users are meant, or nobody has a share.
        package var share: Int?

        package init(_ key: Key, held: Int, limit: Int, reserve: Int, share: Int?) {
            self.key = key
            self.held = held
            self.limit = limit
            self.reserve = reserve
            self.share = share
        }
    }

    /// Who looks.
    package enum Viewer: Equatable, Sendable {
        case everything
        /// Sees what it has itself, and what all have together.
        case user(UInt32)
    }

    package init(_ limits: [LimitUsage]) {
        self.limits = limits.sorted { ($0.name, $0.part) < ($1.name, $1.part) }
    }

    /// The rows that somebody may see, behind one, so many at most.
    package func rows(for viewer: Viewer, after last: Key? = nil, atMost count: Int = .max) -> [Row] {
        var rows: [Row] = []
        for user in self.users(for: viewer, from: last?.user) {
            for limit in self.limits {
                guard rows.count < count else { return rows }
                let key = Key(user: user, limit: limit.name, part: limit.part)
                if let last, key <= last { continue }
                if let row = Self.row(key, limit) { rows.append(row) }
            }
        }
        return rows
    }

    private func users(for viewer: Viewer, from first: UInt32?) -> [UInt32?] {
        let users: [UInt32?]
        switch viewer {
        case .everything: users = Set(self.limits.flatMap(\.users)).sorted().map { $0 }
        case .user(let user): users = [user]
        }
        guard let first else { return [nil] + users }
        return users.filter { $0.map { $0 >= first } ?? true }
    }

    private static func row(_ key: Key, _ limit: LimitUsage) -> Row? {
        guard let user = key.user else {
            return Row(key, held: limit.held, limit: limit.limit, reserve: limit.reserve, share: nil)
        }
        let held = limit.held(by: user)
        guard held > 0 else { return nil }
        return Row(key, held: held, limit: limit.limit, reserve: limit.reserve, share: limit.share(of: user))
    }
}

extension UsageTable.Key: Comparable {
    /// All users first; then by user, limit and part.
    package static func < (left: Self, right: Self) -> Bool {
        guard left.user == right.user else {
            guard let user = left.user else { return true }
            return right.user.map { user < $0 } ?? false
        }
        return (left.limit, left.part) < (right.limit, right.part)
    }
}

/// What is not in parts comes first.
private func < (left: (String, LimitUsage.Part?), right: (String, LimitUsage.Part?)) -> Bool {
    guard left.0 == right.0 else { return left.0 < right.0 }
    guard let part = right.1 else { return false }
    return left.1.map { $0 < part } ?? true
}
