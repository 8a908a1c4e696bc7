package import Arbitration
package import Motion

/// The windows that apps say are theirs: `Windows=` in their app files.
package struct WindowAliases: Sendable {
    private var byName: [String: [AppID]] = [:]
    private var globs: [(pattern: NamePattern, app: AppID)] = []

    package init() {}

    package mutating func add(_ patterns: some Sequence<NamePattern>, of app: AppID) {
        for pattern in patterns {
            if pattern.isLiteral {
                // What an app says comes together; many may say the same.
                if self.byName[pattern.text]?.last != app { self.byName[pattern.text, default: []].append(app) }
            } else {
                self.globs.append((pattern, app))
            }
        }
    }

    /// The apps that say so of a window of any of these names. A name as it stands counts before one with stars.
    package func apps(of names: [String]) -> [AppID] {
        let exact = Set(names.flatMap { self.byName[$0] ?? [] })
        if !exact.isEmpty { return exact.sorted() }
        return Set(self.globs.filter { glob in names.contains { glob.pattern.matches($0) } }.map(\.app)).sorted()
    }
}
