import Arbitration
package import FleetCore
import Loop
package import PolicyFiles

/// Checks files from outside as `jostle policy check` does, together with those that are there.
package enum DesiredCheck {
    /// Where the device's own files are.
    package struct Own: Sendable {
        /// The policy files that the broker goes by, but for those from outside. What cannot be read here is left out: the broker
        /// itself has the last word.
        package var policy: [String]
        /// Where users have theirs; `nil`: nowhere.
        package var users: String?
        /// Where the system has app files, which go before those from outside.
        package var apps: [String]

        package init(policy: [String], users: String?, apps: [String] = AppSource.system) {
            self.policy = policy
            self.users = users
            self.apps = apps
        }
    }

    /// - Parameters:
    ///   - staged: where the policy files from outside are, beside what is in force.
    ///   - apps: where the app files are.
    /// - Returns: the first error; `nil`: there is none.
    package static func problem(own: Own, staged: String, apps: String) -> DesiredProblem? {
        var room = PolicyLimits.bytes
        var files: [PolicyFile] = []
        func take(_ path: String, _ layer: PolicyLayer) {
            guard let bytes = try? InputFile.contents(of: path, atMost: room) else { return }
            room -= bytes.count
            files.append(PolicyFile(name: path, layer: layer, bytes: bytes))
        }
        for path in own.policy.prefix(PolicyLimits.files) {
            take(path, own.users.map { path.hasPrefix("\($0)/") } ?? false ? .user : .system)
        }
        let names: [String]
        do throws(SystemError) {
            names = try directoryNames(staged).sorted()
        } catch {
            return DesiredProblem("what was staged cannot be read: \(error)")
        }
        for name in names { take("\(staged)/\(name)", .outside) }
        guard files.count(where: { $0.layer == .outside }) == names.count else {
            return DesiredProblem("what was staged cannot be read, or is too much")
        }
        let reading = PolicyReader.read(files)
        let findings = reading.errors + PolicyLinter.check(reading).filter { $0.severity == .error }
        if let first = findings.first(where: { $0.place.file.hasPrefix("\(staged)/") }) { return DesiredProblem(first) }
        return self.problem(inApps: apps, own: own.apps)
    }

    private static func problem(inApps apps: String, own: [String]) -> DesiredProblem? {
        let taken = Set(own.flatMap { (try? directoryNames($0)) ?? [] })
        for name in (try? directoryNames(apps)) ?? [] where taken.contains(name) {
            return DesiredProblem("the device itself says what this app is", file: name, line: 1)
        }
        return AppSource([apps]).readAll().findings.first { $0.severity == .error }.map { DesiredProblem($0) }
    }
}

extension DesiredProblem {
    package init(_ finding: Finding) {
        // Where the bridge keeps files is nobody's business.
        let file = finding.place.file.split(separator: "/").last.map(String.init) ?? finding.place.file
        self.init(
            "\(finding.check.rawValue): \(finding.message); \(finding.advice)", file: file, line: finding.place.line,
            column: finding.place.column)
    }

    /// Reads what a broker says of files that it refuses: `FILE:LINE:COLUMN: error E001: …`.
    package init(refusal text: String) {
        let parts = text.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let line = Int(parts[1]), let column = Int(parts[2]) else {
            self.init(text)
            return
        }
        var message = parts[3].drop { $0 == " " }
        if message.hasPrefix("error ") { message = message.dropFirst("error ".count) }
        let file = parts[0].split(separator: "/").last ?? parts[0]
        self.init(String(message), file: String(file), line: line, column: column)
    }
}
