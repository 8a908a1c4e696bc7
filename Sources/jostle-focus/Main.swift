import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion
import Protocol

/// jostle-focus: tells the broker which app is in front, as the session's display shows it.
@main
struct Main {
    private static let sourceOption = CommandOption.value(
        "source", "SOURCE",
        "who knows which windows there are: wlr[:DISPLAY] (sway, phoc, labwc, wayfire, Hyprland), x11[:DISPLAY], kwin (Plasma), "
            + "gnome (by its extension), lipstick (Sailfish), lomiri (Ubuntu Touch), or auto (the session's; the default)",
        naming: .oneOf(SourceKind.names), repeats: true)
    private static let syntax = CommandSyntax(
        "jostle-focus", "Tells the broker which app is in front, and which have windows that are seen.",
        options: [sourceOption] + Daemon.options)

    static func main() {
        do {
            try Startup.prepareDaemon()
            let arguments = self.syntax.parseOrExit()
            let kinds = try self.kinds(arguments.values(of: self.sourceOption))
            let daemon = try Daemon(self.syntax.name, owning: BusName.focus, arguments)
            let names = NameWatch(on: daemon.bus)
            let apps = BrokerApps(on: daemon.bus, names, log: daemon.log)
            let naming = Naming(on: daemon.loop, apps, log: daemon.log)
            let freezer = FreezerLink(
                on: daemon.loop, Reporter("SetFrozen", as: "freezer", on: daemon.bus, names, log: daemon.log),
                log: daemon.log)
            apps.onNews = { freezer.take($0) }
            let players = PlayerLink(
                on: daemon.bus, daemon.loop, naming,
                Reporter("SetPlaying", as: "mpris", on: daemon.bus, names, log: daemon.log), log: daemon.log)
            var sources: [any FocusSource] = []
            for kind in kinds {
                let desk = DeskLink(on: daemon.loop, naming)
                guard let source = kind.source(desk, on: daemon.bus, names, loop: daemon.loop, log: daemon.log)
                else {
                    throw UsageProblem("source: there is no such display on this machine")
                }
                guard !sources.contains(where: { $0.name == source.name }) else {
                    throw UsageProblem("source: \(source.name) is given twice")
                }
                let reporter = Reporter(windowsOf: source.name, on: daemon.bus, names, log: daemon.log)
                desk.onReport = { reporter.add($0) }
                sources.append(source)
            }
            _ = FocusService(sources, on: daemon.bus)
            for source in sources { source.start() }
            let code = try daemon.run(
                ready: {
                    names.refresh()
                    players.refresh()
                },
                lost: {
                    names.forgetAll()
                    players.forget()
                },
                leaving: { for source in sources { source.stop() } })
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    private static func kinds(_ texts: [String]) throws(UsageProblem) -> [SourceKind] {
        var kinds: [SourceKind] = []
        for text in texts.isEmpty ? ["auto"] : texts {
            guard let kind = text == "auto" ? SourceKind.ofSession : SourceKind(text) else {
                throw UsageProblem(
                    text == "auto"
                        ? "source: this session has neither WAYLAND_DISPLAY nor DISPLAY"
                        : "source: '\(printable(text))' is none of \(SourceKind.expected), or the session has no such display"
                )
            }
            kinds.append(kind)
        }
        return kinds
    }
}
