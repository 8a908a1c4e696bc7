import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import PolicyFiles
import Protocol
import Scenarios

extension BrokerService {
    /// The policy to begin with. Files with an error in them leave the built-in one: motion goes on.
    static func firstPolicy(of source: PolicySource, _ log: Log) -> (policy: Policy, files: [PolicyFile]) {
        let (reading, files) = source.read()
        self.report(reading.findings, log)
        guard let policy = reading.inForce else {
            log.error("the policy files are refused; the built-in policy is in force")
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

    func report(_ findings: [Finding]) { Self.report(findings, self.log) }

    private static func report(_ findings: [Finding], _ log: Log) {
        for finding in findings {
            switch finding.severity {
            case .error: log.error("\(finding)")
            case .warning: log.warning("\(finding)")
            case .info: log.info("\(finding)")
            }
        }
    }

    /// Reads the policy files and the app files anew for a caller of our own user, or root.
    func reload(_ call: MethodCall) {
        self.authority.ifTrusted(call, .accessDenied("the policy is reloaded for the broker's own user and root")) {
            self.reloading.want(call)
        }
    }

    /// Reads the policy files and the app files anew because a signal said so. What is wrong with them stands in the log.
    func reload() { self.reloading.want() }

    /// Why what the policy files say now is not put in force; with an error in them, the old policy stays.
    func refusal(of reading: PolicyReading) -> BusError {
        self.log.error("the policy files are refused; policy \(self.core.policyGeneration) stays in force")
        let errors = reading.errors
        guard let first = errors.first else { return .invalidPolicy("the policy cannot be read") }
        let more = errors.count == 1 ? "" : " (and \(errors.count - 1) more)"
        return .invalidPolicy("\(first)\(more)")
    }

    /// Puts a policy in force, whole.
    func put(_ succession: PolicySuccession, from files: [PolicyFile]) {
        let recorded = self.core.isRecording ? files.map(\.recorded) : []
        try? self.input { (core, now, actions) throws(Refusal) in
            core.swap(succession.policy, prepared: succession, from: recorded, at: now, &actions)
        }
        self.followClock()
        self.limitPeers()
        self.policyFiles = files.map(\.name)
        self.keepPolicy()
        self.links.changed("PolicyGeneration")
        self.links.changed("PolicyFiles")
        self.log.info(Self.inForce(self.policyFiles, self.core.policyGeneration))
    }
}

extension PolicyFile {
    /// As a recording holds it.
    var recorded: Scenario.File { Scenario.File(path: self.name, isUser: self.layer == .user, bytes: self.bytes) }
}
