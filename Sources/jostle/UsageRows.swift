import DBus
import Motion
import Protocol

extension Service {
    /// What is held of what the service has for all, as far as it may be seen.
    ///
    /// - Parameter interface: the service's own, at its root.
    func listUsage(_ path: ObjectPath, _ interface: StaticString) throws(CommandFailure) -> [UsageTable.Row] {
        func page(_ options: [String: Value]) throws(CommandFailure) -> [UsageTable.Row] {
            let page = try self.call(path, interface, "ListUsage", options)
            return try self.read(page, [UsageTable.Row.Wire].self).compactMap { UsageTable.Row($0) }
        }
        return try self.pages(after: try page([:]), by: \.key) { last throws(CommandFailure) in
            try page([ListOptions.after: .options(last.wire)])
        }
    }
}

/// What is held of what one service has for all, as it is shown.
struct UsageRows {
    private let service: String
    /// Each limit with those who have something of it.
    private let rows: [UsageTable.Row]

    /// - Parameter service: which of the two it is, in a word.
    init(_ service: String, _ rows: [UsageTable.Row]) {
        self.service = service
        self.rows = rows.sorted {
            func place(_ row: UsageTable.Row) -> UsageTable.Key {
                UsageTable.Key(user: nil, limit: row.key.limit, part: row.key.part)
            }
            return (place($0), $0.key) < (place($1), $1.key)
        }
    }

    static let header = ["LIMIT", "OF", "USER", "HELD", "MAY HOLD"]
    static let right: Set<Int> = [3, 4]

    var cells: [[String]] {
        self.rows.map { row in
            [
                row.key.limit, row.key.part?.name ?? self.service, Self.name(of: row.key.user), "\(row.held)",
                row.key.user == nil ? "\(row.limit)" : row.share.map { "\($0)" } ?? "",
            ]
        }
    }

    private static func name(of user: UInt32?) -> String {
        switch user {
        case nil: "all"
        case UserShares.unknown: "unknown"
        case let user?: "\(user)"
        }
    }

    var lines: [JSONLine] {
        self.rows.map { row in
            var line = JSONLine()
            line.add("limit", row.key.limit)
            line.add("service", self.service)
            switch row.key.part {
            case nil: break
            case .interface(let name): line.add("interface", name)
            case .sensor(let name): line.add("sensor", name)
            }
            if let user = row.key.user { line.add("user", user) } else { line.addNull("user") }
            line.add("held", row.held)
            if let share = row.share { line.add("share", share) } else { line.addNull("share") }
            line.add("most", row.limit)
            if row.key.user == nil { line.add("of_root", row.reserve) }
            return line
        }
    }
}

extension LimitUsage.Part {
    fileprivate var name: String {
        switch self {
        case .interface(let name), .sensor(let name): name
        }
    }
}
