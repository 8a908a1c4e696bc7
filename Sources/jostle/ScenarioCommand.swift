import Arbitration
import DaemonSupport
import Motion
import PolicyFiles
import Scenarios

/// A scenario in a file, and the policies that it may hold.
struct ScenarioFile {
    let path: String
    let scenario: Scenario

    init(_ path: String) throws(CommandFailure) {
        self.path = path
        let text = String(decoding: try contents(of: path), as: UTF8.self)
        do throws(ScenarioProblem) {
            self.scenario = try Scenario(parsing: text)
        } catch {
            throw .usage("\(path):\(error)")
        }
    }

    /// Runs it with what reads its policies.
    func run<R>(_ body: (@escaping ScenarioRunner.PolicyReading) -> R) throws(CommandFailure) -> R {
        var problem: String?
        let result = body { files in
            let reading = PolicyReader.read(
                files.map {
                    PolicyFile(
                        name: $0.name, layer: $0.isUser ? .user : $0.isOutside ? .outside : .system, bytes: $0.bytes)
                })
            if let error = reading.errors.first, problem == nil { problem = "\(error)" }
            return reading.inForce
        }
        if let problem { throw .usage("\(self.path): a policy in it cannot be read: \(problem)") }
        return result
    }
}

/// `jostle scenario`: runs a scenario through the arbiter in virtual time and prints its decision log.
struct ScenarioCommand {
    private static let policy = CommandOption.value(
        "policy", "PATH", "a policy directory or file (default: what the broker reads)", naming: .path, repeats: true)
    private static let explain = CommandOption.flag("explain", "print every stage of every verdict instead")

    static let syntax = CommandSyntax(
        "scenario", "run timed inputs through a policy in virtual time and print what is decided", reaching: .nobody,
        options: [policy, explain, ReportFile.option, CommonOption.json],
        arguments: [CommandArgument("FILE", "the scenario; '-' is standard input", naming: .file)],
        action: {
            if $0.isJSON, $0.arguments.has(explain) {
                throw UsageProblem("scenario: give --explain, which is for people, or --json")
            }
            try ScenarioCommand(
                path: $0.arguments.positionals[0], policies: $0.arguments.values(of: policy),
                explains: $0.arguments.has(explain),
                report: ReportFile.path(
                    $0.arguments, beside: $0.arguments.positionals + $0.arguments.values(of: policy)),
                isJSON: $0.isJSON, terminal: $0.terminal
            ).run()
        })

    var path: String
    var policies: [String]
    /// Print what was seen at every stage instead of the log.
    var explains: Bool
    /// Where a page is written.
    var report: String?
    var isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let file = try ScenarioFile(self.path)
        // A recording has its own policies with it, and another scenario may.
        let isGiven = !self.policies.isEmpty || !file.scenario.saysItsPolicy
        // File names without directories, as in recordings.
        let policy = isGiven ? try PolicySource(self.policies, naming: .fileName).policy() : nil
        let outcome = try file.run { ScenarioRunner.run(file.scenario, policy: policy, read: $0) }
        if self.explains {
            outcome.verdicts.map { "\(Explanation($0))" }.joined(separator: "\n\n")
                .split(separator: "\n", omittingEmptySubsequences: false).forEach { self.terminal.print(String($0)) }
        } else {
            for entry in outcome.entries { self.terminal.print(self.isJSON ? entry.json : "\(entry)") }
        }
        if let report { try ReportFile.write(ScenarioReport(outcome, of: self.path).html, to: report) }
    }
}

extension DecisionLog.Entry {
    /// The entry as an object: what a name stands for in the text, and numbers as numbers.
    var json: String {
        var line = JSONLine()
        line.add("time", self.time.seconds)
        if let epoch = self.epoch { line.add("epoch", epoch) }
        line.add("what", self.kind.rawValue)
        line.add("app", self.app)
        for word in self.words {
            switch word.name {
            case "peak", "answer-by", "until": line.add(word.name, Double(word.value) ?? .nan)
            case "inherits", "policy": line.add(word.name, UInt64(word.value) ?? 0)
            default: line.add(word.name, word.value)
            }
        }
        return line.text
    }
}
