import Arbitration
import BrokerCore
import DBus
import Detection
import Journal
import Motion
import PolicyFiles
import Protocol

/// `org.jostle.Broker1`: registration, and what there is to see.
enum BrokerInterface {
    /// What this broker can do that another version might not.
    static let features = [
        "ack", "activities", "assertions", "broadcast", "counters", "durable", "exclusive", "explain", "focus-sources",
        "foreground", "mute", "ordered", "pause", "policy", "presets", "push", "subscribe", "tasks", "usage", "wake",
        "watch",
    ]

    static let table = Interface<BrokerService>(
        InterfaceName.broker, notes: .jostle,
        methods: [
            Method(
                later: "Register", in: ["app_id", "options"], out: ["app", "results"],
                as: ObjectPath.self, [String: Value].self
            ) {
                (service: BrokerService, call: MethodCall, name: String, options: [String: Value]) throws(BusError)
                in
                let reader = try OptionReader(options, of: "Register", known: [RegisterOptions.durable])
                try service.links.registrations.register(
                    name, isDurable: try reader.flag(RegisterOptions.durable) ?? false, call)
            },
            Method(later: "Forget", in: ["app_id", "options"]) {
                (service: BrokerService, call: MethodCall, name: String, options: [String: Value]) throws(BusError) in
                let reader = try OptionReader(options, of: "Forget", known: [ForgetOptions.clips])
                guard try reader.flag(ForgetOptions.clips) ?? false else {
                    return service.links.durable.forget(name, call)
                }
                guard name.isEmpty else {
                    throw .invalidConfiguration("Forget: clips are a user's: the app is to be empty")
                }
                service.forgetClips(call)
            },
            Method(later: "ListApps", in: ["options"], out: ["apps"], as: [ListedApp.Wire].self) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                let reader = try OptionReader(options, of: "ListApps", known: [ListOptions.after])
                service.links.clients.list(after: try reader.object(ListOptions.after), call)
            },
            Method(later: "ListCounters", in: ["options"], out: ["counters"], as: [ListedCounters.Wire].self) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                let reader = try OptionReader(options, of: "ListCounters", known: [ListOptions.after])
                service.links.clients.listCounters(after: try reader.object(ListOptions.after), call)
            },
            Method(
                later: "ListTasks", in: ["options"], out: ["tasks"],
                as: [Structure<String, String, String, String, [String: Value]>].self
            ) { (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "ListTasks")
                service.links.tasks.list(call)
            },
            Method(later: "ListUsage", in: ["options"], out: ["usage"], as: [UsageTable.Row.Wire].self) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try service.links.usage.list(options, call)
            },
            Method(later: "Watch", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Watch")
                try service.links.clients.watchers.watch(call)
            },
            Method("Unwatch", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Unwatch")
                service.links.clients.watchers.unwatch(call.sender)
            },
            Method(later: "RunTask", in: ["app", "identifier", "options"]) {
                (
                    service: BrokerService, call: MethodCall, app: String, identifier: String,
                    options: [String: Value]
                ) throws(BusError) in
                try OptionReader.none(options, of: "RunTask")
                service.links.tasks.run(app, identifier, call)
            },
            Method("DescribePresets", in: ["options"], out: ["presets"]) {
                (
                    _: BrokerService, _: MethodCall, options: [String: Value]
                ) throws(BusError) -> [Structure<String, [String: Value]>] in
                try OptionReader.none(options, of: "DescribePresets")
                return PresetCatalogue.all.map { Structure($0.name, $0.options) }
            },
            Method(
                later: "Explain", in: ["event", "options"], out: ["verdicts"], as: [[String: Value]].self
            ) {
                (service: BrokerService, call: MethodCall, event: UInt64, options: [String: Value]) throws(BusError)
                in
                try service.links.explanations.explain(event, options, call)
            },
            Method(later: "WhyNot", in: ["app", "options"], out: ["answer"], as: [String: Value].self) {
                (service: BrokerService, call: MethodCall, app: String, options: [String: Value]) throws(BusError)
                in
                try service.links.explanations.whyNot(app, options, call)
            },
            Method(later: "Mute", in: ["duration", "options"]) {
                (service: BrokerService, call: MethodCall, duration: UInt64, options: [String: Value]) throws(BusError)
                in
                try OptionReader.none(options, of: "Mute")
                service.links.reports.mute(duration, call)
            },
            Method(later: "Pause", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Pause")
                service.links.reports.pause(true, call)
            },
            Method(later: "Resume", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Resume")
                service.links.reports.pause(false, call)
            },
            Method(later: "SetForeground", in: ["app", "options"]) {
                (service: BrokerService, call: MethodCall, app: String, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "SetForeground")
                try service.links.reports.setForeground(app, call)
            },
            Method(later: "SetWindows", in: ["windows", "options"]) {
                (
                    service: BrokerService, call: MethodCall, windows: [Structure<String, [String: Value]>],
                    options: [String: Value]
                ) throws(BusError) in
                try service.links.reports.setWindows(windows, options, call)
            },
            Method(later: "ForgetWindows", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try service.links.reports.forgetWindows(options, call)
            },
            Method(later: "SetPlaying", in: ["apps", "options"]) {
                (service: BrokerService, call: MethodCall, apps: [String], options: [String: Value]) throws(BusError)
                in
                try service.links.reports.setList(.playing, apps, options, of: "SetPlaying", call)
            },
            Method(later: "SetFrozen", in: ["apps", "options"]) {
                (service: BrokerService, call: MethodCall, apps: [String], options: [String: Value]) throws(BusError)
                in
                try service.links.reports.setList(.frozen, apps, options, of: "SetFrozen", call)
            },
            Method(later: "Push", in: ["app", "options"]) {
                (service: BrokerService, call: MethodCall, app: String, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Push")
                try service.links.launches.push(app, call)
            },
            Method(later: "SetState", in: ["app", "state", "options"]) {
                (
                    service: BrokerService, call: MethodCall, app: String, state: String, options: [String: Value]
                ) throws(BusError) in
                try OptionReader.none(options, of: "SetState")
                try service.links.reports.setState(app, state, call)
            },
            Method(later: "SetLock", in: ["state", "options"]) {
                (service: BrokerService, call: MethodCall, word: String, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "SetLock")
                let state = try GivenWord.read(word, "lock state", among: LockState.allCases, name: \.rawValue)
                service.links.reports.setLocked(state == .locked, call)
            },
            Method(later: "Reload", in: ["options"]) {
                (service: BrokerService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Reload")
                service.links.policy.reload(call)
            },
        ],
        properties: [
            Property("Version", .constant) { (_: BrokerService) in Version.text },
            Property("Features", .constant) { (_: BrokerService) in BrokerInterface.features },
            Property("Limits", .constant) { (service: BrokerService) in
                service.core.limits.table.merging(CallLimits.table) { own, _ in own }
                    .merging(PolicyLimits.table) { own, _ in own }.merging(WatchLink.limits) { own, _ in own }
                    .merging(ExplainLink.limits) { own, _ in own }
                    .merging(service.links.clients.held.limits) { own, _ in own }
            },
            Property("PolicyGeneration", .always) { (service: BrokerService) in service.core.arbiter.generation },
            Property("PolicyFiles", .always) { (service: BrokerService) in service.links.policy.files },
            Property("Sensors", .invalidates) { (service: BrokerService) in
                service.core.sensing.sensors.map { $0.options }
            },
            Property(
                "Foreground", others: "",
                isFor: { (service: BrokerService, call, answer) in
                    service.links.reports.mayKnowForeground(call, answer)
                },
                get: { service in service.links.reports.front.first?.name ?? "" }),
            Property("ForegroundReported", .never) { (service: BrokerService) in
                service.core.arbiter.foreground != .none
            },
            Property(
                "FocusSources", others: [[String: Value]](),
                isFor: { (service: BrokerService, call, answer) in
                    service.links.reports.mayKnowSources(call, answer)
                },
                get: { service in service.links.reports.sourceRows }),
            Property("Locked", .always) { (service: BrokerService) in service.core.arbiter.device.isLocked },
            Property("Paused", .always) { (service: BrokerService) in service.core.sensing.isPaused },
            Property("MutedUntil", .never) { (service: BrokerService) in service.core.sensing.mutedUntil.wire },
            Property("Durability", .always) { (service: BrokerService) in service.links.disk.durability.rawValue },
            Property("JournalWritten", .never) { (service: BrokerService) in service.links.disk.counts.written },
            Property("JournalDropped", .never) { (service: BrokerService) in service.links.disk.counts.dropped },
            Property("RefusedMessages", .never) { (service: BrokerService) in service.forgeries },
        ],
        signals: [
            SignalDescription(
                "AppsChanged", ["apps", "gone", "details"], [ListedApp.Wire].self, [ObjectPath].self,
                [String: Value].self)
        ])
}

extension SensorStream {
    /// The stream as `Sensors` shows it.
    var options: [String: Value] {
        [
            SensorStateKey.name: .string(self.name),
            SensorStateKey.available: .boolean(self.isAvailable),
            SensorStateKey.state: .string(self.standing.name),
            SensorStateKey.detail: .string(self.standing.obstacle(self.name) ?? ""),
            SensorStateKey.rate: .double(self.inForce?.rate ?? 0),
            SensorStateKey.received: .uint64(self.received),
            SensorStateKey.lost: .uint64(self.lost),
            SensorStateKey.gaps: .uint64(self.gaps),
            SensorStateKey.refused: .uint64(self.counters.refusedSamples),
        ]
    }
}

extension Preset {
    /// The preset as `DescribePresets` shows it: all a program needs to offer it.
    var options: [String: Value] {
        var options: [String: Value] = [
            "sensor": .string(self.sensor),
            "summary": .string(self.summary),
            "when-to-use": .string(self.whenToUse),
            "weaknesses": .string(self.weaknesses),
            "rest": .uint64((Timestamp.zero + self.rest).wire),
            "rest-mode": .string(self.restMode.rawValue),
            "starts-resting": .boolean(self.startsResting),
            "parameters": .array(
                of: "(ssddds)",
                self.parameters.map { parameter in
                    .structure([
                        .string(parameter.name), .string(parameter.unit), .double(parameter.range.lowerBound),
                        .double(parameter.range.upperBound), .double(parameter.defaultValue), .string(parameter.help),
                    ])
                }),
            "whole": .array(of: "s", self.parameters.filter(\.isWhole).map { .string($0.name) }),
            "required": .array(
                of: "s",
                (self.parameters.filter(\.isRequired).map(\.name) + [self.content].compactMap(\.self)).map {
                    .string($0)
                }),
            "sensitivities": .array(
                of: "(sa{sd})",
                self.sensitivities.map { sensitivity in
                    .structure([
                        .string(sensitivity.word),
                        .dictionary(
                            key: "s", value: "d",
                            sensitivity.values.sorted { $0.key < $1.key }.map { name, value in
                                Value.Entry(.string(name), .double(value))
                            }),
                    ])
                }),
        ]
        if case .condition(let condition) = self.source { options["when"] = .string(condition) }
        if let every = self.every { options["every"] = .uint64((Timestamp.zero + every).wire) }
        return options
    }
}
