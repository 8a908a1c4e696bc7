import DBus
import Motion
import Protocol

/// What `jostle doctor` finds of the sensors: as the reader has them, and as the broker gets them.
struct SensorExam: Equatable {
    struct Sensor: Equatable {
        var name: String
        var state: String
        var detail: String

        /// How a state is judged, whichever of the two services says it.
        fileprivate var judgement: Remark.State {
            switch self.state {
            case "idle", "running", "ready": .good
            // It may have been unplugged, and motion may be too hard for it.
            case "absent", "saturated": .note
            // `broken`, `refused`, `stalled`, and `stuck`, which no working device is.
            default: .wrong
            }
        }

        fileprivate var told: String {
            let detail = self.detail.isEmpty ? "" : ": \(printable(self.detail))"
            return "\(printable(self.name)) is \(printable(self.state))\(detail)"
        }
    }

    /// `nil`: the reader says nothing.
    var ofReader: [Sensor]?
    /// Whether the reader said no more while it was asked for its sensors.
    var isSilenced = false
    /// Those that the broker lists and may not have or does not get; `nil`: the broker says nothing.
    var missing: [Sensor]?
    /// What shows the reader's log.
    var readersLog: [TypedCommand] = []

    var hasSensors: Bool { !(self.ofReader ?? []).isEmpty }

    var remarks: [Remark] {
        var remarks: [Remark] = []
        if self.isSilenced {
            remarks.append(
                .wrong(.sensors, "the reader stopped answering while it was asked for sensors", look: self.readersLog))
        } else if let ofReader, ofReader.isEmpty {
            remarks.append(
                .wrong(
                    .sensors, "the reader has no sensor: see what stands above of devices",
                    look: [.jostle("demo", to: .nobody)] + self.readersLog))
        }
        let ofReader = self.ofReader ?? []
        let healthy = ofReader.filter { $0.judgement == .good }
        if !healthy.isEmpty {
            let names = healthy.map { "\(printable($0.name)) (\(printable($0.state)))" }
            remarks.append(.good(.sensors, "the reader has \(names.joined(separator: ", "))"))
        }
        for sensor in ofReader where sensor.judgement != .good {
            remarks.append(Self.remark(sensor.judgement, sensor.told, look: self.readersLog))
        }
        // What the reader says of it itself stands there already.
        let told = Set(ofReader.filter { $0.judgement != .good }.map(\.name))
        for sensor in self.missing ?? [] where !told.contains(sensor.name) {
            // It is missing whatever its state is called.
            let state = sensor.judgement == .good ? .wrong : sensor.judgement
            remarks.append(
                Self.remark(
                    state, "apps hear nothing of it: \(sensor.told)",
                    look: [.jostle("status", to: .broker), .jostle("sensors", to: .reader)]))
        }
        return remarks
    }

    private static func remark(_ state: Remark.State, _ text: String, look: [TypedCommand]) -> Remark {
        state == .note ? .note(.sensors, text, look: look) : .wrong(.sensors, text, look: look)
    }
}

extension SensorExam {
    /// - Parameter broker: what the broker says of itself; `nil`: nothing.
    init(reader: AskedBus?, broker: [String: Value]?, readersLog: [TypedCommand]) {
        self.readersLog = readersLog
        if let reader { self.ask(reader) }
        self.missing = broker.map { broker in
            broker.rows("Sensors").filter { !$0.flag(SensorStateKey.available) }.map {
                Sensor(
                    name: $0.text(SensorStateKey.name), state: $0.text(SensorStateKey.state),
                    detail: $0.text(SensorStateKey.detail))
            }
        }
    }

    /// A device has a handful.
    private static let most = 64

    /// Asks for each sensor's state, until one answer does not come: the next would not come, either.
    private mutating func ask(_ reader: AskedBus) {
        do throws(BusError) {
            let target = CallTarget(BusName.sensors, Path.sensors, InterfaceName.sensors.description)
            let rows = try reader.ask(target, "ListSensors", noOptions)
                .read(reply: [Structure<ObjectPath, [String: Value]>].self)
            var sensors: [Sensor] = []
            defer { self.ofReader = sensors }
            for row in rows.prefix(Self.most) {
                let own: [String: Value]
                do throws(BusError) {
                    own = try reader.properties(BusName.sensors, row.fields.0, InterfaceName.sensor.description)
                } catch {
                    guard !error.isBusMissing else { throw error }
                    // It was unplugged since.
                    continue
                }
                sensors.append(
                    Sensor(name: own.text("Name"), state: own.text("State"), detail: own.text("StateDetail")))
            }
        } catch {
            self.isSilenced = error.isBusMissing
        }
    }
}
