import Arbitration
import BrokerCore
import Detection
import Motion
import Traces

/// A broker with a clock of its own and the accelerometer at hand.
struct Bench {
    /// What cannot be copied, where macros copy whatever they look at.
    private final class Holder {
        var core: Broker

        init(_ core: consuming Broker) { self.core = core }
    }

    private let holder: Holder
    var core: Broker {
        _read { yield self.holder.core }
        nonmutating _modify { yield &self.holder.core }
    }
    var now = Timestamp(microseconds: 1_000_000)
    var actions: [BrokerAction] = []
    private var next: UInt64 = 0

    static let sensor = SensorDescription(
        name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [10, 25, 50, 100],
        source: "test", isSimulated: false)

    /// All shakes compete, and the highest threshold that fired wins.
    static func contest(_ mode: GroupMode, _ reliability: Reliability = .bestEffort) -> Policy {
        var group = GroupConfiguration(name: "shake", place: Place(file: "test.conf", line: 1))
        group.mode = mode
        group.select = [.specificity]
        group.commitWindow = .milliseconds(350)
        var terms = DeliveryTerms()
        terms.reliability = reliability
        let rule = Rule(
            name: "any", place: Place(file: "test.conf", line: 5), effect: .allow, group: "shake", terms: terms)
        return Policy(otherwise: .deny, groups: [group], rules: [rule])
    }

    init(
        policy: Policy = .builtIn, limits: BrokerLimits = BrokerLimits(), sensor: SensorDescription? = Bench.sensor,
        batchLatency: TimeSpan = .zero, clips: ClipTerms? = nil
    ) {
        self.holder = Holder(
            Broker(policy: policy, limits: limits, epoch: 1_000, batchLatency: batchLatency, clips: clips))
        if let sensor { self.core.sensorAppeared(sensor, at: self.now, &self.actions) }
    }

    static func planar(_ name: String, _ threshold: Double, rest: String? = nil) -> DetectorRequest {
        var options: [String: OptionValue] = ["preset": .text("shake.planar"), "threshold": .number(threshold)]
        if let rest { options["rest"] = .text(rest) }
        return DetectorRequest(name: name, options: options)
    }

    mutating func register(_ index: UInt32, _ app: String, user: UInt32 = 0) throws -> AppHandle {
        let client = AppHandle(index)
        try self.core.register(client, AppID(app), AppEntrance(), user: user, at: self.now, &self.actions)
        return client
    }

    mutating func install(
        _ index: UInt32, _ app: String, _ requests: [DetectorRequest], registered: Installation.Part? = nil,
        user: UInt32?, payer: UInt32
    ) throws {
        try self.core.install(
            AppHandle(index), AppID(app), AppEntrance(), requests, registered: registered, user: user, payer: payer,
            at: self.now, &self.actions)
    }

    // MARK: What macros may ask

    var isCleaningDue: Bool { self.core.isCleaningDue }
    var isShrinkingDue: Bool { self.core.isShrinkingDue }
    var nextTick: Timestamp? { self.core.nextTick }

    func tally(of client: AppHandle) -> AppTally? { self.core.tally(of: client) }

    func whyNot(_ client: AppHandle, detector: String? = nil, peak: Double? = nil) -> WhyNot? {
        var answer = WhyNot(client, of: self.core, detector: detector, at: self.now)
        while answer?.isComplete == false {
            _ = answer?.look(in: self.core, peak: peak, for: .user(0), at: self.now)
        }
        return answer
    }

    // MARK: What happens

    mutating func uninstall(_ client: AppHandle) { self.core.uninstall(client, at: self.now, &self.actions) }

    mutating func tick(after seconds: Int64 = 0) {
        self.now = self.now + .seconds(seconds)
        self.core.tick(at: self.now, &self.actions)
    }

    mutating func fail(_ launch: Launch, _ failure: LaunchFailure) {
        self.core.failed(launch, failure, at: self.now, &self.actions)
    }

    mutating func answer(_ launch: Launch) { self.core.answered(launch, .consume, at: self.now, &self.actions) }

    mutating func restore(_ events: [StoredEvent]) { self.core.restore(events, at: self.now, &self.actions) }

    mutating func add(_ client: AppHandle, _ requests: DetectorRequest...) throws -> [EffectiveDetector] {
        try self.core.addDetectors(client, requests, at: self.now, &self.actions)
    }

    mutating func remove(_ client: AppHandle, _ names: [String]) throws {
        try self.core.removeDetectors(client, names, at: self.now, &self.actions)
    }

    mutating func leave(_ client: AppHandle) { self.core.leave(client, at: self.now, &self.actions) }

    mutating func clean() { self.core.clean(&self.actions) }

    mutating func subscribe(_ client: AppHandle) throws -> Int {
        try self.core.subscribe(client, since: nil, at: self.now, &self.actions)
    }

    /// What was asked for since the last time.
    mutating func take() -> [BrokerAction] {
        defer { self.actions = [] }
        return self.actions
    }

    var events: [(AppHandle, Event)] {
        self.actions.compactMap { if case .deliver(let client, let event) = $0 { (client, event) } else { nil } }
    }

    /// Samples 100 ms apart, with these x values.
    mutating func feed(_ values: [Double], skipping lost: UInt64 = 0) {
        self.next += lost
        for value in values {
            self.now = self.now + .milliseconds(100)
            let times = [self.now.microseconds]
            let row = [value, 0, 1]
            self.core.samples(
                "accelerometer", first: self.next, times: times.span, values: row.span, at: self.now, &self.actions)
            self.next += 1
        }
    }

    /// Samples of a motion 20 ms apart, for so many of them.
    mutating func feed(_ motion: SyntheticMotion, count: Int) {
        for index in 0..<count {
            self.now = self.now + .milliseconds(20)
            guard let value = motion.sample(at: TimeSpan(microseconds: Int64(index) * 20_000)) else { continue }
            let times = [self.now.microseconds]
            let row = [value.x, value.y, value.z]
            self.core.samples(
                "accelerometer", first: self.next, times: times.span, values: row.span, at: self.now, &self.actions)
            self.next += 1
        }
    }

    /// The same in one message, which arrives with its last sample.
    mutating func feed(together values: [Double]) {
        let times = values.indices.map { self.now.microseconds + Int64($0 + 1) * 100_000 }
        let rows: [Double] = values.flatMap { value -> [Double] in [value, 0, 1] }
        self.now = Timestamp(microseconds: times.last ?? self.now.microseconds)
        self.core.samples(
            "accelerometer", first: self.next, times: times.span, values: rows.span, at: self.now, &self.actions)
        self.next += UInt64(values.count)
    }

    /// The reader answers a claim: numbers begin again.
    mutating func answerClaim(rate: Double = 10) {
        self.next = 0
        self.core.claimAnswered("accelerometer", SensorPace(rate: rate), at: self.now, &self.actions)
    }
}
