package import Arbitration
package import Background
package import Detection
package import Motion

/// What jostle-brokerd does, as a value: inputs in, actions out. No I/O, no clock.
///
/// Detectors of all apps that listen to one sensor share one engine; what it hits, the arbiter decides by policy.
package struct BrokerCore {
    package let limits: BrokerLimits
    /// Who gets the events. Its apps and detectors have our numbers. `tell` is the way in.
    var arbiter: Arbiter
    /// What the arbiter decided, until it is performed.
    var decisions: [ArbiterAction] = []
    /// How many of them are performed.
    var performed = 0
    var apps = AppTable<App>()
    /// The sensors, and the detectors at work.
    var sensing: Sensing
    /// How many apps and detectors there are, whose they are, and the bytes of the detectors' conditions.
    private var appShares: UserShares
    private var detectorShares: UserShares
    private var textShares: UserShares
    private var registrations: UInt64 = 0
    /// What was decided lately.
    var recent: RecentVerdicts
    /// Counts the clients without a name, which have no other name in logs.
    private var anonymous: UInt32 = 0
    /// Detectors of apps that left, which are still to be taken from their engines.
    var leftovers: [Leftovers] = []
    /// Apps and detectors that went since memory was given back.
    var gone = 0
    /// What is written down while somebody asked for it.
    var recording: Recording?
    /// What is due to apps, and what is to be done about that.
    var mailboxes: Mailboxes
    var mail: [MailEffect] = []
    /// Ends of events that came before the verdicts on them, while what was decided is performed.
    var earlyEnds: [AppHandle: [(event: StoredEvent, end: EventEnd)]] = [:]
    /// Background work, whether its apps are here or not.
    package internal(set) var tasks = Tasks()
    /// What the wall clock is ahead of arrival times.
    var wallOffset = TimeSpan.zero
    /// Nobody uses the device, as far as is known.
    package internal(set) var isIdle = true

    /// - Parameters:
    ///   - policy: who may have events, and who competes for them.
    ///   - epoch: where epochs begin; at least the wall clock in microseconds, so that a restart never repeats one.
    ///   - batchLatency: how long samples may be held back so that several travel together; events are late by as much.
    package init(
        policy: Policy = .builtIn, limits: BrokerLimits = BrokerLimits(), epoch: UInt64,
        batchLatency: TimeSpan = .zero
    ) {
        self.limits = limits
        self.recent = RecentVerdicts(limits)
        self.appShares = limits.shares(of: limits.apps)
        self.detectorShares = limits.detectorShares
        self.textShares = limits.shares(of: limits.conditionBytes)
        self.mailboxes = Mailboxes(limits)
        self.sensing = Sensing(limits, batchLatency: batchLatency)
        self.arbiter = Arbiter(policy: policy, epoch: epoch)
    }

    // MARK: Apps

    /// - Parameter user: The user behind the client, who may see what is decided about it.
    package mutating func register(
        _ client: AppHandle, _ app: AppID, _ entrance: AppEntrance, user: UInt32 = 0, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        if let known = self.app(client) {
            if known.id == app, !known.isConnected { self.connect(client, entrance, user, at: arrival, &actions) }
            return
        }
        try self.makeApp(client, app, entrance, user, payer: user, at: arrival)
        self.perform(&actions)
    }

    /// Makes an app under a number that is free.
    ///
    /// - Parameter payer: Of whose share it is.
    mutating func makeApp(
        _ client: AppHandle, _ app: AppID, _ entrance: AppEntrance, _ user: UInt32, payer: UInt32, at arrival: Timestamp
    ) throws(Refusal) {
        guard self.appShares.take(1, for: payer) else {
            throw Refusal("apps", self.appShares, payer, "too many apps")
        }
        // Who comes back finds its house in order.
        if !self.leftovers.isEmpty { self.clean(app, user) }
        var app = app
        if app.isAnonymous {
            self.anonymous &+= 1
            app = .anonymous(self.anonymous)
        }
        let record = App(
            id: app, entrance, user: user, payer: payer, registration: self.nextRegistration(), at: arrival)
        self.apps.put(record, for: client)
        self.mailboxes.open(client, app, user, keeping: self.queueBytes(of: app))
        self.tell(.app(client, app, entrance), at: arrival)
    }

    mutating func nextRegistration() -> UInt64 {
        self.registrations &+= 1
        return self.registrations
    }

    /// The client left the bus. What is installed of its app stays.
    package mutating func leave(_ client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client) else { return }
        if app.installed != nil {
            self.disconnect(client, at: arrival, &actions)
        } else {
            self.forget(client, app, at: arrival, &actions)
        }
        self.left(app, at: arrival, &actions)
    }

    /// Forgets an app, whose number may be used again.
    mutating func forget(_ client: AppHandle, _ app: App, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        // First of all, so that what it leaves goes to others while all is still known.
        self.tell(.leave(client), at: arrival)
        self.perform(&actions)
        // In one order, because handles that become free are given out again.
        let detectors = app.detectors.values.sorted { $0.id < $1.id }
        self.forget(detectors.prefix(Self.cleanedAtOnce))
        if detectors.count > Self.cleanedAtOnce {
            self.leaveBehind(Array(detectors.dropFirst(Self.cleanedAtOnce)), app)
        }
        // Who has it now is settled: what is left is its own.
        self.mailboxes.close(client, &self.mail)
        self.carry(&actions)
        self.apps.remove(client)
        self.appShares.giveBack(1, for: app.payer)
        self.gone += 1
        self.launchForAbsent(app.id, app.user, at: arrival)
        self.perform(&actions)
        self.steer(&actions)
    }

    /// An app as others may see it.
    package func app(_ client: AppHandle) -> App? { self.apps[client] }

    // MARK: Detectors

    /// Adds detectors, all or none. The same name again replaces the detector; the same request again changes nothing.
    package mutating func addDetectors(
        _ client: AppHandle, _ requests: [DetectorRequest], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [EffectiveDetector] {
        try self.checkCall(requests)
        let compiled = try self.add(requests, to: client, isOwn: true, at: arrival, &actions)
        self.perform(&actions)
        // Who says what it listens to wants to hear it, and what was kept for it first.
        self.mailboxes.change(client, &self.mail) { $0.listen(at: arrival, &$1) }
        self.carry(&actions)
        self.steer(&actions)
        return compiled.map { self.effective($0) }
    }

    /// - Parameter isOwn: The app itself asks for them.
    mutating func add(
        _ requests: [DetectorRequest], to client: AppHandle, isOwn: Bool, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [CompiledDetector] {
        guard let app = self.app(client) else { throw .unknownClient }
        // What is installed is nobody's in particular: whoever looks after the system put it there.
        let payer = isOwn ? app.user : UserShares.root
        try self.checkLimits(requests, of: app, payer)
        var compiled: [CompiledDetector] = []
        compiled.reserveCapacity(requests.count)
        for request in requests {
            do throws(DetectorProblem) {
                let sensor = self.sensing[Self.sensor(of: request)]?.description
                compiled.append(try DetectorCompiler.compile(request, for: sensor))
            } catch {
                guard case .limitExceeded(let name) = error.code else { throw .badDetector("\(error)") }
                throw .limit(name: name, value: self.limits.table[name] ?? 0, message: "\(error)")
            }
        }
        try self.count(compiled, requests, of: client, payer)
        for (request, detector) in zip(requests, compiled) {
            self.install(detector, request, for: client, payer, isOwn: isOwn, at: arrival, &actions)
        }
        return compiled
    }

    package mutating func removeDetectors(
        _ client: AppHandle, _ names: [String], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard let app = self.app(client) else { throw .unknownClient }
        for name in names where app.detectors[name] == nil { throw .unknownDetector(name) }
        for name in names { self.removeDetector(name, of: client, at: arrival, &actions) }
        self.perform(&actions)
        self.steer(&actions)
    }

    mutating func removeDetector(
        _ name: String, of client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let detector = self.apps.update(client, { $0?.detectors.removeValue(forKey: name) }) else { return }
        self.tell(.removeDetector(detector.id), at: arrival)
        self.count(detector.effective, of: client, detector.payer, isGone: true)
        self.drop(detector)
        self.mailboxes.remove(detector: name, of: client, at: arrival, &self.mail)
        self.carry(&actions)
    }

    /// The sensor a request is about, as far as that can be told before it is compiled.
    private static func sensor(of request: DetectorRequest) -> String {
        if case .text(let name) = request.options["sensor"] { return name }
        if case .text(let name) = request.options["preset"], let preset = PresetCatalogue.named(name) {
            return preset.sensor
        }
        return SensorDescription.accelerometer
    }

    /// Others wait while a call is served. What comes from files is bounded by them.
    private func checkCall(_ requests: [DetectorRequest]) throws(Refusal) {
        let most = (count: self.limits.detectorsPerCall, bytes: self.limits.conditionBytesPerCall)
        guard requests.count <= most.count else {
            throw .limit(
                name: "detectors-per-call", value: UInt64(most.count),
                message: "too many detectors in one call")
        }
        let bytes = requests.reduce(0) { $0 + $1.conditionBytes }
        guard bytes <= most.bytes else {
            throw .limit(
                name: "condition-bytes-per-call", value: UInt64(most.bytes),
                message: "\(bytes) bytes of conditions in one call")
        }
    }

    private func checkLimits(_ requests: [DetectorRequest], of app: App, _ payer: UInt32) throws(Refusal) {
        func limit(_ name: String, _ value: Int, _ message: String) -> Refusal {
            .limit(name: name, value: UInt64(value), message: message)
        }
        var names: Set<String> = []
        var added = 0
        // What the payer needs besides what detectors of his have that are replaced.
        var (places, moreBytes) = (0, 0)
        for request in requests {
            guard !request.name.isEmpty else { throw .badDetector("a detector needs a name") }
            guard request.name.utf8.count <= self.limits.detectorNameBytes else {
                throw limit(
                    "detector-name-bytes", self.limits.detectorNameBytes,
                    "the detector name '\(printable(request.name))' is too long")
            }
            guard names.insert(request.name).inserted else { throw .duplicateDetector(request.name) }
            guard request.options.count <= self.limits.optionsPerDetector else {
                throw limit(
                    "options-per-detector", self.limits.optionsPerDetector,
                    "detector '\(printable(request.name))' has \(request.options.count) options")
            }
            for (key, value) in request.options {
                guard case .text(let text) = value, text.utf8.count > self.limits.optionBytes else { continue }
                throw limit(
                    "option-bytes", self.limits.optionBytes,
                    "'\(printable(key))' of detector '\(printable(request.name))' is too long")
            }
            let old = app.detectors[request.name]
            if old == nil { added += 1 }
            let oldBytes = old.flatMap { $0.payer == payer ? $0.request.conditionBytes : nil }
            if oldBytes == nil { places += 1 }
            moreBytes += max(0, request.conditionBytes - (oldBytes ?? 0))
        }
        guard app.detectors.count + added <= self.limits.detectorsPerApp else {
            throw limit("detectors-per-app", self.limits.detectorsPerApp, "too many detectors of one app")
        }
        guard places == 0 || places <= self.detectorShares.room(for: payer) else {
            throw Refusal("detectors", self.detectorShares, payer, "too many detectors")
        }
        guard moreBytes == 0 || moreBytes <= self.textShares.room(for: payer) else {
            throw Refusal("condition-bytes", self.textShares, payer, "too long conditions")
        }
    }

    private mutating func install(
        _ detector: CompiledDetector, _ request: DetectorRequest, for client: AppHandle, _ payer: UInt32, isOwn: Bool,
        at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let old = self.app(client)?.detectors[request.name]
        if let old {
            if isOwn { self.apps.update(client) { $0?.detectors[request.name] = old.owned(true) } }
            // What is the same goes on: the event for which an app was started must not end with its registration.
            if old.isUnchanged(by: detector, request) { return }
            self.tell(.removeDetector(old.id), at: arrival)
            self.takeOut(old)
            if old.isOwn {
                self.mailboxes.remove(detector: request.name, of: client, at: arrival, &self.mail)
                self.carry(&actions)
            }
        }
        let added = self.sensing.add(detector, of: client, payer, at: arrival)
        let isAvailable = self.sensing[detector.sensor]?.isAvailable ?? false
        self.tell(.detector(added.id, client, added.detector.facts(isAvailable: isAvailable)), at: arrival)
        let installed = InstalledDetector(
            id: added.id, request: request, effective: added.detector, isOwn: isOwn, payer: payer)
        self.apps.update(client) { $0?.detectors[request.name] = installed }
        self.charge(request.conditionBytes, to: payer, insteadOf: old)
    }

    /// Books a detector in place of another. Whoever replaces one keeps its place, however little room is left.
    private mutating func charge(_ bytes: Int, to payer: UInt32, insteadOf old: InstalledDetector?) {
        var more = bytes
        if let old, old.payer == payer {
            more -= old.request.conditionBytes
        } else {
            if let old { self.discharge(old) }
            self.detectorShares.set(self.detectorShares.held(by: payer) + 1, for: payer)
        }
        self.textShares.set(self.textShares.held(by: payer) + more, for: payer)
    }

    private mutating func discharge(_ detector: InstalledDetector) {
        let (user, bytes) = (detector.payer, detector.request.conditionBytes)
        self.detectorShares.set(self.detectorShares.held(by: user) - 1, for: user)
        self.textShares.set(self.textShares.held(by: user) - bytes, for: user)
    }

    mutating func drop(_ detector: InstalledDetector) {
        self.takeOut(detector)
        self.discharge(detector)
    }

    /// Takes a detector from the engine of its sensor. Its place in its user's share stays.
    private mutating func takeOut(_ detector: InstalledDetector) {
        self.sensing.remove(detector.id, on: detector.sensor)
        self.gone += 1
    }

    /// What is in force for a detector, as its owner is told.
    package func effective(_ detector: CompiledDetector) -> EffectiveDetector {
        let stream = self.sensing[detector.sensor]
        let rate = stream?.description.flatMap { description in
            stream?.wanted.map { min(description.rate(for: $0.rate), stream?.allowed ?? .infinity) }
        }
        let needed = detector.every.map { 1 / $0.seconds } ?? 0
        let allowed = stream?.allowed.flatMap { needed > $0 * (1 + SensorDescription.rateTolerance) ? $0 : nil }
        return EffectiveDetector(
            detector: detector, isAvailable: stream?.isAvailable ?? false, rate: rate, allowed: allowed)
    }

    // MARK: Sensors

    /// The sensor is there, or was described anew. Detectors that waited for it begin to work, or wait again.
    package mutating func sensorAppeared(
        _ sensor: SensorDescription, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        // Told once more: what was refused may be had now.
        guard let (isRebuilt, wasAhead) = self.sensing.appear(sensor, at: arrival) else {
            return self.retryClaim(of: sensor.name, &actions)
        }
        if isRebuilt {
            self.release(upTo: nil, at: arrival)
            self.reinstall(sensor.name, at: arrival)
        } else {
            self.setAvailable(self.sensing[sensor.name]?.isAvailable ?? false, at: arrival, on: sensor.name)
        }
        if wasAhead, !self.sensing.isAhead(at: arrival) { self.tell(.rewind(arrival), at: arrival) }
        self.perform(&actions)
        self.steer(&actions)
    }

    package mutating func sensorsLost(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.sensing.disappear()
        self.release(upTo: nil, at: arrival)
        self.setAvailable(false, at: arrival, on: nil)
        self.perform(&actions)
    }

    package mutating func paceChanged(_ sensor: String, _ pace: SensorPace, at arrival: Timestamp) {
        self.sensing.paceChanged(sensor, pace)
    }

    /// The sensor has other channels than we took it to have: its detectors are compiled anew.
    ///
    /// One that the sensor cannot serve stays registered and never fires.
    private mutating func reinstall(_ sensor: String, at arrival: Timestamp) {
        self.sensing.rebuild(sensor)
        let (description, isAvailable) = (self.sensing[sensor]?.description, self.sensing[sensor]?.isAvailable ?? false)
        for client in self.apps.handles {
            let detectors = (self.apps[client]?.detectors ?? [:]).sorted { $0.value.id < $1.value.id }
            for (name, installed) in detectors where installed.sensor == sensor {
                let compiled = try? DetectorCompiler.compile(installed.request, for: description)
                guard let compiled else {
                    self.tell(.available(installed.id, false), at: arrival)
                    continue
                }
                self.sensing.addAgain(compiled, as: installed.id, at: arrival)
                // It stays whatever it costs now: its app was told that it is registered.
                self.count(installed.effective, of: client, installed.payer, isGone: true)
                self.count(compiled, of: client, installed.payer, isGone: false)
                self.tell(.removeDetector(installed.id), at: arrival)
                self.tell(
                    .detector(installed.id, client, compiled.facts(isAvailable: isAvailable)), at: arrival)
                self.apps.update(client) { $0?.detectors[name] = installed.compiled(to: compiled) }
            }
        }
    }

    /// Every sensor that a detector listened to or that the reader has, by name.
    package var sensors: [SensorStream] { self.sensing.sensors }

    /// True while a detector waits for a sensor that is not there.
    package var missesSensor: Bool { self.sensing.missesSensor }

    package func stream(named sensor: String) -> SensorStream? { self.sensing[sensor] }

    /// Samples before this are not looked at.
    package var mutedUntil: Timestamp { self.sensing.mutedUntil }
    /// Motion is switched off.
    package var isPaused: Bool { self.sensing.isPaused }

    // MARK: Silence

    /// Switches motion off, sensors and all, or on again. Detectors stay registered.
    package mutating func pause(_ isPaused: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard isPaused != self.isPaused else { return }
        self.sensing.pause(isPaused)
        self.steer(&actions)
    }

    /// Makes every detector blind from now on for a while. The longest of several counts.
    package mutating func mute(for span: TimeSpan, at arrival: Timestamp) throws(Refusal) {
        guard span.microseconds <= self.limits.mute else {
            throw .muteTooLong(limit: TimeSpan(microseconds: self.limits.mute))
        }
        self.sensing.mute(until: arrival + span)
    }
}
