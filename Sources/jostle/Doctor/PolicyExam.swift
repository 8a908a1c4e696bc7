import Arbitration
import DBus
import DaemonSupport
import PolicyFiles

/// What `jostle doctor` finds of policy files and app files: what is wrong with them, and whether the broker goes by them.
struct PolicyExam: Equatable {
    /// What is wrong with policy files: `E…` and `W…`, in reading order.
    var findings: [Finding] = []
    /// The same of app files.
    var ofApps: [Finding] = []
    /// A sentence for each file that the broker goes by and that cannot be read here.
    var unread: [String] = []
    /// The files that the broker would read now.
    var files: [String] = []
    /// Those that it goes by; `nil`: it says nothing.
    var inForce: [String]?
    /// Whether `findings` are of those in force: the broker was told another place than usual.
    var isElsewhere = false
    /// The broker's bus.
    var address = BusAddress.session

    /// Nobody reads more of them here.
    private static let most = 5

    var remarks: [Remark] {
        let check: TypedCommand =
            self.isElsewhere
            ? .jostle("policy", "check", "--apps", to: .broker) : .jostle("policy", "check", to: .nobody)
        var remarks = Self.told(self.findings, .policy) { _ in check }
        remarks += Self.told(self.ofApps, .apps) { finding in
            .jostle("policy", "check", "--app-files", Self.directory(of: finding.place.file), to: .nobody)
        }
        remarks += self.unread.prefix(Self.most).map { .note(.policy, $0) }
        if self.unread.count > Self.most {
            remarks.append(.note(.policy, "\(self.unread.count - Self.most) more files of the broker cannot be read"))
        }
        if let inForce, inForce != self.files, !self.isElsewhere {
            remarks.append(
                .note(.policy, "files were added or removed since the broker read them", mend: [self.reload]))
        }
        if remarks.isEmpty {
            let count = (self.inForce ?? self.files).count
            let files = count == 0 ? "the built-in policy" : "\(count) policy file\(count == 1 ? "" : "s")"
            remarks.append(.good(.policy, "\(files), without an error"))
        }
        return remarks
    }

    private static func told(
        _ findings: [Finding], _ area: Remark.Area, look: (Finding) -> TypedCommand
    ) -> [Remark] {
        let wrong = findings.filter { $0.severity != .info }
        var remarks: [Remark] = wrong.prefix(Self.most).map { finding in
            finding.severity == .error
                ? .wrong(area, "\(finding)", look: [look(finding)]) : .note(area, "\(finding)", look: [look(finding)])
        }
        if wrong.count > Self.most {
            remarks.append(
                .note(
                    area, "\(wrong.count - Self.most) more things are wrong with \(area.rawValue) files",
                    look: [look(wrong[Self.most])]))
        }
        return remarks
    }

    private static func directory(of file: String) -> String {
        file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
    }

    private var reload: TypedCommand {
        let option =
            switch self.address {
            case .session: "--user"
            case .system: "--system"
            case .address(let text): "--address=\(text)"
            }
        return .run(
            "busctl", option, "call", "org.jostle.Broker1", "/org/jostle/Broker1", "org.jostle.Broker1", "Reload",
            "a{sv}", "0")
    }
}

extension PolicyExam {
    /// Checks the files that the broker goes by where it was told a place of its own; else those that it would read now.
    ///
    /// - Parameter broker: what the broker says of itself; `nil`: nothing, so that there are only the files.
    init(broker: [String: Value]?, on address: BusAddress) {
        self.address = address
        // A broker of the system is nobody's in particular, and reads no user's files.
        let isSystems = address == .system
        func user(_ name: String) -> String? { isSystems ? nil : environmentValue(name) }
        let outside = PolicyDirectories.outside(ofSystem: isSystems, .policy, environmentValue)
        let (reading, files) = PolicySource([], outside: outside, environment: user).read()
        self.files = files.map(\.name)
        self.inForce = broker?.lines("PolicyFiles")
        let places = (PolicyDirectories.system + [PolicyDirectories.user(user), outside].compactMap { $0 }).map {
            "\($0)/"
        }
        func isInstalled(_ file: String) -> Bool { places.contains { file.hasPrefix($0) } }
        self.isElsewhere = !(self.inForce ?? []).allSatisfy(isInstalled)
        if let inForce, self.isElsewhere {
            let (readable, unread) = PolicySource.files(inForce: inForce)
            self.unread = unread
            // Without any it would be the built-in policy that is checked.
            if !readable.isEmpty { self.findings = PolicyLinter.check(PolicySource(only: readable).read().reading) }
        } else {
            self.findings = PolicyLinter.check(reading)
        }
        let appsFromOutside = PolicyDirectories.outside(ofSystem: isSystems, .apps, environmentValue)
        let apps =
            isSystems
            ? AppSource([], outside: appsFromOutside)
            : AppSource([], outside: appsFromOutside, user: environmentValue)
        self.ofApps = apps.readAll().findings
    }
}
