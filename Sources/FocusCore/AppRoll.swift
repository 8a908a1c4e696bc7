package import Motion

/// All apps of which something is true, in the order of their ids.
package struct AppList: WholeReport, Hashable {
    package let apps: [AppID]
    package var isNothing: Bool { self.apps.isEmpty }

    package init(_ apps: [AppID]) { self.apps = apps }
}

/// Which apps something is true of, and when that is worth telling: only what changed, and not too often.
package struct AppRoll: Sendable {
    /// The most apps that a broker takes.
    package static let most = 256

    /// Shortest time between two reports.
    private let pace: TimeSpan
    private var told = AppList([])
    private var toldAt: Timestamp?
    /// When to call `step` again, if nothing changes.
    package private(set) var deadline: Timestamp?

    package init(pace: TimeSpan) { self.pace = pace }

    /// Decides whether there is something to report.
    package mutating func step(_ apps: Set<AppID>, at now: Timestamp) -> AppList? {
        self.deadline = nil
        let list = AppList(Array(apps.sorted().prefix(Self.most)))
        guard list != self.told else { return nil }
        if let toldAt, now < toldAt + self.pace {
            self.deadline = toldAt + self.pace
            return nil
        }
        (self.told, self.toldAt) = (list, now)
        return list
    }
}
