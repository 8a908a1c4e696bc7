import Motion

/// The unit of systemd that a process runs in, told from its control groups.
///
/// systemd names each group after the unit that it is for, inside the groups of the slices that the unit is in; the units of
/// a user are inside the group of that user's manager, which is a unit of the system.
struct UnitName: Equatable {
    let text: String

    /// - Parameter file: The lines of `/proc/PID/cgroup`: the hierarchy's number, its controllers, and the path in it.
    init?(ofGroups file: [UInt8]) {
        var (unified, legacy): (String?, String?) = (nil, nil)
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[0].elementsEqual("0".utf8), fields[1].isEmpty {
                unified = String(decoding: fields[2], as: UTF8.self)
            } else if fields[1].elementsEqual("name=systemd".utf8) {
                legacy = String(decoding: fields[2], as: UTF8.self)
            }
        }
        // While both are there, systemd may keep its groups in either.
        guard let text = unified.flatMap(Self.unit) ?? legacy.flatMap(Self.unit) else { return nil }
        self.text = text
    }

    /// The unit whose processes are in a group; what a unit makes inside its group is its own.
    private static func unit(ofPath path: String) -> String? {
        var parts = path.split(separator: "/")[...]
        // A group outside of what we see is no unit that we know.
        guard path.hasPrefix("/"), !parts.contains("..") else { return nil }
        func next() -> String? {
            parts = parts.drop { $0.hasSuffix(".slice") }
            // The mark of a name that would else mean something to the kernel.
            return parts.popFirst().map { String($0.first == "_" ? $0.dropFirst() : $0) }
        }
        let unit = next()
        guard let unit, unit.hasPrefix("user@"), unit.hasSuffix(".service") else { return unit }
        return next()
    }

    /// Whether this is a unit in which an app runs, and nothing else does: a service of the app's name, or one that
    /// desktops and buses make for it.
    ///
    /// The latter are `app[-LAUNCHER]-ID-RANDOM.scope` and `app[-LAUNCHER]-ID[@RANDOM].service`, and, where the bus starts
    /// apps as units, `dbus[-CALLER]-ID@NUMBER.service`. A dash inside a part is written `\x2d`.
    func isOf(_ app: AppID) -> Bool {
        let id = Self.escaped(app.name)
        if self.text == "\(id).service" { return true }
        if self.text.hasSuffix(".scope") {
            let parts = self.text.dropLast(".scope".count).split(separator: "-", omittingEmptySubsequences: false)
            guard parts.first == "app", (3...4).contains(parts.count), !parts.contains("") else { return false }
            return parts[parts.count - 2] == id
        }
        guard self.text.hasSuffix(".service") else { return false }
        let stem = self.text.dropLast(".service".count).split(separator: "@", maxSplits: 1)
        let parts = stem.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
        guard parts.first == "app" || (parts.first == "dbus" && stem.count == 2), (2...3).contains(parts.count),
            !parts.contains("")
        else { return false }
        return parts.last?.elementsEqual(id) == true
    }

    /// As systemd writes a bus name inside the name of a unit.
    private static func escaped(_ name: String) -> String {
        name.split(separator: "-", omittingEmptySubsequences: false).joined(separator: "\\x2d")
    }
}
