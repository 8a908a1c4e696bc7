package import Arbitration
import Detection
package import Motion

/// Keeps who is there and what they asked for: apps, their detectors, and what of the limits each user has by that.
package struct Registry {
    private let limits: BrokerLimits
    /// The user who looks after what is nobody's.
    private let keeper: UInt32
    private var apps = AppTable<App>()
    private var names = AppNames()
    /// How many apps and detectors there are, whose they are, and the bytes of the detectors' conditions.
    private var appShares: UserShares
    private var detectorShares: UserShares
    private var textShares: UserShares
    private var registrations: UInt64 = 0
    /// Counts the clients without a name, which have no other name in logs.
    private var anonymous: UInt32 = 0
    /// Apps and detectors that went since memory was given back.
    private(set) var gone = 0

    init(_ limits: BrokerLimits, keeper: UInt32) {
        self.limits = limits
        self.keeper = keeper
        self.appShares = limits.shares(of: limits.apps)
        self.detectorShares = limits.detectorShares
        self.textShares = limits.shares(of: limits.conditionBytes)
    }

    /// Whether a user is the one behind the broker.
    func isKeeper(_ user: UInt32) -> Bool { user == self.keeper }

    // MARK: Who is there

    package subscript(app: AppHandle) -> App? { self.apps[app] }
    func has(_ app: AppHandle) -> Bool { self.apps.has(app) }
    var isEmpty: Bool { self.apps.isEmpty }
    /// The numbers of all apps, in order.
    var handles: [AppHandle] { self.apps.handles }

    /// Not a copy of the app, which would have to be made anew when it counts; so below.
    func id(of app: AppHandle) -> AppID? { self.apps[app]?.id }

    /// Who may read about an app, and which registration it is.
    func owner(of app: AppHandle) -> (user: UInt32, registration: UInt64)? {
        guard let registration = self.apps[app]?.registration else { return nil }
        return (self.apps[app]?.user ?? self.keeper, registration)
    }

    /// The app of a name, whosever it is, or one that a user may read about.
    func app(named id: AppID, of user: UInt32? = nil) -> AppHandle? {
        self.names[id].first { user == nil || self.apps[$0]?.reader == user }
    }

    /// An app of a user that is on the bus.
    func connected(_ id: AppID, of user: UInt32) -> AppHandle? {
        self.names[id].first { self.apps[$0]?.user == user && self.apps[$0]?.isConnected == true }
    }

    /// What there is for all, and who has it.
    package var usage: [LimitUsage] {
        [
            LimitUsage("apps", self.appShares), LimitUsage("detectors", self.detectorShares),
            LimitUsage("condition-bytes", self.textShares),
        ]
    }

    // MARK: Coming and going

    /// Takes an app in under a number that is free. Returns the name that it has from now on.
    ///
    /// - Parameters:
    ///   - user: Whose it is; `nil`: nobody's yet.
    ///   - payer: Of whose share it is.
    mutating func enter(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32?, payer: UInt32, at arrival: Timestamp
    ) throws(Refusal) -> AppID {
        guard self.appShares.take(1, for: payer) else {
            throw Refusal("apps", self.appShares, payer, "too many apps")
        }
        var id = id
        if id.isAnonymous {
            self.anonymous &+= 1
            id = .anonymous(self.anonymous)
        }
        let record = App(
            id: id, entrance, user: user, keeper: self.keeper, payer: payer, registration: self.nextRegistration(),
            at: arrival)
        self.apps.put(record, for: app)
        self.names.insert(app, id)
        return id
    }

    private mutating func nextRegistration() -> UInt64 {
        self.registrations &+= 1
        return self.registrations
    }

    /// An app that is known came to the bus.
    mutating func connect(_ app: AppHandle, _ entrance: AppEntrance, at arrival: Timestamp) {
        let registration = self.nextRegistration()
        self.apps.update(app) {
            $0?.registration = registration
            $0?.registered = arrival
            $0?.proof = entrance.proof
            $0?.isConnected = true
        }
    }

    mutating func disconnect(_ app: AppHandle) {
        self.apps.update(app) {
            $0?.isConnected = false
            $0?.withdrawn = []
        }
    }

    /// An app is another user's than it was.
    mutating func pass(_ app: AppHandle, to user: UInt32) { self.apps.update(app) { $0?.user = user } }

    /// What exists of an app also while it is not on the bus. The app is of the share of whoever installs it, else of its user's.
    mutating func setInstalled(_ installation: Installation?, of app: AppHandle) {
        self.apps.update(app) { $0?.installed = installation }
        if self.apps[app]?.withdrawn.isEmpty == false {
            // What a file does not have any more it may have anew.
            let filed = Set((installation?.filed.requests ?? []).lazy.map(\.name))
            self.apps.update(app) { $0?.withdrawn.formIntersection(filed) }
        }
        guard let old = self.apps[app]?.payer, let payer = installation?.payer ?? self.apps[app]?.user, payer != old
        else { return }
        self.apps.update(app) { $0?.payer = payer }
        self.appShares.set(self.appShares.held(by: old) - 1, for: old)
        self.appShares.set(self.appShares.held(by: payer) + 1, for: payer)
    }

    /// Checks that whoever installs an app has room for it, should it be of another's share until now.
    func checkPlace(of app: AppHandle, _ payer: UInt32) throws(Refusal) {
        guard let old = self.apps[app]?.payer, old != payer else { return }
        var shares = self.appShares
        shares.set(shares.held(by: old) - 1, for: old)
        guard shares.room(for: payer) > 0 else { throw Refusal("apps", self.appShares, payer, "too many apps") }
    }

    /// Forgets an app, whose number may be used again. Its detectors are given back one by one.
    mutating func remove(_ app: AppHandle) {
        guard let (id, payer) = self.apps[app].map({ ($0.id, $0.payer) }) else { return }
        self.apps.remove(app)
        self.names.remove(app, id)
        self.appShares.set(self.appShares.held(by: payer) - 1, for: payer)
        self.gone += 1
    }

    // MARK: What a registration may ask for

    /// Others wait while a call is served. What comes from files is bounded by them.
    func checkCall(_ requests: [DetectorRequest]) throws(Refusal) {
        let most = (count: self.limits.detectorsPerCall, bytes: self.limits.conditionBytesPerCall)
        guard requests.count <= most.count else { throw self.limits.tooManyInOneCall }
        let bytes = requests.reduce(0) { $0 + $1.conditionBytes }
        guard bytes <= most.bytes else {
            throw self.limit("condition-bytes-per-call", most.bytes, "\(bytes) bytes of conditions in one call")
        }
    }

    /// Checks that an app can have so many detectors as one call names, before each of them is looked for.
    func checkCount(of names: [String]) throws(Refusal) {
        guard names.count <= self.limits.detectorsPerApp else { throw self.limits.tooManyOfOneApp }
    }

    private func limit(_ name: String, _ value: Int, _ message: String) -> Refusal {
        .limit(name: name, value: UInt64(value), message: message)
    }

    /// Checks what requests are by themselves, and that the app and its payers have room for them.
    func check(_ parts: [Installation.Part], of app: AppHandle) throws(Refusal) {
        guard let app = self.apps[app] else { throw .unknownClient }
        var names: Set<String> = []
        var added = 0
        // What each payer needs besides what detectors of his have that are replaced.
        var needs: [(payer: UInt32, places: Int, bytes: Int)] = []
        for part in parts {
            var (places, bytes) = (0, 0)
            for request in part.requests {
                try self.check(request, among: &names)
                let old = app.detectors[request.name]
                if old == nil { added += 1 }
                let oldBytes = old.flatMap { $0.payer == part.payer ? $0.request.conditionBytes : nil }
                if oldBytes == nil { places += 1 }
                bytes += max(0, request.conditionBytes - (oldBytes ?? 0))
            }
            needs.append((part.payer, places, bytes))
        }
        guard app.detectors.count + added <= self.limits.detectorsPerApp else { throw self.limits.tooManyOfOneApp }
        // What one of them takes leaves the next less.
        var (detectors, text) = (self.detectorShares, self.textShares)
        for need in needs {
            guard detectors.take(need.places, for: need.payer) else {
                throw Refusal("detectors", detectors, need.payer, "too many detectors")
            }
            guard text.take(need.bytes, for: need.payer) else {
                throw Refusal("condition-bytes", text, need.payer, "too long conditions")
            }
        }
    }

    private func check(_ request: DetectorRequest, among names: inout Set<String>) throws(Refusal) {
        guard !request.name.isEmpty else { throw .badDetector("a detector needs a name") }
        guard request.name.utf8.count <= self.limits.detectorNameBytes else {
            throw self.limit(
                "detector-name-bytes", self.limits.detectorNameBytes,
                "the detector name '\(printable(request.name))' is too long")
        }
        guard names.insert(request.name).inserted else { throw .duplicateDetector(request.name) }
        guard request.options.count <= self.limits.optionsPerDetector else {
            throw self.limit(
                "options-per-detector", self.limits.optionsPerDetector,
                "detector '\(printable(request.name))' has \(request.options.count) options")
        }
        for (key, value) in request.options {
            guard case .text(let text) = value, text.utf8.count > self.limits.optionBytes else { continue }
            throw self.limit(
                "option-bytes", self.limits.optionBytes,
                "'\(printable(key))' of detector '\(printable(request.name))' is too long")
        }
    }

    // MARK: What an app's detectors cost

    /// What detectors change that an app asks for: those that are new, different or of another share, and those whose places
    /// they take.
    struct Change {
        private(set) var added: [Counted] = []
        private(set) var replaced: [Counted] = []

        /// A detector, and of whose share it is.
        typealias Counted = (detector: CompiledDetector, payer: UInt32)

        /// What makes a change undone.
        var reversed: Change {
            var reversed = Change()
            (reversed.added, reversed.replaced) = (self.replaced, self.added)
            return reversed
        }

        fileprivate mutating func add(_ detector: CompiledDetector, _ payer: UInt32, insteadOf old: InstalledDetector?)
        {
            self.added.append((detector, payer))
            if let old { self.replaced.append((old.effective, old.payer)) }
        }
    }

    /// What detectors change that an app wants.
    func change(by wanted: [WantedDetector], of app: AppHandle) -> Change {
        let known = self.apps[app]?.detectors ?? [:]
        var change = Change()
        for detector in wanted {
            let old = known[detector.request.name]
            if let old, old.isUnchanged(by: detector.compiled, detector.request) {
                // The same request again changes nothing, unless it is of another share.
                if old.payer != detector.payer { change.add(old.effective, detector.payer, insteadOf: old) }
            } else {
                change.add(detector.compiled, detector.payer, insteadOf: old)
            }
        }
        return change
    }

    /// Counts what detectors cost that are about to be put in, and takes out those that they replace. All or none.
    mutating func count(_ change: Change, of app: AppHandle) throws(Refusal) {
        self.apply(change, to: app)
        self.countExactly(change.added.map(\.detector), of: app)
        guard let census = self.apps[app]?.census.exact, let refusal = self.crossedLimit(census) else { return }
        self.uncount(change, of: app)
        throw refusal
    }

    /// Counts as before a change.
    mutating func uncount(_ change: Change, of app: AppHandle) { self.apply(change.reversed, to: app) }

    private mutating func apply(_ change: Change, to app: AppHandle) {
        self.apps.update(app) {
            for old in change.replaced { $0?.census.remove(old.detector) }
            for new in change.added { $0?.census.add(new.detector) }
        }
    }

    /// Finds out what the detectors of an app share, once they could be too many if they shared nothing.
    ///
    /// - Parameter added: Counted in already, and not put in yet.
    private mutating func countExactly(_ added: [CompiledDetector], of app: AppHandle) {
        guard let record = self.apps[app], record.census.exact == nil,
            record.census.operations > self.limits.operationsPerApp
                || record.census.stateful > self.limits.statefulPerApp
        else { return }
        let names = Set(added.map(\.name))
        var exact = FeatureCensus()
        for detector in record.detectors.values where !names.contains(detector.request.name) {
            exact.add(detector.effective)
        }
        for detector in added { exact.add(detector) }
        self.apps.update(app) { $0?.census.exact = exact }
    }

    private func crossedLimit(_ census: borrowing FeatureCensus) -> Refusal? {
        if census.stateful > self.limits.statefulPerApp {
            return self.limit(
                "stateful-per-app", self.limits.statefulPerApp,
                "the conditions of one app have \(census.stateful) different filters and windows")
        }
        if census.operations > self.limits.operationsPerApp {
            return self.limit(
                "operations-per-app", self.limits.operationsPerApp,
                "the conditions of one app have \(census.operations) different operations")
        }
        return nil
    }

    // MARK: Detectors

    /// Puts a detector in, which was counted before, and books it. Whoever replaces one keeps its place, however little room is
    /// left.
    mutating func put(_ detector: InstalledDetector, of app: AppHandle) {
        let old = self.apps.update(app) { $0?.detectors.updateValue(detector, forKey: detector.request.name) }
        if old != nil { self.gone += 1 }
        var more = detector.request.conditionBytes
        if let old, old.payer == detector.payer {
            more -= old.request.conditionBytes
        } else {
            if let old { self.discharge(old) }
            self.detectorShares.set(self.detectorShares.held(by: detector.payer) + 1, for: detector.payer)
        }
        self.textShares.set(self.textShares.held(by: detector.payer) + more, for: detector.payer)
    }

    /// A detector is the app's own from now on, or none of its own any more.
    mutating func own(_ detector: InstalledDetector, _ isOwn: Bool, of app: AppHandle) {
        self.apps.update(app) { $0?.detectors[detector.request.name] = detector.owned(isOwn) }
    }

    /// A detector was compiled anew. It stays whatever it costs now: its app was told that it is registered.
    mutating func recompile(_ detector: InstalledDetector, to compiled: CompiledDetector, of app: AppHandle) {
        self.apps.update(app) {
            $0?.census.remove(detector.effective)
            $0?.census.add(compiled)
            $0?.detectors[detector.request.name] = detector.compiled(to: compiled)
        }
    }

    /// Takes a detector out of an app, and what it had of its payer's shares.
    mutating func removeDetector(_ name: String, of app: AppHandle) -> InstalledDetector? {
        guard let detector = self.apps.update(app, { $0?.detectors.removeValue(forKey: name) }) else { return nil }
        self.apps.update(app) { $0?.census.remove(detector.effective) }
        self.giveBack(detector)
        return detector
    }

    /// Notes that an app took detectors away itself.
    mutating func withdraw(_ names: [String], of app: AppHandle) {
        guard let installed = self.apps[app]?.installed?.names else { return }
        let withdrawn = names.filter { installed.contains($0) }
        self.apps.update(app) { $0?.withdrawn.formUnion(withdrawn) }
    }

    /// Gives back what a detector that goes had of its payer's shares.
    mutating func giveBack(_ detector: InstalledDetector) {
        self.gone += 1
        self.discharge(detector)
    }

    private mutating func discharge(_ detector: InstalledDetector) {
        let (user, bytes) = (detector.payer, detector.request.conditionBytes)
        self.detectorShares.set(self.detectorShares.held(by: user) - 1, for: user)
        self.textShares.set(self.textShares.held(by: user) - bytes, for: user)
    }

    // MARK: Memory

    /// Gives back memory that was needed for those who have gone.
    mutating func shrink() {
        self.gone = 0
        self.apps.shrink()
        self.names.shrink()
    }
}
