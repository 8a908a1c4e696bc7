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
