import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle shake`: adds a shake to the motion of a synth source.
struct ShakeCommand {
    private static let peak = TypedOption.quantity(
        "peak", "G", "how hard, up to 16g (default: 3g)", .acceleration, expected: "an acceleration, such as 3g")
    private static let axis = TypedOption.word(
        "axis", "AXIS", "where to: x (default), y or z", oneOf: ["x", "y", "z"], expected: "x, y or z")
    private static let frequency = TypedOption.quantity(
        "freq", "HZ", "how often to and fro, 0.1Hz to 50Hz (default: 3Hz)", .frequency,
        expected: "a frequency, such as 3Hz")
    /// Not as others read it: the reader gets it as it is.
    private static let length = TypedOption.quantity(
        "for", "TIME", "how long the sensor shakes, 1ms to 24h (default: 1.2s); this command does not wait for it",
        .time, expected: "a time, such as 1.2s")

    static let syntax = CommandSyntax(
        "shake", "shake a sensor whose motion is made (synth)", reaching: .sensors,
        options: [peak, axis, frequency, length, CommonOption.sensor],
        action: { invocation in
            // Behind a bus of the reader's own we do not know which is the broker's.
            let isBrokerNear = !invocation.arguments.has(CommonOption.sensorBus)
            try ShakeCommand(
                motion: try motion(invocation.arguments), invocation: invocation, asksBroker: isBrokerNear
            ).run()
        })

    /// The words of the statement that the reader is asked to add to its motion: `shake peak=3g axis=x`.
    private let motion: [(key: String, value: String)]
    private let invocation: Invocation
    /// Whether the broker is on the same bus.
    private let asksBroker: Bool

    private static func motion(_ arguments: Arguments) throws(UsageProblem) -> [(key: String, value: String)] {
        var words: [(key: String, value: String)] = []
        for (option, dimension, fallback) in [
            (self.peak, Dimension.acceleration, "3g"), (self.frequency, .frequency, "3Hz"),
            (self.length, .time, "1.2s"),
        ] {
            let value = try arguments.value(of: option)
            words.append((option.option.name, value.map { "\($0)\(dimension.canonicalUnit)" } ?? fallback))
        }
        return words + [("axis", try arguments.value(of: self.axis) ?? "x")]
    }

    private func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.invocation.sensorBus, self.invocation.loop)
        let (object, sensor) = try service.sensor(self.invocation.arguments.value(of: CommonOption.sensor))
        let words = self.motion.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        _ = try service.call(object, InterfaceName.sensor, "Inject", "shake \(words)", noOptions)
        self.invocation.terminal.print("shaking \(sensor.name): \(words)")
        guard self.asksBroker, service.connection.address == self.invocation.bus else { return }
        if let hindrance = self.hindrance(service.connection) { complain(hindrance) }
    }

    /// Why no app can hear of it, if so. The shake is under way whatever comes of the question, which starts no broker.
    private func hindrance(_ connection: Connection) -> String? {
        let bus = CallTarget(
            "org.freedesktop.DBus", ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus")
        do throws(BusError) {
            let owner = try connection.callAndWait(bus, "GetNameOwner", BusName.broker).read(reply: String.self)
            let target = CallTarget(owner, Path.broker, "org.freedesktop.DBus.Properties")
            let isPaused = try connection.callAndWait(
                target, "Get", InterfaceName.broker.description, "Paused", timeout: Service.brokerPatience
            ).read(reply: Value.self)
            return isPaused == .boolean(true)
                ? "motion is switched off, so no app hears of it; 'jostle resume' switches it on" : nil
        } catch {
            return error.isNameFree ? "the broker is not running, so no app hears of it" : nil
        }
    }
}
