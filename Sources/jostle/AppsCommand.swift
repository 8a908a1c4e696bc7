import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle apps`: the apps that are registered.
struct AppsCommand {
    static let syntax = CommandSyntax(
        "apps", "show the apps that are registered", reaching: .broker, options: [CommonOption.json],
        action: {
            try AppsCommand(bus: $0.bus, isJSON: $0.isJSON, terminal: $0.terminal, loop: $0.loop).run()
        })

    let bus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    private func run() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop, within: Service.brokerPatience)
        // Who says what is in front stands beside: where that is not told, there is a list all the same.
        let broker = try service.unlessRefused { () throws(CommandFailure) in
            try service.properties(Path.broker, InterfaceName.broker)
        }
        let sources = broker.map { FocusRow.all($0) } ?? []
        let apps = try AppRow.all(service, sources)
        if self.isJSON {
            for app in apps { self.terminal.print(app.json) }
            return
        }
        AppRow.table(of: apps, withFiles: true).lines(self.terminal).forEach { self.terminal.print($0) }
    }
}

/// One app as a list shows it.
struct AppRow {
    var path: ObjectPath
    var id: String
    var state: String
    var detectors: UInt32
    var hits: UInt64
    var delivered: UInt64
    var denied: UInt64
    var dropped: UInt64
    /// What is said of it, and by which source; `nil`: nothing, or we may not know.
    var shown: (state: String, source: String)?
    /// What its object shows besides; empty when it has just left.
    var properties: [String: Value]

    var json: String {
        var line = JSONLine()
        line.add("app", self.id)
        line.add("path", self.path.text)
        line.add("file", self.properties.text("AppFile"))
        line.add("state", self.state)
        line.add("shown", self.shown?.state ?? "")
        line.add("shown_by", self.shown?.source ?? "")
        line.add("detectors", self.detectors)
        line.add("hits", self.hits)
        line.add("delivered", self.delivered)
        line.add("denied", self.denied)
        line.add("dropped", self.dropped)
        line.add("expired", self.properties.count("Expired"))
        line.add("redelivered", self.properties.count("Redelivered"))
        line.add("gaps", self.properties.count("Gaps"))
        line.add("unacknowledged", self.properties.count("Unacknowledged"))
        line.add("stale_acks", self.properties.count("StaleAcks"))
        line.add("queued_bytes", self.properties.count("QueuedBytes"))
        line.add("unread_bytes", self.properties.count("UnreadBytes"))
        return line.text
    }

    /// - Parameter sources: What is said of the foreground.
    static func all(_ service: Service, _ sources: [FocusRow]) throws(CommandFailure) -> [AppRow] {
        var rows: [AppRow] = []
        for app in try service.listApps() {
            let own = try service.unlessRefused { () throws(CommandFailure) in try service.app(app.object) }
            rows.append(
                AppRow(
                    path: app.object, id: app.app, state: app.state, detectors: app.detectors, hits: app.hits,
                    delivered: app.delivered, denied: app.denied, dropped: app.dropped,
                    shown: sources.word(on: app.app), properties: own ?? [:]))
        }
        return rows
    }

    static func table(of apps: [AppRow], withFiles: Bool = false) -> Columns {
        var table = Columns(
            ["APP", "STATE", "DETECTORS", "HITS", "DELIVERED", "DENIED", "DROPPED", "EXPIRED", "UNACKED"]
                + (withFiles ? ["SHOWN", "FILE"] : []), right: [2, 3, 4, 5, 6, 7, 8])
        for app in apps {
            let cells = [
                AppID.shown(app.id), app.state, "\(app.detectors)", "\(app.hits)",
                "\(app.delivered)", "\(app.denied)", "\(app.dropped)", "\(app.properties.count("Expired"))",
                "\(app.properties.count("Unacknowledged"))",
            ]
            let shown = app.shown.map { $0.source.isEmpty ? $0.state : "\($0.state) by \($0.source)" }
            table.add(cells + (withFiles ? [shown ?? "-", app.properties.text("AppFile")] : []))
        }
        return table
    }
}
