import DBus
import Protocol

/// How often an app was refused for one reason, as `WhyNot` tells it.
struct Denial {
    let reason: String
    let count: UInt64
    /// When it was last.
    let time: UInt64
    let epoch: UInt64

    init?(_ fields: [Value]) {
        guard fields.count == 4, case .string(let reason) = fields[0], case .uint64(let count) = fields[1],
            case .uint64(let time) = fields[2], case .uint64(let epoch) = fields[3]
        else { return nil }
        self.reason = reason
        self.count = count
        self.time = time
        self.epoch = epoch
    }

    var json: JSONLine {
        var line = JSONLine()
        line.add("reason", self.reason)
        line.add("count", self.count)
        line.add("t_us", self.time, on: .boottime)
        line.add("epoch", self.epoch)
        return line
    }
}

extension Service {
    /// What the broker says of an app, by its id or its unique name.
    func whyNot(_ app: String) throws(CommandFailure) -> [String: Value] {
        try self.about(app) { () throws(CommandFailure) in
            try self.read(
                try self.call(Path.broker, InterfaceName.broker, "WhyNot", app, noOptions), [String: Value].self)
        }
    }
}

extension [String: Value] {
    /// A launch that is over, as the broker tells of it.
    var launchJSON: JSONLine {
        var launch = JSONLine()
        launch.add("reason", self.text(LaunchKey.reason))
        launch.add("result", self.text(LaunchKey.result))
        launch.add("t_us", self.count(LaunchKey.time), on: .boottime)
        return launch
    }

    /// The refusals in an answer of `WhyNot`.
    var denials: [Denial] { self.structures(VerdictKey.denials).compactMap(Denial.init) }
}
