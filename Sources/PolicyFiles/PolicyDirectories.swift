/// Finds the policy files in their directories.
///
/// A file of the same name in a later directory replaces the earlier one, a link to /dev/null only takes it away. Files
/// count in the order of their names, whatever directory they are in. A user's directory is apart from the others: nothing in
/// it can replace what the administrator wrote.
package enum PolicyDirectories {
    /// Where policy is installed: the distribution's directory, then that of what was built on the machine, then that of what
    /// lasts until the next boot, then the administrator's.
    package static let system = [
        "/usr/share/jostle/policy.d", "/usr/local/share/jostle/policy.d", "/run/jostle/policy.d",
        "/etc/jostle/policy.d",
    ]

    /// Where a user adds rules of their own, which can only restrict.
    package static func user(_ environment: (String) -> String?) -> String? {
        BaseDirectory.configuration.path(environment).map { "\($0)/jostle/policy.d" }
    }

    /// Where the bridge beside a broker keeps what comes from outside, which counts where the system says nothing.
    package static func outside(
        ofSystem isSystems: Bool, _ kind: OutsideKind, _ environment: (String) -> String?
    ) -> String? {
        let states = isSystems ? "/var/lib" : BaseDirectory.state.path(environment)
        return states.map { "\($0)/jostle-bridge/desired/current/\(kind.rawValue)" }
    }

    package enum OutsideKind: String, Sendable {
        case policy = "policy.d"
        case apps = "apps.d"
    }

    /// How files are named in messages.
    package enum Naming: Sendable {
        case path
        /// Without the directory, for logs that are the same on every machine.
        case fileName
    }

    /// Reads all files of the directories. One that is not there is empty.
    package static func load(
        system: [String], user: String? = nil, naming: Naming = .path
    ) -> (files: [PolicyFile], findings: [Finding]) {
        let sets = [
            PolicySource.Files(directories: system, layer: .system, mustExist: false),
            PolicySource.Files(directories: user.map { [$0] } ?? [], layer: .user, mustExist: false),
        ]
        let loading = PolicyLoading(sets, single: [], naming: naming, waits: false)
        while loading.isReading, loading.step() != .done {}
        return loading.found
    }
}
