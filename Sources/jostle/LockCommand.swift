import DaemonSupport
import Protocol

/// `jostle lock`: says that the screen is locked.
enum LockCommand {
    static let syntax = CommandSyntax(
        "lock", "say that the screen is locked", reaching: .broker,
        action: { invocation in
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            _ = try service.call(Path.broker, InterfaceName.broker, "SetLock", LockState.locked.rawValue, noOptions)
        })
}
