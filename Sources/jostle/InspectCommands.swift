import DBus
import Detection
import EventLoop
import Motion
import Protocol

/// What the commands that only look have in common.
struct Inspection {
    let bus: BusAddress
    let sensorBus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    // MARK: jostle apps

    func apps() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        let apps = try self.listApps(service)
        if self.isJSON {
            for app in apps { self.terminal.print(app.json) }
            return
        }
        self.table(of: apps).lines(self.terminal).forEach { self.terminal.print($0) }
    }

    private struct AppRow {
        var path: ObjectPath
        var id: String
        var state: String
        var detectors: UInt32
        var hits: UInt64
        var delivered: UInt64
        var denied: UInt64
        var dropped: UInt64
        /// What its object shows besides; empty when it has just left.
        var properties: [String: Value]

        var json: String {
            var line = JSONLine()
            line.add("app", self.id)
            line.add("path", self.path.text)
            line.add("state", self.state)
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
    }

    private func listApps(_ service: Service) throws(CommandFailure) -> [AppRow] {
        try service.listApps().map {
            let row = $0.fields
            return AppRow(
                path: row.0, id: row.1, state: row.2, detectors: row.3, hits: row.4, delivered: row.5, denied: row.6,
                dropped: row.7, properties: (try? service.app(row.0)) ?? [:])
        }
    }

    private func table(of apps: [AppRow]) -> Table {
        var table = Table(
            ["APP", "STATE", "DETECTORS", "HITS", "DELIVERED", "DENIED", "DROPPED", "EXPIRED", "UNACKED"],
            right: [2, 3, 4, 5, 6, 7, 8])
        for app in apps {
            table.add([
                app.id.isEmpty ? "(no name)" : app.id, app.state, "\(app.detectors)", "\(app.hits)",
                "\(app.delivered)", "\(app.denied)", "\(app.dropped)", "\(app.properties.count("Expired"))",
                "\(app.properties.count("Unacknowledged"))",
            ])
        }
        return table
    }

    // MARK: jostle status

    func status() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        let broker = try service.properties(Path.broker, InterfaceName.broker)
        let apps = try self.listApps(service)
        let sensors = broker.rows("Sensors")
        if self.isJSON {
            for sensor in sensors {
                var line = JSONLine()
                line.add("sensor", sensor.text("name"))
                line.add("available", sensor.flag("available"))
                line.add("state", sensor.text("state"))
                line.add("rate", sensor.number("rate"))
                for key in ["received", "lost", "gaps", "refused"] { line.add(key, sensor.count(key)) }
                self.terminal.print(line.text)
            }
            for app in apps { self.terminal.print(app.json) }
            return
        }
        self.terminal.print("broker \(broker.text("Version")) on the \(self.bus.description)")
        if broker.flag("Paused") { self.terminal.print("motion is switched off; 'jostle resume' switches it on") }
        if broker.flag("Locked") { self.terminal.print("the screen is locked") }
        if broker.flag("ForegroundReported") {
            let app = broker.text("Foreground")
            self.terminal.print(app.isEmpty ? "no app is in the foreground" : "\(app) is in the foreground")
        }
        self.terminal.print()
        var table = Table(["SENSOR", "RATE", "RECEIVED", "LOST", "GAPS", "REFUSED"], right: [1, 2, 3, 4, 5])
        for sensor in sensors {
            let rate = sensor.number("rate")
            table.add([
                sensor.text("name"),
                !sensor.flag("available") ? sensor.text("state") : rate > 0 ? "\(rounded(rate, 0)) Hz" : "off",
                "\(sensor.count("received"))", "\(sensor.count("lost"))", "\(sensor.count("gaps"))",
                "\(sensor.count("refused"))",
            ])
        }
        let lines =
            table.isEmpty
            ? ["no sensor: the reader (\(BusName.sensors)) is not running"] : table.lines(self.terminal)
        lines.forEach { self.terminal.print($0) }
        for sensor in sensors where !["", "absent"].contains(sensor.text("state")) {
            let detail = sensor.text("detail")
            if !detail.isEmpty { self.terminal.print(detail) }
        }
        self.terminal.print()
        let appLines = apps.isEmpty ? ["no app is registered"] : self.table(of: apps).lines(self.terminal)
        appLines.forEach { self.terminal.print($0) }
    }

    // MARK: jostle pause, resume

    func pause(_ isPaused: Bool) throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        _ = try service.call(Path.broker, InterfaceName.broker, "Pause", isPaused)
    }

    // MARK: jostle state, lock, unlock

    func state(_ app: String, _ state: String) throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        _ = try service.call(Path.broker, InterfaceName.broker, "SetState", app, state)
    }

    func forget(_ app: String) throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        _ = try service.call(Path.broker, InterfaceName.broker, "Forget", app)
    }

    func lock(_ isLocked: Bool) throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        _ = try service.call(Path.broker, InterfaceName.broker, "SetLocked", isLocked)
    }

    // MARK: jostle presets

    /// Works without a broker: the presets are part of the program.
    func presets(_ name: String?) throws(CommandFailure) {
        guard let name else {
            if self.isJSON {
                PresetCatalogue.all.forEach { self.terminal.print($0.json) }
                return
            }
            var table = Table(["PRESET", "SENSOR", "WHAT IT HEARS"])
            for preset in PresetCatalogue.all { table.add([preset.name, preset.sensor, preset.summary]) }
            table.lines(self.terminal).forEach { self.terminal.print($0) }
            return
        }
        guard let preset = PresetCatalogue.named(name) else {
            let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
            throw CommandFailure.usage(
                "there is no preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        if self.isJSON {
            self.terminal.print(preset.json)
        } else {
            preset.page(self.terminal).forEach { self.terminal.print($0) }
        }
    }
}
