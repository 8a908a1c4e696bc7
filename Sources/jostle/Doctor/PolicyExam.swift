import Arbitration
import DBus
import DaemonSupport
import PolicyFiles

/// What `jostle doctor` finds of policy files and app files: what is wrong with them, and whether the broker goes by them.
struct PolicyExam: Equatable {
    /// What is wrong: `E…` and `W…`, in reading order.
    var findings: [Finding] = []
    /// The files that the broker would read now.
    var files: [String] = []
    /// Those that it goes by; `nil`: it says nothing.
    var inForce: [String]?

    /// How busctl is told the broker's bus.
    var busOption = "--user"

    /// Nobody reads more of them here.
    private static let most = 5

    var remarks: [Remark] {
        var remarks: [Remark] = []
        let wrong = self.findings.filter { $0.severity != .info }
        for finding in wrong.prefix(Self.most) {
            let area: Remark.Area = finding.place.file.hasSuffix(".app") ? .apps : .policy
            let text = "\(finding)"
            remarks.append(
                finding.severity == .error
                    ? .wrong(area, text, mend: "jostle policy check") : .note(area, text, mend: "jostle policy check"))
        }
        if wrong.count > Self.most {
            remarks.append(
                .note(
                    .policy, "\(wrong.count - Self.most) more things are wrong with policy or app files",
                    mend: "jostle policy check"))
        }
        if let inForce, inForce != self.files, inForce.allSatisfy(Self.isInstalled) {
            remarks.append(
                .note(
                    .policy, "files were added or removed since the broker read them",
                    mend:
                        "busctl \(self.busOption) call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Reload 'a{sv}' 0"
                ))
        }
        if remarks.isEmpty {
            let count = (self.inForce ?? self.files).count
            let files = count == 0 ? "the built-in policy" : "\(count) policy file\(count == 1 ? "" : "s")"
            remarks.append(.good(.policy, "\(files), without an error"))
        }
        return remarks
    }
}

extension PolicyExam {
    /// Whether a file lies where a broker looks that was told no other place.
    private static func isInstalled(_ file: String) -> Bool {
        let own = PolicyDirectories.user(environmentValue).map { [$0] } ?? []
        return (PolicyDirectories.system + own).contains { file.hasPrefix("\($0)/") }
    }

    /// Checks the files that the broker goes by, and those that it would read now.
    ///
    /// - Parameter broker: what the broker says of itself; `nil`: nothing, so that there are only the files.
    init(broker: [String: Value]?, on address: BusAddress) {
        let (reading, files) = PolicySource([], environment: environmentValue).read()
        self.files = files.map(\.name)
        self.inForce = broker?.lines("PolicyFiles")
        switch address {
        case .session: self.busOption = "--user"
        case .system: self.busOption = "--system"
        case .address(let text): self.busOption = "--address='\(text)'"
        }
        if let inForce, !inForce.allSatisfy(Self.isInstalled) {
            let others = (try? PolicySource(inForce).read().reading) ?? reading
            self.findings = PolicyLinter.check(others)
        } else {
            self.findings = PolicyLinter.check(reading)
        }
        self.findings += AppSource([], user: environmentValue).readAll().findings
    }
}
