import DaemonSupport
import Protocol

/// `jostle resume`: switches motion on again.
enum ResumeCommand {
    static let syntax = CommandSyntax(
        "resume", "switch motion on again", reaching: .broker,
        action: { invocation in
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            _ = try service.call(Path.broker, InterfaceName.broker, "Resume", noOptions)
        })
}
