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
    /// How soon a broker is told again that did not answer, in µs.
    private static let pause: Int64 = 1_000_000

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
        // The broker that was told, or is being told, and the one that is there.
        var told = try service.call(Path.broker, InterfaceName.broker, "SetForeground", self.app, noOptions).sender
        var broker = told
        self.invocation.terminal.print(
            "\(self.app.isEmpty ? "no app" : self.app) is in the foreground until this ends (Ctrl-C)")
        if !self.app.isEmpty, let near = service.nearestApp(to: self.app) {
            complain("there is no app '\(printable(self.app))' yet; did you mean '\(near)'?")
        }
        stopOnSignals(loop) { isOver = true }
        let names = NameWatch(on: service.connection)
        func tell(_ owner: String) {
            told = owner
            let target = CallTarget(owner, Path.broker, InterfaceName.broker.description)
            service.connection.call(target, "SetForeground", self.app, noOptions) { result in
                do throws(BusError) {
                    _ = try result.take()
                    complain("the broker is back")
                } catch {
                    guard error.isBusMissing || error.isServiceMissing else {
                        failure = CommandFailure(error, service: service.title)
                        return
                    }
                    // It left before it answered, and the next one is told; or it hangs, and is told again.
                    loop.once(after: Self.pause) { if broker == owner { tell(owner) } }
                }
            }
        }
        let token = names.follow(BusName.broker, ownRule: true) { owner in
            broker = owner
            guard let owner else { return complain("the broker is gone; waiting for it") }
            if owner != told { tell(owner) }
        }
        defer { names.unfollow(token) }
        try loop.wait { isOver || failure != nil }
        // The broker forgets it with our end, but later: it waits for one who comes again. Of an end that we chose it hears.
        if failure == nil, broker != nil, broker == told {
            _ = try? service.call(
                Path.broker, InterfaceName.broker, "ForgetWindows", noOptions, timeout: Self.patienceAtTheEnd)
        }
        if let failure { throw failure }
    }
}
