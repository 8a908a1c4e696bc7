import Arbitration
import DaemonSupport
import Glibc
import PolicyFiles

/// `jostle bridge`: what has to do with the bridge to an MQTT server.
enum BridgeCommand {
    static let syntax = CommandSyntax(
        "bridge", "check the configuration of jostle-bridge", commands: [BridgeCheckCommand.syntax])
}

/// `jostle bridge check`: says what is wrong with a configuration, and where. Nobody is asked, no server either.
struct BridgeCheckCommand {
    private static let strict = CommandOption.flag("strict", "take warnings for errors")
    private static let standard = "/etc/jostle/bridge.conf"
    static let syntax = CommandSyntax(
        "check", "say what is wrong with the configuration of jostle-bridge, and where", reaching: .nobody,
        options: [strict, CommonOption.json],
        arguments: [CommandArgument("FILE", "the configuration (default: \(standard))", .optional, naming: .file)],
        action: {
            try BridgeCheckCommand(
                path: $0.arguments.positionals.first ?? standard, isStrict: $0.arguments.has(strict), isJSON: $0.isJSON,
                terminal: $0.terminal
            ).run()
        })

    let path: String
    let isStrict: Bool
    let isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let file = PolicyFile(name: self.path, bytes: try contents(of: self.path))
        let findings = BridgeFileReader.read(file).findings
        for finding in findings { self.terminal.print(self.isJSON ? finding.json : "\(finding)") }
        let errors = findings.filter { $0.severity == .error }.count
        guard errors == 0, !self.isStrict || findings.isEmpty else {
            throw CommandFailure(.no, "\(errors) errors, \(findings.count - errors) warnings")
        }
    }
}
