import DBus
import Motion
import Protocol

/// What the broker said at one time: what each app had by then, and how the sensors do.
struct TopSnapshot {
    /// In µs of CLOCK_BOOTTIME.
    var time: Int64
    var apps: [ListedCounters] = []
    var sensors: [[String: Value]] = []
    var isPaused = false
    var isLocked = false
    var durability = ""
}

/// What happened between two times: for each app and sensor, how much a second.
struct TopTable {
    /// One app.
    struct Row {
        var app: ListedCounters
        /// A second.
        var hits = 0.0
        var events = 0.0
        var refused = 0.0

        var title: String { AppID.shown(self.app.app) }
    }

    /// One sensor of the broker.
    struct Sensor {
        var name: String
        var isAvailable: Bool
        var state: String
        /// What the broker asked for, in Hz; 0: nothing.
        var rate: Double
        /// What came, a second.
        var samples: Double
    }

    let time: Int64
    /// From the time before to this one; `nil` when there was none: nothing is known of what happens in a second.
    let span: TimeSpan?
    let rows: [Row]
    let sensors: [Sensor]
    let isPaused: Bool
    let isLocked: Bool
    let durability: String

    /// - Parameter before: what the broker said earlier.
    init(_ now: TopSnapshot, since before: TopSnapshot? = nil) {
        let span = before.map { TimeSpan(microseconds: max(1, now.time - $0.time)) }
        let seconds = span.map { Double($0.microseconds) / 1_000_000 } ?? .infinity
        // Counts begin anew with an app that comes again, and with the broker.
        func rate(_ now: UInt64, _ before: UInt64) -> Double { now < before ? 0 : Double(now - before) / seconds }
        let apps = Dictionary((before?.apps ?? []).map { ($0.object, $0) }) { first, _ in first }
        self.rows = now.apps.map { app in
            let earlier = apps[app.object]
            return Row(
                app: app, hits: rate(app.hits, earlier?.hits ?? 0),
                events: rate(app.delivered, earlier?.delivered ?? 0),
                refused: rate(app.denied, earlier?.denied ?? 0))
        }
        let received = Dictionary(
            (before?.sensors ?? []).map { ($0.text(SensorStateKey.name), $0.count(SensorStateKey.received)) }
        ) { first, _ in first }
        self.sensors = now.sensors.map { sensor in
            let name = sensor.text(SensorStateKey.name)
            let count = sensor.count(SensorStateKey.received)
            return Sensor(
                name: name, isAvailable: sensor.flag(SensorStateKey.available),
                state: sensor.text(SensorStateKey.state), rate: sensor.number(SensorStateKey.rate),
                samples: rate(count, received[name] ?? count))
        }
        (self.time, self.span) = (now.time, span)
        (self.isPaused, self.isLocked, self.durability) = (now.isPaused, now.isLocked, now.durability)
    }

    // MARK: All together

    var hits: Double { self.rows.reduce(0) { $0 + $1.hits } }
    var events: Double { self.rows.reduce(0) { $0 + $1.events } }
    var refused: Double { self.rows.reduce(0) { $0 + $1.refused } }
    var queuedBytes: UInt64 { self.rows.reduce(0) { $0 &+ $1.app.queuedBytes } }
    var launches: UInt64 { self.rows.reduce(0) { $0 &+ $1.app.launches } }
    var launchFailures: UInt64 { self.rows.reduce(0) { $0 &+ $1.app.launchFailures } }

    /// What whoever looks should know besides.
    var notices: [String] {
        var notices: [String] = []
        if self.isPaused { notices.append("motion is switched off") }
        if self.isLocked { notices.append("the screen is locked") }
        if self.durability == "degraded" { notices.append("the disk does not keep up: durability is degraded") }
        return notices
    }

    /// The sensors in a line.
    var sensorText: String {
        if self.sensors.isEmpty { return "no sensor" }
        return self.sensors.map { sensor in
            if !sensor.isAvailable { return "\(sensor.name) \(sensor.state)" }
            if sensor.rate <= 0 { return "\(sensor.name) off" }
            return "\(sensor.name) \(rounded(sensor.rate, 0)) Hz"
                + (self.span == nil ? "" : ", \(Self.rate(sensor.samples))/s come")
        }.joined(separator: "  ")
    }

    /// Of everything together, in a line.
    var totalText: String {
        func rate(_ value: Double) -> String { self.span == nil ? "-" : Self.rate(value) }
        let failed = self.launchFailures > 0 ? ", \(self.launchFailures) failed" : ""
        return "\(self.rows.count) app\(self.rows.count == 1 ? "" : "s")  hits \(rate(self.hits))/s  "
            + "events \(rate(self.events))/s  refused \(rate(self.refused))/s  "
            + "queued \(Self.bytes(self.queuedBytes))  launches \(self.launches)\(failed)"
    }

    // MARK: Numbers

    /// How often a second: a digit behind the point where that says something.
    static func rate(_ value: Double) -> String {
        value <= 0 ? "0" : value < 9.95 ? rounded(max(value, 0.1), 1) : rounded(value, 0)
    }

    /// Bytes in at most five places.
    static func bytes(_ count: UInt64) -> String {
        if count < 10_000 { return "\(count)" }
        for (unit, size) in [("k", 1_000.0), ("M", 1_000_000.0), ("G", 1_000_000_000.0)] {
            let value = Double(count) / size
            if value < 999.5 { return (value < 9.95 ? rounded(value, 1) : rounded(value, 0)) + unit }
        }
        return "many"
    }

    // MARK: Machines and pipes

    /// All of it as one object, with these of the apps.
    func json(of rows: [Row]) -> String {
        var line = JSONLine()
        line.add("t_us", self.time, on: .boottime)
        line.add("span_us", self.span?.microseconds ?? 0)
        line.add("paused", self.isPaused)
        line.add("locked", self.isLocked)
        line.add("durability", self.durability)
        line.add("hits_per_s", self.hits)
        line.add("events_per_s", self.events)
        line.add("refused_per_s", self.refused)
        line.add("queued_bytes", self.queuedBytes)
        line.add("launches", self.launches)
        line.add("launch_failures", self.launchFailures)
        line.add(
            "sensors",
            self.sensors.map { sensor in
                var object = JSONLine()
                object.add("sensor", sensor.name)
                object.add("available", sensor.isAvailable)
                object.add("state", sensor.state)
                object.add("rate", sensor.rate)
                object.add("samples_per_s", sensor.samples)
                return object
            })
        line.add("apps", rows.map(\.json))
        return line.text
    }
}

extension TopTable.Row {
    fileprivate var json: JSONLine {
        var object = JSONLine()
        object.add("app", self.app.app)
        object.add("path", self.app.object.text)
        object.add("state", self.app.state)
        object.add("hits", self.app.hits)
        object.add("hits_per_s", self.hits)
        object.add("delivered", self.app.delivered)
        object.add("events_per_s", self.events)
        object.add("denied", self.app.denied)
        object.add("refused_per_s", self.refused)
        object.add("dropped", self.app.dropped)
        object.add("queued_bytes", self.app.queuedBytes)
        object.add("launches", self.app.launches)
        object.add("launch_failures", self.app.launchFailures)
        object.add("last_refusal", self.app.lastRefusal)
        return object
    }
}
