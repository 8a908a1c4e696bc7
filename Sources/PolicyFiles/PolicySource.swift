/// Where policy files are, and how they become a policy: the same for the broker and for who looks over its shoulder.
package struct PolicySource: Sendable {
    /// Directories that count alike.
    struct Files: Sendable {
        var directories: [String]
        var layer: PolicyLayer
        /// Whether one that is not there is an error.
        var mustExist: Bool
    }

    /// What comes from outside is last: where all together are too many, it is what is too much.
    private let sets: [Files]
    private let single: [PolicyFile]
    private let naming: PolicyDirectories.Naming

    /// - Parameters:
    ///   - directories: those that were asked for; when there are none, and no files: the system's, and the user's own.
    ///   - own: those of them that are the user's own.
    ///   - files: single files, each of whose it says.
    ///   - outside: where a bridge keeps what comes from outside; `nil`: nothing does.
    ///   - system: the system's.
    ///   - environment: where the user's directory is looked up.
    package init(
        _ directories: [String], own: [String] = [], files: [PolicyFile] = [], outside: String? = nil,
        system: [String] = PolicyDirectories.system, naming: PolicyDirectories.Naming = .path,
        environment: (String) -> String?
    ) {
        let others = outside.map { [Files(directories: [$0], layer: .outside, mustExist: false)] } ?? []
        self.single = files
        self.naming = naming
        let areGiven = !(directories.isEmpty && own.isEmpty && files.isEmpty)
        let users = areGiven ? own : PolicyDirectories.user(environment).map { [$0] } ?? []
        self.sets =
            [
                Files(directories: areGiven ? directories : system, layer: .system, mustExist: areGiven),
                Files(directories: users, layer: .user, mustExist: areGiven),
            ] + others
    }

    /// These files and nothing else; none: the built-in policy is in force.
    package init(only files: [PolicyFile]) {
        self.sets = []
        self.single = files
        self.naming = .path
    }

    /// Reads everything anew: what stands in the files, and the files.
    package func read() -> (reading: PolicyReading, files: [PolicyFile]) {
        let loading = PolicyLoading(self.sets, single: self.single, naming: self.naming, waits: false)
        loading.run()
        return loading.finish()
    }

    /// The same, a little at a time, and not before the files hold still.
    package func load() -> PolicyLoading {
        PolicyLoading(self.sets, single: self.single, naming: self.naming, waits: true)
    }
}
