package import Motion

/// Decides who gets the events of motions: hits in, verdicts and deliveries out.
///
/// A value without clock or I/O. There are two times. Sample time comes with hits and motion; windows, quiet,
/// cooldowns and quotas go by it. Arrival time comes with every input and never decreases; acks and leases go by it. All goes
/// in through `take`, which appends what has to be done to `actions`, in order.
package struct Arbiter: Sendable {
    /// When a condition was last seen true, as far as the detection engine knows.
    package typealias LastTrue = (DetectorID) -> Timestamp?

    package internal(set) var policy: Policy
    /// Counts the policies, from 1. Every event and verdict names the one that decided it.
    package internal(set) var generation: UInt64 = 1
    package internal(set) var device = DeviceFacts()
    package internal(set) var motionTime = Timestamp(microseconds: .min)
    package internal(set) var arrivalTime = Timestamp(microseconds: .min)
    /// Answers to events that the app did not have, or not any more.
    package internal(set) var staleAnswers: UInt64 = 0
    /// The last epoch given out.
    package internal(set) var lastEpoch: UInt64

    var apps: [AppEntry?] = []
    var lives = Lives()
    package internal(set) var sessions = Sessions()
    package internal(set) var launches = Launches()
    var detectors: [DetectorEntry?] = []
    /// By the index of the group in the policy.
    var groups: [GroupState]
    /// Groups with an episode.
    var active: [Int] = []
    /// Orders that are not through, oldest first.
    var chains: [Chain] = []
    var lastOrder: UInt64 = 0
    /// What named apps that left have used up.
    var retired: [AppID: Ledger] = [:]

    /// Handles beyond this are no small numbers any more.
    static let mostHandles: UInt32 = 1 << 24
    /// How many ledgers of apps that left are kept before those that say nothing are thrown away.
    static let mostRetired = 4_096
    /// How long hits that are refused alike count as one motion.
    static let refusalQuiet = TimeSpan.seconds(1)

    /// - Parameter epoch: The last epoch that may have been given out before; the first one given out now is the next.
    package init(policy: Policy, epoch: UInt64) {
        self.policy = policy
        self.lastEpoch = epoch
        self.groups = policy.groups.map { GroupState($0) }
    }

    // MARK: Deadlines

    /// The next sample time at which something happens without a hit.
    package var nextMotionDeadline: Timestamp? {
        // Asked with every sample: a loop allocates nothing.
        var earliest: Timestamp?
        for group in self.active {
            guard let deadline = self.groups[group].episode?.deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        return earliest
    }

    /// The next arrival time at which something happens without an input.
    package var nextArrivalDeadline: Timestamp? {
        var earliest = self.lives.nextDeadline
        for index in self.chains.indices {
            earliest = min(earliest ?? self.chains[index].answerBy, self.chains[index].answerBy)
        }
        if let deadline = self.launches.nextDeadline { earliest = min(earliest ?? deadline, deadline) }
        return earliest
    }

    /// Whether nothing would come of an arrival and of motion up to a time but that time has passed.
    package func isIdle(until time: Timestamp, at arrival: Timestamp) -> Bool {
        (self.nextMotionDeadline.map { time < $0 } ?? true) && (self.nextArrivalDeadline.map { arrival < $0 } ?? true)
    }

    /// Whether an epoch is still to be decided, for one of its candidates at least.
    package func isOpen(_ epoch: UInt64) -> Bool {
        self.chains.contains { $0.epoch == epoch }
            || self.active.contains {
                self.groups[$0].episode?.epoch == epoch && self.groups[$0].episode?.isCollecting == true
            }
    }

    /// Groups whose motion is not over, as indices into those of the policy.
    package var openGroups: [Int] { self.active }

    /// The groups that hits of a detector can come to.
    package func groups(of detector: DetectorID) -> [Int32] { self.entry(detector)?.groups ?? [] }

    // MARK: What rules see

    /// What rules see of an app; `nil` when there is no such app.
    package func facts(of app: AppHandle) -> AppFacts? { self.entry(app)?.facts }

    mutating func update(_ device: DeviceFacts, into actions: inout [ArbiterAction]) {
        let isLockTurned = device.isLocked != self.device.isLocked
        self.device = device
        guard isLockTurned else { return self.factsChanged(into: &actions) }
        self.placeAll(.lock, into: &actions)
        actions += self.sessions.lock(device.isLocked, self.policy.matrix).map { .session($0) }
    }

    /// Who could still fire may be another now.
    mutating func factsChanged(into actions: inout [ArbiterAction]) {
        for group in self.active {
            self.groups[group].episode?.cursor = 0
            self.settle(group, at: self.reached(group), into: &actions)
        }
    }

    /// The sample time that a group has come to: its last hit may be ahead of the motion that has passed for all.
    func reached(_ group: Int) -> Timestamp {
        max(self.motionTime, self.groups[group].episode?.lastTrue ?? self.motionTime)
    }

    func entry(_ app: AppHandle) -> AppEntry? {
        let index = Int(app.index)
        return index < self.apps.count ? self.apps[index] : nil
    }

    func entry(_ detector: DetectorID) -> DetectorEntry? {
        let index = Int(detector.index)
        return index < self.detectors.count ? self.detectors[index] : nil
    }

    /// Gives out none up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) { self.lastEpoch = max(self.lastEpoch, epoch) }

    mutating func nextEpoch() -> UInt64 {
        self.lastEpoch &+= 1
        return self.lastEpoch
    }

    // MARK: Policy

    /// Replaces the policy.
    ///
    /// What is open is decided as it was begun. How long apps have waited and who holds a sticky group stays with groups of
    /// the same name; an open episode of a group that is gone is decided at once.
    mutating func swap(_ policy: Policy, _ prepared: PolicySuccession?, into actions: inout [ArbiterAction]) {
        let kept = Set(policy.groups.map(\.name))
        for group in self.active where !kept.contains(self.groups[group].configuration.name) {
            if self.groups[group].episode?.isCollecting == true {
                self.decide(group, at: self.reached(group), isEager: false, into: &actions)
            }
        }
        var byName: [String: GroupState] = [:]
        for group in self.groups { byName[group.configuration.name] = group }
        self.policy = policy
        self.generation &+= 1
        self.groups = policy.groups.map { configuration in
            guard var group = byName[configuration.name] else { return GroupState(configuration) }
            group.configuration = configuration
            group.order = .stale
            if !configuration.isSticky { group.holder = nil }
            return group
        }
        self.active = self.groups.indices.filter { self.groups[$0].episode != nil }
        for index in self.detectors.indices {
            guard let detector = self.detectors[index], let app = self.entry(detector.app) else { continue }
            let found = prepared?.found(detector, index) ?? policy.rulesAndGroups(for: app.id, detector.facts)
            self.detectors[index]?.rules = found.rules
            self.detectors[index]?.groups = found.groups
            for group in found.groups { self.groups[Int(group)].order = .stale }
        }
        for (app, entry) in self.appsInOrder {
            let settings = self.settings(for: entry.id, declared: entry.declared)
            // For whom nothing changes there is nothing to review.
            if settings == entry.settings { continue }
            self.apps[Int(app.index)]?.settings = settings
            self.apps[Int(app.index)]?.facts.grants = settings.grants
            self.live(app, into: &actions) { $0.review(at: $2, $1) }
        }
        actions += self.sessions.review(policy.matrix).map { .session($0) }
        self.factsChanged(into: &actions)
    }
}
