/// Patterns in the order in which they were given. However many there are, a name is looked up among them, not searched for.
package struct NamePatterns: Hashable, Sendable {
    private var all: [NamePattern] = []
    /// What finds a name among many; few are looked through.
    private var index: NameIndex?

    /// Looking through so many costs no more than looking up.
    private static let few = 8

    package init() {}

    package mutating func append(_ pattern: NamePattern) {
        self.all.append(pattern)
        if self.index == nil {
            if self.all.count > Self.few { self.index = NameIndex(self.all) }
        } else {
            // Whoever holds a copy of the list keeps what it says.
            if !isKnownUniquelyReferenced(&self.index) { self.index = NameIndex(self.all.dropLast()) }
            self.index?.add(pattern)
        }
    }

    /// Whether one of them matches.
    package func matches(_ name: String) -> Bool {
        guard let index = self.index else { return self.all.contains { $0.matches(name) } }
        return index.matches(name)
    }

    /// True when all of them are names and nothing else.
    package var areLiteral: Bool { self.index.map(\.globs.isEmpty) ?? self.all.allSatisfy(\.isLiteral) }
    /// How many are more than names, each of which is compared by itself.
    package var globCount: Int { self.index.map(\.globs.count) ?? self.all.count { !$0.isLiteral } }

    package static func == (a: Self, b: Self) -> Bool { a.all == b.all }
    package func hash(into hasher: inout Hasher) { hasher.combine(self.all) }
}

extension NamePatterns: RandomAccessCollection, ExpressibleByArrayLiteral {
    package init(_ patterns: some Sequence<NamePattern>) {
        for pattern in patterns { self.append(pattern) }
    }

    package init(arrayLiteral patterns: NamePattern...) { self.init(patterns) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { self.all.count }
    package subscript(position: Int) -> NamePattern { self.all[position] }
}

/// Finds a name among many patterns.
///
/// `@unchecked Sendable`: only `NamePatterns` changes one, and only while nobody else has it.
private final class NameIndex: @unchecked Sendable {
    private var names: Set<String> = []
    private(set) var globs: [NamePattern] = []

    init(_ patterns: some Sequence<NamePattern>) {
        for pattern in patterns { self.add(pattern) }
    }

    func add(_ pattern: NamePattern) {
        if pattern.isLiteral { self.names.insert(pattern.text) } else { self.globs.append(pattern) }
    }

    func matches(_ name: String) -> Bool {
        self.names.contains(name) || self.globs.contains { $0.matches(name) }
    }
}
