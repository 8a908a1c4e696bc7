import Arbitration
package import Motion

/// Where app files are.
package struct AppSource: Sendable {
    /// Where apps install theirs: the distribution's directory, then the administrator's.
    package static let system = ["/usr/share/jostle/apps.d", "/etc/jostle/apps.d"]

    private let directories: [String]

    /// - Parameter directories: those that were asked for; none: the system's. A later one overrides an earlier one.
    package init(_ directories: [String]) {
        self.directories = directories.isEmpty ? Self.system : directories
    }

    /// The file of one app; `nil` when it has none, or one with an error in it.
    package func read(_ app: AppID) -> (file: AppFile?, findings: [Finding]) {
        guard AppID.isValid(app.name) else { return (nil, []) }
        let (file, findings) = PolicyDirectories.load("\(app.name).conf", from: self.directories)
        guard let file, findings.isEmpty else { return (nil, findings) }
        return AppFileReader.read(file)
    }

    /// All files, by app.
    package func readAll() -> (files: [AppFile], findings: [Finding]) {
        let (sources, unread) = PolicyDirectories.load(system: self.directories)
        var (files, findings): ([AppFile], [Finding]) = ([], unread)
        for source in sources {
            let (file, found) = AppFileReader.read(source)
            findings += found
            if let file { files.append(file) }
        }
        return (files, findings.inReadingOrder())
    }
}

extension AppID {
    /// Whether a text is a well-known bus name, as the specification has them.
    package static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count >= 2, text.utf8.count <= 255 else { return false }
        return parts.allSatisfy { part in
            guard let first = part.first, !(0x30...0x39).contains(first) else { return false }
            return part.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
            }
        }
    }
}
