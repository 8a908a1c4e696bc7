import DaemonSupport
import Protocol

/// `jostle forget`: has the broker forget what an app registered for good.
enum ForgetCommand {
    static let syntax = CommandSyntax(
        "forget", "forget what an app registered for good, and whose it was", reaching: .broker,
        arguments: [CommonArgument.appID],
        action: { invocation in
            let app = invocation.arguments.positionals[0]
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            try service.about(app) { () throws(CommandFailure) in
                _ = try service.call(Path.broker, InterfaceName.broker, "Forget", app, noOptions)
            }
        })
}
