import Motion

/// What tells an event from every other of its device. An epoch never comes again, and an app's numbers rise.
package struct EventName: Hashable, Sendable {
    package var app: String
    package var epoch: UInt64
    package var sequence: UInt64

    package init(app: String, epoch: UInt64, sequence: UInt64) {
        self.app = app
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Whether an event of the same app certainly came before another. Numbers begin anew with a registration, and what is decided late has
    /// an epoch of before; not both at once.
    func isBefore(_ other: EventName) -> Bool { self.epoch < other.epoch && self.sequence < other.sequence }
}

/// An event as it is told of.
package struct EventMessage: Equatable, Sendable {
    package var name: EventName
    package var detector: String
    package var peak: Double
    /// The time of the sample, in µs since the boot.
    package var time: Int64
    /// When the journal, or the bridge, wrote it down, in µs of the wall clock.
    package var wall: Int64
    package var generation: UInt64
    package var isSimulated: Bool

    package init(
        name: EventName, detector: String, peak: Double, time: Int64, wall: Int64, generation: UInt64, isSimulated: Bool
    ) {
        self.name = name
        self.detector = detector
        self.peak = peak
        self.time = time
        self.wall = wall
        self.generation = generation
        self.isSimulated = isSimulated
    }

    package var value: DataValue {
        .fields([
            "app": .text(self.name.app), "epoch": .count(self.name.epoch), "sequence": .count(self.name.sequence),
            "detector": .text(self.detector), "peak": .double(self.peak), "time_us": .integer(self.time),
            "wall_us": .integer(self.wall), "policy": .count(self.generation),
            "simulated": self.isSimulated ? .bool(true) : nil,
        ])
    }
}

/// A verdict as it is told of.
package struct VerdictMessage: Equatable, Sendable {
    package var app: String
    package var epoch: UInt64
    package var detector: String
    package var preset: String
    package var reason: String
    package var isDelivered: Bool
    package var intensity: Double
    package var rule: String?
    /// `file:line` of the rule.
    package var place: String?
    package var time: Int64
    package var wall: Int64
    package var generation: UInt64

    package init(
        app: String, epoch: UInt64, detector: String, preset: String, reason: String, isDelivered: Bool,
        intensity: Double, rule: String?, place: String?, time: Int64, wall: Int64, generation: UInt64
    ) {
        self.app = app
        self.epoch = epoch
        self.detector = detector
        self.preset = preset
        self.reason = reason
        self.isDelivered = isDelivered
        self.intensity = intensity
        self.rule = rule
        self.place = place
        self.time = time
        self.wall = wall
        self.generation = generation
    }

    package var value: DataValue {
        .fields([
            "app": .text(self.app), "epoch": .count(self.epoch), "detector": .text(self.detector),
            "preset": self.preset.isEmpty ? nil : .text(self.preset), "reason": .text(self.reason),
            "delivered": .bool(self.isDelivered), "intensity": .double(self.intensity),
            "rule": self.rule.map { .text($0) }, "rule_at": self.place.map { .text($0) },
            "time_us": .integer(self.time), "wall_us": .integer(self.wall), "policy": .count(self.generation),
        ])
    }
}

/// Whether the bridge is there.
package struct PresenceMessage: Equatable, Sendable {
    package var isOnline: Bool
    /// Since when, in µs of the wall clock; of who is gone nobody knows.
    package var since: Int64?

    package init(isOnline: Bool, since: Int64? = nil) {
        self.isOnline = isOnline
        self.since = since
    }

    package var value: DataValue {
        .fields(["online": .bool(self.isOnline), "since_us": self.since.map { .integer($0) }])
    }
}

/// How far a device came in its journal: these rows were acknowledged when it was said.
package struct PositionMessage: Equatable, Sendable {
    /// Which journal: rows of another begin anew.
    package var stream: String
    package var events: RowLedger
    package var verdicts: RowLedger

    package init(stream: String, events: RowLedger, verdicts: RowLedger) {
        self.stream = stream
        self.events = events
        self.verdicts = verdicts
    }

    package var value: DataValue {
        .fields([
            "stream": .text(self.stream), "events": .integer(self.events.cursor), "events_ahead": self.events.value,
            "verdicts": .integer(self.verdicts.cursor), "verdicts_ahead": self.verdicts.value,
        ])
    }

    package init?(_ value: DataValue) {
        guard let stream = value["stream"]?.text,
            let events = RowLedger(cursor: value["events"]?.integer, value["events_ahead"]),
            let verdicts = RowLedger(cursor: value["verdicts"]?.integer, value["verdicts_ahead"])
        else { return nil }
        self.init(stream: stream, events: events, verdicts: verdicts)
    }
}

/// A consumer has stored an event, and all that came to it before.
package struct AcknowledgementMessage: Equatable, Sendable {
    package var name: EventName

    package init?(_ value: DataValue) {
        guard let app = value["app"]?.text, let epoch = value["epoch"]?.count, let sequence = value["sequence"]?.count
        else { return nil }
        self.name = EventName(app: app, epoch: epoch, sequence: sequence)
    }
}
