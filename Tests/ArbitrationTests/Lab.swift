import Arbitration
import Motion

/// Times in tests are milliseconds.
func ms(_ count: Int64) -> Timestamp { Timestamp.zero + .milliseconds(count) }

/// An arbiter with the shell around it: names for handles, and everything it said as short lines.
struct Lab {
    var arbiter: Arbiter
    /// Everything since the last `take()`: `deliver A shake`, `A S4.outranked`, `again A S4.late`.
    private(set) var said: [String] = []
    /// Everything, in order.
    private(set) var actions: [ArbiterAction] = []
    private(set) var verdicts: [Verdict] = []
    private(set) var deliveries: [Delivery] = []
    private(set) var effects: [(app: AppHandle, effect: LifeEffect)] = []
    private var sessions: [String] = []
    /// What became of launches since the last time: `start A shake`.
    private var launches: [String] = []
    /// The answers to wishes for assertions and activities.
    private(set) var refusals: [LifeRefusal?] = []
    var apps: [String: AppHandle] = [:]
    var detectors: [String: DetectorID] = [:]
    /// Rests in milliseconds.
    var rests: [DetectorID: Int64] = [:]
    var now: Int64 = 0
    /// Apps of which a detector fired, and to which nothing was said since.
    private var asking: Set<String> = []

    init(_ policy: Policy) {
        self.arbiter = Arbiter(policy: policy, epoch: 0)
    }

    mutating func perform(_ body: (inout Arbiter, inout [ArbiterAction]) -> Void) {
        var actions: [ArbiterAction] = []
        body(&self.arbiter, &actions)
        self.actions += actions
        for action in actions {
            switch action {
            case .deliver(let delivery):
                self.asking.remove(delivery.id.name)
                self.deliveries.append(delivery)
                let route = delivery.route == .live ? "" : " \(delivery.route.rawValue)"
                self.said.append("\(delivery.epoch) deliver \(delivery.id) \(delivery.detector)\(route)")
            case .verdict(let verdict):
                self.asking.remove(verdict.id.name)
                self.verdicts.append(verdict)
                self.said.append("\(verdict.epoch) \(verdict.id) \(verdict.reason.name)")
            case .repeated(let app, _, let epoch, let reason):
                let name = self.apps.first { $0.value == app }?.key ?? "?"
                self.asking.remove(name)
                self.said.append("\(epoch) again \(name) \(reason.name)")
            case .life(let app, let effect): self.effects.append((app, effect))
            case .assertion(_, _, let refusal, _), .activity(_, _, let refusal): self.refusals.append(refusal)
            case .launch(let effect): self.launches.append(Launching.line(effect))
            case .session(let effect):
                let name = self.apps.first { $0.value == effect.key.app }?.key ?? "?"
                let other = effect.change.meeting.map { " \($0.other)" } ?? ""
                self.sessions.append("\(name) \(effect.change.name)\(other)")
            }
        }
    }

    /// What was said since the last time.
    mutating func take() -> [String] {
        defer { self.said = [] }
        return self.said
    }

    mutating func takeLaunches() -> [String] {
        defer { self.launches = [] }
        return self.launches
    }

    /// What became of sessions since the last time: `B began`, `A interrupted B`.
    mutating func takeSessions() -> [String] {
        defer { self.sessions = [] }
        return self.sessions
    }

    /// An audio activity of an app, of its number; without a class the one of the policy.
    mutating func begin(_ app: String, _ name: String?, mixes: Bool = false, number: UInt64 = 1) {
        guard let handle = self.apps[app] else { return }
        self.take(.beginActivity(handle, ActivityID(number), .audio, name.map { SessionRequest($0, mixes: mixes) }))
    }

    mutating func end(_ app: String, number: UInt64 = 1) {
        guard let handle = self.apps[app] else { return }
        self.take(.endActivity(handle, ActivityID(number)))
    }

    mutating func lock(_ isLocked: Bool) { self.take(.device(DeviceFacts(isLocked: isLocked))) }

    func standing(_ app: String, number: UInt64 = 1) -> SessionStanding? {
        self.apps[app].flatMap { self.arbiter.session(SessionKey($0, ActivityID(number))) }
    }

    /// Adds an app with one detector of the app's name in lower case.
    mutating func add(
        _ name: String, _ entrance: AppEntrance = AppEntrance(), threshold: Double? = nil, preset: String = "shake",
        rest: TimeSpan = .zero
    ) {
        let handle = self.apps[name] ?? AppHandle(UInt32(self.apps.count))
        self.apps[name] = handle
        let now = ms(self.now)
        self.perform { $0.take(.app(handle, AppID(name), entrance), at: now, into: &$1) }
        self.addDetector(name.lowercased(), to: name, threshold: threshold, preset: preset, rest: rest)
    }

    mutating func addDetector(
        _ detector: String, to app: String, threshold: Double? = nil, preset: String = "shake",
        rest: TimeSpan = .zero
    ) {
        guard let handle = self.apps[app] else { return }
        let id = self.detectors[detector] ?? DetectorID(UInt32(self.detectors.count))
        self.detectors[detector] = id
        self.rests[id] = rest.microseconds / 1_000
        let facts = DetectorFacts(name: detector, preset: preset, threshold: threshold, rest: rest)
        let now = ms(self.now)
        self.perform { $0.take(.detector(id, handle, facts), at: now, into: &$1) }
    }

    /// How many apps were never told anything after a detector of theirs fired.
    var unanswered: Int { self.asking.count }

    mutating func hit(_ detectors: [String], at time: Int64, _ peak: Double = 2) {
        self.now = max(self.now, time)
        let now = ms(self.now)
        let hits = detectors.compactMap { name in
            self.detectors[name].map { Hit(detector: $0, time: ms(time), peak: peak) }
        }
        for name in detectors {
            // Detectors are named after their apps, in lower case, with a mark for the second.
            guard let app = self.apps.keys.first(where: { name.hasPrefix($0.lowercased()) }) else { continue }
            self.asking.insert(app)
        }
        self.perform { $0.take(.hits(hits), at: now, into: &$1) }
    }

    mutating func pass(to time: Int64) {
        self.now = max(self.now, time)
        let now = ms(self.now)
        self.perform { $0.take(.motion(ms(time)), at: now, into: &$1) }
    }

    mutating func tell(_ app: String, _ state: AppState?) {
        guard let handle = self.apps[app] else { return }
        self.take(.told(handle, state))
    }

    /// An input that comes now.
    mutating func take(_ input: ArbiterInput) {
        let now = ms(self.now)
        self.perform { $0.take(input, at: now, into: &$1) }
    }

    mutating func answer(_ app: String, _ epoch: UInt64, _ answer: Answer) {
        guard let handle = self.apps[app] else { return }
        let now = ms(self.now)
        self.perform { $0.take(.answer(handle, epoch: epoch, answer), at: now, into: &$1) }
    }
}

/// Where rules of tests stand: in a file, in the order in which they are made.
func rule(
    _ name: String, line: Int = 1, priority: Int = 0, _ effect: Effect = .allow, group: String? = "g",
    strength: Int = 0, sessionClass: String? = nil, terms: DeliveryTerms = DeliveryTerms(),
    _ set: (inout Conditions) -> Void = { _ in }
) -> Rule {
    var conditions = Conditions()
    set(&conditions)
    return Rule(
        name: name, place: Place(file: "test.conf", line: line), priority: priority, conditions: conditions,
        effect: effect, group: group, strength: strength, sessionClass: sessionClass, terms: terms)
}

/// A rule for one app.
func rule(for app: String, strength: Int = 0, terms: DeliveryTerms = DeliveryTerms()) -> Rule {
    rule(app, strength: strength, terms: terms) { $0.apps.any = [NamePattern(app)] }
}

func group(_ mode: GroupMode, _ set: (inout GroupConfiguration) -> Void = { _ in }) -> GroupConfiguration {
    var group = GroupConfiguration(name: "g", place: Place(file: "test.conf", line: 1))
    group.mode = mode
    set(&group)
    return group
}

func terms(_ kind: DeliveryKind, _ reliability: Reliability = .bestEffort) -> DeliveryTerms {
    var terms = DeliveryTerms()
    terms.kind = kind
    terms.reliability = reliability
    return terms
}
