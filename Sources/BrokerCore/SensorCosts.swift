import Detection
import Motion

/// What the conditions of all detectors on a sensor cost with every look, by the users whose they are.
///
/// Equal features of one user count once; those of two users count for each of them, so that nobody's share hangs on what
/// others listen to.
struct SensorCosts {
    /// A limit that a user would cross.
    struct Overrun {
        /// The limit's name.
        let name: String
        let shares: UserShares
        /// What the user would have.
        let amount: Int
        /// What there would be too many of.
        let what: String
    }

    private var censuses: [UInt32: FeatureCensus] = [:]
    /// How many of those counted there notice near misses.
    private var nears: [UInt32: Int] = [:]
    private var operations: UserShares
    private var stateful: UserShares
    private var paces: UserShares

    init(_ limits: BrokerLimits) {
        self.operations = limits.shares(of: limits.operationsPerSensor)
        self.stateful = limits.shares(of: limits.statefulPerSensor)
        self.paces = limits.shares(of: DetectionLimits.paces)
    }

    /// What there is for all on a sensor, and who has it.
    func usage(of sensor: String) -> [LimitUsage] {
        [
            LimitUsage("operations-per-sensor", of: .sensor(sensor), self.operations),
            LimitUsage("stateful-per-sensor", of: .sensor(sensor), self.stateful),
            LimitUsage("paces", of: .sensor(sensor), self.paces),
        ]
    }

    /// Nothing is counted here.
    var isEmpty: Bool { self.censuses.keys.allSatisfy { self.isEmpty(for: $0) } }

    /// Nothing of a user is.
    func isEmpty(for user: UInt32) -> Bool { self.counts(of: user).paces == 0 }

    /// Whether a user has detectors here. What notices near misses beside them goes with them, and is no reason to be here.
    func hasDetectors(of user: UInt32) -> Bool {
        guard let index = self.censuses.index(forKey: user) else { return false }
        return self.censuses.values[index].detectors > self.nears[user] ?? 0
    }

    mutating func add(_ detector: CompiledDetector, for user: UInt32) {
        self.censuses[user, default: FeatureCensus()].add(detector)
    }

    /// Takes out what was added.
    mutating func remove(_ detector: CompiledDetector, for user: UInt32) { self.censuses[user]?.remove(detector) }

    /// The same of one that notices near misses.
    mutating func addNear(_ detector: CompiledDetector, for user: UInt32) {
        self.add(detector, for: user)
        self.nears[user, default: 0] += 1
    }

    mutating func removeNear(_ detector: CompiledDetector, for user: UInt32) {
        self.remove(detector, for: user)
        let left = (self.nears[user] ?? 0) - 1
        self.nears[user] = left > 0 ? left : nil
    }

    /// The same detector in less memory: with the parts that equal ones of its user hold already.
    func compact(_ detector: CompiledDetector, for user: UInt32) -> CompiledDetector {
        guard let index = self.censuses.index(forKey: user) else { return detector }
        return self.censuses.values[index].compact(detector)
    }

    /// The limit that a user crosses with what was added since the last booking.
    func overrun(of user: UInt32) -> Overrun? {
        let now = self.counts(of: user)
        func check(_ name: String, _ shares: UserShares, _ amount: Int, _ what: String) -> Overrun? {
            shares.admits(amount, for: user)
                ? nil : Overrun(name: name, shares: shares, amount: amount, what: what)
        }
        return check("paces", self.paces, now.paces, "different paces")
            ?? check("stateful-per-sensor", self.stateful, now.stateful, "different filters and windows")
            ?? check("operations-per-sensor", self.operations, now.operations, "different operations")
    }

    /// Books what a user has now. What does not fit into the share and is there nevertheless lets it have no more.
    mutating func book(_ user: UInt32) {
        let now = self.counts(of: user)
        self.operations.set(now.operations, for: user)
        self.stateful.set(now.stateful, for: user)
        self.paces.set(now.paces, for: user)
        if now.paces == 0 { self.censuses[user] = nil }
    }

    /// Gives back memory that was needed for detectors that are gone.
    mutating func shrink() {
        for user in self.censuses.keys.sorted() { self.censuses[user]?.shrink() }
        self.censuses.shrink()
        self.nears.shrink()
    }

    private func counts(of user: UInt32) -> (operations: Int, stateful: Int, paces: Int) {
        guard let index = self.censuses.index(forKey: user) else { return (0, 0, 0) }
        let census = self.censuses.values[index]
        return (census.operations, census.stateful, census.paceCount)
    }
}
