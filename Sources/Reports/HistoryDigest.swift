/// What was the case around the apps in a time, of the changes that a journal noted: how long, and from when to when.
///
/// A change holds until the next of its kind, app and sensor, or until its broker ended; of one that was killed, until the last
/// thing that it noted.
package struct HistoryDigest: Sendable {
    /// A change as it stands in the journal.
    package struct Change: Sendable {
        package var run: Int64
        package var wall: Int64
        package var kind: String
        package var app: DayDigest.App
        package var value: String
        package var rate: Double?
        package var count: Double?

        package init(
            run: Int64, wall: Int64, kind: String, app: DayDigest.App, value: String, rate: Double?, count: Double?
        ) {
            self.run = run
            self.wall = wall
            self.kind = kind
            self.app = app
            self.value = value
            self.rate = rate
            self.count = count
        }
    }

    /// How long something was the case, and how often it began to be.
    package struct Duration: Sendable {
        package var microseconds: Int64 = 0
        package var times = 0
    }

    /// From when to when, as far as it can be drawn.
    package struct Span: Sendable {
        package var from: Int64
        package var to: Int64
        package var value: String
        package var rate: Double
    }

    /// What an app's detectors asked of a sensor.
    package struct Need: Sendable {
        package var rate = 0.0
        package var looks = 0.0
        /// How long the sensor ran while they asked for it.
        package var microseconds: Int64 = 0
    }

    package struct SensorUse: Sendable {
        package var rate = 0.0
        package var microseconds: Int64 = 0
        package var lost = 0.0
        package var gaps = 0.0
        package var gapTimes: [Int64] = []
    }

    package struct AppKey: Hashable, Sendable {
        package var app: DayDigest.App
        package var value: String
    }

    private struct Key: Hashable {
        var kind: String
        var app: DayDigest.App
        /// The sensor, where that is what it is about.
        var sensor: String
    }

    private struct Open {
        var from: Int64
        var value: String
        var rate: Double
        var count: Double
        /// How long the sensor had run by then.
        var ran: Int64
    }

    package let since: Int64
    package let until: Int64
    /// The first that was noted at all; `nil`: nothing was.
    package private(set) var first: Int64?
    /// By kind and value.
    package private(set) var device: [String: [String: Duration]] = [:]
    package private(set) var deviceSpans: [String: [Span]] = [:]
    package private(set) var states: [AppKey: Duration] = [:]
    package private(set) var stateSpans: [DayDigest.App: [Span]] = [:]
    package private(set) var needs: [AppKey: Need] = [:]
    package private(set) var sensors: [String: SensorUse] = [:]
    package private(set) var sensorSpans: [String: [Span]] = [:]
    package private(set) var launches: [AppKey: Int] = [:]
    package private(set) var launchTimes: [DayDigest.App: [Int64]] = [:]
    private var open: [Key: Open] = [:]
    /// The same of sensors, apart: few run, and each of thousands that ask for one has them looked at.
    private var running: [Key: Open] = [:]
    private var run: (number: Int64, last: Int64)?
    /// The broker of the last run may still be at work.
    private(set) var isInUse = true

    /// More than this is not drawn of one thing.
    private static let mostSpans = 400
    /// So many things are followed at most.
    private static let most = 8_192

    init(since: Int64, until: Int64) {
        self.since = since
        self.until = until
    }

    private static let deviceKinds: Set<String> = ["lock", "foreground", "power", "sleep", "motion"]

    mutating func add(_ change: Change) {
        var change = change
        // Whatever a file says, what lies outside any time that can be asked for is as good as its end.
        change.wall = min(max(change.wall, 0), self.until)
        self.first = min(self.first ?? change.wall, change.wall)
        if let run, run.number != change.run { self.closeAll(at: run.last) }
        self.run = (change.run, max(change.wall, self.run?.number == change.run ? self.run?.last ?? 0 : 0))
        let isInside = (self.since..<self.until).contains(change.wall)
        switch change.kind {
        case "end": self.closeAll(at: change.wall)
        case "lost": if isInside { self.sensors[change.value, default: SensorUse()].lost += change.count ?? 0 }
        case "gaps": if isInside { self.addGap(change) }
        case "launch": if isInside { self.addLaunch(change) }
        case "state": self.begin(Key(kind: change.kind, app: change.app, sensor: ""), change)
        case "asks", "sensor": self.begin(Key(kind: change.kind, app: change.app, sensor: change.value), change)
        case let kind where Self.deviceKinds.contains(kind):
            self.begin(Key(kind: kind, app: change.app, sensor: ""), change)
        default: break
        }
    }

    mutating func finish(isInUse: Bool) {
        self.isInUse = isInUse
        if let run { self.closeAll(at: isInUse ? self.until : run.last) }
    }

    private mutating func addGap(_ change: Change) {
        self.sensors[change.value, default: SensorUse()].gaps += change.count ?? 0
        if self.sensors[change.value]?.gapTimes.count ?? 0 < Self.mostSpans {
            self.sensors[change.value]?.gapTimes.append(change.wall)
        }
    }

    private mutating func addLaunch(_ change: Change) {
        guard self.launches.count < Self.most else { return }
        self.launches[AppKey(app: change.app, value: change.value), default: 0] += 1
        if self.launchTimes[change.app, default: []].count < Self.mostSpans {
            self.launchTimes[change.app, default: []].append(change.wall)
        }
    }

    /// Something holds from now on, and what held until now does not.
    private mutating func begin(_ key: Key, _ change: Change) {
        let isSensor = key.kind == "sensor"
        let before = isSensor ? self.running.removeValue(forKey: key) : self.open.removeValue(forKey: key)
        if let before { self.close(key, before, at: change.wall) }
        guard self.open.count + self.running.count < Self.most else { return }
        let new = Open(
            from: change.wall, value: change.value, rate: change.rate ?? 0, count: change.count ?? 0,
            ran: key.kind == "asks" ? self.ran(key.sensor, at: change.wall) : 0)
        if isSensor { self.running[key] = new } else { self.open[key] = new }
    }

    private mutating func closeAll(at wall: Int64) {
        // Who asks for a sensor is looked at while that runs.
        for (key, open) in self.open { self.close(key, open, at: wall) }
        for (key, open) in self.running { self.close(key, open, at: wall) }
        (self.open, self.running) = ([:], [:])
    }

    private mutating func close(_ key: Key, _ open: Open, at wall: Int64) {
        let (from, to) = (max(open.from, self.since), min(max(wall, open.from), self.until))
        let pixel = (self.until - self.since) / Int64(Self.mostSpans)
        switch key.kind {
        case "asks":
            let ran = self.ran(key.sensor, at: wall) - open.ran
            guard open.rate > 0, from < to else { return }
            var need = self.needs[AppKey(app: key.app, value: key.sensor)] ?? Need()
            need.rate = max(need.rate, open.rate)
            need.microseconds = need.microseconds.adding(ran)
            need.looks += open.count * Double(ran) / 1_000_000
            self.needs[AppKey(app: key.app, value: key.sensor)] = need
        case "sensor":
            guard open.rate > 0, from < to else { return }
            var use = self.sensors[key.sensor] ?? SensorUse()
            use.microseconds = use.microseconds.adding(to - from)
            use.rate = max(use.rate, open.rate)
            self.sensors[key.sensor] = use
            Self.draw(
                Span(from: from, to: to, value: key.sensor, rate: open.rate), pixel,
                into: &self.sensorSpans[key.sensor, default: []])
        case "state":
            guard from < to else { return }
            self.states[AppKey(app: key.app, value: open.value), default: Duration()].add(to - from)
            Self.draw(
                Span(from: from, to: to, value: open.value, rate: 0), pixel,
                into: &self.stateSpans[key.app, default: []])
        default:
            guard from < to else { return }
            self.device[key.kind, default: [:]][open.value, default: Duration()].add(to - from)
            Self.draw(
                Span(from: from, to: to, value: open.value, rate: 0), pixel,
                into: &self.deviceSpans[key.kind, default: []])
        }
    }

    /// How long a sensor has run within our time, up to a moment.
    private func ran(_ sensor: String, at wall: Int64) -> Int64 {
        var total = self.sensors[sensor]?.microseconds ?? 0
        for (key, open) in self.running where key.sensor == sensor && open.rate > 0 {
            total = total.adding(max(0, min(wall, self.until) - max(open.from, self.since)))
        }
        return total
    }

    /// Keeps what can be told apart on a page, where a pixel is so long. Not asked of ourselves: we would be copied while we change.
    private static func draw(_ span: Span, _ pixel: Int64, into spans: inout [Span]) {
        guard spans.count < self.mostSpans else { return }
        if let last = spans.last, span.to - last.to < pixel, span.to - span.from < pixel { return }
        spans.append(span)
    }
}

extension HistoryDigest.Duration {
    fileprivate mutating func add(_ microseconds: Int64) {
        self.microseconds = self.microseconds.adding(microseconds)
        self.times += 1
    }
}

extension Int64 {
    /// The sum, or the largest number: times in a file may go back again and again.
    fileprivate func adding(_ other: Int64) -> Int64 {
        let (sum, isBeyond) = self.addingReportingOverflow(other)
        return isBeyond ? .max : sum
    }
}
