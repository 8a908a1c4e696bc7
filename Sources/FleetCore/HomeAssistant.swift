package import Motion

/// What Home Assistant is told of a device: one message with all of it, kept by the server.
///
/// Its entities read the topics that the bridge publishes to anyway, by templates. Those are of what happens now: what is caught up
/// goes to other topics, and so never turns a light on an hour late.
package struct HomeAssistant: Equatable, Sendable {
    package struct Detector: Equatable, Sendable {
        package var name: String
        package var preset: String

        package init(name: String, preset: String) {
            self.name = name
            self.preset = preset
        }
    }

    package var topics: FleetTopics
    /// Below which its topics are; `homeassistant` unless somebody changed it.
    package var prefix: String
    package var softwareVersion: String
    package var detectors: [Detector]
    package var sensors: [String]
    /// What is counted is told.
    package var hasCounters: Bool
    /// Whether the switch is there: motion may be switched off from outside.
    package var mayPause: Bool

    package init(
        _ topics: FleetTopics, prefix: String = "homeassistant", softwareVersion: String, detectors: [Detector],
        sensors: [String], hasCounters: Bool, mayPause: Bool
    ) {
        self.topics = topics
        self.prefix = prefix
        self.softwareVersion = softwareVersion
        self.detectors = detectors
        self.sensors = sensors
        self.hasCounters = hasCounters
        self.mayPause = mayPause
    }

    /// Where it is told; it is kept there.
    package var topic: String { "\(self.prefix)/device/\(self.id)/config" }
    /// Where Home Assistant says that it begins.
    package var birthTopic: String { "\(self.prefix)/status" }
    package static func isBirth(_ payload: [UInt8]) -> Bool { payload == Array("online".utf8) }

    /// Ids may have no '.' and no '-' in topics of discovery, and have to differ where names do.
    private static func id(_ name: String) -> String {
        var id = ""
        for byte in name.utf8 {
            let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
            id += isPlain ? String(UnicodeScalar(byte)) : "_" + String(byte, radix: 16)
        }
        return id
    }

    private var id: String { "jostle_\(Self.id(self.topics.device))" }

    // MARK: The message

    package var config: DataValue {
        let device: DataValue = .fields([
            "ids": .list([.text(self.id)]), "name": .text(self.topics.device), "mf": .text("Jostle"),
            "mdl": .text("motion broker"), "sw": .text(self.softwareVersion),
        ])
        let availability: DataValue = .fields([
            "t": .text(self.topics.presence),
            "val_tpl": .text("{{ 'online' if value_json.online else 'offline' }}"),
        ])
        return .fields([
            "dev": device,
            "o": .fields(["name": .text("jostle-bridge"), "sw": .text(self.softwareVersion)]),
            "avty": .list([availability]), "qos": .integer(1),
            "cmps": .object(self.components.map { DataValue.Field($0.id, $0.value) }),
        ])
    }

    private var components: [(id: String, value: DataValue)] {
        var all: [(id: String, value: DataValue)] = []
        func add(_ id: String, _ platform: String, _ name: String, _ fields: KeyValuePairs<String, DataValue?>) {
            let common: DataValue = .fields([
                "p": .text(platform), "name": .text(name), "unique_id": .text("\(self.id)_\(id)"),
            ])
            guard case .object(let first) = common, case .object(let rest) = DataValue.fields(fields) else { return }
            all.append((id, .object(first + rest)))
        }
        for detector in self.detectors {
            let (id, topic) = (Self.id(detector.name), self.topics.event(of: detector.name))
            add(
                "event_\(id)", "event", detector.name,
                [
                    "state_topic": .text(topic), "event_types": .list([.text("detected")]),
                    "value_template": .text(
                        "{{ {'event_type': 'detected', 'peak': value_json.peak, 'epoch': value_json.epoch} | tojson }}"),
                ])
            all.append(
                (
                    "trigger_\(id)",
                    .fields([
                        "p": .text("device_automation"), "automation_type": .text("trigger"), "topic": .text(topic),
                        "type": .text("detected"), "subtype": .text(detector.name),
                    ])
                ))
        }
        for (key, name, kind) in [
            ("moving", "Moving", "moving"), ("still", "Still", nil), ("locked", "Screen unlocked", "lock"),
        ] {
            add(
                key, "binary_sensor", name,
                [
                    "state_topic": .text(self.topics.motion), "device_class": kind.map { .text($0) },
                    // A lock of this class is on when it is open.
                    "value_template": .text(
                        "{{ 'ON' if \(key == "locked" ? "not " : "")value_json.\(key) else 'OFF' }}"),
                ])
        }
        for (key, name) in [
            ("sent", "Messages"), ("past", "Messages caught up"), ("gaps", "Gaps"), ("connections", "Connections"),
        ] where self.hasCounters {
            add(
                key, "sensor", name,
                [
                    "state_topic": .text(self.topics.counters), "value_template": .text("{{ value_json.\(key) }}"),
                    "state_class": .text("total_increasing"), "entity_category": .text("diagnostic"),
                ])
        }
        for sensor in self.sensors {
            add(
                "sensor_\(Self.id(sensor))", "sensor", sensor,
                [
                    "state_topic": .text(self.topics.sensor(sensor)),
                    "value_template": .text(
                        "{{ 'available' if value_json is defined and value_json.available else 'gone' }}"),
                    "device_class": .text("enum"), "options": .list([.text("available"), .text("gone")]),
                    "entity_category": .text("diagnostic"),
                ])
        }
        if self.mayPause {
            add(
                "pause", "switch", "Motion off",
                [
                    "command_topic": .text(self.topics.pause), "state_topic": .text(self.topics.motion),
                    "value_template": .text("{{ 'ON' if value_json.paused else 'OFF' }}"),
                    "entity_category": .text("config"),
                ])
        }
        return all
    }
}

extension FleetTopics {
    /// Whether the device is moved, still, locked and paused; retained.
    package var motion: String { "\(FleetTopics.root)/\(self.device)/motion" }
    /// ON or OFF: whether motion is switched off.
    package var pause: String { "\(FleetTopics.root)/\(self.device)/pause" }
}

/// Whether a device is moved, and whether it lies still, by what its detectors say.
///
/// Moved is what a detector reacts to, for a while; still is what the preset of that name says, until another one reacts.
package struct MotionState: Equatable, Sendable {
    package private(set) var isMoving = false
    package private(set) var isStill = false
    package var isLocked = false
    package var isPaused = false
    private var movedUntil = Timestamp.zero

    /// How long a device counts as moved after a detector reacted.
    package static let lasting = TimeSpan.seconds(10)

    package init() {}

    /// An event of now. Returns when to look again, if that is to be done.
    package mutating func event(preset: String, at now: Timestamp) -> Timestamp? {
        guard preset != "still" else {
            (self.isMoving, self.isStill) = (false, true)
            return nil
        }
        (self.isMoving, self.isStill) = (true, false)
        self.movedUntil = now + Self.lasting
        return self.movedUntil
    }

    package mutating func timePassed(_ now: Timestamp) { if now >= self.movedUntil { self.isMoving = false } }

    package var value: DataValue {
        .fields([
            "moving": .bool(self.isMoving), "still": .bool(self.isStill), "locked": .bool(self.isLocked),
            "paused": .bool(self.isPaused),
        ])
    }
}
