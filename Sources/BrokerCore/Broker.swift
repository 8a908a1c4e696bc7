package import Arbitration
package import Detection
package import Motion

/// What jostle-brokerd does, as a value: inputs in, actions out. No I/O, no clock.
///
/// Detectors of all apps that listen to one sensor share one engine; what it hits, the arbiter decides by policy.
package struct Broker {
    package let limits: BrokerLimits
    /// Who is there, and what they asked for.
    var registry: Registry
    /// The sensors, and the detectors at work.
    var sensing: Sensing
    /// Who gets the events. `tell` is the way in, `perform` the way out.
    var decisions: Decisions
    /// What is due to apps, and what is to be done about that.
    var mailboxes: Mailboxes
    var mail: [MailEffect] = []
    /// What was decided lately, and what became of it.
    var records: Records
    /// Background work, whether its apps are here or not.
    var work = Work()

    /// - Parameters:
    ///   - policy: who may have events, and who competes for them.
    ///   - epoch: where epochs begin; at least the wall clock in microseconds, so that a restart never repeats one.
    ///   - batchLatency: how long samples may be held back so that several travel together; events are late by as much.
    package init(
        policy: Policy = .builtIn, limits: BrokerLimits = BrokerLimits(), epoch: UInt64,
        batchLatency: TimeSpan = .zero
    ) {
        self.limits = limits
        self.registry = Registry(limits)
        self.sensing = Sensing(limits, batchLatency: batchLatency)
        self.decisions = Decisions(policy: policy, epoch: epoch)
        self.mailboxes = Mailboxes(limits)
        self.records = Records(limits)
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
        let app = try self.registry.enter(client, app, entrance, user, payer: payer, at: arrival)
        // Who comes back finds its house in order.
        self.giveBack(self.sensing.discardLeftovers(of: app, user))
        self.mailboxes.open(client, app, user, keeping: self.queueBytes(of: app))
        self.tell(.app(client, app, entrance), at: arrival)
    }

    mutating func giveBack(_ detectors: [InstalledDetector]) {
        for detector in detectors { self.registry.giveBack(detector) }
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
        self.giveBack(self.sensing.discard(detectors, of: app.id, app.user))
        // Who has it now is settled: what is left is its own.
        self.mailboxes.close(client, &self.mail)
        self.carry(&actions)
        self.registry.remove(client)
        self.launchForAbsent(app.id, app.user, at: arrival)
        self.perform(&actions)
        self.steer(&actions)
    }

    /// An app as others may see it.
    package func app(_ client: AppHandle) -> App? { self.registry[client] }

    // MARK: Detectors

    /// Adds detectors, all or none. The same name again replaces the detector; the same request again changes nothing.
    package mutating func addDetectors(
        _ client: AppHandle, _ requests: [DetectorRequest], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [EffectiveDetector] {
        try self.registry.checkCall(requests)
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
        try self.registry.check(requests, of: client, payer)
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
        let change = self.registry.change(by: compiled, requests, of: client, payer)
        try self.registry.count(change, of: client)
        do throws(Refusal) {
            try self.sensing.count(change, of: payer)
        } catch {
            self.registry.uncount(change, of: client)
            throw error
        }
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
        guard let detector = self.registry.removeDetector(name, of: client) else { return }
        self.tell(.removeDetector(detector.id), at: arrival)
        self.sensing.discard(detector)
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

    private mutating func install(
        _ detector: CompiledDetector, _ request: DetectorRequest, for client: AppHandle, _ payer: UInt32, isOwn: Bool,
        at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let old = self.app(client)?.detectors[request.name]
        if let old {
            if isOwn { self.registry.own(old, true, of: client) }
            // What is the same goes on: the event for which an app was started must not end with its registration.
            if old.isUnchanged(by: detector, request) { return }
            self.tell(.removeDetector(old.id), at: arrival)
            self.sensing.remove(old.id, on: old.sensor)
            if old.isOwn {
                self.mailboxes.remove(detector: request.name, of: client, at: arrival, &self.mail)
                self.carry(&actions)
            }
        }
        let added = self.sensing.add(detector, of: client, payer, at: arrival)
        let isAvailable = self.sensing.isAvailable(detector.sensor)
        self.tell(.detector(added.id, client, added.detector.facts(isAvailable: isAvailable)), at: arrival)
        let installed = InstalledDetector(
            id: added.id, request: request, effective: added.detector, isOwn: isOwn, payer: payer)
        self.registry.put(installed, of: client)
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
            self.setAvailable(self.sensing.isAvailable(sensor.name), at: arrival, on: sensor.name)
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
        let (description, isAvailable) = (self.sensing[sensor]?.description, self.sensing.isAvailable(sensor))
        for client in self.registry.handles {
            let detectors = (self.registry[client]?.detectors ?? [:]).sorted { $0.value.id < $1.value.id }
            for (_, installed) in detectors where installed.sensor == sensor {
                let compiled = try? DetectorCompiler.compile(installed.request, for: description)
                guard let compiled else {
                    self.tell(.available(installed.id, false), at: arrival)
                    continue
                }
                self.sensing.addAgain(compiled, as: installed.id, at: arrival)
                self.sensing.recount(installed.effective, as: compiled, of: installed.payer)
                self.registry.recompile(installed, to: compiled, of: client)
                self.tell(.removeDetector(installed.id), at: arrival)
                self.tell(
                    .detector(installed.id, client, compiled.facts(isAvailable: isAvailable)), at: arrival)
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
