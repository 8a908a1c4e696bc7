import Processes

/// What the kernel tells of mounts and of a process's control groups: a folder is within what is mounted, whatever the names.
enum GroupTarget {
    private static let slash = UInt8(ascii: "/")

    /// - Parameter bytes: The mounts, and behind the separator the groups.
    static func run(_ bytes: [UInt8]) -> String? {
        let end = bytes.firstIndex(of: FuzzTarget.separator) ?? bytes.endIndex
        let mounts = GroupMounts(Array(bytes[..<end]))
        // The kernel's names are no longer than a page.
        let groups = GroupPaths(Array(bytes[end...].dropFirst().prefix(4_096)))
        for path in [groups.unified, groups.named].compactMap({ $0 }) {
            let isInside = path.utf8.first == self.slash && !self.climbs(path)
            let folders = mounts.folders(of: path)
            guard isInside || folders.isEmpty else { return "\(path) is found in \(folders)" }
            if isInside, let problem = self.mount(path) { return problem }
        }
        return nil
    }

    /// What is mounted at a place is found there, and what of it is mounted elsewhere is found in its part only.
    private static func mount(_ path: String) -> String? {
        let name = self.escaped(path)
        let whole = GroupMounts(Array("30 23 0:26 / \(name) rw,nosuid - cgroup2 cgroup2 rw\n".utf8))
        let inside = whole.folders(of: "/a/b")
        guard inside.count == 1, inside[0].utf8.elementsEqual((path + "/a/b").utf8) else {
            return "mounted at \(path), found in \(inside)"
        }
        guard path != "/" else { return nil }
        let part = GroupMounts(Array("30 23 0:26 \(name) /mnt rw,nosuid - cgroup2 cgroup2 rw\n".utf8))
        guard part.folders(of: path) == ["/mnt"], part.folders(of: path + "/a") == ["/mnt/a"] else {
            return "of \(path), found in \(part.folders(of: path + "/a"))"
        }
        let beside = part.folders(of: path + "a")
        return beside.isEmpty ? nil : "\(path)a is found in \(beside)"
    }

    private static func climbs(_ path: String) -> Bool {
        path.utf8.split(separator: self.slash).contains { $0.elementsEqual("..".utf8) }
    }

    /// As the kernel writes a name.
    private static func escaped(_ path: String) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes += Array("\\040".utf8)
            case UInt8(ascii: "\\"): bytes += Array("\\134".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
