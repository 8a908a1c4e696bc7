import DaemonSupport
import Protocol

/// `jostle unlock`: says that the screen is not locked.
enum UnlockCommand {
    static let syntax = CommandSyntax(
        "unlock", "say that the screen is not locked", reaching: .broker,
        action: { invocation in
            let service = try Service.broker(on: invocation.bus, invocation.loop)
            _ = try service.call(Path.broker, InterfaceName.broker, "SetLock", LockState.unlocked.rawValue, noOptions)
        })
}
