import Motion

/// A detector as it competes.
struct DetectorEntry: Sendable {
    let app: AppHandle
    /// Rises with each registration, because a handle is used again.
    private(set) var order: UInt64
    fileprivate(set) var facts: DetectorFacts
    /// The policy's rules that can match it, in the order in which they are tried.
    fileprivate(set) var rules: [Int32]
    /// The groups that those rules name.
    fileprivate(set) var groups: [Int32]
    let registered: Timestamp
    fileprivate var lastHit: Timestamp?
    fileprivate var lastRefusal: Refused?
    /// The neighbours among the detectors of its app; -1 at the ends.
    fileprivate var next: Int32 = -1
    fileprivate var previous: Int32 = -1

    /// The last hit that did not come as far as a group. Further ones like it are counted, not told.
    fileprivate struct Refused: Sendable {
        var reason: Reason
        var rule: Rule?
        /// The number of what was said of the app; 0: that is not why.
        var report: UInt32
        var time: Timestamp
        var epoch: UInt64
    }

    init(
        app: AppHandle, order: UInt64, facts: DetectorFacts, rules: [Int32], groups: [Int32], registered: Timestamp
    ) {
        self.app = app
        self.order = order
        self.facts = facts
        self.rules = rules
        self.groups = groups
        self.registered = registered
    }

    /// It is the same detector as before, of which other things are true now: what it hit stays its own. It may rest no more.
    fileprivate mutating func goOn(from old: DetectorEntry) {
        self.order = old.order
        self.lastRefusal = old.lastRefusal
    }

    /// The first time at which it can fire again, or earlier: a rest may have been started anew since.
    var earliestHit: Timestamp {
        if let lastHit = self.lastHit { return lastHit + self.facts.rest }
        return self.facts.startsResting ? self.registered + self.facts.rest : Timestamp(microseconds: .min)
    }
}

/// Keeps the detectors of all apps, with the rules that can match each.
struct Detectors: Sendable {
    /// By the index of the detector.
    private var entries: [DetectorEntry?] = []
    /// The first detector of each app, by the index of the app; -1 without any.
    private var firsts: [Int32] = []

    /// How long hits that are refused alike count as one motion.
    private static let refusalQuiet = TimeSpan.seconds(1)

    /// So many numbers are in use, at most.
    var count: Int { self.entries.count }

    subscript(_ detector: DetectorID) -> DetectorEntry? {
        let index = Int(detector.index)
        return index < self.entries.count ? self.entries[index] : nil
    }

    /// Whether the detector of a hit is still the one that fired.
    func isRegistered(_ held: HeldHit) -> Bool { self.isCurrent(held.registration) }
    func isCurrent(_ registration: Registration) -> Bool {
        self[registration.detector]?.order == registration.order
    }

    func first(of app: AppHandle) -> DetectorID? {
        let first = Int(app.index) < self.firsts.count ? self.firsts[Int(app.index)] : -1
        return first < 0 ? nil : DetectorID(UInt32(truncatingIfNeeded: first))
    }

    /// Those with a rule that names a group.
    func members(of group: Int) -> [DetectorID] {
        let handle = Int32(truncatingIfNeeded: group)
        var members: [DetectorID] = []
        for index in self.entries.indices where self.entries[index]?.groups.contains(handle) == true {
            members.append(DetectorID(UInt32(truncatingIfNeeded: index)))
        }
        return members
    }

    // MARK: Coming and going

    /// Puts a detector in, in the place of the one with the same handle. Returns the groups that that one was of.
    mutating func put(_ detector: DetectorID, _ new: DetectorEntry) -> [Int32] {
        var new = new
        if let old = self[detector], old.app == new.app, old.facts.name == new.facts.name { new.goOn(from: old) }
        let groups = self.remove(detector)
        self.add(detector, new)
        return groups
    }

    private mutating func add(_ detector: DetectorID, _ entry: DetectorEntry) {
        while self.entries.count <= detector.index { self.entries.append(nil) }
        var entry = entry
        // Most apps have the same rules: one list for all of them.
        if detector.index > 0, let neighbour = self[DetectorID(detector.index - 1)] {
            if neighbour.rules == entry.rules { entry.rules = neighbour.rules }
            if neighbour.groups == entry.groups { entry.groups = neighbour.groups }
        }
        let own = Int32(truncatingIfNeeded: detector.index)
        let app = Int(entry.app.index)
        while self.firsts.count <= app { self.firsts.append(-1) }
        entry.next = self.firsts[app]
        if entry.next >= 0 { self.entries[Int(entry.next)]?.previous = own }
        self.firsts[app] = own
        self.entries[Int(own)] = entry
    }

    /// Takes a detector out. Returns the groups that it was of.
    mutating func remove(_ detector: DetectorID) -> [Int32] {
        guard let entry = self[detector] else { return [] }
        if entry.next >= 0 { self.entries[Int(entry.next)]?.previous = entry.previous }
        if entry.previous >= 0 {
            self.entries[Int(entry.previous)]?.next = entry.next
        } else {
            self.firsts[Int(entry.app.index)] = entry.next
        }
        self.entries[Int(detector.index)] = nil
        return entry.groups
    }

    mutating func shrink(apps: Int) {
        while let last = self.entries.last, last == nil { self.entries.removeLast() }
        self.entries.shrink()
        if self.firsts.count > apps { self.firsts.removeLast(self.firsts.count - apps) }
        self.firsts.shrink()
    }

    // MARK: What becomes of them

    /// Takes in whether its sensor is there. Returns whether that is new.
    mutating func setAvailable(_ detector: DetectorID, _ isAvailable: Bool) -> Bool {
        guard let old = self[detector]?.facts.isAvailable, old != isAvailable else { return false }
        self.entries[Int(detector.index)]?.facts.isAvailable = isAvailable
        return true
    }

    /// Takes in that one fired.
    mutating func fired(_ detector: DetectorID, at time: Timestamp) {
        self.entries[Int(detector.index)]?.lastHit = time
    }

    /// Takes in that a hit came as far as a group.
    mutating func passed(_ detector: DetectorID) { self.entries[Int(detector.index)]?.lastRefusal = nil }

    /// Takes in that a hit did not come as far as a group, and has a verdict of this epoch.
    mutating func refused(_ hit: Hit, _ reason: Reason, _ rule: Rule?, report: UInt32, epoch: UInt64) {
        self.entries[Int(hit.detector.index)]?.lastRefusal = DetectorEntry.Refused(
            reason: reason, rule: rule, report: report, time: hit.time, epoch: epoch)
    }

    /// Takes in a further hit that is refused like the one before, on the word of the same; returns the epoch of that. `nil`: it
    /// is not.
    mutating func refusesAgain(_ hit: Hit, _ reason: Reason, _ rule: Rule?, report: UInt32) -> UInt64? {
        guard let last = self[hit.detector]?.lastRefusal, last.reason == reason, last.rule === rule,
            last.report == report, hit.time - last.time < Self.refusalQuiet
        else { return nil }
        self.entries[Int(hit.detector.index)]?.lastRefusal?.time = hit.time
        return last.epoch
    }

    /// Goes by the rules of another policy.
    ///
    /// - Parameter prepared: What was looked up before.
    mutating func adopt(_ policy: Policy, _ prepared: PolicySuccession?, _ apps: Apps) {
        for index in self.entries.indices {
            guard let detector = self.entries[index], let app = apps[detector.app] else { continue }
            let found = prepared?.found(detector, index) ?? policy.rulesAndGroups(for: app.id, detector.facts)
            self.entries[index]?.rules = found.rules
            self.entries[index]?.groups = found.groups
        }
    }

    /// Goes on from a sample time that is earlier than what was seen.
    mutating func rewind(to now: Timestamp) {
        for index in self.entries.indices {
            if let hit = self.entries[index]?.lastHit { self.entries[index]?.lastHit = min(hit, now) }
            self.entries[index]?.lastRefusal = nil
        }
    }
}
