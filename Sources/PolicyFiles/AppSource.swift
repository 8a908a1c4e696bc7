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

    /// What all files say, by app, and what is wrong with them.
    package struct Reading: Sendable {
        package var files: [AppFile] = []
        package var findings: [Finding] = []
    }

    /// Reads all files, one after the other: there may be very many.
    package func readAll() -> Reading {
        var reading = Reading()
        var found: [Finding] = []
        PolicyDirectories.read(self.directories, findings: &reading.findings) { source in
            let (file, problems) = AppFileReader.read(source)
            found += problems
            if let file { reading.files.append(file) }
        }
        reading.findings = (reading.findings + found).inReadingOrder()
        return reading
    }
}
