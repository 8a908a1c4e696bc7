import DaemonSupport
import Motion
import Traces

/// Options that several commands take, or all.
enum CommonOption {
    static let bus = TypedOption.bus("bus", "the broker's bus: session (default), system or an address")
    static let sensorBus = TypedOption.bus(
        "sensor-bus",
        "the sensor reader's bus (default: that of --bus; without it the session bus if a reader is there or can be started there, "
            + "else the system bus)")
    static let json = CommandOption.flag("json", "one JSON object a line, for machines")
    static let app = CommandOption.value("app", "ID", "register under this app id, a bus name to own", naming: .app)
    static let sensor = CommandOption.value(
        "sensor", "NAME", "the sensor (default: the accelerometer)", naming: .sensor)
    static let sensorOfCondition = CommandOption.value(
        "sensor", "NAME", "with --when: the sensor (default: the accelerometer)", naming: .sensor)
    static let rate = TypedOption.quantity(
        "rate", "HZ", "samples a second (default: 50)", .frequency, expected: "a rate, such as 50Hz")
    static let length = TypedOption.time("for", "TIME", "end after so long", expected: "a time, such as 10s")
    static let label = TypedOption<String>(
        "label", "TEXT", "what the trace shows: 'shake …', 'not-shake …'",
        expected: "a line of text without blanks around it"
    ) { TraceHeader.Note.canHold($0) ? $0 : nil }
    static let detector = CommandOption.value(
        "detector", "PRESET[,option=value...]", "a detector to run over the samples", naming: .detector, repeats: true)
    static let gesture = CommandOption.value(
        "gesture", "FILE", "a gesture that 'jostle teach' saved", naming: .file, repeats: true)
    static let when = CommandOption.value("when", "CONDITION", "a condition instead of a preset")
    static let every = CommandOption.value("every", "TIME", "with --when: the time between looks")
    static let rest = CommandOption.value("rest", "TIME", "with --when: the time without another hit")
    /// What a preset says itself, or its own options do.
    static let ofConditions = [sensorOfCondition, every, rest]
}

/// Arguments that several commands take.
enum CommonArgument {
    static let app = CommandArgument("APP", "an app id, or the unique name of a client without one", naming: .app)
    static let appID = CommandArgument("APP", "an app id", naming: .app)
    static let presets = CommandArgument(
        "PRESET[,option=value...]", "presets to register, such as shake.planar,threshold=2.3g", .list,
        naming: .detector)
}
