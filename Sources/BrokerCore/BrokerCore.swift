package import Arbitration
package import Detection
package import Motion

/// What jostle-brokerd does, as a value: inputs in, actions out. No I/O, no clock.
///
/// Detectors of all apps that listen to one sensor share one engine; what it hits, the arbiter decides by policy.
package struct BrokerCore {
    package let limits: BrokerLimits
    /// How long samples may be held back so that several travel together.
    private let batchLatency: TimeSpan
    /// Who gets the events. Its apps and detectors have our numbers. `tell` is the way in.
    var arbiter: Arbiter
    /// What the arbiter decided, until it is performed.
    var decisions: [ArbiterAction] = []
    /// How many of them are performed.
    var performed = 0
    var apps = AppTable<App>()
    var streams: [SensorStream] = []
    /// Hits that wait, in the order of their times, because a slower sensor may have something to say before them.
    var waiting: [Hit] = []
    /// Of each group of the policy: the indices of the streams that its apps listen to. `nil`: to be found out anew.
    var audiences: [Set<Int>]?
    /// What each detector handle stands for.
    var owners: [DetectorOwner?] = []
    var freeDetectors: [UInt32] = []
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
    /// Background work, whether its apps are here or not.
    package internal(set) var tasks = Tasks()
    /// What the wall clock is ahead of arrival times.
    var wallOffset = TimeSpan.zero
    /// Nobody uses the device, as far as is known.
    package internal(set) var isIdle = true
    /// Samples before this are not looked at, because the device itself vibrated.
    package private(set) var mutedUntil = Timestamp.zero
    /// Somebody switched motion off: no sensor is claimed until it is switched on again.
    package private(set) var isPaused = false

    struct DetectorOwner {
        let client: AppHandle
        let sensor: String
    }

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
        self.batchLatency = batchLatency
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
        self.apps[client] = App(
            id: app, entrance, user: user, payer: payer, registration: self.nextRegistration(), at: arrival)
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
        self.apps[client] = nil
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
                let sensor = self.stream(named: Self.sensor(of: request))?.description
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
        guard let detector = self.apps[client]?.detectors.removeValue(forKey: name) else { return }
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
                message: "\(requests.count) detectors in one call")
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
            if isOwn { self.apps[client]?.detectors[request.name] = old.owned(true) }
            // What is the same goes on: the event for which an app was started must not end with its registration.
            if old.isUnchanged(by: detector, request) { return }
            self.tell(.removeDetector(old.id), at: arrival)
            self.takeOut(old)
            if old.isOwn {
                self.mailboxes.remove(detector: request.name, of: client, at: arrival, &self.mail)
                self.carry(&actions)
            }
        }
        let id = self.makeDetectorID(DetectorOwner(client: client, sensor: detector.sensor))
        let stream = self.makeStream(for: detector.sensor)
        // Very many may come, most of them equal but for a threshold.
        let detector = self.streams[stream].costs.compact(detector, for: payer)
        let isAvailable = self.streams[stream].isAvailable
        self.tell(.detector(id, client, detector.facts(isAvailable: isAvailable)), at: arrival)
        self.streams[stream].engine.add(detector, as: id, at: arrival)
        self.streams[stream].detectors += 1
        self.apps[client]?.detectors[request.name] = InstalledDetector(
            id: id, request: request, effective: detector, isOwn: isOwn, payer: payer)
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

    private mutating func makeDetectorID(_ owner: DetectorOwner) -> DetectorID {
        if let index = self.freeDetectors.popLast() {
            self.owners[Int(index)] = owner
            return DetectorID(index)
        }
        self.owners.append(owner)
        return DetectorID(UInt32(self.owners.count - 1))
    }

    mutating func drop(_ detector: InstalledDetector) {
        self.takeOut(detector)
        self.discharge(detector)
    }

    /// Takes a detector from the engine of its sensor. Its place in its user's share stays.
    private mutating func takeOut(_ detector: InstalledDetector) {
        if let stream = self.index(of: detector.sensor) {
            self.streams[stream].engine.remove(detector.id)
            self.streams[stream].detectors -= 1
        }
        if !self.waiting.isEmpty { self.waiting.removeAll { $0.detector == detector.id } }
        self.forgetUnknownSensors()
        self.gone += 1
        self.owners[Int(detector.id.index)] = nil
        self.freeDetectors.append(detector.id.index)
    }

    /// A sensor that never was and that nobody waits for is forgotten.
    mutating func forgetUnknownSensors() {
        // They are known by their indices.
        self.audiences = nil
        // By index: handing each stream to a closure would copy it.
        for index in self.streams.indices.reversed()
        where self.streams[index].detectors == 0 && self.streams[index].description == nil {
            self.streams.remove(at: index)
        }
    }

    /// What is in force for a detector, as its owner is told.
    package func effective(_ detector: CompiledDetector) -> EffectiveDetector {
        let stream = self.stream(named: detector.sensor)
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
        let index = self.makeStream(for: sensor.name)
        // Told once more: what was refused may be had now.
        guard self.streams[index].description != sensor || self.streams[index].isAhead(at: arrival) else {
            return self.retryClaims(at: arrival, of: index, &actions)
        }
        // A trace that was played ahead of the clock is over; what an engine saw of it is still to come.
        let wasAhead = self.streams[index].isAhead(at: arrival)
        let isRebuilt = self.streams[index].channels != sensor.channels || wasAhead
        self.streams[index].appear(sensor)
        self.streams[index].told = self.streams[index].outlook
        if isRebuilt {
            self.release(upTo: nil, at: arrival)
            self.reinstall(sensor.name, at: arrival)
        } else {
            self.setAvailable(self.streams[index].isAvailable, at: arrival) { $0 == sensor.name }
        }
        if wasAhead, !self.streams.contains(where: { $0.isAhead(at: arrival) }) {
            self.tell(.rewind(arrival), at: arrival)
        }
        self.perform(&actions)
        self.steer(&actions)
    }

    package mutating func sensorsLost(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for index in self.streams.indices {
            self.streams[index].disappear()
            self.streams[index].told = self.streams[index].outlook
        }
        self.release(upTo: nil, at: arrival)
        self.setAvailable(false, at: arrival) { _ in true }
        self.perform(&actions)
    }

    /// Nobody waits for detectors whose sensor is not there.
    mutating func setAvailable(
        _ isAvailable: Bool, at arrival: Timestamp, where isMeant: (_ sensor: String) -> Bool
    ) {
        for (index, owner) in self.owners.enumerated() {
            guard let owner, isMeant(owner.sensor) else { continue }
            self.tell(.available(DetectorID(UInt32(truncatingIfNeeded: index)), isAvailable), at: arrival)
        }
    }

    package mutating func paceChanged(_ sensor: String, _ pace: SensorPace, at arrival: Timestamp) {
        guard let index = self.index(of: sensor) else { return }
        self.streams[index].paceChanged(pace)
    }

    /// The sensor has other channels than we took it to have: its detectors are compiled anew.
    ///
    /// One that the sensor cannot serve stays registered and never fires.
    private mutating func reinstall(_ sensor: String, at arrival: Timestamp) {
        guard let stream = self.index(of: sensor) else { return }
        self.streams[stream].engine = DetectionEngine(
            channels: self.streams[stream].channels, range: self.streams[stream].description?.range)
        self.streams[stream].engine.mute(until: self.mutedUntil)
        for client in self.apps.handles {
            let detectors = (self.apps[client]?.detectors ?? [:]).sorted { $0.value.id < $1.value.id }
            for (name, installed) in detectors where installed.sensor == sensor {
                let compiled = try? DetectorCompiler.compile(installed.request, for: self.streams[stream].description)
                guard let compiled else {
                    self.tell(.available(installed.id, false), at: arrival)
                    continue
                }
                self.streams[stream].engine.add(compiled, as: installed.id, at: arrival)
                // It stays whatever it costs now: its app was told that it is registered.
                self.count(installed.effective, of: client, installed.payer, isGone: true)
                self.count(compiled, of: client, installed.payer, isGone: false)
                self.streams[stream].costs.book(installed.payer)
                self.tell(.removeDetector(installed.id), at: arrival)
                self.tell(
                    .detector(
                        installed.id, client, compiled.facts(isAvailable: self.streams[stream].isAvailable)),
                    at: arrival)
                self.apps[client]?.detectors[name] = installed.compiled(to: compiled)
            }
        }
    }

    /// Claims each sensor at the fastest rate its detectors need, and releases it with the last of them.
    mutating func steer(_ actions: inout [BrokerAction]) {
        for index in self.streams.indices {
            guard let change = self.streams[index].steer(self.batchLatency, isPaused: self.isPaused) else { continue }
            // What was refused and is not wanted any more is no obstacle.
            self.tellOutlook(of: index, at: self.arbiter.arrivalTime, &actions)
            switch change {
            case .claim(let pace): actions.append(.claim(sensor: self.streams[index].name, pace))
            case .release: actions.append(.release(sensor: self.streams[index].name))
            }
        }
    }

    /// Every sensor that a detector listened to or that the reader has, by name.
    package var sensors: [SensorStream] { self.streams.sorted { $0.name < $1.name } }

    /// True while a detector waits for a sensor that is not there.
    package var missesSensor: Bool { self.streams.contains { $0.detectors > 0 && $0.description == nil } }

    /// By index: handing each stream to a closure would copy it.
    func index(of sensor: String) -> Int? {
        self.streams.indices.first { self.streams[$0].name == sensor }
    }

    package func stream(named sensor: String) -> SensorStream? { self.index(of: sensor).map { self.streams[$0] } }

    mutating func makeStream(for sensor: String) -> Int {
        if let index = self.index(of: sensor) { return index }
        self.streams.append(
            SensorStream(name: sensor, channels: SensorDescription.channels(of: sensor), self.limits))
        self.streams[self.streams.count - 1].engine.mute(until: self.mutedUntil)
        return self.streams.count - 1
    }

    // MARK: Silence

    /// Switches motion off, sensors and all, or on again. Detectors stay registered.
    package mutating func pause(_ isPaused: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        for index in self.streams.indices { self.streams[index].breakOff() }
        self.steer(&actions)
    }

    /// Makes every detector blind from now on for a while. The longest of several counts.
    package mutating func mute(for span: TimeSpan, at arrival: Timestamp) throws(Refusal) {
        guard span.microseconds <= self.limits.mute else {
            throw .muteTooLong(limit: TimeSpan(microseconds: self.limits.mute))
        }
        self.mutedUntil = max(self.mutedUntil, arrival + span)
        for index in self.streams.indices { self.streams[index].engine.mute(until: self.mutedUntil) }
    }
}
