import Motion

/// A hit that passed S0 to S3 and waits for its group, or was delivered.
struct HeldHit: Sendable {
    var hit: Hit
    /// Which registration of the detector's handle it was.
    var order: UInt64
    var detector: DetectorFacts
    var rule: Rule
    var arrival: Timestamp
    /// As the device was when it was judged, which may be another by the time of its verdict.
    var device: DeviceFacts

    var registration: Registration { Registration(detector: self.hit.detector, order: self.order) }
}

/// A detector, as it was registered when it hit.
struct Registration: Equatable, Sendable {
    var detector: DetectorID
    var order: UInt64
}

/// An app in an episode, with the hits that brought it there.
struct Candidate: Sendable {
    var app: AppHandle
    var first: HeldHit
    var more: [HeldHit] = []
    /// Other detectors of the app, which hit when it was decided who has the motion: each once, as it was last.
    var later: [Registration] = []
    var rank: Rank
    var facts: AppFacts
    var limits: LimitsSeen
    /// When a condition of its detectors was last seen true.
    var lastTrue: Timestamp
    /// Of its verdict, where nobody owns the motion.
    var epoch: UInt64?

    /// More hits than this before a decision tell nothing new, but for the first of a detector.
    private static let mostHits = 32

    /// Takes in one more hit. Returns whether it is among those that the app gets, should it be the one.
    mutating func add(_ held: HeldHit) -> Bool {
        self.rank.raise(by: held)
        let isKept = self.more.count + 1 < Self.mostHits || !self.hasHit(of: held.hit.detector)
        if isKept { self.more.append(held) }
        return isKept
    }

    private func hasHit(of detector: DetectorID) -> Bool {
        self.first.hit.detector == detector || self.more.contains { $0.hit.detector == detector }
    }

    /// In the order in which they came. Never empty.
    var hits: [HeldHit] {
        get { [self.first] + self.more }
        set {
            guard let first = newValue.first else { return }
            self.first = first
            self.more = Array(newValue.dropFirst())
            self.rank.clearHits()
            for held in newValue { self.rank.raise(by: held) }
        }
    }

    /// The detectors by whose conditions the motion goes on.
    var registrations: [Registration] { self.hits.map(\.registration) + self.later }

    /// Takes in that a detector hit when it was decided who has the motion.
    mutating func watch(_ registration: Registration) {
        if self.first.registration == registration { return }
        if self.more.contains(where: { $0.registration == registration }) { return }
        if let known = self.later.firstIndex(where: { $0.detector == registration.detector }) {
            self.later[known] = registration
        } else {
            self.later.append(registration)
        }
    }

    /// Takes out the hits to which something says no now. Returns what that is for its first one, if none is left.
    mutating func lose(_ objection: Objection) -> Reason? {
        let hits = self.hits
        let kept = hits.filter { held in
            var seen = self.limits
            return objection(held, &seen) == nil
        }
        if kept.isEmpty { return objection(self.first, &self.limits) }
        if kept.count < hits.count { self.hits = kept }
        return nil
    }

    /// Why a hit that passed S3 is not to wait any longer; `nil`: it is.
    typealias Objection = (HeldHit, inout LimitsSeen) -> Reason?
}

/// The same, where its app may get something of so many other decisions that it waits for.
typealias WaitingObjection = (HeldHit, _ others: Int, inout LimitsSeen) -> Reason?

/// What a group decides about one physical motion.
struct Episode: Sendable {
    enum Phase: Sendable {
        /// Hits come in until the window closes.
        case collecting
        /// Decided: who owns it, as an index of `candidates`, and whether it said so.
        case owned(by: Int, isAnswered: Bool)
        /// Decided, and nobody owns it: broadcast, a chain at work, or an owner who left.
        case decided

        var isDecided: Bool {
            if case .collecting = self { return false }
            return true
        }
    }

    let epoch: UInt64
    let configuration: GroupConfiguration
    let generation: UInt64
    let opened: Timestamp
    var phase = Phase.collecting
    private(set) var candidates: [Candidate] = []
    /// Their verdicts, as far as they have one. Apart, so that a chain can share the candidates as they are.
    var outcomes: [Reason?] = []
    /// The best so far while collecting.
    var leader = 0
    /// Whoever held the sticky group when the motion began. A hold that ends or goes to another meanwhile, by a lease or by an
    /// order that was not through, does not change what waiting would come to.
    var holder: AppHandle?
    /// The epoch of an owner who died, whose place this one takes.
    var inherits: UInt64?
    /// Members before this one cannot outrank the leader. Back to 0 when that may have changed.
    var cursor = 0
    /// Apps that are out of it, by id and registration, with their verdicts: who comes back gets no second one.
    private var left: [(id: AppID, order: UInt64, reason: Reason)] = []
    /// When a condition was last seen true.
    private(set) var lastTrue: Timestamp

    /// An episode that never falls silent ends nonetheless, or one app could keep a group for ever.
    private static let longest = TimeSpan.seconds(30)
    /// What was true so shortly before its end was true to the end, however long `Quiet` is.
    private static let shortly = TimeSpan.seconds(1)

    init(epoch: UInt64, _ configuration: GroupConfiguration, generation: UInt64, opened: Timestamp) {
        self.epoch = epoch
        self.configuration = configuration
        self.generation = generation
        self.opened = opened
        self.lastTrue = opened
    }

    /// An episode in place of one whose owner is gone.
    init(_ old: Episode, epoch: UInt64, _ heirs: [Candidate]) {
        self.init(epoch: epoch, old.configuration, generation: old.generation, opened: old.opened)
        self.lastTrue = old.lastTrue
        self.inherits = old.epoch
        self.holder = old.holder
        for heir in heirs { self.append(heir) }
        self.findLeader()
    }

    var closes: Timestamp { self.opened + self.configuration.commitWindow }
    /// When nothing was true for long enough; not before the window closes, however early it was decided.
    var ends: Timestamp {
        let silent = min(self.lastTrue + self.configuration.quiet, self.opened + Self.longest)
        return self.configuration.mode.compares ? max(silent, self.closes) : silent
    }

    var isCollecting: Bool { !self.phase.isDecided }

    /// Who owns it, as an index of `candidates`.
    var owner: Int? {
        if case .owned(let owner, _) = self.phase { return owner }
        return nil
    }

    /// Who is launched for its event and has not answered, as an index of `candidates`.
    var awaited: Int? {
        guard case .owned(let owner, isAnswered: false) = self.phase, self.outcomes[owner] == .woken else { return nil }
        return owner
    }

    /// Whether a candidate came in time, and not to what was decided.
    func isInTime(_ index: Int) -> Bool { self.outcomes[index] != .late }

    /// Whether a condition of a candidate is true to the end, which no silence brought then.
    func stays(_ index: Int) -> Bool {
        self.candidates[index].lastTrue + self.silence > self.ends
    }

    /// For how long nothing is true where a condition was true no more.
    var silence: TimeSpan { min(self.configuration.quiet, Self.shortly) }

    /// The next sample time at which something happens by itself.
    var deadline: Timestamp { self.isCollecting ? self.closes : self.ends }

    /// Takes in that a condition was true, of a candidate or of nobody who counts, and whether the motion goes on for it.
    mutating func sawTrue(at time: Timestamp, of index: Int?, goesOn: Bool) {
        if goesOn { self.lastTrue = max(self.lastTrue, time) }
        if let index { self.candidates[index].lastTrue = max(self.candidates[index].lastTrue, time) }
    }

    /// Takes in which detector hit. Where it is decided who has the motion, what a candidate hits is of it for as long as it is true.
    mutating func watch(_ registration: Registration, of index: Int?) {
        if let index, self.phase.isDecided { self.candidates[index].watch(registration) }
    }

    mutating func append(_ candidate: Candidate, _ outcome: Reason? = nil) {
        self.candidates.append(candidate)
        self.outcomes.append(outcome)
        // What else its app may hit counts together with this.
        self.cursor = 0
    }

    /// Puts what an app came to in the place of what it came to before. The motion still goes on by those hits.
    mutating func replace(at index: Int, _ candidate: Candidate, _ outcome: Reason) {
        let (before, later) = (self.candidates[index].hits, self.candidates[index].later)
        self.candidates[index] = candidate
        self.candidates[index].more = before
        self.candidates[index].later = later
        self.outcomes[index] = outcome
    }

    mutating func remove(at index: Int) {
        self.candidates.remove(at: index)
        self.outcomes.remove(at: index)
    }

    /// Takes in one more hit of a candidate. Returns whether it is kept.
    mutating func add(_ held: HeldHit, to index: Int) -> Bool {
        let old = self.candidates[index].rank
        let isKept = self.candidates[index].add(held)
        let new = self.candidates[index].rank
        // As above.
        if new.strength > old.strength || new.specificity > old.specificity { self.cursor = 0 }
        return isKept
    }

    /// Takes hits of a candidate out. Returns why it has none left, if so.
    mutating func lose(_ objection: Candidate.Objection, of index: Int) -> Reason? {
        self.candidates[index].lose(objection)
    }

    mutating func leave(_ id: AppID, order: UInt64, _ reason: Reason) { self.left.append((id, order, reason)) }

    /// What became of an app that was in it before. A name is the same app after it came back; no name never is.
    func outcome(ofLeft id: AppID, order: UInt64) -> Reason? {
        self.left.first { $0.id == id && (!id.isAnonymous || $0.order == order) }?.reason
    }

    /// Puts the best of the candidates in the lead.
    mutating func findLeader() {
        self.leader = 0
        self.cursor = 0
        for index in self.candidates.indices.dropFirst()
        where self.candidates[index].rank.outranks(
            self.candidates[self.leader].rank, by: self.configuration.select
        ).outranks {
            self.leader = index
        }
    }
}

extension Rank {
    /// Takes in what one more hit is worth.
    mutating func raise(by held: HeldHit) {
        self.strength = max(self.strength, held.rule.strength)
        self.specificity = max(self.specificity, held.detector.threshold ?? -.infinity)
        self.intensity = max(self.intensity, held.hit.peak)
    }

    mutating func clearHits() {
        self.strength = .min
        self.specificity = -.infinity
        self.intensity = -.infinity
    }
}
