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
        "for", "TIME", "end after so long, 1ms to 24h (default: 1.2s)", .time, expected: "a time, such as 1.2s")

    static let syntax = CommandSyntax(
        "shake", "shake a sensor whose motion is made (synth)", reaching: .sensors,
        options: [peak, axis, frequency, length, CommonOption.sensor],
        action: {
            try ShakeCommand(
                motion: try motion($0.arguments), sensor: $0.arguments.value(of: CommonOption.sensor),
                bus: $0.sensorBus, loop: $0.loop
            ).run()
        })

    /// The motion as the reader's script language writes it: `shake peak=3g axis=x`.
    var motion: String
    var sensor: String?
    var bus: BusAddress
    let loop: EventLoop

    /// The statement that the reader is asked to add to its motion.
    private static func motion(_ arguments: Arguments) throws(UsageProblem) -> String {
        var words = ["shake"]
        for (option, dimension, fallback) in [
            (self.peak, Dimension.acceleration, "3g"), (self.frequency, .frequency, "3Hz"),
            (self.length, .time, "1.2s"),
        ] {
            let value = try arguments.value(of: option)
            words.append("\(option.option.name)=" + (value.map { "\($0)\(dimension.canonicalUnit)" } ?? fallback))
        }
        return (words + ["axis=\(try arguments.value(of: self.axis) ?? "x")"]).joined(separator: " ")
    }

    func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.bus, self.loop)
        let (object, _) = try service.sensor(self.sensor)
        _ = try service.call(object, InterfaceName.sensor, "Inject", self.motion, noOptions)
    }
}
