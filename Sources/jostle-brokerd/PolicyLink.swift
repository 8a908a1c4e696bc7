import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import PolicyFiles
import Protocol
import Scenarios

/// Reads policy files and puts them in force.
final class PolicyLink {
    private unowned let service: BrokerService
    let source: PolicySource
    private lazy var reloading = Reloading(for: self, self.service)
    /// The policy files in force; none: the built-in policy is.
    private(set) var files: [String]

    init(_ service: BrokerService, from source: PolicySource, _ files: [PolicyFile]) {
        self.service = service
        self.source = source
        self.files = files.map(\.name)
    }

    /// The policy to begin with. Files with an error in them leave the built-in one: motion goes on.
    static func first(of source: PolicySource, _ log: Log) -> (policy: Policy, files: [PolicyFile]) {
        let (reading, files) = source.read()
        log.report(reading.findings)
        guard let policy = reading.inForce else {
            log.error(
                "the policy files are refused; the built-in policy is in force", as: .policyRefused,
                about: [.reason: reading.errors.first.map { "\($0)" } ?? "they cannot be read"])
            return (.builtIn, [])
        }
        // Without files there is nothing to tell.
        if !files.isEmpty { log.info(Self.inForce(files.map(\.name), 1)) }
        return (policy, files)
    }

    private static func inForce(_ files: [String], _ generation: UInt64) -> String {
        let sources = files.isEmpty ? "the built-in one" : files.joined(separator: ", ")
        return "policy \(generation) is in force: \(sources)"
    }

    /// The policy in force, as verdicts name it from now on.
    var inForce: JournalPolicy {
        JournalPolicy(generation: self.service.core.arbiter.generation, files: self.files, since: Clock.wallClock())
    }

    /// Reads the policy files and the app files anew for a caller of our own user, or root.
    func reload(_ call: MethodCall) {
        self.service.authority.ifTrusted(
            call, .accessDenied("the policy is reloaded for the broker's own user and root, in no sandbox")
        ) { self.reloading.want(call) }
    }

    /// Reads the policy files and the app files anew because a signal said so. What is wrong with them stands in the log.
    func reload() { self.reloading.want() }

    /// Why what the policy files say now is not put in force; with an error in them, the old policy stays.
    func refusal(of reading: PolicyReading) -> BusError {
        let generation = self.service.core.arbiter.generation
        let errors = reading.errors
        self.service.log.error(
            "the policy files are refused; policy \(generation) stays in force", as: .policyRefused,
            about: [.reason: errors.first.map { "\($0)" } ?? "they cannot be read"])
        guard let first = errors.first else { return .invalidPolicy("the policy cannot be read") }
        let more = errors.count == 1 ? "" : " (and \(errors.count - 1) more)"
        return .invalidPolicy("\(first)\(more)")
    }

    /// Puts a policy in force, whole.
    func put(_ succession: PolicySuccession, from files: [PolicyFile]) {
        self.service.links.dueWork.recordFiles(files)
        let old = self.service.core.arbiter.policy
        self.service.happened(.policy(succession.policy, prepared: succession))
        self.files = files.map(\.name)
        self.service.links.policyChanged(from: old)
        self.service.log.info(Self.inForce(self.files, self.service.core.arbiter.generation))
    }
}

extension Log {
    /// Says what was found in files.
    func report(_ findings: [Finding]) {
        for finding in findings {
            switch finding.severity {
            case .error: self.error("\(finding)")
            case .warning: self.warning("\(finding)")
            case .info: self.info("\(finding)")
            }
        }
    }
}

extension PolicyFile {
    /// As a recording holds it.
    var recorded: Scenario.File {
        Scenario.File(
            path: self.name, isUser: self.layer == .user, isOutside: self.layer == .outside, bytes: self.bytes)
    }
}
