import Motion

/// Keeps detectors of apps that left, which make no hits any more and are still in the engines of their sensors. They are taken
/// from there a little at a time.
struct Leftovers {
    private var groups: [Group] = []

    /// What one app left.
    private struct Group {
        let app: AppID
        let user: UInt32?
        /// Last come, first gone.
        var detectors: [InstalledDetector]
    }

    var isEmpty: Bool { self.groups.isEmpty }

    /// - Parameter detectors: Not empty.
    mutating func add(_ detectors: [InstalledDetector], of app: AppID, _ user: UInt32?) {
        self.groups.append(Group(app: app, user: user, detectors: detectors.reversed()))
    }

    /// Takes out some of what was left first.
    mutating func take(_ count: Int) -> [InstalledDetector] {
        guard !self.groups.isEmpty else { return [] }
        let some = Array(self.groups[0].detectors.suffix(count).reversed())
        self.groups[0].detectors.removeLast(some.count)
        if self.groups[0].detectors.isEmpty { self.groups.removeFirst() }
        return some
    }

    /// Takes out all that an app left.
    mutating func takeAll(of app: AppID, _ user: UInt32?) -> [InstalledDetector] {
        var all: [InstalledDetector] = []
        for index in self.groups.indices.reversed()
        where self.groups[index].app == app && self.groups[index].user == user {
            all += self.groups.remove(at: index).detectors
        }
        return all
    }
}
