import Background
import Arbitration
import BrokerCore
import DBus
import Detection
import Motion
import PolicyFiles
import Protocol

/// `org.jostle.Broker1.App`: one app's detectors, events and counters.
enum AppInterface {
    typealias Request = Structure<String, [String: Value]>

    static let table = Interface<Client>(
        InterfaceName.app, notes: .jostle,
        methods: [
            Method(later: "AddDetectors", in: ["detectors"], out: ["effective"], as: [Request].self) {
                (client: Client, call: MethodCall, requests: DetectorList) throws(BusError) in
                try client.checkOwner(call)
                guard let rows = requests.rows else { throw client.tooManyDetectors }
                try client.addDetectors(rows, call) { effective in call.reply(effective) }
            },
            Method(later: "AddDetector", in: ["name", "options"], out: ["effective"], as: [String: Value].self) {
                (client: Client, call: MethodCall, name: String, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call)
                try client.addDetectors([Request(name, options)], call) { effective in
                    for detector in effective { call.reply(detector.fields.1) }
                }
            },
            Method(later: "RemoveDetectors", in: ["names", "options"]) {
                (client: Client, call: MethodCall, detectors: DetectorNames, options: [String: Value])
                    throws(BusError) in
                try client.checkOwner(call)
                try OptionReader.none(options, of: "RemoveDetectors")
                guard let names = detectors.names else { throw client.tooManyNames }
                try client.removeDetectors(names, call)
            },
            Method("ListDetectors", in: ["options"], out: ["detectors"]) {
                (client: Client, _: MethodCall, options: [String: Value]) throws(BusError) -> [Request] in
                let reader = try OptionReader(options, of: "ListDetectors", known: [ListOptions.after])
                return client.detectors(after: try reader.text(ListOptions.after))
            },
            Method("Ack", in: ["sequence", "epoch", "answer", "options"]) {
                (
                    client: Client, call: MethodCall, sequence: UInt64, epoch: UInt64, answer: String,
                    options: [String: Value]
                ) throws(BusError) in
                try client.checkOwner(call, "answer its events")
                try OptionReader.none(options, of: "Ack")
                try client.acknowledge(EventName(sequence: sequence, epoch: epoch), answer)
            },
            Method(later: "Subscribe", in: ["options"], out: ["results"], as: [String: Value].self) {
                (client: Client, call: MethodCall, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call, "subscribe to its events")
                try client.subscribe(options, call)
            },
            Method(
                later: "BeginAssertion", in: ["name", "options"], out: ["assertion", "in_force"],
                as: WireDescriptor.self, [String: Value].self
            ) { (client: Client, call: MethodCall, name: String, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call, "begin an assertion")
                try client.beginAssertion(name, options, call)
            },
            Method(
                later: "BeginActivity", in: ["mode", "options"], out: ["activity", "in_force"],
                as: WireDescriptor.self, [String: Value].self
            ) { (client: Client, call: MethodCall, mode: String, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call, "begin an activity")
                try client.beginActivity(mode, options, call)
            },
            Method(
                later: "SubmitTask", in: ["identifier", "kind", "options"], out: ["in_force"], as: [String: Value].self
            ) {
                (client: Client, call: MethodCall, identifier: String, kind: String, options: [String: Value])
                    throws(BusError) in
                try client.checkOwner(call, "submit its tasks")
                try client.submitTask(identifier, kind, options, call)
            },
            Method(later: "CancelTask", in: ["identifier", "options"]) {
                (client: Client, call: MethodCall, identifier: String, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call, "cancel its tasks")
                try OptionReader.none(options, of: "CancelTask")
                try client.cancelTask(identifier, call)
            },
            Method("TaskDone", in: ["result", "options"]) {
                (client: Client, call: MethodCall, word: String, options: [String: Value]) throws(BusError) in
                try client.checkOwner(call, "say so of its tasks")
                let reader = try OptionReader(options, of: "TaskDone", known: [TaskKey.task])
                let result = try GivenWord.read(word, "result", among: TaskResult.allCases, name: \.rawValue)
                let task = try reader.text(TaskKey.task)
                try client.task(.done(client.id, isSuccess: result == .done, task: task))
            },
        ],
        properties: [
            Property("AppId", .constant) { (client: Client) in client.app.name },
            Property("Identity", .constant) { (client: Client) in client.appState?.proof.name ?? "" },
            Property("Durable", .never) { (client: Client) in client.service.links.durable[client.app] != nil },
            Property("State", .always) { (client: Client) in client.stateName },
            Property("StateCause", .always) { (client: Client) in (client.life?.cause ?? .left).rawValue },
            Property("StateSince", .never) { (client: Client) in (client.life?.since ?? .zero).wire },
            Property("Usage", .constant) { (client: Client) in client.usage },
            Property("AppFile", .never) { (client: Client) in client.file?.path ?? "" },
            Property("Grants", .always) { (client: Client) in client.grantList },
            Property("Activities", .always) { (client: Client) in client.activityList },
            Property("Sessions", .invalidates) { (client: Client) in client.sessionList },
            Property("Assertions", .invalidates) { (client: Client) in client.assertionList },
            Property("TaskIdentifiers", .constant) { (client: Client) in client.declaredTasks.identifiers },
            Property("Tasks", .invalidates) { (client: Client) in client.taskList },
            Property("TaskOutcomes", .never) { (client: Client) in client.taskOutcomes },
            Property("BackgroundTimeRemaining", .never) { (client: Client) in client.backgroundTimeRemaining },
            Property("Overruns", .never) { (client: Client) in client.life?.overruns ?? 0 },
            Property("Launches", .never) { (client: Client) in client.tally?.launches.begun ?? 0 },
            Property("LaunchFailures", .never) { (client: Client) in client.tally?.launches.failed ?? 0 },
            Property("LastLaunch", .never) { (client: Client) in client.lastLaunch },
            Property("Detectors", .invalidates) { (client: Client) in client.detectors() },
            Property("DetectorCount", .invalidates) { (client: Client) in
                UInt64(client.appState?.detectors.count ?? 0)
            },
            Property("Hits", .never) { (client: Client) in client.hits },
            Property("Delivered", .never) { (client: Client) in client.tally?.delivered ?? 0 },
            Property("Denied", .never) { (client: Client) in client.tally?.denied ?? 0 },
            Property("Dropped", .never) { (client: Client) in client.mailbox?.dropped ?? 0 },
            Property("Expired", .never) { (client: Client) in client.mailbox?.expired ?? 0 },
            Property("Redelivered", .never) { (client: Client) in client.tally?.redelivered ?? 0 },
            Property("Gaps", .never) { (client: Client) in client.tally?.gaps ?? 0 },
            Property("Unacknowledged", .never) { (client: Client) in
                UInt64(client.mailbox?.unacknowledgedCount ?? 0)
            },
            Property("StaleAcks", .never) { (client: Client) in client.mailbox?.staleAcks ?? 0 },
            Property("QueuedBytes", .never) { (client: Client) in UInt64(client.mailbox?.bytes ?? 0) },
            Property("UnreadBytes", .never) { (client: Client) in UInt64(client.peer?.window.unconfirmed ?? 0) },
            Property("LastEvent", .never) { (client: Client) in
                (client.tally?.lastEvent?.body
                    ?? EventCodec.Body.none).structure
            },
        ],
        signals: [
            SignalDescription(
                "Event", ["event"], Structure<UInt64, UInt64, UInt64, String, Double, [String: Value]>.self),
            SignalDescription("Gap", ["gap"], GapCodec.Wire.self),
            SignalDescription("CaughtUp", ["mark"], CaughtUpCodec.Wire.self),
            SignalDescription("TaskExpiring", ["identifier", "details"], String.self, [String: Value].self),
            SignalDescription("AssertionExpiring", ["name", "details"], String.self, [String: Value].self),
            SignalDescription(
                "SessionChanged", ["session_class", "change", "details"], String.self, String.self,
                [String: Value].self),
        ])
}

extension Client {
    var appState: App? { self.service.core.app(self.id) }
    /// What became of it since it is here.
    var tally: AppTally? { self.service.core.tally(of: self.id) }
    /// Looks of its detectors that their rests let through.
    var hits: UInt64 { self.service.core.hits(of: self.id) }
    /// How many bytes may be sent to it that it has not read.
    var busShare: Int {
        let bytes = self.appState.map { self.service.core.arbiter.policy.settings(for: $0.id).queueBytes }
        return EventQueue.busShare(of: bytes ?? 0)
    }
    /// What is due to it.
    var mailbox: EventQueue? { self.service.core.mailbox(of: self.id) }
    var stateName: String { (self.service.core.facts(of: self.id)?.state ?? .dead).name }

    /// Others of the same user may look; only the app itself may change anything.
    func checkOwner(_ call: MethodCall, _ what: String = "change its detectors") throws(BusError) {
        guard call.sender == self.uniqueName else { throw .accessDenied("only the app itself can \(what)") }
    }

    /// Answers before anything that was kept is sent, so that the app knows what is coming.
    func subscribe(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let reader = try OptionReader(options, of: "Subscribe", known: SubscribeOptions.known)
        let since = try reader.event(SubscribeOptions.since).map { EventName(sequence: $0.sequence, epoch: $0.epoch) }
        try self.service.request { (core, now, actions) throws(Refusal) in
            let answer = try core.apply(.subscribe(self.id, since: since), at: now, &actions)
            call.reply([SubscribeOptions.kept: Value.uint64(UInt64(answer.kept))])
        }
    }

    func acknowledge(_ event: EventName, _ word: String) throws(BusError) {
        guard let answer = Answer(rawValue: word) else {
            throw .invalidArguments("an answer is 'consume' or 'pass', not '\(printable(word))'")
        }
        try self.service.request(.answer(self.id, event, answer))
    }

    /// What a call is answered that brings more detectors than one may.
    var tooManyDetectors: BusError { BusError(self.service.core.limits.tooManyInOneCall) }

    /// What one is answered that removes more than an app can have.
    var tooManyNames: BusError { BusError(self.service.core.limits.tooManyOfOneApp) }

    /// - Parameter reply: Says what is in force, in the order of the requests.
    func addDetectors(
        _ requests: [AppInterface.Request], _ call: MethodCall, _ reply: @escaping ([AppInterface.Request]) -> Void
    ) throws(BusError) {
        var decoded: [DetectorRequest] = []
        for request in requests {
            decoded.append(try DetectorRequest(name: request.fields.0, wire: request.fields.1))
        }
        try self.service.links.durable.check(decoded, of: self)
        let effective = try self.service.request(.addDetectors(self.id, decoded)).effective
        self.service.links.sensors.startIfNeeded()
        self.detectorsChanged()
        self.service.links.durable.add(decoded, of: self) { error in
            if let error { return call.fail(error) }
            reply(effective.map { Structure($0.detector.name, $0.options) })
        }
    }

    func removeDetectors(_ names: [String], _ call: MethodCall) throws(BusError) {
        if !self.service.links.durable.isSaidAgain(names, by: self) {
            try self.service.request(.removeDetectors(self.id, names))
            self.detectorsChanged()
        }
        self.service.links.durable.remove(names, of: self) { error in
            if let error { call.fail(error) } else { call.reply() }
        }
    }

    /// The first of its detectors by name, or the first behind a name: as many as one list may have.
    func detectors(after name: String? = nil) -> [AppInterface.Request] {
        let detectors = self.appState?.detectors ?? [:]
        let names = detectors.keys.lazy.filter { key in name.map { $0 < key } ?? true }
        let page = names.first(self.service.core.limits.listRows, by: <)
        return page.compactMap { name in
            detectors[name].map { Structure(name, self.service.core.sensing.effective($0.effective).options) }
        }
    }
}

extension EffectiveDetector {
    /// What is in force, as the bus shows it.
    var options: [String: Value] {
        var options: [String: Value] = [:]
        for (key, value) in self.detector.effective { options[key] = value.wire }
        options[DetectorKey.available] = .boolean(self.isAvailable)
        if let rate = self.rate { options[DetectorKey.effectiveRate] = .double(rate) }
        let warnings = self.warnings
        if !warnings.isEmpty {
            options[DetectorKey.warnings] = WarningRow.value(
                of: warnings.map { WarningRow(id: $0.id.rawValue, text: $0.message) })
        }
        return options
    }
}
