import Arbitration
import DaemonSupport
import FleetCore
import Loop
import Motion
import PolicyFiles

/// What is wanted, as an operator keeps it in a directory: `policy.d`, `apps.d`, `thresholds`. What is not there is left as it is.
enum DesiredFolder {
    /// Reads the directory, without a version. Nothing in it may be wrong: that is found here, and not on a thousand devices.
    static func read(_ directory: String) throws -> DesiredState {
        guard let parts = try? directoryNames(directory) else {
            throw FleetFailure(.usage, "\(directory) is no directory that can be read")
        }
        // What has a name here is read, or it is said why it cannot be.
        var state = DesiredState.none
        if parts.contains("policy.d") {
            state.policy = try self.files(in: "\(directory)/policy.d")
            // As a device takes it that says nothing itself.
            let reading = PolicyReader.read(
                (state.policy ?? []).map {
                    PolicyFile(name: "\(directory)/policy.d/\($0.name)", layer: .outside, $0.text)
                })
            try self.refuse(PolicyLinter.check(reading))
        }
        if parts.contains("apps.d") {
            state.apps = try self.files(in: "\(directory)/apps.d")
            try self.refuse(AppSource(["\(directory)/apps.d"]).readAll().findings)
        }
        if parts.contains("thresholds") { state.thresholds = try self.thresholds("\(directory)/thresholds") }
        // Names and sizes, as a device reads them.
        var whole = state
        whole.version = 1
        do throws(DesiredProblem) {
            _ = try DesiredState(whole.value)
        } catch {
            throw FleetFailure(.usage, "\(directory): \(error); nothing was sent")
        }
        return state
    }

    private static func refuse(_ findings: [Finding]) throws(FleetFailure) {
        for finding in findings where finding.severity != .info { complain("\(finding)") }
        let errors = findings.filter { $0.severity == .error }.count
        guard errors == 0 else {
            throw FleetFailure(.usage, "\(errors) error\(errors == 1 ? "" : "s"); nothing was sent")
        }
    }

    /// The files of a directory that a broker would read.
    static func files(in directory: String) throws(FleetFailure) -> [DesiredFile] {
        let names: [String]
        do throws(SystemError) {
            names = try directoryNames(directory)
        } catch {
            throw FleetFailure(.usage, "\(directory): \(error)")
        }
        var files: [DesiredFile] = []
        for name in names where name.hasSuffix(".conf") && !name.hasPrefix(".") {
            let bytes = try contents(of: "\(directory)/\(name)", atMost: DesiredLimits.fileBytes)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw FleetFailure(.usage, "\(directory)/\(name) is no text")
            }
            files.append(DesiredFile(name, text))
        }
        // Whoever has something else there may not mean to have all that was wanted taken away.
        if files.isEmpty, names.contains(where: { !$0.hasPrefix(".") }) {
            complain("\(directory) has no file that ends in .conf: as an empty one it says that none is wanted")
        }
        return files
    }

    /// Lines `DETECTOR=THRESHOLD`.
    private static func thresholds(_ path: String) throws(FleetFailure) -> [DesiredThreshold] {
        let text = String(decoding: try contents(of: path, atMost: 65_536), as: UTF8.self)
        var thresholds: [DesiredThreshold] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                throw FleetFailure(.usage, "\(path):\(index + 1):1: expected DETECTOR=THRESHOLD")
            }
            thresholds.append(DesiredThreshold(parts[0], parts[1]))
        }
        return thresholds
    }
}
