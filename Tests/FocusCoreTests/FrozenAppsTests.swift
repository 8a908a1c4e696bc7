import FocusCore
import Motion
import Processes
import Testing

/// Which apps' control groups are frozen.
@Suite struct FrozenAppsTests {
    private static let (a, b) = (AppID("org.example.A"), AppID("org.example.B"))

    private static func events(populated: Bool = true, frozen: Bool) -> [UInt8] {
        Array("populated \(populated ? 1 : 0)\nfrozen \(frozen ? 1 : 0)\n".utf8)
    }

    @Test func anAppIsFrozenWhileAllItsGroupsAre() {
        var frozen = FrozenApps()
        #expect(frozen.take([Self.a: ["/g/1", "/g/2"], Self.b: ["/g/2"]]) == .init(watch: ["/g/1", "/g/2"]))
        #expect(frozen.apps == [])
        #expect(frozen.hear("/g/2", Self.events(frozen: true)) == true)
        // The other one of the first has said nothing yet.
        #expect(frozen.apps == [Self.b])
        #expect(frozen.hear("/g/1", Self.events(frozen: true)) == true)
        #expect(frozen.apps == [Self.a, Self.b])
        #expect(frozen.hear("/g/1", Self.events(frozen: false)) == true)
        #expect(frozen.apps == [Self.b])
        // It moved out of the frozen one.
        #expect(frozen.take([Self.b: ["/g/1"]]) == .init(leave: ["/g/2"]))
        #expect(frozen.apps == [])
        #expect(frozen.hear("/g/2", Self.events(frozen: true)) == true)
        #expect(frozen.apps == [])
    }

    @Test func aGroupThatIsEmptyOrGoneIsWatchedAnew() {
        for end: [UInt8]? in [nil, [], Self.events(populated: false, frozen: true)] {
            var frozen = FrozenApps()
            _ = frozen.take([Self.a: ["/g/1"]])
            #expect(frozen.hear("/g/1", Self.events(frozen: true)) == true)
            #expect(frozen.apps == [Self.a])
            #expect(frozen.hear("/g/1", end) == false)
            #expect(frozen.apps == [])
            #expect(frozen.take([Self.a: ["/g/1"]]) == .init(watch: ["/g/1"]))
        }
    }

    @Test func noMoreGroupsAreWatchedThanThereIsRoomFor() {
        var frozen = FrozenApps()
        let many = (0..<300).map { (AppID("org.example.App\($0)"), Set(["/g/\($0)"])) }
        let change = frozen.take(Dictionary(uniqueKeysWithValues: many))
        #expect(change.watch.count == FrozenApps.mostGroups && frozen.leftOut == 300 - FrozenApps.mostGroups)
        for folder in change.watch { _ = frozen.hear(folder, Self.events(frozen: true)) }
        #expect(frozen.apps.count == FrozenApps.mostGroups)
        #expect(frozen.take([:]).leave.count == FrozenApps.mostGroups)
        #expect(frozen.apps == [])
    }

    // MARK: Where groups are

    private static func mounts(_ lines: String...) -> GroupMounts {
        GroupMounts(Array(lines.joined(separator: "\n").utf8))
    }

    @Test func groupsAreFoundByTheMountsOfVersion2() {
        let plain = Self.mounts(
            "22 1 0:20 / /proc rw,nosuid - proc proc rw",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate")
        #expect(plain.folders(of: "/user.slice/a.scope") == ["/sys/fs/cgroup/user.slice/a.scope"])
        #expect(plain.folders(of: "/") == ["/sys/fs/cgroup"])
        #expect(plain.folders(of: "/../outside").isEmpty && plain.folders(of: "no/path").isEmpty)
        // To the kernel a slash before an accent is one.
        #expect(plain.folders(of: "/../\u{301}outside").isEmpty)
        #expect(plain.folders(of: "/\u{301}a/b") == ["/sys/fs/cgroup/\u{301}a/b"])
        let hybrid = Self.mounts(
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
            "32 31 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer",
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw")
        #expect(hybrid.folders(of: "/x") == ["/sys/fs/cgroup/unified/x"])
        #expect(Self.mounts("32 31 0:29 / /sys/fs/cgroup rw - cgroup cgroup rw").folders(of: "/x").isEmpty)
    }

    @Test func aMountOfAPartShowsThatPart() {
        let part = Self.mounts("30 23 0:26 /user.slice /mnt/with\\040blank rw - cgroup2 none rw")
        #expect(part.folders(of: "/user.slice/a.scope") == ["/mnt/with blank/a.scope"])
        #expect(part.folders(of: "/user.slice") == ["/mnt/with blank"])
        #expect(part.folders(of: "/user.slices/a.scope").isEmpty && part.folders(of: "/").isEmpty)
        // From inside of another name space for groups nothing can be told of where it is.
        #expect(Self.mounts("30 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 none rw").folders(of: "/a").isEmpty)
        // What is mounted over it hides it.
        let hidden = Self.mounts(
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 none rw", "31 30 0:27 / /sys/fs/cgroup ro - tmpfs none ro")
        #expect(hidden.folders(of: "/a").isEmpty)
        #expect(Self.mounts("", "30 - cgroup2", "30 23 0:26 / /x rw - ", "-").folders(of: "/a").isEmpty)
    }

    @Test func groupsAreToldByTheirHierarchy() {
        let paths = GroupPaths(Array("9:name=systemd:/s\n6:freezer:/f\n0::/u:v/a.scope\nnonsense\n".utf8))
        #expect(paths.unified == "/u:v/a.scope" && paths.named == "/s")
        #expect(GroupPaths([]).unified == nil && GroupPaths([]).named == nil)
    }
}
