/// Keeps the latest of what comes, of each user some, however much comes of others.
///
/// What counts in nobody's share yet counts in that of all who are not known.
package struct LatestOfUsers<Element> {
    private var entries: [(element: Element, payer: UInt32)] = []
    /// What each user has of the places.
    package private(set) var shares: UserShares

    package init(_ shares: UserShares) { self.shares = shares }

    package var elements: some Sequence<Element> { self.entries.lazy.map(\.element) }

    /// Adds one. The oldest of the same user make room for it; if there are none, the oldest of whoever has most.
    package mutating func add(_ element: Element, of user: UInt32?) {
        let payer = user ?? UserShares.unknown
        while !self.shares.take(1, for: payer) {
            guard let index = self.first(toGoFor: payer) else { return }
            self.remove(at: index)
        }
        self.entries.append((element, payer))
    }

    private func first(toGoFor payer: UInt32) -> Int? {
        if let own = self.entries.firstIndex(where: { $0.payer == payer }) { return own }
        let heaviest = self.entries.map(\.payer).max {
            (self.shares.held(by: $0), $0) < (self.shares.held(by: $1), $1)
        }
        return self.entries.firstIndex { $0.payer == heaviest }
    }

    @discardableResult
    private mutating func remove(at index: Int) -> Element {
        let (element, payer) = self.entries.remove(at: index)
        self.shares.giveBack(1, for: payer)
        return element
    }

    /// Takes the oldest of which this is true.
    package mutating func takeFirst(where isWanted: (Element) -> Bool) -> Element? {
        self.entries.firstIndex { isWanted($0.element) }.map { self.remove(at: $0) }
    }

    /// Takes all of which this is true, the oldest first.
    package mutating func takeAll(where isWanted: (Element) -> Bool) -> [Element] {
        var taken: [Element] = []
        var index = 0
        while index < self.entries.count {
            if isWanted(self.entries[index].element) { taken.append(self.remove(at: index)) } else { index += 1 }
        }
        return taken
    }

    /// Has what is true of this count in a user's share from now on, where it does not yet.
    package mutating func setUser(_ user: UInt32, where isHis: (Element) -> Bool) {
        guard self.entries.contains(where: { isHis($0.element) && $0.payer != user }) else { return }
        for element in self.takeAll(where: isHis) { self.add(element, of: user) }
    }
}
