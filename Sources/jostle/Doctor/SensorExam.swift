import DBus
import Motion
import Protocol

/// What `jostle doctor` finds of the sensors: as the reader has them, and as the broker gets them.
struct SensorExam: Equatable {
    struct Sensor: Equatable {
        var name: String
        var state: String
        var detail: String
    }

    /// `nil`: the reader says nothing.
    var ofReader: [Sensor]?
    /// Those that the broker lists and may not have or does not get; `nil`: the broker says nothing.
    var missing: [Sensor]?

    /// What a sensor that works is called.
    private static let healthy: Set<String> = ["idle", "running", "ready"]
    /// What may be so and is no fault of the device's: it lies still, or the motion is too hard for it.
    private static let harmless: Set<String> = ["stuck", "saturated", "absent"]

    var remarks: [Remark] {
        var remarks: [Remark] = []
        if let ofReader {
            if ofReader.isEmpty {
                remarks.append(
                    .wrong(
                        .sensors, "the reader has no sensor: see what stands above of devices",
                        mend: "jostle demo", "journalctl -u jostle-sensord -n 50"))
            }
            let healthy = ofReader.filter { Self.healthy.contains($0.state) }
            if !healthy.isEmpty {
                let names = healthy.map { "\(printable($0.name)) (\(printable($0.state)))" }
                remarks.append(.good(.sensors, "the reader has \(names.joined(separator: ", "))"))
            }
            for sensor in ofReader where !Self.healthy.contains(sensor.state) {
                let text = Self.told(sensor)
                remarks.append(
                    Self.harmless.contains(sensor.state)
                        ? .note(.sensors, text) : .wrong(.sensors, text, mend: "journalctl -u jostle-sensord -n 50"))
            }
        }
        // What the reader says of it itself stands there already.
        let told = Set((self.ofReader ?? []).filter { !Self.healthy.contains($0.state) }.map(\.name))
        for sensor in self.missing ?? [] where !told.contains(sensor.name) {
            remarks.append(
                .wrong(
                    .sensors, "apps hear nothing of it: \(Self.told(sensor))", mend: "jostle status", "jostle sensors"))
        }
        return remarks
    }

    private static func told(_ sensor: Sensor) -> String {
        let detail = sensor.detail.isEmpty ? "" : ": \(printable(sensor.detail))"
        return "\(printable(sensor.name)) is \(printable(sensor.state))\(detail)"
    }
}

extension SensorExam {
    /// - Parameter broker: what the broker says of itself; `nil`: nothing.
    init(reader: AskedBus?, broker: [String: Value]?) {
        if let reader {
            let target = CallTarget(BusName.sensors, Path.sensors, InterfaceName.sensors.description)
            let rows = try? reader.ask(target, "ListSensors", noOptions)
                .read(reply: [Structure<ObjectPath, [String: Value]>].self)
            self.ofReader = rows?.prefix(Self.most).compactMap { row in
                let path = row.fields.0
                let all = try? reader.properties(BusName.sensors, path, InterfaceName.sensor.description)
                return all.map {
                    Sensor(name: $0.text("Name"), state: $0.text("State"), detail: $0.text("StateDetail"))
                }
            }
        }
        self.missing = broker.map { broker in
            broker.rows("Sensors").filter { !$0.flag("available") }.map {
                Sensor(name: $0.text("name"), state: $0.text("state"), detail: $0.text("detail"))
            }
        }
    }

    /// A device has a handful.
    private static let most = 64
}
