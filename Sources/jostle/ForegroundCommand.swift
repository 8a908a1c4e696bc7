import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle foreground`: says which app the user works with, for as long as it runs.
struct ForegroundCommand {
    private static let none = CommandOption.flag("none", "no app is in the foreground")

    static let syntax = CommandSyntax(
        "foreground", "say which app is in front, until Ctrl-C; others are suspended unless something keeps them going",
        reaching: .broker, options: [none],
        arguments: [CommandArgument("APP", "an app id, whose app need not be there yet", .optional, naming: .app)],
        exits: [.done: "it was told to end (Ctrl-C, SIGTERM)"],
        action: { invocation in
            let app = invocation.arguments.positionals.first
            guard (app == nil) == invocation.arguments.has(none) else {
                throw UsageProblem("foreground: give an app or --none")
            }
            try ForegroundCommand(app: app ?? "", invocation: invocation).run()
        })

    /// How long the broker may take to hear that this ends, in ms: who ends it does not wait for one that hangs.
    private static let patienceAtTheEnd: Int32 = 500

    /// Empty: no app.
    private let app: String
    private let invocation: Invocation

    private func run() throws(CommandFailure) {
        let loop = self.invocation.loop
        endOnSignals(loop)
        let service = try Service.broker(on: self.invocation.bus, loop)
        var isOver = false
        var failure: CommandFailure?
        service.connection.onLost = { failure = CommandFailure(.noService, "the bus is gone") }
        _ = try service.call(Path.broker, InterfaceName.broker, "SetForeground", self.app, noOptions)
        self.invocation.terminal.print(
            "\(self.app.isEmpty ? "no app" : self.app) is in the foreground until this ends (Ctrl-C)")
        if !self.app.isEmpty, let near = service.nearestApp(to: self.app) {
            complain("there is no app '\(printable(self.app))' yet; did you mean '\(near)'?")
        }
        stopOnSignals(loop) { isOver = true }
        let names = NameWatch(on: service.connection)
        var isSaid = true
        let token = names.follow(BusName.broker, ownRule: true) { owner in
            guard owner != nil else {
                isSaid = false
                return complain("the broker is gone; waiting for it")
            }
            guard !isSaid else { return }
            isSaid = true
            let target = CallTarget(service.name, Path.broker, InterfaceName.broker.description)
            service.connection.call(target, "SetForeground", self.app, noOptions) { result in
                do throws(BusError) {
                    _ = try result.take()
                    complain("the broker is back")
                } catch {
                    failure = CommandFailure(error, service: service.title)
                }
            }
        }
        defer { names.unfollow(token) }
        try loop.wait { isOver || failure != nil }
        // The broker forgets it with our end, but later: it waits for one who comes again. Of an end that we chose it hears.
        if failure == nil, isSaid {
            _ = try? service.call(
                Path.broker, InterfaceName.broker, "ForgetWindows", noOptions, timeout: Self.patienceAtTheEnd)
        }
        if let failure { throw failure }
    }
}
