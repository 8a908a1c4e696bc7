import Motion

/// What a desktop file says by which the windows of its app are known.
package struct DesktopEntry: Hashable, Sendable {
    /// Its name below `applications`, without the ending, and with dashes for slashes.
    package let id: String
    /// What its windows call themselves (`StartupWMClass`).
    package var startupClass: String?
    /// The program that `Exec` starts, without its path; `nil` for one that is no app's own, such as a shell.
    package var program: String?
    /// Whether the bus starts it by its id (`DBusActivatable`).
    package var isActivatable = false
    /// Whether no menu shows it (`NoDisplay`): it opens files or links for an app that has another.
    package var isAside = false
    /// The Flatpak that it starts (`X-Flatpak`).
    package var flatpak: String?
    /// The snap that it starts (`X-SnapInstanceName`).
    package var snap: String?

    package init(id: String) { self.id = id }

    /// Whether it starts what runs in no sandbox of a package's.
    var isOfHost: Bool { self.flatpak == nil && self.snap == nil }

    // MARK: Reading

    /// Bytes of a file that is read; those that there are have some 60 KiB at most, nearly all of it translations.
    package static let mostBytes = 256 * 1_024
    /// Bytes of a value; a longer one is no name.
    private static let longestValue = 4_096
    /// Bytes of a key; a longer one is none of ours. A line may be as long as the file, and to compare texts takes the
    /// square of a row of combining marks.
    private static let longestKey = 32

    /// What a file comes to.
    package enum Reading: Equatable, Sendable {
        case entry(DesktopEntry)
        /// It says of no app what can be started; yet files of its name further down do not count.
        case nothing
    }

    /// Reads a desktop file.
    ///
    /// Only the first group counts, and of its keys those that are not translated; of two alike the last.
    package static func read(_ id: String, _ bytes: [UInt8]) -> Reading {
        guard bytes.count <= self.mostBytes else { return .nothing }
        var entry = DesktopEntry(id: id)
        var (isInside, isApplication, runsInTerminal) = (false, false, false)
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = self.trimmed(line)
            if line.first == UInt8(ascii: "#") { continue }
            if line.first == UInt8(ascii: "[") {
                guard !isInside, line.elementsEqual("[Desktop Entry]".utf8) else { break }
                isInside = true
                continue
            }
            guard isInside, let sign = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = self.trimmed(line[..<sign])
            guard name.count <= self.longestKey, let key = Key(rawValue: String(decoding: name, as: UTF8.self))
            else { continue }
            let value = self.trimmed(line[(sign + 1)...])
            guard value.count <= self.longestValue else { continue }
            let isTrue = value.elementsEqual("true".utf8)
            switch key {
            case .type: isApplication = value.elementsEqual("Application".utf8)
            case .hidden: if isTrue { return .nothing }
            case .noDisplay: entry.isAside = isTrue
            case .terminal: runsInTerminal = isTrue
            case .activatable: entry.isActivatable = isTrue
            case .startupClass: entry.startupClass = self.name(self.unescaped(value))
            case .exec: entry.program = self.program(self.unescaped(value))
            case .flatpak: entry.flatpak = self.name(self.unescaped(value))
            case .snap: entry.snap = self.name(self.unescaped(value))
            }
        }
        guard isApplication else { return .nothing }
        // Its window is the terminal's.
        if runsInTerminal { entry.program = nil }
        return .entry(entry)
    }

    private enum Key: String {
        case type = "Type"
        case hidden = "Hidden"
        case noDisplay = "NoDisplay"
        case terminal = "Terminal"
        case activatable = "DBusActivatable"
        case startupClass = "StartupWMClass"
        case exec = "Exec"
        case flatpak = "X-Flatpak"
        case snap = "X-SnapInstanceName"
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let front = bytes.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
        return front[...last]
    }

    /// A value without what key files write for blanks and backslashes.
    private static func unescaped(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = value
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch next {
            case UInt8(ascii: "s"): bytes.append(0x20)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "\\"): bytes.append(next)
            default: bytes += [byte, next]
            }
        }
        return bytes
    }

    /// A name, if it can be one that a window says of itself.
    private static func name(_ bytes: [UInt8]) -> String? {
        guard !bytes.isEmpty, bytes.count <= WindowClaims.longestName, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return String(validating: bytes, as: UTF8.self).flatMap { $0.isStreamSafe ? $0 : nil }
    }

    // MARK: Programs

    /// The program of a command line, behind what only sets its environment.
    private static func program(_ line: [UInt8]) -> String? {
        var words = self.words(line)[...]
        var command = words.popFirst()
        if command.map(self.base) == "env" {
            command = words.first { !$0.contains("=") && !$0.hasPrefix("-") }
        }
        guard let command else { return nil }
        let name = self.base(command)
        guard !name.isEmpty, name.utf8.count <= WindowClaims.longestName, name.isStreamSafe, !self.isRunner(name)
        else { return nil }
        return name
    }

    private static func base(_ path: String) -> String { path.split(separator: "/").last.map { String($0) } ?? "" }

    /// Whether a program runs what others wrote: windows that are named after it are nobody's in particular.
    private static func isRunner(_ name: String) -> Bool {
        self.runners.contains(name)
            || self.versioned.contains { name.hasPrefix($0) && name.dropFirst($0.count).allSatisfy(self.isVersion) }
    }

    private static func isVersion(_ character: Character) -> Bool { "0123456789.".contains(character) }

    private static let runners: Set<String> = [
        "sh", "bash", "dash", "zsh", "fish", "env", "busybox", "perl", "mono", "flatpak", "snap", "bwrap", "xdg-open",
        "gtk-launch", "gapplication", "gio", "kioclient", "kde-open", "pkexec", "sudo", "gksu", "kdesu", "dbus-launch",
        "dbus-send", "dbus-run-session", "gdbus", "busctl", "systemd-run", "x-terminal-emulator", "xdg-terminal-exec",
        "x-www-browser", "gjs-console", "steam", "love", "scummvm",
    ]
    /// The same, whose names may end in a version.
    private static let versioned = [
        "python", "ruby", "node", "nodejs", "java", "gjs", "lua", "guile", "electron", "wine", "wish",
        "qemu-system-x86_64",
    ]

    /// The words of a command line, by the rules of desktop files; those that a quote leaves open are none.
    private static func words(_ line: [UInt8]) -> [String] {
        var words: [String] = []
        var word: [UInt8]?
        var isQuoted = false
        var rest = line[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                word = word ?? []
            case UInt8(ascii: "\\") where isQuoted:
                if let next = rest.popFirst() { word?.append(next) }
            case 0x20 where !isQuoted, 0x09 where !isQuoted, 0x0A where !isQuoted:
                if let done = word { words.append(String(decoding: done, as: UTF8.self)) }
                word = nil
            default: word = (word ?? []) + [byte]
            }
        }
        if let word, !isQuoted { words.append(String(decoding: word, as: UTF8.self)) }
        return words
    }
}
