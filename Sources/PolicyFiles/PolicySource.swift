/// Where policy files are, and how they become a policy: the same for the broker and for who looks over its shoulder.
package struct PolicySource: Sendable {
    private let system: [String]
    private let user: String?
    private let single: [PolicyFile]
    private let naming: PolicyDirectories.Naming

    /// - Parameters:
    ///   - directories: those that were asked for; when there are none, and no files: the system's, and the user's own.
    ///   - files: single files, which count like those of the system.
    ///   - environment: where the user's directory is looked up.
    package init(
        _ directories: [String], files: [PolicyFile] = [], naming: PolicyDirectories.Naming = .path,
        environment: (String) -> String?
    ) {
        self.single = files
        self.naming = naming
        guard directories.isEmpty, files.isEmpty else {
            self.system = directories
            self.user = nil
            return
        }
        self.system = PolicyDirectories.system
        self.user = PolicyDirectories.user(environment)
    }

    /// Reads everything anew: what stands in the files, and the files.
    package func read() -> (reading: PolicyReading, files: [PolicyFile]) {
        let (found, unread) = PolicyDirectories.load(system: self.system, user: self.user, naming: self.naming)
        let files = self.single + found
        var reading = PolicyReader.read(files)
        reading.findings = (unread + reading.findings).inReadingOrder()
        if !reading.errors.isEmpty { reading.policy = nil }
        return (reading, files)
    }
}
