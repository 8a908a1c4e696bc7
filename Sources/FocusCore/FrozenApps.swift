package import Motion

/// Which apps cannot run because all their control groups are frozen.
package struct FrozenApps: Sendable {
    /// The most groups that are watched.
    package static let mostGroups = 256
    /// Shortest time between two reports.
    package static let pace = TimeSpan.milliseconds(100)

    /// Folders of groups to watch, and to watch no more.
    package struct Change: Equatable, Sendable {
        package var watch: [String] = []
        package var leave: [String] = []

        package init(watch: [String] = [], leave: [String] = []) {
            self.watch = watch
            self.leave = leave
        }
    }

    private var groups: [AppID: Set<String>] = [:]
    /// What the watched ones are; `nil`: not known yet.
    private var isFrozen: [String: Bool?] = [:]
    /// How many groups were left out for want of room.
    package private(set) var leftOut = 0

    package init() {}

    /// The processes of apps are in these groups now.
    package mutating func take(_ groups: [AppID: Set<String>]) -> Change {
        self.groups = groups
        let wanted = Set(groups.values.joined())
        var change = Change()
        change.leave = self.isFrozen.keys.filter { !wanted.contains($0) }.sorted()
        for folder in change.leave { self.isFrozen[folder] = nil }
        let new = wanted.filter { self.isFrozen[$0] == nil }.sorted()
        change.watch = Array(new.prefix(Self.mostGroups - self.isFrozen.count))
        self.leftOut = new.count - change.watch.count
        for folder in change.watch { self.isFrozen.updateValue(nil, forKey: folder) }
        return change
    }

    /// A group says how it is in its file `cgroup.events`; `nil`: it is there no more.
    ///
    /// - Returns: false when nobody is in it: its apps' processes are to be looked for elsewhere. It is to be watched anew if
    ///   they are in it after all, because another of its name is another group.
    package mutating func hear(_ folder: String, _ events: [UInt8]?) -> Bool {
        guard self.isFrozen[folder] != nil else { return true }
        let lines = events?.split(separator: UInt8(ascii: "\n")) ?? []
        guard lines.contains(where: { $0.elementsEqual("populated 1".utf8) }) else {
            self.isFrozen[folder] = nil
            return false
        }
        self.isFrozen.updateValue(lines.contains { $0.elementsEqual("frozen 1".utf8) }, forKey: folder)
        return true
    }

    /// The apps that are frozen.
    package var apps: Set<AppID> {
        Set(
            self.groups.filter { _, folders in
                !folders.isEmpty && folders.allSatisfy { (self.isFrozen[$0] ?? nil) == true }
            }.keys)
    }
}
