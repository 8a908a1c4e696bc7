import Arbitration
import DBus
import DaemonSupport
import FleetCore
import Glibc
import Loop
import Motion
import PolicyFiles

/// jostle-bridge: tells an MQTT server what happens on this machine, and keeps it until the server has it.
@main
struct Main {
    private static let configOption = CommandOption.value(
        "config", "FILE",
        "the configuration (default: /etc/jostle/bridge.conf on the system bus, else "
            + "$XDG_CONFIG_HOME/jostle/bridge.conf)", naming: .path)
    private static let journalOption = CommandOption.value(
        "journal", "DIR", "where the broker keeps its journal (default: where the broker of that bus does)",
        naming: .directory)
    private static let stateOption = CommandOption.value(
        "state-dir", "DIR",
        "where to keep how far it came (default: $STATE_DIRECTORY, else /var/lib/jostle-bridge on the system bus, "
            + "else ~/.local/state/jostle-bridge)", naming: .directory)
    private static let syntax = CommandSyntax(
        "jostle-bridge", "Tells an MQTT server what happens on this machine, and keeps it until the server has it.",
        options: [configOption, journalOption, stateOption] + Daemon.options)

    static func main() {
        // A process of its own that may wait for an answer: what it is started for by us, and by nobody else.
        if CommandLine.arguments.count == 3, CommandLine.arguments[1] == Resolution.flag {
            Resolution.answer(CommandLine.arguments[2])
        }
        do {
            try Startup.prepareDaemon()
            limitMemory(to: ServerSettings.memory)
            let arguments = self.syntax.parseOrExit()
            let bus = try arguments.value(of: Daemon.busOption) ?? .session
            let places = try BridgePlaces(
                bus: bus, config: arguments.value(of: self.configOption),
                journal: arguments.value(of: self.journalOption),
                state: arguments.value(of: self.stateOption))
            let daemon = try Daemon(self.syntax.name, owning: BrokerApp.name, arguments)
            guard let configuration = places.readConfiguration(log: daemon.log) else { ExitCode.usage.exit() }
            let service = try BridgeService(configuration, places, daemon)
            service.start()
            let code = try daemon.run(ready: { service.busCame() }, lost: { service.busLeft() })
            service.stop()
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }
}
