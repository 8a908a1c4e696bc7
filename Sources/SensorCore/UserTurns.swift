/// Orders what waits: of each user as it came, and of all users in turn.
package struct UserTurns<Element> {
    private var lines: [UInt32: ArraySlice<Element>] = [:]
    /// Users of whom something waits, in the order of their turns.
    private var ring: [UInt32] = []

    package init() {}

    package var isEmpty: Bool { self.ring.isEmpty }

    package mutating func add(_ element: Element, of user: UInt32) {
        if self.lines[user] == nil { self.ring.append(user) }
        self.lines[user, default: []].append(element)
    }

    /// Takes what is first of the first user in turn who may have something now. Whoever may not keeps his turn.
    package mutating func next(where mayHave: (UInt32) -> Bool) -> (element: Element, user: UInt32)? {
        guard let place = self.ring.firstIndex(where: mayHave) else { return nil }
        let user = self.ring.remove(at: place)
        guard let element = self.lines[user]?.popFirst() else { preconditionFailure("nothing waits of a user in turn") }
        if self.lines[user]?.isEmpty == true { self.lines[user] = nil } else { self.ring.append(user) }
        return (element, user)
    }

    /// Takes all that waits.
    package mutating func takeAll() -> [Element] {
        defer { self = UserTurns() }
        return self.ring.flatMap { Array(self.lines[$0] ?? []) }
    }
}

extension UserTurns: Sendable where Element: Sendable {}
