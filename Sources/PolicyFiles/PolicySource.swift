import Arbitration

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

    /// Reads everything anew: what stands in the files, and their names. Without files of the system, the built-in policy
    /// stands in for them.
    package func read() -> (reading: PolicyReading, files: [String]) {
        let (found, unread) = PolicyDirectories.load(system: self.system, user: self.user, naming: self.naming)
        let files = self.single + found
        var reading = PolicyReader.read(files)
        reading.findings = (unread + reading.findings).inReadingOrder()
        if !reading.errors.isEmpty { reading.policy = nil }
        if !files.contains(where: { $0.layer == .system }) { reading.policy = reading.policy?.overBuiltIn }
        return (reading, files.map(\.name))
    }
}

extension Policy {
    /// What users' own files say, with the built-in policy behind it.
    fileprivate var overBuiltIn: Policy {
        Policy(
            otherwise: Policy.builtIn.otherwise, groups: Policy.builtIn.groups,
            rules: self.rules + Policy.builtIn.rules, apps: self.apps, everyApp: self.everyApp)
    }
}
