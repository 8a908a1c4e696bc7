/// Where the control groups of version 2 are mounted.
package struct GroupMounts: Equatable, Sendable {
    private struct Mount: Equatable, Sendable {
        /// The group that is seen at `point`.
        let root: String
        let point: String
    }

    private var mounts: [Mount] = []

    /// - Parameter file: The lines of `/proc/self/mountinfo`: two numbers, the device, the root, where it is mounted, options, some
    ///   that may be missing, a dash, the type.
    package init(_ file: [UInt8]) {
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard let dash = words.firstIndex(where: { $0.elementsEqual("-".utf8) }), dash >= 6, dash + 1 < words.count
            else { continue }
            let point = Self.unescaped(words[4])
            // What is mounted later on the same place hides what was there.
            self.mounts.removeAll { $0.point.utf8.elementsEqual(point.utf8) }
            guard words[dash + 1].elementsEqual("cgroup2".utf8) else { continue }
            self.mounts.append(Mount(root: Self.unescaped(words[3]), point: point))
        }
    }

    /// The folders in which a group may be seen, the likeliest first; none for one that is outside of what we see.
    ///
    /// Names are compared by their bytes, as the kernel does: to Swift a slash is none before a letter's accent.
    ///
    /// - Parameter path: As a file `cgroup` tells it, read in the name space for groups in which the mounts were.
    package func folders(of path: String) -> [String] {
        guard path.utf8.first == Self.slash, !Self.climbs(path) else { return [] }
        return self.mounts.filter { !Self.climbs($0.root) }.compactMap { mount in
            guard mount.root != "/" else { return mount.point + (path == "/" ? "" : path) }
            guard path.utf8.starts(with: mount.root.utf8) else { return nil }
            let rest = path.utf8.dropFirst(mount.root.utf8.count)
            guard rest.isEmpty || rest.first == Self.slash else { return nil }
            return mount.point + String(decoding: rest, as: UTF8.self)
        }
    }

    private static let slash = UInt8(ascii: "/")

    private static func climbs(_ path: String) -> Bool {
        path.utf8.split(separator: self.slash).contains { $0.elementsEqual("..".utf8) }
    }

    /// A name as it was before the kernel wrote blanks, line ends and backslashes as `\OOO`.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            else {
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst(3)
            bytes.append(value)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
