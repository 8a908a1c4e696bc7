import DBus
import DaemonSupport
import Loop
import Protocol

/// `jostle status`: what the broker says of itself, its sensors and its apps.
struct StatusCommand {
    private static let limits = CommandOption.flag(
        "limits", "instead what is held of each limit of the broker and of the sensor reader, and by which users")

    static let syntax = CommandSyntax(
        "status", "show sensors, apps, detectors and counters", reaching: .both,
        options: [CommonOption.json, limits],
        action: {
            let command = StatusCommand(
                bus: $0.bus, sensorBus: $0.sensorBus, isJSON: $0.isJSON, terminal: $0.terminal, loop: $0.loop)
            if $0.arguments.has(limits) { return try command.showLimits() }
            guard !$0.arguments.has(CommonOption.sensorBus) else {
                throw UsageProblem("option '--sensor-bus' has no effect on 'status' without '--limits'")
            }
            try command.run()
        })

    let bus: BusAddress
    let sensorBus: ReaderBus
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    private func run() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop, within: Service.brokerPatience)
        let broker = try service.properties(Path.broker, InterfaceName.broker)
        let apps = try AppRow.all(service, FocusRow.all(broker))
        let sensors = broker.rows("Sensors")
        if self.isJSON {
            self.terminal.print(self.json(broker))
            for sensor in sensors {
                var line = JSONLine()
                line.add("sensor", sensor.text(SensorStateKey.name))
                line.add("available", sensor.flag(SensorStateKey.available))
                line.add("state", sensor.text(SensorStateKey.state))
                line.add("detail", sensor.text(SensorStateKey.detail))
                line.add("rate", sensor.number(SensorStateKey.rate))
                for key in [SensorStateKey.received, SensorStateKey.lost, SensorStateKey.gaps, SensorStateKey.refused] {
                    line.add(key, sensor.count(key))
                }
                self.terminal.print(line.text)
            }
            for app in apps { self.terminal.print(app.json) }
            return
        }
        self.terminal.print("broker \(broker.text("Version")) on the \(self.bus.description)")
        if broker.flag("Paused") { self.terminal.print("motion is switched off; 'jostle resume' switches it on") }
        if broker.flag("Locked") { self.terminal.print("the screen is locked") }
        if broker.flag("ForegroundReported") {
            self.foregroundLines(broker).forEach { self.terminal.print($0) }
        }
        let rows = FocusRow.all(broker)
        for (app, tellers) in rows.tellers(\.frozen) {
            self.terminal.print("\(app) is frozen" + Self.said(by: tellers.filter { !$0.isEmpty }))
        }
        for (app, tellers) in rows.tellers(\.playing) {
            self.terminal.print("\(app) plays" + Self.said(by: tellers.filter { !$0.isEmpty }))
        }
        self.terminal.print()
        var table = Columns(["SENSOR", "RATE", "RECEIVED", "LOST", "GAPS", "REFUSED"], right: [1, 2, 3, 4, 5])
        for sensor in sensors {
            let rate = sensor.number(SensorStateKey.rate)
            table.add([
                sensor.text(SensorStateKey.name),
                !sensor.flag(SensorStateKey.available)
                    ? sensor.text(SensorStateKey.state) : rate > 0 ? "\(rounded(rate, 0)) Hz" : "off",
                "\(sensor.count(SensorStateKey.received))", "\(sensor.count(SensorStateKey.lost))",
                "\(sensor.count(SensorStateKey.gaps))",
                "\(sensor.count(SensorStateKey.refused))",
            ])
        }
        let lines =
            table.isEmpty
            ? ["no sensor: the reader (\(BusName.sensors)) is not running"] : table.lines(self.terminal)
        lines.forEach { self.terminal.print($0) }
        for sensor in sensors where !["", "absent"].contains(sensor.text(SensorStateKey.state)) {
            let detail = sensor.text(SensorStateKey.detail)
            if !detail.isEmpty { self.terminal.print(detail) }
        }
        self.terminal.print()
        let appLines = apps.isEmpty ? ["no app is registered"] : AppRow.table(of: apps).lines(self.terminal)
        appLines.forEach { self.terminal.print($0) }
    }

    /// What is held of the limits. The reader is not started for it: who does not run holds nothing.
    private func showLimits() throws(CommandFailure) {
        let broker = try Service.broker(on: self.bus, self.loop, within: Service.brokerPatience)
        var all = [UsageRows("broker", try broker.listUsage(Path.broker, InterfaceName.broker))]
        var absence: String?
        do throws(CommandFailure) {
            let reader = try Service.sensors(on: self.sensorBus, self.loop, starting: false)
            all.append(UsageRows("reader", try reader.listUsage(Path.sensors, InterfaceName.sensors)))
        } catch {
            absence = error.message
        }
        if self.isJSON {
            for rows in all { rows.lines.forEach { self.terminal.print($0.text) } }
            if let absence { complain(absence) }
            return
        }
        var table = Columns(UsageRows.header, right: UsageRows.right)
        for rows in all { rows.cells.forEach { table.add($0) } }
        table.lines(self.terminal).forEach { self.terminal.print($0) }
        if let absence { self.terminal.print(absence) }
    }

    /// Which apps are in front, and who says so.
    private func foregroundLines(_ broker: [String: Value]) -> [String] {
        let rows = FocusRow.all(broker)
        let tellers = rows.map(\.teller).filter { !$0.isEmpty }
        let app = broker.text("Foreground")
        guard !app.isEmpty || !rows.fronts.isEmpty else {
            return ["no app that you may know of is in the foreground" + Self.said(by: tellers)]
        }
        guard !rows.fronts.isEmpty else { return ["\(app) is in the foreground"] }
        return rows.fronts.map { "\($0.app) is in the foreground" + Self.said(by: $0.tellers.filter { !$0.isEmpty }) }
    }

    private static func said(by tellers: [String]) -> String {
        tellers.isEmpty ? "" : ", says \(tellers.joined(separator: " and "))"
    }

    /// What the broker says of itself, on the first line.
    private func json(_ broker: [String: Value]) -> String {
        var line = JSONLine()
        line.add("broker", broker.text("Version"))
        line.add("bus", self.bus.option)
        line.add("paused", broker.flag("Paused"))
        line.add("locked", broker.flag("Locked"))
        line.add("foreground_reported", broker.flag("ForegroundReported"))
        line.add("foreground", broker.text("Foreground"))
        line.add("focus_sources", FocusRow.all(broker).map(\.json))
        line.add("muted_until_us", broker.count("MutedUntil"), on: .boottime)
        line.add("policy_generation", broker.count("PolicyGeneration"))
        line.add("policy_files", broker.lines("PolicyFiles"))
        line.add("durability", broker.text("Durability"))
        line.add("journal_written", broker.count("JournalWritten"))
        line.add("journal_dropped", broker.count("JournalDropped"))
        line.add("refused_messages", broker.count("RefusedMessages"))
        return line.text
    }
}
