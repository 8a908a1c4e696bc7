import DBus
import DaemonSupport
import Detection
import JostleClient
import Loop
import Motion
import Protocol

/// `jostle scope`: what a sensor reads, live, with the thresholds and hits of the detectors that listen to it.
///
/// The detectors are evaluated here, by the broker's own engine over the same samples: so their hits are seen whoever gets
/// the events, and nothing is registered anywhere.
struct ScopeCommand {
    private static let lines = CommandOption.flag(
        "lines", "no picture: a line for each second and each hit, as in a pipe; for who has it read aloud")

    static let syntax = CommandSyntax(
        "scope", "draw what a sensor reads, with the thresholds and hits of the apps' detectors", reaching: .both,
        options: [
            CommonOption.detector, CommonOption.when, CommonOption.every, CommonOption.rest, CommonOption.rate,
            CommonOption.length, lines,
        ],
        arguments: [
            CommandArgument("SENSOR", "the sensor (default: the accelerometer)", .optional, naming: .sensor)
        ],
        action: {
            let arguments = $0.arguments
            let presets = arguments.values(of: CommonOption.detector)
            try arguments.checkOptionsOfConditions()
            let isNamed = !presets.isEmpty || arguments.has(CommonOption.when)
            if isNamed, arguments.has(CommonOption.bus), arguments.has(CommonOption.sensorBus) {
                throw UsageProblem("scope: --bus has no effect beside --sensor-bus and detectors of your own")
            }
            // The one that is looked at; a condition says so nowhere else.
            let sensor = arguments.positionals.first
            let detectors = isNamed ? try arguments.detectors(presets: presets, sensor: sensor) : []
            try ScopeCommand(
                sensor: sensor, detectors: detectors.map(\.request),
                rate: try arguments.value(of: CommonOption.rate), length: try arguments.value(of: CommonOption.length),
                inLines: arguments.has(lines), bus: $0.bus, sensorBus: $0.sensorBus, terminal: $0.terminal,
                loop: $0.loop
            ).run()
        })

    var sensor: String?
    /// What to mark; none: the detectors of the apps that the broker knows.
    var detectors: [DetectorRequest]
    var rate: Double?
    var length: TimeSpan?
    /// A line for every second and every hit, and no picture.
    var inLines: Bool
    var bus: BusAddress
    var sensorBus: ReaderBus
    let terminal: Terminal
    let loop: EventLoop

    private static let frame = TimeSpan.milliseconds(100)

    func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.sensorBus, self.loop)
        let (object, sensor) = try service.sensor(self.sensor)
        var silence: CommandFailure?
        let compiled = try self.compile(for: sensor, &silence)
        let rate = self.rate ?? max(50, compiled.map { $0.detector.neededRate }.max() ?? 0)
        let signal = ScopeSignal(sensor)
        let watched = compiled.map { one in
            ScopePicture.Watched(
                title: one.title,
                threshold: one.detector.dimension == signal.dimension ? one.detector.threshold : nil,
                asksForLittle: one.detector.asksForLittle)
        }
        var session = ScopeSession(
            signal, compiled.map { $0.detector }, sensor,
            ScopePicture(
                heading: "\(sensor.name)  \(signal.name)  \(rounded(rate, 0)) Hz  \(sensor.source)",
                unit: sensor.unit, watched: watched, nobody: silence?.message,
                strokes: self.terminal.isUnicode ? .fine : .plain))
        let isDrawn = self.terminal.isInteractive && !self.terminal.isDumb && !self.inLines
        let screen = isDrawn ? TerminalScreen(self.terminal, self.loop) : nil
        var lines = isDrawn ? nil : ScopeLines(self.terminal, sensor.unit, signal.name)
        var isDone = false
        var failure: CommandFailure?
        let reader = SampleReader(service, [(object, sensor.channels.count)])
        let deadline = SensorDeadline(self.length, on: self.loop) { isDone = true }
        reader.onSamples = { _, first, times, values in
            deadline.hear()
            let news = session.take(first: first, times: times, values: values)
            if let length = self.length, session.elapsed >= length { isDone = true }
            if lines?.tell(news, &session) == false { isDone = true }
            screen?.redraw()
        }
        let lose = { (what: String) in
            failure = CommandFailure(.noService, "\(what) went away")
            isDone = true
        }
        service.connection.onLost = { lose("the bus") }
        reader.onLoss = { lose(service.title) }
        stopOnSignals(self.loop) { isDone = true }
        screen?.onKey = { if $0 == .character("q") { isDone = true } }
        screen?.onEnd = { isDone = true }
        screen?.picture = { self.lines(session.picture) }
        screen?.open()
        defer { screen?.close() }
        if lines != nil { self.terminal.print(lines?.opening(session.picture) ?? "") }
        // The eye sees no more than some ten pictures a second.
        _ = try service.call(
            object, InterfaceName.sensor, "Claim", SensorPace(rate: rate, batchLatency: Self.frame).options)
        deadline.begin()
        try self.loop.wait { isDone }
        if let failure { throw failure }
    }

    /// The picture in the size that the terminal has now. The last place of a line is left free, as a table's would be.
    private func lines(_ picture: ScopePicture) -> [String] {
        let (width, height) = Terminal.size
        return picture.lines(width: width - 1, height: height, self.terminal)
    }

    private typealias Compiled = (title: String, detector: CompiledDetector)

    /// - Parameter silence: why it is not known what the apps have.
    private func compile(
        for sensor: SensorDescription, _ silence: inout CommandFailure?
    ) throws(CommandFailure) -> [Compiled] {
        if !self.detectors.isEmpty {
            var compiled: [Compiled] = []
            for request in self.detectors {
                do throws(DetectorProblem) {
                    compiled.append((request.name, try DetectorCompiler.compile(request, for: sensor)))
                } catch {
                    throw .usage("\(error)")
                }
            }
            for one in compiled where one.detector.sensor != sensor.name {
                throw .usage("\(one.title) listens to the \(one.detector.sensor), not to the \(sensor.name)")
            }
            return compiled
        }
        var registered: [(title: String, request: DetectorRequest)] = []
        do throws(CommandFailure) {
            registered = try self.registered()
        } catch {
            silence = error
        }
        return registered.compactMap { title, request in
            guard let detector = try? DetectorCompiler.compile(request, for: sensor), detector.sensor == sensor.name
            else { return nil }
            return (title, detector)
        }
    }

    /// The detectors of all apps; none without a broker. One that does not answer is not waited for as long as others.
    private func registered() throws(CommandFailure) -> [(title: String, request: DetectorRequest)] {
        let broker = try? Service.broker(on: self.bus, self.loop, within: Service.brokerPatience, starting: false)
        guard let broker, try broker.isThere() else { return [] }
        var found: [(title: String, request: DetectorRequest)] = []
        for app in try broker.listApps() {
            let (path, id) = (app.object, app.app)
            let properties = try broker.unlessRefused { () throws(CommandFailure) in try broker.app(path) } ?? [:]
            for fields in properties.structures("Detectors") {
                guard fields.count == 2, case .string(let name) = fields[0],
                    let request = try? DetectorRequest(name: name, inForce: fields[1].asOptions)
                else { continue }
                found.append(("\(AppID.shown(id))/\(escapedLine(name))", request))
            }
        }
        return found
    }
}

extension DetectorRequest {
    /// What the broker would have to be asked for, to have what is in force.
    init(name: String, inForce options: [String: Value]) throws(BusError) {
        var told = [DetectorKey.available, DetectorKey.effectiveRate, DetectorKey.warnings]
        // What a preset stands for follows from it, and only without one is it asked for.
        if options["preset"] != nil { told.append("when") }
        try self.init(name: name, wire: options.filter { !told.contains($0.key) })
    }
}

/// What of a sensor is drawn: the length of a vector, or the first channel.
struct ScopeSignal {
    let name: String
    let dimension: Dimension
    private let channels: Int
    private let isVector: Bool

    init(_ sensor: SensorDescription) {
        self.channels = sensor.channels.count
        self.isVector = sensor.channels.prefix(3) == ["x", "y", "z"]
        self.name = self.isVector ? "norm(x, y, z)" : sensor.channels.first ?? ""
        self.dimension =
            switch sensor.unit {
            case "g": .acceleration
            case "lx": .illuminance
            default: .none
            }
    }

    func value(_ values: Span<Double>, row: Int) -> Double {
        let start = row * self.channels
        guard self.isVector else { return values[start] }
        var sum = 0.0
        for channel in start..<start + 3 { sum += values[channel] * values[channel] }
        return sum.squareRoot()
    }
}

/// The samples on their way into the picture, and the hits that they make.
struct ScopeSession {
    /// A hit, to be told.
    struct News {
        var title: String
        var time: TimeSpan
        /// How strong it was; `nil` for one that was held by activity.
        var peak: Double?
    }

    private(set) var picture: ScopePicture
    private let signal: ScopeSignal
    private var engine: DetectionEngine
    private let detectors: [CompiledDetector]
    private var isBegun = false
    private var expected: UInt64?
    private var hits: [Hit] = []
    /// The time from the first sample to the last.
    private(set) var elapsed = TimeSpan.zero
    /// Of the signal since it was last taken.
    private(set) var range: (low: Double, high: Double, count: Int) = (.infinity, -.infinity, 0)

    init(
        _ signal: ScopeSignal, _ detectors: [CompiledDetector], _ sensor: SensorDescription, _ picture: ScopePicture
    ) {
        self.signal = signal
        self.detectors = detectors
        self.engine = DetectionEngine(
            channels: sensor.channels, range: sensor.range, gap: SensorLimits.gap(of: sensor.name))
        self.picture = picture
    }

    /// Takes samples, and returns the hits in them.
    mutating func take(first: UInt64, times: Span<Int64>, values: Span<Double>) -> [News] {
        guard !times.isEmpty else { return [] }
        if !self.isBegun {
            self.isBegun = true
            for (index, detector) in self.detectors.enumerated() {
                self.engine.add(detector, as: DetectorID(UInt32(index)), at: Timestamp(microseconds: times[0]))
            }
        }
        if let expected = self.expected, first != expected {
            self.engine.gap()
            self.picture.gap()
        }
        self.expected = first &+ UInt64(times.count)
        for row in times.indices {
            let value = self.signal.value(values, row: row)
            let time = Timestamp(microseconds: times[row])
            self.picture.sample(at: time, value)
            self.elapsed = self.picture.since(time)
            self.range = (min(self.range.low, value), max(self.range.high, value), self.range.count + 1)
        }
        self.engine.process(times: times, values: values, hits: &self.hits)
        defer { self.hits.removeAll(keepingCapacity: true) }
        let news = self.hits.map { hit in
            let index = Int(hit.detector.index)
            self.picture.hit(index, at: hit.time)
            return News(title: self.picture.watched[index].title, time: self.picture.since(hit.time), peak: hit.peak)
        }
        return news + self.takeHeld()
    }

    /// What was held by activity since the last time.
    private mutating func takeHeld() -> [News] {
        var news: [News] = []
        for index in self.detectors.indices {
            let held = self.engine.heldHits(of: DetectorID(UInt32(index)))
            guard let last = held.last, self.picture.holds(index, held.count) else { continue }
            news.append(News(title: self.picture.watched[index].title, time: self.picture.since(last)))
        }
        return news
    }

    mutating func takeRange() -> (low: Double, high: Double, count: Int) {
        defer { self.range = (.infinity, -.infinity, 0) }
        return self.range
    }
}
