import DaemonSupport
import Protocol

/// `jostle pause`: switches motion off for all apps.
enum PauseCommand {
    static let syntax = CommandSyntax(
        "pause", "switch motion off for all apps; no sensor runs until 'jostle resume'", reaching: .broker,
        action: { invocation in
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            _ = try service.call(Path.broker, InterfaceName.broker, "Pause", noOptions)
        })
}
