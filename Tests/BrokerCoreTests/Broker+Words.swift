import Arbitration
import Background
import BrokerCore
import Motion

/// Inputs in the words of tests. Those that nothing can stand in the way of throw nothing.
extension Broker {
    private mutating func take(_ input: BrokerInput, at now: Timestamp, _ actions: inout [BrokerAction]) {
        do throws(Refusal) {
            try self.apply(input, at: now, &actions)
        } catch {
            fatalError("refused: \(error)")
        }
    }

    // MARK: Apps

    mutating func register(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, user: UInt32 = 0, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) { try self.apply(.register(app, id, entrance, user: user), at: now, &actions) }

    mutating func leave(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.leave(app), at: now, &actions)
    }

    mutating func install(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ requests: [DetectorRequest],
        registered: Installation.Part? = nil, user: UInt32?, payer: UInt32 = UserShares.root, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let installation = Installation(Installation.Part(requests, payer: payer), registered: registered)
        try self.apply(.install(app, id, entrance, installation, user: user), at: now, &actions)
    }

    mutating func uninstall(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.uninstall(app), at: now, &actions)
    }

    mutating func addDetectors(
        _ app: AppHandle, _ requests: [DetectorRequest], at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [EffectiveDetector] {
        try self.apply(.addDetectors(app, requests), at: now, &actions).effective
    }

    mutating func removeDetectors(
        _ app: AppHandle, _ names: [String], at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) { try self.apply(.removeDetectors(app, names), at: now, &actions) }

    mutating func clean(_ actions: inout [BrokerAction]) { self.take(.clean, at: .zero, &actions) }

    mutating func tell(
        _ app: AppHandle, _ state: AppState?, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) { try self.apply(.life(.told(app, state)), at: now, &actions) }

    mutating func report(_ report: ForegroundReport, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.life(.foreground(report)), at: now, &actions)
    }

    // MARK: Sensors

    mutating func sensorAppeared(
        _ sensor: SensorDescription, at now: Timestamp, _ actions: inout [BrokerAction]
    ) { self.take(.sensorAppeared(sensor), at: now, &actions) }

    mutating func sensorsLost(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.sensorsLost, at: now, &actions)
    }

    mutating func claimAnswered(
        _ sensor: String, _ pace: SensorPace, allowed: Double? = nil, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) { self.take(.claim(sensor: sensor, .answered(pace, allowed: allowed)), at: now, &actions) }

    mutating func claimFailed(
        _ sensor: String, _ reason: String, at now: Timestamp, _ actions: inout [BrokerAction]
    ) { self.take(.claim(sensor: sensor, .failed(reason)), at: now, &actions) }

    mutating func paceChanged(
        _ sensor: String, _ pace: SensorPace, _ resting: Resting?, at now: Timestamp, _ actions: inout [BrokerAction]
    ) { self.take(.paceChanged(sensor: sensor, pace, resting), at: now, &actions) }

    mutating func checkSilence(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.silence, at: now, &actions)
    }

    mutating func pause(_ isPaused: Bool, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.pause(isPaused), at: now, &actions)
    }

    mutating func mute(for span: TimeSpan, at now: Timestamp) throws(Refusal) {
        var actions: [BrokerAction] = []
        try self.apply(.mute(span), at: now, &actions)
    }

    // MARK: Events, launches and tasks

    mutating func subscribe(
        _ app: AppHandle, since: EventName?, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> Int { try self.apply(.subscribe(app, since: since), at: now, &actions).kept }

    mutating func answer(
        _ app: AppHandle, _ event: EventName, _ answer: Answer, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) { try self.apply(.answer(app, event, answer), at: now, &actions) }

    mutating func unsent(_ app: AppHandle, _ event: Event, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.unsent(app, event), at: now, &actions)
    }

    mutating func room(_ app: AppHandle, _ bytes: Int, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.room(app, bytes), at: now, &actions)
    }

    mutating func restore(_ events: [StoredEvent], at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.restored(events), at: now, &actions)
    }

    mutating func push(_ app: AppID, at now: Timestamp, _ actions: inout [BrokerAction]) throws(Refusal) {
        try self.apply(.push(app), at: now, &actions)
    }

    mutating func answered(
        _ launch: Launch, _ answer: Answer, at now: Timestamp, _ actions: inout [BrokerAction]
    ) { self.take(.answered(launch, answer), at: now, &actions) }

    mutating func failed(
        _ launch: Launch, _ failure: LaunchFailure, at now: Timestamp, _ actions: inout [BrokerAction]
    ) { self.take(.failed(launch, failure), at: now, &actions) }

    mutating func task(_ input: TaskInput, at now: Timestamp, _ actions: inout [BrokerAction]) throws(Refusal) {
        try self.apply(.task(input), at: now, &actions)
    }

    // MARK: Policy and time

    mutating func swap(_ policy: Policy, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.take(.policy(policy), at: now, &actions)
    }

    mutating func tick(at now: Timestamp, _ actions: inout [BrokerAction]) { self.take(.tick, at: now, &actions) }

    var nextTick: Timestamp? { mutating get { self.due().tick } }
    var isCleaningDue: Bool { mutating get { self.due().isCleaning } }
    var isShrinkingDue: Bool { mutating get { self.due().isShrinking } }
}
