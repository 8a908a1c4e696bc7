import DaemonSupport
import Protocol

/// `jostle state`: says what state an app is in, until it is told otherwise.
enum StateCommand {
    private static let state = CommandArgument(
        "STATE",
        "foreground, inactive, background or suspended; terminated: its user ended it; auto: what follows "
            + "from all else. The first four stay until it is told otherwise or the app leaves: nothing suspends the app in it as it "
            + "would in the background. For that say what else is in front, with 'jostle foreground'",
        naming: .oneOf(["foreground", "inactive", "background", "suspended", "terminated", "auto"]))

    static let syntax = CommandSyntax(
        "state", "say what state an app is in, to try how it fares there; it stays so until told otherwise",
        reaching: .broker,
        arguments: [CommonArgument.app, state],
        action: { invocation in
            let (app, state) = (invocation.arguments.positionals[0], invocation.arguments.positionals[1])
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            try service.about(app) { () throws(CommandFailure) in
                _ = try service.call(Path.broker, InterfaceName.broker, "SetState", app, state, noOptions)
            }
        })
}
