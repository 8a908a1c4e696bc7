package import DBus
package import Motion

/// The keys of the rows of `ListUsage`.
private enum UsageKey {
    static let limit = "limit"
    static let user = "user"
    static let sensor = "sensor"
    static let interface = "interface"
    static let held = "held"
    static let share = "share"
    static let most = "most"
    static let ofRoot = "of-root"
}

extension UsageTable.Key {
    /// The last row that the caller of `ListUsage` knows, as it got it; `nil`: it wants the first page.
    package static func after(_ options: [String: Value]) throws(BusError) -> UsageTable.Key? {
        let reader = try OptionReader(options, of: "ListUsage", known: [ListOptions.after])
        guard let row = try reader.row(ListOptions.after) else { return nil }
        guard let key = UsageTable.Key(row) else {
            throw .invalidConfiguration("ListUsage: after is a row of the list, which has a '\(UsageKey.limit)' (s)")
        }
        return key
    }

    /// - Returns: `nil`: that is no row.
    fileprivate init?(_ row: [String: Value]) {
        guard case .string(let limit) = row[UsageKey.limit] else { return nil }
        var part: LimitUsage.Part?
        if case .string(let name) = row[UsageKey.interface] { part = .interface(name) }
        if case .string(let name) = row[UsageKey.sensor] { part = .sensor(name) }
        let user: UInt32? = if case .uint32(let user) = row[UsageKey.user] { user } else { nil }
        self.init(user: user, limit: limit, part: part)
    }

    fileprivate var wire: [String: Value] {
        var row: [String: Value] = [UsageKey.limit: .string(self.limit)]
        row[UsageKey.user] = self.user.map { .uint32($0) }
        switch self.part {
        case nil: break
        case .interface(let name): row[UsageKey.interface] = .string(name)
        case .sensor(let name): row[UsageKey.sensor] = .string(name)
        }
        return row
    }
}

extension UsageTable.Row {
    package typealias Wire = [String: Value]

    package var wire: Wire {
        var row = self.key.wire
        row[UsageKey.held] = .uint64(UInt64(self.held))
        row[UsageKey.most] = .uint64(UInt64(self.limit))
        if self.key.user == nil, self.reserve > 0 { row[UsageKey.ofRoot] = .uint64(UInt64(self.reserve)) }
        row[UsageKey.share] = self.share.map { .uint64(UInt64($0)) }
        return row
    }

    /// A row as it came. Numbers that it does not have are 0; `nil`: it does not say what it is about.
    package init?(_ row: Wire) {
        guard let key = UsageTable.Key(row) else { return nil }
        func count(_ key: String) -> Int? {
            if case .uint64(let count) = row[key] { Int(clamping: count) } else { nil }
        }
        self.init(
            key, held: count(UsageKey.held) ?? 0, limit: count(UsageKey.most) ?? 0,
            reserve: count(UsageKey.ofRoot) ?? 0,
            share: count(UsageKey.share))
    }
}
