package import Motion

/// The unit of systemd that a process runs in, told from its control groups.
///
/// systemd names each group after the unit that it is for, inside the groups of the slices that the unit is in; the units of
/// a user are inside the group of that user's manager, which is a unit of the system.
package struct UnitName: Equatable, Sendable {
    /// As systemd has it.
    package let text: String

    /// - Parameter file: The lines of `/proc/PID/cgroup`: the hierarchy's number, its controllers, and the path in it.
    package init?(ofGroups file: [UInt8]) {
        let groups = GroupPaths(file)
        // While both are there, systemd may keep its groups in either.
        guard let text = groups.unified.flatMap(Self.unit) ?? groups.named.flatMap(Self.unit) else { return nil }
        self.text = text
    }

    /// The unit whose processes are in a group; what a unit makes inside its group is its own.
    private static func unit(ofPath path: String) -> String? {
        // To Swift a slash is none before a letter's accent; to the kernel it is, and who is in a unit names the groups in it.
        var parts = path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }[...]
        // A group outside of what we see is no unit that we know.
        guard path.utf8.first == UInt8(ascii: "/"), !parts.contains("..") else { return nil }
        func next() -> String? {
            parts = parts.drop { $0.hasSuffix(".slice") }
            // The mark of a name that would else mean something to the kernel.
            return parts.popFirst().map { String($0.first == "_" ? $0.dropFirst() : $0) }
        }
        let unit = next()
        guard let unit, unit.hasPrefix("user@"), unit.hasSuffix(".service") else { return unit }
        return next()
    }

    /// What a unit is for, by its name.
    package enum Purpose: Equatable, Sendable {
        /// An app and nothing else: its id, which is a bus name or not, as desktop files are named.
        case app(String)
        /// An app in a sandbox of Flatpak's: its id.
        case flatpak(String)
        /// An app of a snap: the name of the snap as it is installed, and of the app in it.
        case snap(String, app: String)
    }

    /// What it is for: a service of an app's name, or a unit that desktops, buses and sandboxes make for an app.
    ///
    /// The latter are `app[-LAUNCHER]-ID-RANDOM.scope` and `app[-LAUNCHER]-ID[@RANDOM].service`; where the bus starts apps as
    /// units, `dbus[-CALLER]-ID@NUMBER.service`; and `snap.NAME.APP-RANDOM.scope`, also with a dot before what is random, and
    /// `snap.NAME.APP.service`. A dash inside a part is written `\x2d`.
    package var purpose: Purpose? {
        if self.text.hasSuffix(".scope") {
            let stem = self.text.dropLast(".scope".count)
            if stem.hasPrefix("snap.") { return Self.snap(stem, hasRandom: true) }
            let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.first == "app", (3...4).contains(parts.count), !parts.contains("") else { return nil }
            return Self.app(parts[parts.count - 2], launcher: parts.count == 4 ? parts[1] : nil)
        }
        guard self.text.hasSuffix(".service") else { return nil }
        let stem = self.text.dropLast(".service".count)
        if stem.hasPrefix("snap.") { return Self.snap(stem, hasRandom: false) }
        let halves = stem.split(separator: "@", maxSplits: 1)
        let parts = halves.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
        guard parts.first == "app" || (parts.first == "dbus" && halves.count == 2), (2...3).contains(parts.count),
            !parts.contains(""), let id = parts.last
        else {
            // A service that an app brings is named as it is on the bus; any other name is that of something else.
            guard !stem.contains("-"), let name = Self.unescaped(stem), AppID.isValid(name) else { return nil }
            return .app(name)
        }
        return Self.app(id, launcher: parts.count == 3 ? parts[1] : nil)
    }

    /// Whether this is a unit in which an app runs, and nothing else does.
    package func isOf(_ app: AppID) -> Bool {
        switch self.purpose {
        case .app(let id), .flatpak(let id): id == app.name
        case .snap, nil: false
        }
    }

    private static func app(_ id: Substring, launcher: Substring?) -> Purpose? {
        self.unescaped(id).map { launcher == "flatpak" ? .flatpak($0) : .app($0) }
    }

    private static func snap(_ stem: Substring, hasRandom: Bool) -> Purpose? {
        let parts = stem.split(separator: ".", omittingEmptySubsequences: false)
        guard (3...4).contains(parts.count), !parts.contains("") else { return nil }
        var app = parts[2]
        if hasRandom, parts.count == 3 {
            // Names of apps may have dashes, and so has what is random, a UUID; snapd writes both as they are.
            let words = app.split(separator: "-", omittingEmptySubsequences: false)
            let random = words.count > 5 ? 5 : 1
            guard words.count > random else { return nil }
            app = app.prefix(app.count - words.suffix(random).reduce(random) { $0 + $1.count })
        } else if hasRandom == (parts.count == 3) {
            return nil
        }
        return .snap(String(parts[1]), app: String(app))
    }

    /// A part of a unit's name as it was before systemd wrote it so: `\xHH` is a byte.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "x"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), value >= 0x20
            else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
