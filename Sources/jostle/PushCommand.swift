import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle push`: has an app started or resumed, and waits for its answer.
struct PushCommand {
    private static let name = CommandOption.value(
        "app", "ID", "ask under this app id, a bus name to own: the one to which policy gives the right", naming: .app)

    static let syntax = CommandSyntax(
        "push", "have an app started or resumed, and wait for its answer", reaching: .broker, options: [name],
        arguments: [CommonArgument.appID],
        action: {
            let name = $0.arguments.value(of: name)
            if let name, !AppID.isValid(name) {
                throw UsageProblem("push: '\(printable(name))' is no app id: give a well-known bus name")
            }
            try PushCommand(app: $0.arguments.positionals[0], name: name, bus: $0.bus, loop: $0.loop).run()
        })

    let app: String
    /// The bus name under which we ask: the one that policy gives the right to.
    let name: String?
    let bus: BusAddress
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop, as: self.name)
        // Policy says how long the app may take.
        try service.about(self.app) { () throws(CommandFailure) in
            _ = try service.call(
                Path.broker, InterfaceName.broker, "Push", self.app, noOptions, timeout: Connection.noTimeout)
        }
    }
}
