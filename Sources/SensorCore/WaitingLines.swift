package import Motion

/// What connections asked that waits behind something of their own, in the order in which they asked.
///
/// Others take their time over what is ahead of it, and anybody can ask. So a connection may have so much that waits, and all
/// connections of a user a share of what all have.
package struct WaitingLines<Element> {
    private struct Line {
        var user: UInt32
        var waiting: [Element] = []
    }

    private var lines: [String: Line] = [:]
    /// What each user has of the places.
    package private(set) var shares: UserShares

    package init(_ shares: UserShares = SensorLimits.allWaiting) { self.shares = shares }

    /// Whether something of a connection's is ahead of what it asks.
    package func isOpen(_ name: String) -> Bool { self.lines[name] != nil }

    /// Something of a connection's is ahead of what it asks from now on.
    package mutating func open(_ name: String, of user: UInt32?) {
        precondition(self.lines[name] == nil, "one line for a connection")
        self.lines[name] = Line(user: user ?? UserShares.unknown)
    }

    /// Puts something at the end of an open line. Returns false when there is no room for it.
    package mutating func add(_ element: Element, of name: String) -> Bool {
        guard let line = self.lines[name], line.waiting.count < SensorLimits.waiting,
            self.shares.take(1, for: line.user)
        else { return false }
        self.lines[name]?.waiting.append(element)
        return true
    }

    /// It is known whose a connection is: what waits counts in his share from now on. Returns what there is no room for there.
    package mutating func setUser(_ user: UInt32, of name: String) -> [Element] {
        guard var line = self.lines[name], line.user != user else { return [] }
        self.shares.giveBack(line.waiting.count, for: line.user)
        let fitting = min(line.waiting.count, self.shares.room(for: user))
        _ = self.shares.take(fitting, for: user)
        let others = line.waiting[fitting...]
        line.user = user
        line.waiting.removeSubrange(fitting...)
        self.lines[name] = line
        return Array(others)
    }

    /// Nothing is ahead of it any more. Returns what waited.
    package mutating func close(_ name: String) -> [Element] {
        guard let line = self.lines.removeValue(forKey: name) else { return [] }
        self.shares.giveBack(line.waiting.count, for: line.user)
        return line.waiting
    }
}
