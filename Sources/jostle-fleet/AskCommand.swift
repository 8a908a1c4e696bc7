import DaemonSupport
import FleetCore
import Motion

/// `explain`, `why-not`, `status` and `what-if`: questions that a device answers as `jostle` would there.
enum AskCommand {
    private static let device = CommandArgument("DEVICE", "the device, as 'list' shows it")
    private static let app = CommandOption.value("app", "ID", "only this app", naming: .app)
    private static let sequence = CommandOption.flag("sequence", "the number is the app's own number of the event")
    private static let policy = CommandOption.value(
        "policy", "DIR", "a directory of the policy files to try", naming: .directory)
    private static let since = TypedOption.time(
        "since", "TIME", "what the journal holds of so long ago and later, such as 24h (default: 1h)",
        expected: "a time, such as 24h")

    static let explain = CommandSyntax(
        "explain", "show why apps on a device got an event or not, stage by stage",
        options: [app, sequence, ServerOption.json],
        arguments: [device, CommandArgument("EPOCH|last", "the epoch of the event (default: last)", .optional)],
        exits: ServerOption.exits
    ) { arguments in
        let word = arguments.positionals.dropFirst().first ?? "last"
        var fields: [DataValue.Field] = []
        if word != "last" {
            guard let number = Int64(word), number > 0 else {
                throw UsageProblem("explain: give an epoch or 'last', not '\(printable(word))'")
            }
            fields.append(.init(arguments.has(sequence) ? "sequence" : "epoch", .integer(number)))
        }
        if let app = arguments.value(of: app) { fields.append(.init("app", .text(app))) }
        if arguments.has(sequence), word == "last" || !arguments.has(app) {
            throw UsageProblem("explain: with --sequence give a number, and the app that it is of with --app")
        }
        try ask(.explain, .object(fields), arguments) { try show(explanation: $0) }
    }

    static let whyNot = CommandSyntax(
        "why-not", "show what would happen to an app's detectors on a device now", options: [ServerOption.json],
        arguments: [device, CommandArgument("APP", "an app id, or the unique name of a client without one")],
        exits: ServerOption.exits
    ) { arguments in
        let fields: DataValue = .fields(["app": .text(arguments.positionals[1])])
        try ask(.whyNot, fields, arguments) { try show(explanation: $0) }
    }

    static let status = CommandSyntax(
        "status", "show sensors, apps, detectors and counters of a device", options: [ServerOption.json],
        arguments: [device], exits: ServerOption.exits
    ) { arguments in
        try ask(.status, .object([]), arguments) { try show(fields: $0) }
    }

    static let whatIf = CommandSyntax(
        "what-if", "show what another policy would change about who got events on a device",
        options: [policy, since, ServerOption.json], arguments: [device], exits: ServerOption.exits
    ) { arguments in
        guard let directory = arguments.value(of: policy) else {
            throw UsageProblem("what-if: give the policy to try with --policy")
        }
        let files = try DesiredFolder.files(in: directory)
        guard !files.isEmpty else { throw FleetFailure(.usage, "\(directory) has no policy file") }
        let span = try arguments.value(of: since) ?? .seconds(3_600)
        let question: DataValue = .fields([
            "policy": .object(files.map { DataValue.Field($0.name, .text($0.text)) }),
            "since_s": .integer(max(1, Int64(span.seconds))),
        ])
        try ask(.whatIf, question, arguments) { try show(fields: $0) }
    }

    private static func ask(
        _ verb: DeviceRequest.Verb, _ question: DataValue, _ arguments: Arguments,
        _ showLine: (DataValue) throws -> Void
    ) throws {
        let device = arguments.positionals[0]
        guard FleetTopics.isName(device) else {
            throw UsageProblem("\(verb.rawValue): '\(printable(device))' is no name of a device")
        }
        let session = try FleetSession(arguments)
        switch try session.ask(device, verb, question) {
        case .lines(let lines, let isCut):
            for line in lines {
                if arguments.has(ServerOption.json) { try say(JSONCoding.text(line)) } else { try showLine(line) }
            }
            if isCut { complain("there is more than \(device) sends") }
        case .problem(let code, let message):
            let exit: ExitCode =
                switch code {
                case .notAllowed: .refused
                case .invalid: .usage
                case .notFound, .failed: .no
                case .busy: .noService
                }
            // As `jostle` said it there.
            let words = message.hasPrefix("jostle: ") ? String(message.dropFirst("jostle: ".count)) : message
            throw FleetFailure(exit, "\(device): \(words)")
        }
    }

    // MARK: For people

    private static func show(explanation value: DataValue) throws {
        guard let stages = value["stages"]?.list else { return try self.show(fields: value) }
        let words = [
            value["app"]?.text, value["epoch"]?.integer.map { "epoch \($0)" }, value["detector"]?.text,
            value["delivered"]?.bool.map { $0 ? "delivered" : "not delivered" }, value["reason"]?.text,
        ]
        try say(words.compactMap { $0 }.joined(separator: "  "))
        for stage in stages {
            let parts = ["stage", "result", "seen"].compactMap { stage[$0]?.text }
            try say("  " + parts.filter { !$0.isEmpty }.joined(separator: "  "))
        }
        for line in value["otherwise"]?.list ?? [] { try say("  delivered if \(line.text ?? "")") }
    }

    private static func show(fields value: DataValue) throws {
        guard case .object(let fields) = value else { return try say(JSONCoding.text(value)) }
        try say(
            fields.map { "\($0.name): \($0.value.text ?? JSONCoding.text($0.value))" }.joined(separator: "  "))
    }
}
