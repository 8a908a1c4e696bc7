import Motion

/// An app as the arbiter keeps it.
struct AppEntry: Sendable {
    let id: AppID
    /// Rises with each registration: the last word in every comparison.
    let order: UInt64
    /// The modes that its app file asks for.
    var declared: WordSet<BackgroundMode>
    /// False while it exists without being on the bus.
    var isConnected: Bool
    var facts: AppFacts
    /// What policy gives it, as far as it asks for it.
    var settings: AppSettings
    var ledger = Ledger()
    /// The first of its detectors; -1 without any.
    var firstDetector: Int32 = -1
}

/// What an app has used up. Outlives its registration, so that leaving and coming back gains nothing.
struct Ledger: Sendable {
    var events = TokenBucket()
    var wakes = TokenBucket()
    var assertions = HourlyCount()
    /// The sample time of the last event.
    var lastEvent: Timestamp?

    /// Goes on from a time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        self.events.rewind(from: last, to: now)
        self.wakes.rewind(from: last, to: now)
        self.lastEvent = self.lastEvent.map { min($0, now) }
    }

    /// Whether it says no more than an empty one would.
    func isSpent(at now: Timestamp, arrival: Timestamp, _ settings: AppSettings) -> Bool {
        self.events.isFull(at: now) && self.wakes.isFull(at: now) && self.assertions.isSpent(at: arrival)
            && (self.lastEvent.map { $0 + settings.cooldown <= now } ?? true)
    }
}

/// A detector as the arbiter keeps it.
struct DetectorEntry: Sendable {
    let app: AppHandle
    /// Rises with each registration, because a handle is used again.
    let order: UInt64
    var facts: DetectorFacts
    /// The policy's rules that can match it, in the order in which they are tried.
    var rules: [Int32]
    /// The groups that those rules name.
    var groups: [Int32]
    let registered: Timestamp
    var lastHit: Timestamp?
    var lastRefusal: Refused?
    /// The neighbours among the detectors of its app; -1 at the ends.
    var next: Int32 = -1
    var previous: Int32 = -1

    /// The last hit that did not come as far as a group. Further ones like it are counted, not told.
    struct Refused: Sendable {
        var reason: Reason
        var rule: Rule?
        var time: Timestamp
        var epoch: UInt64
    }

    /// The first time at which it can fire again, or earlier: a rest may have been started anew since.
    var earliestHit: Timestamp {
        if let lastHit = self.lastHit { return lastHit + self.facts.rest }
        return self.facts.startsResting ? self.registered + self.facts.rest : Timestamp(microseconds: .min)
    }
}

/// A group at work.
struct GroupState: Sendable {
    var configuration: GroupConfiguration
    /// Detectors with a rule that names the group, most promising first once sorted.
    var members: [DetectorID] = []
    var order = MemberOrder.sorted
    /// By app index.
    private var standings: [Standing] = []
    /// Hits before this time open no episode.
    var rests = Timestamp(microseconds: .min)
    var holder: Holder?
    var episode: Episode?
    /// The last motion, which is over while its owner is still launched for it: should that fail, the next best has it.
    var entrusted: Episode?
    /// What the last decision of the episode was.
    var contest: Contest?

    enum MemberOrder: Sendable {
        case sorted
        /// Some were added behind.
        case unsorted
        /// Some are gone.
        case stale
    }

    /// Whoever keeps a sticky group.
    struct Holder: Sendable {
        var app: AppHandle
        /// Arrival time; `nil`: as long as it lives.
        var ends: Timestamp?

        func holds(at arrival: Timestamp) -> Bool { self.ends.map { arrival < $0 } ?? true }
    }

    /// How an app fared in the group.
    struct Standing: Sendable {
        var denials = 0
        var lastWin: UInt64 = 0
        /// Its index among the candidates of the episode, or -1.
        var position: Int32 = -1
    }

    init(_ configuration: GroupConfiguration) {
        self.configuration = configuration
    }

    subscript(_ app: AppHandle) -> Standing {
        get {
            let index = Int(app.index)
            return index < self.standings.count ? self.standings[index] : Standing()
        }
        set {
            let index = Int(app.index)
            while self.standings.count <= index { self.standings.append(Standing()) }
            self.standings[index] = newValue
        }
    }

    /// Ends the episode, whatever it came to.
    mutating func endEpisode() {
        for (index, candidate) in (self.episode?.candidates ?? []).enumerated()
        where self[candidate.app].position == Int32(truncatingIfNeeded: index) {
            self[candidate.app].position = -1
        }
        self.episode = nil
        self.contest = nil
    }

    /// Gives back memory that is not needed any more.
    mutating func shrink(apps: Int) {
        if self.standings.count > apps { self.standings.removeLast(self.standings.count - apps) }
        self.standings.shrink()
        if self.order == .stale { self.members = [] }
        self.members.shrink()
    }

    /// Forgets an app, whose handle may be used again.
    mutating func forget(_ app: AppHandle, _ entry: AppEntry) {
        let position = Int(self[app].position)
        if position >= 0, let outcome = self.episode?.outcomes[position] {
            self.episode?.leave(entry.id, order: entry.order, outcome)
        }
        if Int(app.index) < self.standings.count { self[app] = Standing() }
        self.loseHold(app)
    }

    /// Whoever dies holds nothing.
    mutating func loseHold(_ app: AppHandle) {
        if self.holder?.app == app { self.holder = nil }
        if self.episode?.holder == app { self.episode?.holder = nil }
    }
}
