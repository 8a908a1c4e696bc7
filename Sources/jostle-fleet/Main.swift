import DaemonSupport

/// jostle-fleet: one place that sees and steers many devices, over the server that their bridges speak to.
///
/// A program of its own, for it needs libraries that nothing else on a device does. `jostle fleet` carries it out.
@main
struct Main {
    /// As somebody called us: `jostle fleet`, or by our own name.
    static let name = CommandLine.arguments.first == "jostle fleet" ? "jostle fleet" : "jostle-fleet"

    static let syntax = CommandSyntax(
        name, "Sees and steers many devices from one place.", options: ServerOption.all,
        commands: [
            ListCommand.syntax, WatchCommand.syntax, AskCommand.explain, AskCommand.whyNot, AskCommand.status,
            AskCommand.whatIf, ApplyCommand.syntax, DiffCommand.syntax, RollbackCommand.syntax,
        ])

    static func main() {
        Startup.prepareProgram()
        let arguments = self.syntax.parseOrExit()
        do {
            try self.syntax.perform(arguments)
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch let failure as FleetFailure {
            complain(failure.message)
            failure.code.exit()
        } catch {
            complain("\(error)")
            ExitCode.no.exit()
        }
    }
}
