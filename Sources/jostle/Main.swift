import DBus
import DaemonSupport
import EventLoop
import JostleClient
import Motion
import Replay

/// jostle: what people and scripts do with the two services.
@main
struct Main {
    private enum Option {
        static let bus = CommandOption.value("bus", "BUS", "the broker's bus: session (default), system or an address")
        static let sensorBus = CommandOption.value(
            "sensor-bus", "BUS", "the sensor reader's bus, if it is another one")
        static let json = CommandOption.flag("json", "one JSON object a line, for machines")
        static let live = CommandOption.flag("live", "start those that stand still for a moment, to see what they read")
        static let workLength = CommandOption.value(
            "live", "SECONDS", "pomodoro: with real processes, and so long a period of work, 10 to 1500")
        static let app = CommandOption.value("app", "ID", "register under this app id, a bus name to own")
        static let pusher = CommandOption.value(
            "app", "ID", "ask under this app id, a bus name to own: the one to which policy gives the right")
        static let ofApp = CommandOption.value(
            "app", "ID", "of this app (default: those that the policy names, and any other)", repeats: true)
        static let markdown = CommandOption.flag("markdown", "a table for a page")
        static let when = CommandOption.value("when", "CONDITION", "a condition instead of a preset")
        static let every = CommandOption.value("every", "TIME", "with --when: the time between looks")
        static let rest = CommandOption.value("rest", "TIME", "with --when: the time without another hit")
        static let count = CommandOption.value("count", "N", "end after N events")
        static let kept = CommandOption.flag(
            "kept", "begin with the events that are kept for the app, and say when they end")
        static let sensor = CommandOption.value("sensor", "NAME", "the sensor (default: the accelerometer)")
        static let rate = CommandOption.value("rate", "HZ", "samples a second (default: 50)")
        static let length = CommandOption.value("for", "TIME", "end after so long")
        static let track = CommandOption.value(
            "track", "FILE", "'demo tracker' (what a tracker gets of a journey): on yours, in GPX or NMEA")
        static let label = CommandOption.value("label", "TEXT", "what the recording shows: 'shake …', 'not-shake …'")
        static let lines = CommandOption.flag(
            "lines", "no picture: a line for each second and each hit, as in a pipe; for who has it read aloud")
        static let peak = CommandOption.value("peak", "G", "how hard (default: 3g)")
        static let axis = CommandOption.value("axis", "AXIS", "where to: x (default), y or z")
        static let detector = CommandOption.value(
            "detector", "PRESET[,option=value...]", "a detector to run over the samples", repeats: true)
        static let positive = CommandOption.value(
            "positive", "FILE", "a trace in which the motion is to be found", repeats: true)
        static let negative = CommandOption.value(
            "negative", "FILE", "a trace in which each hit is false", repeats: true)
        static let preset = CommandOption.value(
            "preset", "PRESET[,option=value...]", "the preset to tune (default: shake)", repeats: true)
        static let target = CommandOption.value("target", "N", "false hits an hour that are allowed (default: 1)")
        static let phases = CommandOption.value("phases", "N", "grid phases to try (default: 5)")
        static let report = CommandOption.value("report", "FILE", "write the curves as a page")
        static let policy = CommandOption.value(
            "policy", "PATH", "a policy directory or file (default: what the broker reads)", repeats: true)
        static let appFiles = CommandOption.value(
            "app-files", "DIR", "check the app files here, too", repeats: true)
        static let onlyApp = CommandOption.value("app", "ID", "only this app")
        static let sequence = CommandOption.flag("sequence", "the number is the app's own number of the event")
        static let explain = CommandOption.flag("explain", "print every stage of every verdict instead")
        static let newPolicy = CommandOption.value(
            "policy", "PATH", "a directory or file of the policy to try", repeats: true)
        static let against = CommandOption.value(
            "against", "PATH", "a directory or file of the policy to compare with", repeats: true)
        static let scenario = CommandOption.value(
            "scenario", "FILE", "a scenario to run under both; '-' is standard input")
        static let withApps = CommandOption.flag(
            "apps", "hold it against the apps there are: ask the broker and the bus")
        static let since = CommandOption.value(
            "since", "TIME", "what the journal holds of so long ago and later, such as 24h (default: 1h)")
        static let stateDirectory = CommandOption.value(
            "state-dir", "DIR", "where the journal is (default: where the broker of the bus keeps it)")
        static let strict = CommandOption.flag("strict", "take warnings for errors")
        static let frequency = CommandOption.value("freq", "HZ", "how often to and fro (default: 3Hz)")
    }

    private static let presetArgument = CommandArgument(
        "PRESET[,option=value...]", "presets to register, such as shake.planar,threshold=2.3g", .list)

    private static let appArgument = CommandArgument("APP", "an app id, or the unique name of a client without one")

    private static let syntax = CommandSyntax(
        "jostle", "Watches motion, runs commands on it, and shows who reacts to what.",
        options: [Option.bus, Option.sensorBus],
        commands: [
            CommandSyntax(
                "demo",
                "show the documented case on a private bus: two apps, two shakes, without a policy and with one",
                options: [Option.json, Option.workLength, Option.track],
                arguments: [
                    CommandArgument(
                        "background|pomodoro|refresh|tracker",
                        "instead: who hears a shake behind another app and behind the lock; which timers outlive their time in "
                            + "the background, in virtual time or --live; a feed that refreshes itself there; or what a tracker "
                            + "gets of a journey, and that it is started again when it was killed",
                        .optional)
                ]),
            CommandSyntax("status", "show sensors, apps, detectors and counters", options: [Option.json]),
            CommandSyntax(
                "sensors", "show the sensors of the reader, and what those read that run",
                options: [Option.json, Option.live]),
            CommandSyntax(
                "scope", "draw what a sensor reads, with the thresholds and hits of the apps' detectors",
                options: [
                    Option.detector, Option.when, Option.every, Option.rest, Option.rate, Option.length, Option.lines,
                ],
                arguments: [CommandArgument("SENSOR", "the sensor (default: the accelerometer)", .optional)]),
            CommandSyntax("apps", "show the apps that are registered", options: [Option.json]),
            CommandSyntax(
                "app", "show one app: its state and why it is in it, its detectors and what became of them",
                options: [Option.json], arguments: [appArgument]),
            CommandSyntax("tasks", "show background work that waits or runs", options: [Option.json]),
            CommandSyntax(
                "task", "try background work",
                commands: [
                    CommandSyntax(
                        "run", "run a task that waits now, whatever it waits for",
                        arguments: [
                            appArgument, CommandArgument("TASK", "its name, as 'jostle tasks' shows it"),
                        ])
                ]),
            CommandSyntax(
                "state", "say what state an app is in, to try how it fares there",
                arguments: [
                    appArgument,
                    CommandArgument(
                        "STATE",
                        "foreground, inactive, background or suspended; terminated: its user ended it; auto: what follows "
                            + "from all else"),
                ]),
            CommandSyntax(
                "forget", "forget what an app registered for good, and whose it was",
                arguments: [CommandArgument("APP", "an app id")]),
            CommandSyntax(
                "push", "have an app started or resumed, and wait for its answer", options: [Option.pusher],
                arguments: [CommandArgument("APP", "an app id")]),
            CommandSyntax("lock", "say that the screen is locked"),
            CommandSyntax("unlock", "say that the screen is not locked"),
            CommandSyntax(
                "explain", "show why apps got an event or not, stage by stage",
                options: [Option.onlyApp, Option.sequence, Option.json],
                arguments: [CommandArgument("EPOCH|last", "the epoch of the event (default: last)", .optional)]),
            CommandSyntax(
                "why-not", "show what would happen to an app's detectors now, and since when it got nothing",
                options: [Option.json], arguments: [appArgument]),
            CommandSyntax(
                "presets", "show the presets, or one of them with its options", options: [Option.json],
                arguments: [CommandArgument("NAME", "the preset to show", .optional)]),
            CommandSyntax(
                "watch", "register detectors and print their events",
                options: [
                    Option.json, Option.app, Option.kept, Option.count, Option.when, Option.sensor, Option.every,
                    Option.rest,
                ],
                arguments: [presetArgument]),
            CommandSyntax("pause", "switch motion off for all apps; no sensor runs until 'jostle resume'"),
            CommandSyntax("resume", "switch motion on again"),
            CommandSyntax(
                "on", "run a command on every event: jostle on PRESET... -- COMMAND...",
                options: [Option.app, Option.when, Option.sensor, Option.every, Option.rest],
                arguments: [presetArgument]),
            CommandSyntax(
                "record", "write what a sensor reads into a trace",
                options: [Option.sensor, Option.rate, Option.length, Option.label],
                arguments: [CommandArgument("FILE", "the trace to write; '-' is standard output")]),
            CommandSyntax(
                "policy", "check policy files, or show what they say together",
                commands: [
                    CommandSyntax(
                        "check", "say what is wrong with policy files, and where",
                        options: [Option.strict, Option.withApps, Option.appFiles, Option.json],
                        arguments: [
                            CommandArgument("PATH", "files and directories (default: what the broker reads)", .list)
                        ]),
                    CommandSyntax(
                        "whatif", "show what another policy would change about who gets events",
                        options: [
                            Option.newPolicy, Option.since, Option.stateDirectory, Option.scenario, Option.against,
                            Option.json,
                        ]),
                    CommandSyntax(
                        "show", "show the policy as all files together make it, with file and line",
                        options: [Option.json],
                        arguments: [
                            CommandArgument("PATH", "files and directories (default: what the broker reads)", .list)
                        ]),
                    CommandSyntax(
                        "coverage", "show which app hears what in which state",
                        options: [Option.ofApp, Option.json, Option.markdown],
                        arguments: [
                            CommandArgument("PATH", "files and directories (default: what the broker reads)", .list)
                        ]),
                ]),
            CommandSyntax(
                "scenario", "run timed inputs through a policy in virtual time and print what is decided",
                options: [Option.policy, Option.explain, Option.json],
                arguments: [CommandArgument("FILE", "the scenario; '-' is standard input")]),
            CommandSyntax(
                "replay", "run detectors over recorded traces, without a bus and without waiting",
                options: [Option.json, Option.detector, Option.when, Option.sensor, Option.every, Option.rest],
                arguments: [CommandArgument("TRACE", "traces to read; '-' is standard input", .nonEmptyList)]),
            CommandSyntax(
                "tune", "find the threshold of a preset that finds most and disturbs least",
                options: [
                    Option.preset, Option.positive, Option.negative, Option.target, Option.phases, Option.report,
                ],
                arguments: [CommandArgument("TRACE", "traces whose labels say what they show", .list)]),
            CommandSyntax(
                "shake", "shake a sensor whose motion is made (synth)",
                options: [Option.peak, Option.axis, Option.frequency, Option.length, Option.sensor]),
        ])

    static func main() {
        Startup.prepareProgram()
        // What follows '--' of 'on' is a command line of its own.
        var words = Array(CommandLine.arguments.dropFirst())
        var command: [String] = []
        if let end = words.firstIndex(of: "--"), words[..<end].contains("on") {
            command = Array(words[(end + 1)...])
            words.removeSubrange(end...)
        }
        if words.contains("tune") { words = self.repeatingOptions(words) }
        let arguments = self.syntax.parseOrExit(words)
        do {
            let terminal = Terminal()
            try self.run(arguments, command, terminal)
            try terminal.output.check()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch let failure as CommandFailure {
            complain(failure.message)
            failure.code.exit()
        } catch {
            complain("\(error)")
            ExitCode.no.exit()
        }
    }

    /// `--positive a b c` as `--positive=a --positive=b --positive=c`: a shell turns `shake*.csv` into several words.
    private static func repeatingOptions(_ words: [String]) -> [String] {
        let options = [Option.positive, Option.negative].map { "--\($0.name)" }
        var current: String?
        var result: [String] = []
        for word in words {
            if options.contains(word) {
                current = word
            } else if let option = current, !word.hasPrefix("--") {
                result.append("\(option)=\(word)")
            } else {
                current = nil
                result.append(word)
            }
        }
        return result
    }

    /// What `policy whatif` runs again.
    private static func pastInputs(
        _ arguments: Arguments, _ bus: BusAddress
    ) throws(UsageProblem) -> WhatIfCommand.Inputs {
        let (since, directory) = (arguments.value(of: Option.since), arguments.value(of: Option.stateDirectory))
        if let scenario = arguments.value(of: Option.scenario) {
            guard since == nil, directory == nil else {
                throw UsageProblem("policy whatif: give --scenario, or --since and --state-dir")
            }
            return .scenario(scenario)
        }
        let span = try arguments.value(of: Option.since, expected: "a time, such as 24h") {
            self.quantity($0, .time).flatMap(TimeSpan.init(seconds:))
        }
        guard let directory = directory ?? StateDirectory.standard(for: bus) else {
            throw UsageProblem("policy whatif: there is no HOME with a journal in it: give --state-dir")
        }
        return .journal(directory, since: span ?? .seconds(3_600))
    }

    private static func run(_ arguments: Arguments, _ command: [String], _ terminal: Terminal) throws {
        let loop = try EventLoop()
        let bus = try Daemon.address(of: Option.bus, in: arguments) ?? .session
        let sensorBus = try Daemon.address(of: Option.sensorBus, in: arguments) ?? bus
        let inspection = Inspection(
            bus: bus, sensorBus: sensorBus, isJSON: arguments.has(Option.json), terminal: terminal, loop: loop)
        switch arguments.command.first {
        case "demo" where arguments.has(Option.track) && arguments.positionals.first != "tracker":
            throw UsageProblem("demo: --track goes with tracker")
        case "demo" where arguments.has(Option.workLength) && arguments.positionals.first != "pomodoro":
            throw UsageProblem("demo: --live goes with pomodoro")
        case "demo" where arguments.positionals.first == "tracker":
            try TrackerCommand(
                file: arguments.value(of: Option.track), isJSON: arguments.has(Option.json), terminal: terminal,
                loop: loop
            ).run()
        case "demo" where arguments.positionals.first == "pomodoro":
            try PomodoroCommand(
                isJSON: arguments.has(Option.json), terminal: terminal, loop: loop,
                work: try arguments.value(of: Option.workLength, expected: "10 to 1500 seconds, such as 60") { text in
                    let seconds = self.quantity(text, .time) ?? 0
                    return (10...1_500).contains(seconds) ? TimeSpan(seconds: seconds) : nil
                }
            ).run()
        case "demo" where arguments.positionals.first == "background":
            try BackgroundCommand(isJSON: arguments.has(Option.json), terminal: terminal, loop: loop).run()
        case "demo" where arguments.positionals.first == "refresh":
            try RefreshCommand(isJSON: arguments.has(Option.json), terminal: terminal, loop: loop).run()
        case "demo":
            if let word = arguments.positionals.first {
                throw UsageProblem(
                    "demo: there is no act '\(printable(word))', there are background, pomodoro, refresh and tracker")
            }
            try DemoCommand(isJSON: arguments.has(Option.json), terminal: terminal, loop: loop).run()
        case "status": try inspection.status()
        case "sensors": try inspection.sensors(startingIdle: arguments.has(Option.live))
        case "apps": try inspection.apps()
        case "app":
            try AppCommand(
                app: arguments.positionals[0], bus: bus, isJSON: arguments.has(Option.json), terminal: terminal,
                loop: loop
            ).run()
        case "tasks": try self.tasks(arguments, bus, terminal, loop).list()
        case "task":
            try self.tasks(arguments, bus, terminal, loop).run(arguments.positionals[0], arguments.positionals[1])
        case "state": try inspection.state(arguments.positionals[0], arguments.positionals[1])
        case "forget": try inspection.forget(arguments.positionals[0])
        case "push":
            let name = arguments.value(of: Option.pusher)
            if let name, !AppID.isValid(name) {
                throw UsageProblem("push: '\(printable(name))' is no app id: give a well-known bus name")
            }
            try PushCommand(app: arguments.positionals[0], name: name, bus: bus, loop: loop).run()
        case "lock": try inspection.lock(true)
        case "unlock": try inspection.lock(false)
        case "explain":
            let word = arguments.positionals.first ?? "last"
            guard let event = word == "last" ? 0 : UInt64(word), event > 0 || word == "last" else {
                throw UsageProblem("explain: give an epoch or 'last', not '\(printable(word))'")
            }
            let (app, isSequence) = (arguments.value(of: Option.onlyApp), arguments.has(Option.sequence))
            if isSequence, event == 0 || app == nil {
                throw UsageProblem("explain: with --sequence give a number, and the app that it is of with --app")
            }
            try ExplainCommand(
                event: event, app: app, isSequence: isSequence, bus: bus, isJSON: arguments.has(Option.json),
                terminal: terminal, loop: loop
            ).run()
        case "why-not":
            try WhyNotCommand(
                app: arguments.positionals[0], bus: bus, isJSON: arguments.has(Option.json), terminal: terminal,
                loop: loop
            ).run()
        case "presets": try inspection.presets(arguments.positionals.first)
        case "watch":
            let count = try arguments.value(of: Option.count, expected: "a number of events") {
                Int($0).flatMap { $0 > 0 ? $0 : nil }
            }
            try WatchCommand(
                detectors: try self.detectors(arguments), app: arguments.value(of: Option.app) ?? "", loop: loop,
                bus: JostleClient.Bus(bus), isJSON: arguments.has(Option.json), count: count,
                subscribes: arguments.has(Option.kept), terminal: terminal
            ).run()
        case "on":
            try OnCommand(
                detectors: try self.detectors(arguments), command: command,
                app: arguments.value(of: Option.app) ?? "", loop: loop, bus: JostleClient.Bus(bus)
            ).run()
        case "pause": try inspection.pause(true)
        case "resume": try inspection.pause(false)
        case "scope":
            try self.scope(arguments, bus: bus, sensorBus: sensorBus, terminal, loop)
        case "record":
            let rate = try arguments.value(of: Option.rate, expected: "a rate, such as 50Hz") {
                self.quantity($0, .frequency)
            }
            let length = try arguments.value(of: Option.length, expected: "a time, such as 10s") {
                self.quantity($0, .time).flatMap(TimeSpan.init(seconds:))
            }
            try RecordCommand(
                path: arguments.positionals[0], sensor: arguments.value(of: Option.sensor), rate: rate ?? 50,
                length: length, label: arguments.value(of: Option.label), bus: sensorBus, loop: loop
            ).run()
        case "replay":
            let detectors = try self.detectors(arguments, presets: arguments.values(of: Option.detector))
            try ReplayCommand(
                files: arguments.positionals, requests: detectors.map(\.request), isJSON: arguments.has(Option.json),
                terminal: terminal
            ).run()
        case "policy" where arguments.command.last == "check":
            try PolicyCheckCommand(
                paths: arguments.positionals, appFiles: arguments.values(of: Option.appFiles),
                isStrict: arguments.has(Option.strict), isJSON: arguments.has(Option.json),
                bus: arguments.has(Option.withApps) ? bus : nil, terminal: terminal, loop: loop
            ).run()
        case "policy" where arguments.command.last == "coverage":
            try PolicyCoverageCommand(
                paths: arguments.positionals, apps: arguments.values(of: Option.ofApp),
                isJSON: arguments.has(Option.json), isMarkdown: arguments.has(Option.markdown), terminal: terminal
            ).run()
        case "policy" where arguments.command.last == "whatif":
            let policies = arguments.values(of: Option.newPolicy)
            guard !policies.isEmpty else { throw UsageProblem("policy whatif: give the policy to try with --policy") }
            try WhatIfCommand(
                policies: policies, against: arguments.values(of: Option.against),
                inputs: try self.pastInputs(arguments, bus), isJSON: arguments.has(Option.json), terminal: terminal
            ).run()
        case "policy":
            try PolicyShowCommand(
                paths: arguments.positionals, isJSON: arguments.has(Option.json), terminal: terminal
            ).run()
        case "scenario":
            try ScenarioCommand(
                path: arguments.positionals[0], policies: arguments.values(of: Option.policy),
                explains: arguments.has(Option.explain), isJSON: arguments.has(Option.json), terminal: terminal
            ).run()
        case "tune": try self.tune(arguments, terminal)
        case "shake":
            try ShakeCommand(
                motion: try self.shake(arguments), sensor: arguments.value(of: Option.sensor), bus: sensorBus,
                loop: loop
            ).run()
        case let other:
            throw UsageProblem("command '\(other ?? "")' is not made yet")
        }
    }

    private static func tasks(
        _ arguments: Arguments, _ bus: BusAddress, _ terminal: Terminal, _ loop: EventLoop
    ) -> TaskCommands {
        TaskCommands(bus: bus, isJSON: arguments.has(Option.json), terminal: terminal, loop: loop)
    }

    private static func scope(
        _ arguments: Arguments, bus: BusAddress, sensorBus: BusAddress, _ terminal: Terminal, _ loop: EventLoop
    ) throws {
        let presets = arguments.values(of: Option.detector)
        let isNamed = !presets.isEmpty || arguments.value(of: Option.when) != nil
        // The one that is looked at; a condition says so nowhere else.
        let sensor = arguments.positionals.first
        let detectors = isNamed ? try self.detectors(arguments, presets: presets, sensor: sensor) : []
        try ScopeCommand(
            sensor: sensor, detectors: detectors.map(\.request),
            rate: try arguments.value(of: Option.rate, expected: "a rate, such as 50Hz") {
                self.quantity($0, .frequency)
            },
            length: try arguments.value(of: Option.length, expected: "a time, such as 10s") {
                self.quantity($0, .time).flatMap(TimeSpan.init(seconds:))
            },
            inLines: arguments.has(Option.lines), bus: bus, sensorBus: sensorBus, terminal: terminal, loop: loop
        ).run()
    }

    private static func tune(_ arguments: Arguments, _ terminal: Terminal) throws {
        let target = try arguments.value(of: Option.target, expected: "a number of false hits an hour") {
            (try? Quantity.parse($0)).flatMap { $0.dimension == .none && $0.value >= 0 ? $0.value : nil }
        }
        let phases = try arguments.value(of: Option.phases, expected: "a number from 1 to 20") {
            Int($0).flatMap { (1...20).contains($0) ? $0 : nil }
        }
        let presets = arguments.values(of: Option.preset)
        let files =
            arguments.values(of: Option.positive).map { (path: $0, kind: ThresholdSweep.Kind?.some(.positive)) }
            + arguments.values(of: Option.negative).map { (path: $0, kind: .some(.negative)) }
            + arguments.positionals.map { (path: $0, kind: nil) }
        guard !files.isEmpty else { throw UsageProblem("tune: give traces to tune with") }
        try TuneCommand(
            specs: presets.isEmpty ? ["shake"] : presets, files: files, target: target ?? 1, phases: phases ?? 5,
            report: arguments.value(of: Option.report), terminal: terminal
        ).run()
    }

    private static func detectors(
        _ arguments: Arguments, presets: [String]? = nil, sensor: String? = nil
    ) throws -> [Detector] {
        var detectors: [Detector]
        do throws(DetectorSpec.Problem) {
            detectors = try DetectorSpec.detectors(presets ?? arguments.positionals)
        } catch {
            throw UsageProblem(error.message)
        }
        if let condition = arguments.value(of: Option.when) {
            let spec = DetectorSpec(
                when: condition, sensor: arguments.value(of: Option.sensor) ?? sensor,
                every: arguments.value(of: Option.every),
                rest: arguments.value(of: Option.rest))
            detectors.append(spec.detector)
        }
        guard !detectors.isEmpty else { throw UsageProblem("give a preset, or a condition with --when") }
        try DetectorSpec.checkConditions(detectors)
        return detectors
    }

    /// The statement that the reader is asked to add to its motion.
    private static func shake(_ arguments: Arguments) throws(UsageProblem) -> String {
        var words = ["shake"]
        for (option, key, dimension, expected, fallback) in [
            (Option.peak, "peak", Dimension.acceleration, "an acceleration, such as 3g", "3g"),
            (Option.frequency, "freq", .frequency, "a frequency, such as 3Hz", "3Hz"),
            (Option.length, "for", .time, "a time, such as 1.2s", "1.2s"),
        ] {
            let value = try arguments.value(of: option, expected: expected) { self.quantity($0, dimension) }
            words.append("\(key)=" + (value.map { "\($0)\(dimension.canonicalUnit)" } ?? fallback))
        }
        let axis = try arguments.value(of: Option.axis, expected: "x, y or z") {
            ["x", "y", "z"].contains($0) ? $0 : nil
        }
        return (words + ["axis=\(axis ?? "x")"]).joined(separator: " ")
    }

    /// A number of this dimension, with its unit or without.
    private static func quantity(_ text: String, _ dimension: Dimension) -> Double? {
        guard let quantity = try? Quantity.parse(text), quantity.value > 0,
            quantity.dimension == dimension || quantity.dimension == .none
        else { return nil }
        return quantity.value
    }
}

extension JostleClient.Bus {
    init(_ address: BusAddress) {
        switch address {
        case .session: self = .session
        case .system: self = .system
        case .address(let text): self = .address(text)
        }
    }
}
