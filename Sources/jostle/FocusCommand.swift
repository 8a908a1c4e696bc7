import DBus
import DaemonSupport
import Loop
import Protocol

/// `jostle focus`: the windows that the session's display tells of, and which apps they were taken for.
struct FocusCommand {
    private static let list = CommandOption.flag("list", "show all windows, and not only those in front")

    static let syntax = CommandSyntax(
        "focus", "show the windows of this session, which apps they are of, and what to write where for the others",
        reaching: .focus, options: [list, CommonOption.json],
        action: {
            try FocusCommand(isWhole: $0.arguments.has(list), invocation: $0).run()
        })

    private let isWhole: Bool
    private let invocation: Invocation

    private func run() throws(CommandFailure) {
        let service = try Service.focus(on: self.invocation.bus, self.invocation.loop)
        let windows = try service.listWindows().filter { self.isWhole || $0.state == "front" }
        let terminal = self.invocation.terminal
        if self.invocation.isJSON {
            for window in windows { terminal.print(Self.json(window)) }
            return
        }
        guard !windows.isEmpty else {
            terminal.print(self.isWhole ? "no window is there" : "no window is in front")
            return
        }
        var table = Columns(["STATE", "APP", "KNOWN BY", "SOURCE", "WINDOW", "SAYS"])
        for window in windows {
            table.add([
                window.state, window.app.isEmpty ? "?" : window.app, window.knownBy, window.source, window.window,
                Self.claims(window),
            ])
        }
        table.lines(terminal).forEach { terminal.print($0) }
        for window in windows where !window.hint.isEmpty {
            terminal.print("\(window.window): \(window.hint)")
        }
    }

    /// What a window says, by the names that desktops have for it.
    private static func claims(_ window: ListedWindow) -> String {
        var claims: [String] = []
        if !window.appID.isEmpty { claims.append("app_id=\(window.appID)") }
        if !window.gtkAppID.isEmpty { claims.append("gtk=\(window.gtkAppID)") }
        if !window.windowClass.isEmpty || !window.instance.isEmpty {
            claims.append("class=\(window.instance),\(window.windowClass)")
        }
        if let process = window.process { claims.append("pid=\(process)") }
        return claims.joined(separator: " ")
    }

    private static func json(_ window: ListedWindow) -> String {
        var line = JSONLine()
        line.add("source", window.source)
        line.add("window", window.window)
        line.add("state", window.state)
        line.add("app", window.app)
        line.add("known_by", window.knownBy)
        line.add("hint", window.hint)
        line.add("app_id", window.appID)
        line.add("instance", window.instance)
        line.add("class", window.windowClass)
        line.add("gtk_app_id", window.gtkAppID)
        if let process = window.process { line.add("pid", UInt64(process)) }
        return line.text
    }
}
