import Arbitration
import Detection
import Motion

/// Keeps who listens to what: apps, their detectors, and what hears for them.
///
/// What is registered stands in three places, in the books of the registry, in the engines and with the arbiter. They change
/// together here.
struct Listeners {
    private let limits: BrokerLimits
    /// Who is there, and what they asked for.
    private(set) var registry: Registry
    /// The detectors at work, and what is decided about their hits.
    var hearing: Hearing
    /// Detectors whose events nobody is to get any more: until the mailboxes know.
    private var gone: [(detector: String, app: AppHandle)] = []

    init(_ limits: BrokerLimits, _ hearing: Hearing, keeper: UInt32) {
        self.limits = limits
        self.registry = Registry(limits, keeper: keeper)
        self.hearing = hearing
    }

    /// Takes the names of detectors that were taken away, in order.
    mutating func takeGone() -> [(detector: String, app: AppHandle)] {
        defer { self.gone = [] }
        return self.gone
    }

    // MARK: Coming and going

    /// Takes an app in under a number that is free. Returns the name that it has from now on.
    ///
    /// - Parameters:
    ///   - user: Whose it is; `nil`: nobody's yet.
    ///   - payer: Of whose share it is.
    mutating func enter(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32?, payer: UInt32, at now: Timestamp
    ) throws(Refusal) -> AppID {
        let id = try self.registry.enter(app, id, entrance, user, payer: payer, at: now)
        self.giveBack(self.hearing.enter(app, id, self.ofUser(app, entrance), user, at: now))
        return id
    }

    /// Forgets an app, whose number may be used again. The arbiter knows that it left.
    mutating func forget(_ app: AppHandle) {
        guard let known = self.registry[app] else { return }
        // In one order, because handles that become free are given out again.
        let detectors = known.detectors.values.sorted { $0.id < $1.id }
        self.giveBack(self.hearing.forget(app, detectors, of: known.id, known.user))
        self.registry.remove(app)
    }

    /// Takes some detectors of apps that left from their engines. Returns whether those were the last.
    mutating func clean() -> Bool {
        guard self.hearing.sensing.hasLeftovers else { return false }
        self.giveBack(self.hearing.discardLeftovers())
        return !self.hearing.sensing.hasLeftovers
    }

    private mutating func giveBack(_ detectors: [InstalledDetector]) {
        for detector in detectors { self.registry.giveBack(detector) }
    }

    /// An installed app comes to the bus, and takes its detectors over.
    mutating func connect(_ app: AppHandle, _ entrance: AppEntrance, at now: Timestamp) {
        self.registry.connect(app, entrance, at: now)
        self.hearing.tell(.back(app, self.ofUser(app, entrance)), at: now)
    }

    /// What is said of an app, with whose it is.
    private func ofUser(_ app: AppHandle, _ entrance: AppEntrance) -> AppEntrance {
        var entrance = entrance
        entrance.user = self.registry[app]?.user
        return entrance
    }

    /// An installed app leaves the bus.
    mutating func disconnect(_ app: AppHandle, at now: Timestamp) {
        self.registry.disconnect(app)
        // First of all, so that what it leaves goes to others while all is still known.
        self.hearing.tell(.away(app), at: now)
    }

    /// Of the detectors of an app that left the bus those stay that are installed, as they were installed. What the
    /// others caused waits for the app all the same, which has not removed them.
    mutating func keepInstalled(of app: AppHandle, at now: Timestamp) {
        let installed = self.registry[app]?.installed
        let names = installed?.names ?? []
        for (name, detector) in (self.registry[app]?.detectors ?? [:]).sorted(by: { $0.key < $1.key }) {
            if detector.isOwn { self.registry.own(detector, false, of: app) }
            if !names.contains(name) { self.takeOut(name, of: app, at: now) }
        }
        // They were at work before; what is too much now is not there until the app is.
        for part in installed?.parts ?? [] {
            let sorted = Installation.Part(part.requests.sorted { $0.name < $1.name }, payer: part.payer)
            _ = try? self.add([sorted], to: app, isOwn: false, at: now)
        }
    }

    /// An app is another user's than it was.
    mutating func pass(_ app: AppHandle, to user: UInt32) {
        // While it was nobody's, what happened was for whoever would come.
        if self.registry[app]?.user != nil { self.hearing.pass(app, to: user) } else { self.hearing.own(app, by: user) }
        self.registry.pass(app, to: user)
    }

    // MARK: Detectors

    /// Adds detectors that an app asks for itself, all or none. The same name again replaces the detector; the same request again
    /// changes nothing.
    mutating func add(
        _ requests: [DetectorRequest], of app: AppHandle, at now: Timestamp
    ) throws(Refusal) -> [CompiledDetector] {
        try self.registry.checkCall(requests)
        guard let user = self.registry.owner(of: app)?.user else { throw .unknownClient }
        return try self.add([Installation.Part(requests, payer: user)], to: app, isOwn: true, at: now)
    }

    /// - Parameters:
    ///   - parts: All or none; no name twice.
    ///   - isOwn: The app itself asks for them.
    private mutating func add(
        _ parts: [Installation.Part], to app: AppHandle, isOwn: Bool, at now: Timestamp
    ) throws(Refusal) -> [CompiledDetector] {
        try self.registry.check(parts, of: app)
        let wanted = try self.wanted(parts, of: app, isOwn: isOwn)
        let change = self.registry.change(by: wanted, of: app)
        try self.registry.count(change, of: app)
        do throws(Refusal) {
            try self.hearing.count(change)
        } catch {
            self.registry.uncount(change, of: app)
            throw error
        }
        for detector in wanted { self.install(detector, for: app, isOwn: isOwn, at: now) }
        return wanted.map(\.compiled)
    }

    /// The detectors that requests ask for.
    ///
    /// Whoever changes one of those that outlive the app brings all of them: what is the same is as it is. What an app asks for itself
    /// is few at a time, and it is told if its sensor cannot serve it any more.
    private func wanted(
        _ parts: [Installation.Part], of app: AppHandle, isOwn: Bool
    ) throws(Refusal) -> [WantedDetector] {
        let id = self.registry.id(of: app)
        let known = isOwn ? [:] : self.registry[app]?.detectors ?? [:]
        var wanted: [WantedDetector] = []
        wanted.reserveCapacity(parts.reduce(0) { $0 + $1.requests.count })
        for part in parts {
            for request in part.requests {
                let compiled =
                    if let old = known[request.name], old.request == request { old.effective } else {
                        try self.compile(request, for: id)
                    }
                wanted.append(WantedDetector(request: request, compiled: compiled, payer: part.payer))
            }
        }
        return wanted
    }

    /// A detector as policy has it: with the threshold that it says, if there is one and the detector takes it.
    private func compile(_ request: DetectorRequest, for app: AppID?) throws(Refusal) -> CompiledDetector {
        let own = try self.compile(request)
        guard let thresholds = app.map({ self.hearing.arbiter.policy.settings(for: $0).sensing.thresholds }),
            !thresholds.isEmpty, let text = thresholds[request.name] ?? own.preset.flatMap({ thresholds[$0] })
        else { return own }
        var other = request
        other.options["sensitivity"] = nil
        other.options["threshold"] = .text(text)
        return (try? self.compile(other)) ?? own
    }

    /// Another policy is in force: detectors for which it has other thresholds go on with those.
    mutating func thresholdsChanged(from old: Policy, at now: Timestamp) {
        let new = self.hearing.arbiter.policy
        for app in self.registry.handles {
            guard let known = self.registry[app],
                old.settings(for: known.id).sensing.thresholds != new.settings(for: known.id).sensing.thresholds
            else { continue }
            for (_, installed) in known.detectors.sorted(by: { $0.value.id < $1.value.id }) {
                guard let compiled = try? self.compile(installed.request, for: known.id),
                    !compiled.isSame(as: installed.effective)
                else { continue }
                self.registry.recompile(installed, to: compiled, of: app)
                self.hearing.addAgain(installed, as: compiled, of: app, at: now)
            }
        }
    }

    private func compile(_ request: DetectorRequest) throws(Refusal) -> CompiledDetector {
        do throws(DetectorProblem) {
            let sensor = self.hearing.sensing[Self.sensor(of: request)]?.description
            return try DetectorCompiler.compile(request, for: sensor)
        } catch {
            guard case .limitExceeded(let name) = error.code else { throw .badDetector("\(error)") }
            throw .limit(name: name, value: self.limits.table[name] ?? 0, message: "\(error)")
        }
    }

    /// The sensor a request is about, as far as that can be told before it is compiled.
    private static func sensor(of request: DetectorRequest) -> String {
        if case .text(let name) = request.options["sensor"] { return name }
        if case .text(let name) = request.options["preset"], let preset = PresetCatalogue.named(name) {
            return preset.sensor
        }
        return SensorDescription.accelerometer
    }

    private mutating func install(_ wanted: WantedDetector, for app: AppHandle, isOwn: Bool, at now: Timestamp) {
        let (request, payer) = (wanted.request, wanted.payer)
        if let old = self.registry[app]?.detectors[request.name] {
            if isOwn { self.registry.own(old, true, of: app) }
            // What is the same goes on: the event for which an app was started must not end with its registration.
            if old.isUnchanged(by: wanted.compiled, request) {
                // What is asked for differently comes to something else once policy has no word in it.
                if old.payer != payer || old.request != request {
                    self.registry.put(old.asked(for: request, by: payer, isOwn: isOwn || old.isOwn), of: app)
                }
                return
            }
            self.hearing.replace(old, at: now)
            if old.isOwn { self.gone.append((request.name, app)) }
        }
        let added = self.hearing.add(wanted.compiled, of: app, payer, at: now)
        let installed = InstalledDetector(
            id: added.id, request: request, effective: added.detector, isOwn: isOwn, payer: payer)
        self.registry.put(installed, of: app)
    }

    /// Takes detectors of an app away, all or none.
    mutating func remove(_ names: [String], of app: AppHandle, at now: Timestamp) throws(Refusal) {
        guard let known = self.registry[app] else { throw .unknownClient }
        try self.registry.checkCount(of: names)
        for name in names where known.detectors[name] == nil { throw .unknownDetector(name) }
        for name in names { self.remove(name, of: app, at: now) }
        self.registry.withdraw(names, of: app)
    }

    private mutating func remove(_ name: String, of app: AppHandle, at now: Timestamp) {
        if self.takeOut(name, of: app, at: now) { self.gone.append((name, app)) }
    }

    /// Takes a detector out, and leaves what it caused. Returns whether there was one.
    @discardableResult
    private mutating func takeOut(_ name: String, of app: AppHandle, at now: Timestamp) -> Bool {
        guard let detector = self.registry.removeDetector(name, of: app) else { return false }
        self.hearing.remove(detector, at: now)
        return true
    }

    // MARK: Installed detectors

    /// Has these detectors of an app exist whether it is on the bus or not, in place of those that did before.
    ///
    /// While the app is on the bus, what it registered itself under the same name counts, and what it took away of its file stays away.
    mutating func install(_ installation: Installation, of app: AppHandle, at now: Timestamp) throws(Refusal) {
        try self.registry.checkPlace(of: app, installation.payer)
        let old = self.registry[app]?.installed?.names ?? []
        let own = Set((self.registry[app]?.detectors ?? [:]).filter(\.value.isOwn).keys)
        let parts = installation.parts(besides: own, without: self.registry[app]?.withdrawn ?? [])
        _ = try self.add(parts, to: app, isOwn: false, at: now)
        if !old.isEmpty {
            let new = installation.names
            for name in old.sorted() where !new.contains(name) && !own.contains(name) {
                self.remove(name, of: app, at: now)
            }
        }
        self.registry.setInstalled(installation, of: app)
    }

    /// Leaves nothing of an app that is on the bus but what it registered itself.
    mutating func uninstall(_ app: AppHandle, at now: Timestamp) {
        let detectors = self.registry[app]?.detectors ?? [:]
        for name in detectors.keys.sorted() where detectors[name]?.isOwn == false {
            self.remove(name, of: app, at: now)
        }
        self.registry.setInstalled(nil, of: app)
    }

    /// Takes in what is said of an app that exists: that does not bring it to the bus, and proves nothing.
    mutating func describe(_ app: AppHandle, _ entrance: AppEntrance, at now: Timestamp) {
        var known = self.ofUser(app, entrance)
        known.isConnected = self.registry[app]?.isConnected ?? false
        if known.isConnected { known.proof = self.registry[app]?.proof ?? entrance.proof }
        known.isProvenEnough = self.hearing.arbiter.facts(of: app)?.isProvenEnough ?? entrance.isProvenEnough
        self.hearing.tell(.back(app, known), at: now)
    }

    // MARK: Sensors

    /// The sensor is there, or was described anew. Detectors that waited for it begin to work, or wait again. Returns whether that
    /// is news.
    mutating func appear(_ sensor: SensorDescription, at now: Timestamp) -> Bool {
        guard let (isRebuilt, wasAhead) = self.hearing.appear(sensor, at: now) else { return false }
        if isRebuilt { self.addAgain(on: sensor.name, at: now) }
        if wasAhead { self.hearing.rewind(at: now) }
        return true
    }

    /// The sensor has other channels than we took it to have: its detectors are compiled anew.
    ///
    /// One that the sensor cannot serve stays registered and never fires.
    private mutating func addAgain(on sensor: String, at now: Timestamp) {
        for app in self.registry.handles {
            let detectors = (self.registry[app]?.detectors ?? [:]).sorted { $0.value.id < $1.value.id }
            for (_, installed) in detectors where installed.sensor == sensor {
                let compiled = try? self.compile(installed.request, for: self.registry.id(of: app))
                if let compiled { self.registry.recompile(installed, to: compiled, of: app) }
                self.hearing.addAgain(installed, as: compiled, of: app, at: now)
            }
        }
    }

    /// Makes every detector blind from now on for a while. The longest of several counts.
    mutating func mute(for span: TimeSpan, at now: Timestamp) throws(Refusal) {
        guard span.microseconds <= self.limits.mute else {
            throw .muteTooLong(limit: TimeSpan(microseconds: self.limits.mute))
        }
        self.hearing.mute(until: now + span)
    }

    // MARK: What apps say

    /// What the arbiter is to be told of that; `nil`: it is no news.
    func check(_ input: LifeInput) throws(Refusal) -> ArbiterInput? {
        if let app = input.app {
            guard let user = self.registry.owner(of: app)?.user else { throw .unknownClient }
            if case .beginActivity(_, _, let mode, let session) = input, session != nil || mode == .audio {
                try self.checkSessions(of: user)
            }
        }
        return input.input(knowing: self.hearing.arbiter.device)
    }

    /// Each session is weighed against each, so that there are few for all.
    private func checkSessions(of user: UInt32) throws(Refusal) {
        let shares = self.sessionShares
        guard shares.room(for: user) > 0 else { throw Refusal("sessions", shares, user, "too many sessions") }
    }

    /// What each user has of the sessions.
    var sessionShares: UserShares {
        var shares = Sessions.shares
        for app in self.hearing.arbiter.sessions.apps {
            guard let other = self.registry.owner(of: app)?.user else { continue }
            shares.set(shares.held(by: other) + 1, for: other)
        }
        return shares
    }

    /// Somebody who may wants an app launched: what the arbiter is to be told of that.
    func checkPush(to id: AppID, at now: Timestamp) throws(Refusal) -> LaunchRequest {
        let arbiter = self.hearing.arbiter
        guard let app = self.registry.app(named: id), !id.isAnonymous else { throw .unknownApp(id) }
        guard arbiter.settings(of: app)?.grants.contains(.push) == true else { throw .life(.ungranted(.push)) }
        if let until = arbiter.wakeQuotaReturns(to: app, at: now) { throw .wakeQuota(id, wait: until - now) }
        let ends = now + arbiter.policy.settings(for: id).wakeTimeout
        return LaunchRequest(id, .push, ends: ends, of: self.registry[app]?.user)
    }

    // MARK: What is due to apps

    /// How much may be kept for an app anywhere.
    func queueBytes(of id: AppID) -> Int { self.hearing.arbiter.policy.settings(for: id).queueBytes }

    /// What kind of motion an event tells of, as far as its detector is known.
    func kind(of event: Event, for app: AppHandle) -> String? {
        self.registry[app]?.detectors[event.detector]?.effective.facts(isAvailable: true).kind
    }

    // MARK: Memory

    /// Memory is given back when so many apps and detectors have gone.
    private static let manyGone = 256

    var isShrinkingDue: Bool { self.registry.gone >= Self.manyGone && !self.hearing.sensing.hasLeftovers }

    /// Gives back memory that was needed for those who have gone. Where more went meanwhile it is due again once that is cleaned up:
    /// else what is cleaned up last would stay.
    mutating func shrink() {
        guard !self.hearing.sensing.hasLeftovers else { return }
        self.registry.shrink()
        self.hearing.shrink()
    }
}
