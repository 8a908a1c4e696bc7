import DaemonSupport
import Protocol

/// `jostle task run`: has a task run that waits.
enum TaskCommand {
    static let syntax = CommandSyntax("task", "try background work", commands: [run])

    private static let run = CommandSyntax(
        "run", "run a task that waits now, whatever it waits for", reaching: .broker,
        arguments: [
            CommonArgument.app, CommandArgument("TASK", "its name, as 'jostle tasks' shows it", naming: .task),
        ],
        action: { invocation in
            let (app, task) = (invocation.arguments.positionals[0], invocation.arguments.positionals[1])
            let broker = try Service.broker(on: invocation.bus, invocation.loop)
            try broker.about(app) { () throws(CommandFailure) in
                _ = try broker.call(Path.broker, InterfaceName.broker, "RunTask", app, task, noOptions)
            }
        })
}
