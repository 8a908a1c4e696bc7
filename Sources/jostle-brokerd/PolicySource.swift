import Arbitration
import DaemonSupport
import PolicyFiles

/// Where the broker's policy files are, and how they become a policy.
struct PolicySource {
    private let system: [String]
    private let user: String?

    /// What stands in the files.
    struct Reading {
        /// `nil` when there is an error, which refuses all of it.
        var policy: Policy?
        var files: [String]
        var findings: [Finding]

        var errors: [Finding] { self.findings.filter { $0.severity == .error } }
    }

    /// - Parameter directories: Those that were asked for; none: the ones of the system, and the user's own.
    init(_ directories: [String]) {
        guard directories.isEmpty else {
            self.system = directories
            self.user = nil
            return
        }
        self.system = PolicyDirectories.system
        // The variable is to be ignored when it holds no absolute path.
        let given = environmentValue("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environmentValue("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.config" : nil }
        self.user = (given ?? home).map { "\($0)/jostle/policy.d" }
    }

    /// Reads everything anew.
    func read() -> Reading {
        let (files, unread) = PolicyDirectories.load(system: self.system, user: self.user)
        let reading = PolicyReader.read(files)
        let findings = (unread + reading.findings).inReadingOrder()
        var policy = findings.contains { $0.severity == .error } ? nil : reading.policy
        if !files.contains(where: { $0.layer == .system }) { policy = policy?.overBuiltIn }
        return Reading(policy: policy, files: files.map(\.name), findings: findings)
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
