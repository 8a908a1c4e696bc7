import DBus
import DaemonSupport
import Protocol

/// `jostle forget`: has the broker forget what an app registered for good, or clips.
enum ForgetCommand {
    private static let clips = CommandOption.flag(
        "clips", "the motion that was kept around hits and near misses: your own, and everybody's for root")

    static let syntax = CommandSyntax(
        "forget", "forget what an app registered for good and whose it was, or the clips that were kept",
        reaching: .broker, options: [clips],
        arguments: [CommandArgument("APP", "an app id", .optional, naming: .app)],
        action: { invocation in
            let (app, areClips) = (invocation.arguments.positionals.first, invocation.arguments.has(clips))
            guard (app == nil) == areClips else {
                throw UsageProblem("forget: give an app, or --clips")
            }
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            guard let app else {
                let options: [String: Value] = [ForgetOptions.clips: .boolean(true)]
                _ = try service.call(Path.broker, InterfaceName.broker, "Forget", "", options)
                return
            }
            try service.about(app) { () throws(CommandFailure) in
                _ = try service.call(Path.broker, InterfaceName.broker, "Forget", app, noOptions)
            }
        })
}
