import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle sensors`: what there is, how it does, who wants it, and what it reads now.
struct SensorsCommand {
    private static let live = CommandOption.flag(
        "live", "start those that stand still for a moment, to see what they read")

    static let syntax = CommandSyntax(
        "sensors", "show the sensors of the reader, and what those read that run", reaching: .sensors,
        options: [CommonOption.json, live],
        action: {
            try SensorsCommand(
                startsIdle: $0.arguments.has(live), bus: $0.sensorBus, isJSON: $0.isJSON, terminal: $0.terminal,
                loop: $0.loop
            ).run()
        })

    /// Those that nobody uses are started, too.
    let startsIdle: Bool
    let bus: ReaderBus
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    private func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.bus, self.loop)
        var rows: [SensorRow] = []
        for (path, sensor) in try service.listSensors() {
            let state = try service.sensor(at: path)
            rows.append(SensorRow(path: path, sensor: sensor, state: state))
        }
        try self.readValues(of: &rows, service)
        if self.isJSON {
            for row in rows { self.terminal.print(row.json) }
            return
        }
        if rows.isEmpty {
            self.terminal.print("no sensor is there")
            return
        }
        var table = Columns(SensorRow.header, right: SensorRow.right)
        for row in rows { table.add(row.cells) }
        var claims = Columns(ClaimRow.header, right: ClaimRow.right)
        for row in rows {
            for claim in row.claims { claims.add([row.sensor.name] + claim.cells) }
        }
        let parts = [
            table.lines(self.terminal), claims.isEmpty ? [] : claims.lines(self.terminal), rows.compactMap(\.detail),
        ].filter { !$0.isEmpty }
        parts.joined(separator: [""]).forEach { self.terminal.print($0) }
    }

    /// Rides along for a moment with what runs, so that nothing changes for anybody; what stands still stays so unless that is
    /// asked for. A sensor that refuses us, or tells nothing, has no values.
    private func readValues(of rows: inout [SensorRow], _ service: Service) throws(CommandFailure) {
        let wanted = rows.filter { $0.sensor.isAvailable && ($0.isRunning || self.startsIdle) }
        guard !wanted.isEmpty else { return }
        let sensors = wanted.map { (object: $0.path, channels: $0.sensor.channels.count) }
        var values: [ObjectPath: [Double]] = [:]
        let reader = SampleReader(service, sensors)
        reader.onSamples = { object, _, times, all in
            let channels = all.count / max(times.count, 1)
            values[object] = (all.count - channels..<all.count).map { all[$0] }
        }
        var claimed: Set<ObjectPath> = []
        var patience = TimeSpan.zero
        for row in wanted {
            let answer = try? service.call(
                row.path, InterfaceName.sensor, "Claim", SensorRequest(row.pace, isPassive: row.isRunning).options)
            guard answer != nil else { continue }
            claimed.insert(row.path)
            patience = max(patience, row.patience)
        }
        var isLate = false
        let timer = self.loop.schedule(after: min(patience, .seconds(3)).microseconds) { isLate = true }
        try self.loop.wait { isLate || claimed.allSatisfy { values[$0] != nil } }
        self.loop.cancel(timer)
        for index in rows.indices { rows[index].values = values[rows[index].path] ?? [] }
    }
}

/// One sensor as it is shown.
private struct SensorRow {
    let path: ObjectPath
    let sensor: SensorDescription
    let state: [String: Value]
    /// What it read last; empty when that is not known.
    var values: [Double] = []

    var isRunning: Bool { self.state.flag("Running") }

    private var rate: Double { self.state.number("Rate") }

    var claims: [ClaimRow] { self.state.structures("Claimants").compactMap(ClaimRow.init) }

    /// The pace it runs at, or a gentle one.
    var pace: SensorPace {
        guard self.isRunning, SensorLimits.rates.contains(self.rate) else { return SensorPace(rate: 10) }
        let latency = TimeSpan(microseconds: Int64(clamping: self.state.count("BatchLatency")))
        return SensorPace(rate: self.rate, batchLatency: min(latency, SensorLimits.batchLatency))
    }

    /// How long to wait for a sample: a few periods, and the time that samples are held back.
    var patience: TimeSpan { (TimeSpan(seconds: 5 / self.pace.rate) ?? .zero) + self.pace.batchLatency }

    /// What is wrong with it, in a sentence.
    var detail: String? {
        let detail = self.state.text("StateDetail")
        return detail.isEmpty ? nil : "\(self.sensor.name) is \(self.state.text("State")): \(detail)"
    }

    static let header = [
        "SENSOR", "STATE", "VALUES", "UNIT", "RATE", "RATES", "RANGE", "CLAIMS", "SENT", "DROPPED", "PLACED", "READ",
        "SOURCE",
    ]
    static let right: Set<Int> = [4, 6, 7, 8, 9]

    var cells: [String] {
        [
            self.sensor.name, self.state.text("State"), self.values.map { rounded($0) }.joined(separator: " "),
            self.sensor.unit, self.isRunning ? "\(rounded(self.rate, 0)) Hz" : "off",
            self.sensor.rates.map { rounded($0, 0) }.joined(separator: ","),
            self.sensor.range.map { rounded($0, 0) } ?? "?", "\(self.claims.count)", "\(self.state.count("Sent"))",
            "\(self.state.count("Dropped"))", self.sensor.placement, self.state.text("Method"), self.sensor.source,
        ]
    }

    var json: String {
        var line = JSONLine()
        line.add("sensor", self.sensor.name)
        line.add("channels", self.sensor.channels)
        line.add("values", self.values)
        line.add("unit", self.sensor.unit)
        if let range = self.sensor.range { line.add("range", range) } else { line.addNull("range") }
        line.add("rates", self.sensor.rates)
        line.add("placement", self.sensor.placement)
        line.add("source", self.sensor.source)
        line.add("simulated", self.sensor.isSimulated)
        for key in ["Driver", "Method", "State"] { line.add(key.lowercased(), self.state.text(key)) }
        line.add("detail", self.state.text("StateDetail"))
        line.add("running", self.isRunning)
        line.add("rate", self.rate)
        line.add("claims", self.claims.count)
        line.add("sent", self.state.count("Sent"))
        line.add("dropped", self.state.count("Dropped"))
        line.add("claimants", self.claims.map(\.json))
        return line.text
    }
}

/// One claim as it is shown.
private struct ClaimRow {
    private let claimant: String
    private let rate: Double
    private let latency: UInt64
    private let sent: UInt64
    private let dropped: UInt64
    private let others: [String: Value]

    /// A row of `Claimants`.
    init?(_ fields: [Value]) {
        guard fields.count == 6, case .string(let claimant) = fields[0], case .double(let rate) = fields[1],
            case .uint64(let latency) = fields[2], case .uint64(let sent) = fields[3],
            case .uint64(let dropped) = fields[4]
        else { return nil }
        (self.claimant, self.rate, self.latency, self.sent, self.dropped) = (claimant, rate, latency, sent, dropped)
        self.others = fields[5].asOptions
    }

    /// The number of its stream; `nil` where samples come otherwise.
    private var stream: UInt64? {
        if case .uint64(let number) = self.others[SensorPace.Key.stream] { number } else { nil }
    }
    /// What is in the reader itself has no name of the bus, and takes samples as they are.
    private var way: String {
        self.stream.map { "stream \($0)" } ?? (self.claimant.hasPrefix(":") ? "signals" : "")
    }
    private var isPassive: Bool { self.others.flag(SensorPace.Key.passive) }
    /// Why it gets no samples at present; empty when it does.
    private var resting: String { self.others.text(SensorPace.Key.resting) }
    private var decimation: String {
        let word = self.others.text(SensorPace.Key.decimation)
        return word.isEmpty ? Decimation.last.rawValue : word
    }

    static let header = [
        "SENSOR", "CLAIMED BY", "OVER", "RATE", "LATENCY", "GATHERED", "DECIMATION", "KIND", "SENT", "DROPPED",
    ]
    static let right: Set<Int> = [3, 4, 8, 9]

    var cells: [String] {
        [
            self.claimant, self.way, "\(rounded(self.rate, 0)) Hz",
            TimeSpan(microseconds: Int64(clamping: self.latency)).text,
            self.others.text(SensorPace.Key.gathering), self.decimation,
            !self.resting.isEmpty ? "resting" : self.isPassive ? "passive" : "active",
            "\(self.sent)", "\(self.dropped)",
        ]
    }

    var json: JSONLine {
        var line = JSONLine()
        line.add("claimant", self.claimant)
        if let stream { line.add("stream", stream) } else { line.addNull("stream") }
        line.add("rate", self.rate)
        line.add("batch_latency_us", self.latency)
        line.add("gathering", self.others.text(SensorPace.Key.gathering))
        line.add("decimation", self.decimation)
        line.add("passive", self.isPassive)
        line.add("resting", self.resting)
        line.add("sent", self.sent)
        line.add("dropped", self.dropped)
        return line
    }
}
