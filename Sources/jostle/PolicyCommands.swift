import Arbitration
import DaemonSupport
import EventLoop
import Motion
import PolicyFiles
import Scenarios

extension PolicySource {
    /// - Parameter paths: directories and files; nothing: what the broker would read.
    init(_ paths: [String], naming: PolicyDirectories.Naming = .path) throws(CommandFailure) {
        var directories: [String] = []
        var files: [PolicyFile] = []
        for path in paths {
            if isDirectory(path) {
                directories.append(path)
            } else {
                files.append(PolicyFile(name: path, bytes: try contents(of: path)))
            }
        }
        self.init(directories, files: files, naming: naming, environment: environmentValue)
    }
}

/// `jostle policy check`: says what is wrong with policy files, and where.
struct PolicyCheckCommand {
    var paths: [String]
    /// Warnings count as errors.
    var isStrict: Bool
    var isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let findings = PolicyLinter.check(try PolicySource(self.paths).read().reading)
        for finding in findings { self.terminal.print(self.isJSON ? finding.json : "\(finding)") }
        let errors = findings.filter { $0.severity == .error }.count
        let warnings = findings.filter { $0.severity == .warning }.count
        guard errors == 0, !self.isStrict || warnings == 0 else {
            throw CommandFailure(.no, "\(errors) errors, \(warnings) warnings")
        }
    }
}

/// `jostle policy show`: what is in force, with the file and line of each section.
struct PolicyShowCommand {
    var paths: [String]
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let reading = try PolicySource(self.paths).read().reading
        if let first = reading.errors.first { throw CommandFailure(.no, "\(first)") }
        PolicyText.show(reading).split(separator: "\n", omittingEmptySubsequences: false).dropLast().forEach {
            self.terminal.print(String($0))
        }
    }
}

/// `jostle scenario`: runs a scenario through the arbiter in virtual time and prints its decision log.
struct ScenarioCommand {
    var path: String
    var policies: [String]
    /// Print what was seen at every stage instead of the log.
    var explains: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let text = String(decoding: try contents(of: self.path), as: UTF8.self)
        let scenario: Scenario
        do throws(ScenarioProblem) {
            scenario = try Scenario(parsing: text)
        } catch {
            throw .usage("\(self.path):\(error)")
        }
        // File names without directories: the log is the same wherever the files are.
        let reading = try PolicySource(self.policies, naming: .fileName).read().reading
        guard let policy = reading.policy else {
            throw .usage(reading.errors.first.map { "\($0)" } ?? "the policy cannot be read")
        }
        let outcome = ScenarioRunner.run(scenario, policy: policy)
        let result =
            self.explains
            ? outcome.verdicts.map { "\(Explanation($0))" }.joined(separator: "\n\n") : outcome.log
        result.split(separator: "\n", omittingEmptySubsequences: false).forEach { line in
            if !line.isEmpty || self.explains { self.terminal.print(String(line)) }
        }
    }
}

extension Finding {
    fileprivate var json: String {
        var line = JSONLine()
        line.add("file", self.place.file)
        line.add("line", self.place.line)
        line.add("column", self.place.column)
        line.add("severity", self.severity.rawValue)
        line.add("id", self.check.rawValue)
        line.add("message", self.message)
        line.add("advice", self.advice)
        return line.text
    }
}
