package import Arbitration
package import Detection
package import Motion

/// The sensors, and the detectors at work on them: samples in, hits out in the order of their times; and what has to be claimed
/// for that.
///
/// Samples of one sensor may come later than those of another, and groups have apps that listen to both. A group is decided when
/// its window closes, so whoever comes later than a deadline waits until all sensors that could have something to say before it
/// have said so, or have had the time to. Hits before any deadline wait for nothing.
package struct Sensing {
    private let limits: BrokerLimits
    /// How long samples may be held back so that several travel together.
    private let batchLatency: TimeSpan
    private var streams: [SensorStream] = []
    private var places = SensorPlaces()
    private var detectors = DetectorTable()
    /// Looks that the detectors' rests let through, of each app.
    private var hits: HitBook
    private var waiting = WaitingLine<Hit>()
    /// Of each group of the policy: the indices of the streams that its apps listen to. `nil`: to be found out anew.
    private var audiences: [Set<Int>]?
    /// What apps that left have in the engines still.
    private var leftovers = Leftovers()
    /// Notices what is worth a clip; `nil`: none are kept.
    private var clips: ClipWatch?
    /// Samples before this are not looked at, because the device itself vibrated.
    package private(set) var mutedUntil = Timestamp.zero
    /// Somebody switched motion off: no sensor is claimed until it is switched on again.
    package private(set) var isPaused = false

    /// So many detectors of an app are taken from their engines at once. More are left for later.
    private static let discardedAtOnce = 64
    /// More hits than this do not wait for a slower sensor.
    private static let mostWaiting = 4_096

    init(_ limits: BrokerLimits, batchLatency: TimeSpan, clips: ClipTerms? = nil) {
        self.limits = limits
        self.hits = HitBook(limits)
        self.batchLatency = batchLatency
        self.clips = clips.map { ClipWatch($0, limits) }
    }

    // MARK: What there is to see

    /// Every sensor that a detector listened to or that the reader has, by name.
    package var sensors: [SensorStream] { self.streams.sorted { $0.name < $1.name } }

    /// How many detectors are at work, or wait for their sensors.
    package var detectorCount: Int { self.streams.reduce(0) { $0 + $1.detectors } }

    /// True while a detector waits for a sensor that is not there.
    package var missesSensor: Bool { self.streams.contains { $0.detectors > 0 && $0.description == nil } }

    /// By index: handing each stream to a closure would copy it.
    private func index(of sensor: String) -> Int? { self.streams.indices.first { self.streams[$0].name == sensor } }

    /// Why no detector of a sensor can fire; `nil` when they can.
    func obstacle(to sensor: String) -> String? {
        if self.isPaused { return "motion is switched off; 'jostle resume' switches it on" }
        return (self[sensor]?.standing ?? .absent).obstacle(sensor)
    }

    /// Whether a sensor is there, and something comes of it.
    func isAvailable(_ sensor: String) -> Bool {
        self.index(of: sensor).map { self.streams[$0].isAvailable } ?? false
    }

    package subscript(_ sensor: String) -> SensorStream? { self.index(of: sensor).map { self.streams[$0] } }

    /// Hits of a detector that its shake held back because of the rhythm that they came in. Counted by the engine where it
    /// looks anyway, and read here when somebody asks.
    func heldHits(of detector: DetectorID, on sensor: String) -> HeldHits {
        self.index(of: sensor).map { self.streams[$0].engine.heldHits(of: detector) } ?? HeldHits()
    }

    /// Looks of an app's detectors that their rests let through, since it is here.
    package func hits(of app: AppHandle) -> UInt64 { self.hits.count(of: app) }

    /// What is in force for a detector, as its owner is told.
    package func effective(_ detector: CompiledDetector) -> EffectiveDetector {
        let stream = self[detector.sensor]
        let rate = stream?.description.flatMap { description in
            stream?.wanted.map { min(description.rate(for: $0.rate), stream?.allowed ?? .infinity) }
        }
        let needed = detector.every.map { 1 / $0.seconds } ?? 0
        let allowed = stream?.allowed.flatMap { needed > $0 * (1 + SensorDescription.rateTolerance) ? $0 : nil }
        return EffectiveDetector(
            detector: detector, isAvailable: stream?.isAvailable ?? false, rate: rate, allowed: allowed)
    }

    /// When a hit happened, by the clock of arrivals, and whether it was made up; `nil` when its detector is gone.
    func origin(of hit: Hit, heardAt now: Timestamp) -> (start: Timestamp, isSimulated: Bool)? {
        guard let owner = self.detectors[hit.detector] else { return nil }
        let start = self.index(of: owner.sensor).map { self.streams[$0].start(of: hit.time, heardAt: now) }
        return (start ?? now, hit.isSimulated)
    }

    /// What of the past the contest asks for. Lent for one input: while it is held, the streams do not change.
    var memory: MotionMemory { MotionMemory(self.streams, self.detectors) }

    /// What detectors may cost on each sensor, and who has it.
    var usage: [LimitUsage] {
        // By index: handing each stream to a closure would copy it.
        [self.places.usage]
            + self.streams.indices.flatMap { self.streams[$0].costs.usage(of: self.streams[$0].name) }
            + (self.clips.map { [$0.usage] } ?? [])
    }

    // MARK: Detectors

    private mutating func makeStream(for sensor: String) -> Int {
        if let index = self.index(of: sensor) { return index }
        self.streams.append(
            SensorStream(
                name: sensor, channels: SensorDescription.channels(of: sensor), self.limits, clips: self.clips?.terms))
        self.streams[self.streams.count - 1].engine.mute(until: self.mutedUntil)
        return self.streams.count - 1
    }

    /// Puts a detector of an app to work.
    ///
    /// - Parameter payer: Of whose share it is.
    /// - Returns: The detector as it is kept: very many may come, most of them equal but for a threshold.
    mutating func add(
        _ detector: CompiledDetector, of app: AppHandle, _ payer: UInt32, at arrival: Timestamp
    ) -> (id: DetectorID, detector: CompiledDetector) {
        let id = self.detectors.add(.init(app: app, payer: payer, sensor: detector.sensor))
        let stream = self.makeStream(for: detector.sensor)
        let detector = self.streams[stream].costs.compact(detector, for: payer)
        self.streams[stream].engine.add(detector, as: id, at: arrival)
        self.streams[stream].detectors += 1
        if let beside = self.clips?.add(detector, id, of: app, payer),
            self.streams[stream].countNear(beside, for: payer)
        {
            let near = self.detectors.add(.init(app: app, payer: payer, sensor: detector.sensor, isNear: true))
            self.streams[stream].engine.add(beside, as: near, at: arrival)
            self.clips?.add(ClipWatch.Beside(id: near, detector: beside, payer: payer), beside: id)
        }
        return (id, detector)
    }

    /// Takes a detector from the engine of its sensor. Its place in its user's share stays.
    mutating func remove(_ detector: DetectorID, on sensor: String) {
        if let stream = self.index(of: sensor) {
            self.streams[stream].engine.remove(detector)
            self.streams[stream].detectors -= 1
            if let near = self.clips?.remove(detector) {
                self.streams[stream].removeNear(near)
                self.detectors.remove(near.id)
            }
        }
        if !self.waiting.isEmpty { self.waiting.remove { $0.detector == detector } }
        self.forgetUnknown()
        self.detectors.remove(detector)
    }

    /// Takes a detector from the engine of its sensor, and what it costs out of its payer's share.
    mutating func discard(_ detector: InstalledDetector) {
        self.count(detector.effective, of: detector.payer, isGone: true)
        self.book(detector.sensor, detector.payer)
        self.remove(detector.id, on: detector.sensor)
    }

    /// An app comes: what one of its name left behind goes from the engines. Returns that.
    mutating func enter(_ app: AppHandle, _ id: AppID, _ user: UInt32?) -> [InstalledDetector] {
        self.hits.enter(app)
        self.clips?.enter(app, id, user)
        if self.leftovers.isEmpty { return [] }
        let all = self.leftovers.takeAll(of: id, user)
        for detector in all { self.discard(detector) }
        return all
    }

    /// An app is another user's than it was, who is not to know how often it was hit.
    mutating func pass(_ app: AppHandle, to user: UInt32) {
        self.hits.enter(app)
        self.clips?.pass(app, to: user)
    }

    /// An app that was nobody's is a user's now.
    mutating func own(_ app: AppHandle, by user: UInt32) { self.clips?.pass(app, to: user) }

    /// An app goes. Takes its detectors from their engines: the first of them at once. The others stay for later, and say nothing
    /// any more. Returns those that are gone.
    mutating func leave(
        _ app: AppHandle, _ detectors: [InstalledDetector], of id: AppID, _ user: UInt32?
    ) -> [InstalledDetector] {
        self.hits.leave(app)
        self.clips?.leave(app)
        let (first, rest) = (detectors.prefix(Self.discardedAtOnce), detectors.dropFirst(Self.discardedAtOnce))
        for detector in first { self.discard(detector) }
        if !rest.isEmpty {
            for detector in rest {
                self.detectors.orphan(detector.id)
                self.clips?.orphan(detector.id)
            }
            self.leftovers.add(Array(rest), of: id, user)
        }
        return Array(first)
    }

    /// Detectors of apps that left are still in the engines.
    var hasLeftovers: Bool { !self.leftovers.isEmpty }

    /// Takes some of them from there. Returns those.
    mutating func discardLeftovers() -> [InstalledDetector] {
        let some = self.leftovers.take(Self.discardedAtOnce)
        for detector in some { self.discard(detector) }
        return some
    }

    /// A sensor that never was and that nobody waits for is forgotten.
    private mutating func forgetUnknown() {
        // They are known by their indices.
        self.audiences = nil
        // By index: handing each stream to a closure would copy it.
        for index in self.streams.indices.reversed()
        where self.streams[index].isUnknown {
            self.streams.remove(at: index)
        }
    }

    /// Detectors of a sensor that can fire, or cannot: of one of them, or of all.
    func detectors(on sensor: String?) -> [DetectorID] {
        self.detectors.all.filter { sensor == nil || sensor == $0.owner.sensor }.map(\.id)
    }

    // MARK: What they cost

    /// Counts what detectors cost that are about to be put to work, and takes out those that they replace. All or none.
    mutating func count(_ change: Registry.Change) throws(Refusal) {
        self.apply(change)
        var sensors: [UInt32: Set<String>] = [:]
        for new in change.added { sensors[new.payer, default: []].insert(new.detector.sensor) }
        let asked = sensors.sorted { $0.key < $1.key }.map { (payer: $0.key, sensors: $0.value.sorted()) }
        for (payer, sensors) in asked {
            guard let refusal = self.crossedLimit(on: sensors, of: payer) else { continue }
            // Whoever notices near misses only gives way first.
            if self.giveWay(on: sensors, of: payer), self.crossedLimit(on: sensors, of: payer) == nil { continue }
            self.apply(change.reversed)
            self.forgetUnknown()
            throw refusal
        }
        for old in change.replaced { self.book(old.detector.sensor, old.payer) }
        for (payer, sensors) in asked {
            for sensor in sensors { self.book(sensor, payer) }
        }
    }

    private mutating func apply(_ change: Registry.Change) {
        for old in change.replaced { self.count(old.detector, of: old.payer, isGone: true) }
        for new in change.added { self.count(new.detector, of: new.payer, isGone: false) }
    }

    /// Takes away what notices near misses of a user. Returns whether there was any.
    private mutating func giveWay(on sensors: [String], of payer: UInt32) -> Bool {
        var isAny = false
        for index in self.streams.indices where sensors.contains(self.streams[index].name) {
            for near in self.clips?.giveWay(of: payer, on: self.streams[index].name) ?? [] {
                self.streams[index].removeNear(near)
                self.detectors.remove(near.id)
                isAny = true
            }
        }
        return isAny
    }

    private func crossedLimit(on sensors: [String], of payer: UInt32) -> Refusal? {
        if let refusal = self.places.refusal(of: self.sensorCount(of: payer), to: payer) { return refusal }
        for sensor in sensors {
            guard let overrun = self.index(of: sensor).flatMap({ self.streams[$0].costs.overrun(of: payer) })
            else { continue }
            return Refusal(
                overrun.name, overrun.shares, payer,
                "the conditions on the \(printable(sensor)) have \(overrun.amount) \(overrun.what)")
        }
        return nil
    }

    /// Counts a detector that was compiled anew in place of what it was.
    mutating func recount(_ old: CompiledDetector, as new: CompiledDetector, of payer: UInt32) {
        self.count(old, of: payer, isGone: true)
        self.book(old.sensor, payer)
        self.count(new, of: payer, isGone: false)
        self.book(new.sensor, payer)
    }

    /// Counts what a detector costs in or out, whatever its user's share is.
    private mutating func count(_ detector: CompiledDetector, of payer: UInt32, isGone: Bool) {
        let stream = self.makeStream(for: detector.sensor)
        if isGone {
            self.streams[stream].costs.remove(detector, for: payer)
        } else {
            self.streams[stream].costs.add(detector, for: payer)
        }
    }

    /// Books what a user has by now.
    private mutating func book(_ sensor: String, _ payer: UInt32) {
        if let stream = self.index(of: sensor) { self.streams[stream].costs.book(payer) }
        self.places.book(self.sensorCount(of: payer), for: payer)
    }

    private func sensorCount(of payer: UInt32) -> Int {
        self.streams.indices.count { self.streams[$0].costs.hasDetectors(of: payer) }
    }

    // MARK: Sensors

    /// Takes in that a sensor is there, or was described anew; `nil` when that is no news.
    ///
    /// - Returns: Whether its engine has to be made anew, and whether it was ahead of the clock until now.
    mutating func appear(
        _ sensor: SensorDescription, at arrival: Timestamp
    ) -> (isRebuilt: Bool, wasAhead: Bool)? {
        let index = self.makeStream(for: sensor.name)
        let wasAhead = self.streams[index].isAhead(at: arrival)
        guard self.streams[index].description != sensor || wasAhead else { return nil }
        // A trace that was played ahead of the clock is over; what an engine saw of it is still to come.
        let isRebuilt = self.streams[index].channels != sensor.channels || wasAhead
        self.streams[index].appear(sensor)
        self.streams[index].told = self.streams[index].outlook
        return (isRebuilt, wasAhead)
    }

    /// Whether a sensor has come to a time that has not been: only a trace can.
    func isAhead(at arrival: Timestamp) -> Bool { self.streams.contains { $0.isAhead(at: arrival) } }

    /// The reader went away, and all sensors with it.
    mutating func disappear() {
        for index in self.streams.indices {
            self.streams[index].disappear()
            self.streams[index].told = self.streams[index].outlook
        }
        self.forgetUnknown()
    }

    /// Begins anew with what a sensor sees. Its detectors have to be put in again.
    mutating func rebuild(_ sensor: String) {
        if let index = self.index(of: sensor) { self.streams[index].rebuild(mutedUntil: self.mutedUntil) }
    }

    /// Puts a detector into an engine that was made anew.
    mutating func addAgain(_ detector: CompiledDetector, as id: DetectorID, at arrival: Timestamp) {
        guard let index = self.index(of: detector.sensor) else { return }
        self.streams[index].engine.add(detector, as: id, at: arrival)
        guard let (old, beside) = self.clips?.replace(id, by: detector) else { return }
        self.streams[index].removeNear(old)
        guard let beside else { return self.detectors.remove(old.id) }
        // It costs what it did: neither another threshold nor other channels make another feature of it.
        self.streams[index].costs.addNear(beside, for: old.payer)
        self.streams[index].engine.add(beside, as: old.id, at: arrival)
    }

    mutating func paceChanged(_ sensor: String, _ pace: SensorPace, _ resting: Resting?, at now: Timestamp) {
        if let index = self.index(of: sensor) { self.streams[index].paceChanged(pace, resting, at: now) }
    }

    // MARK: Claims

    /// A change of what is claimed, and whether that changes how it stands with a sensor.
    struct ClaimChange {
        let sensor: String
        let change: SensorStream.Change
    }

    /// The next sensor of which something else is to be claimed than is: each at the fastest rate that its detectors need, and
    /// none without detectors.
    mutating func steer(from sensor: inout Int) -> ClaimChange? {
        while sensor < self.streams.count {
            let index = sensor
            sensor += 1
            if let change = self.streams[index].steer(self.batchLatency, isPaused: self.isPaused) {
                return ClaimChange(sensor: self.streams[index].name, change: change)
            }
        }
        return nil
    }

    /// Takes in what became of a claim, or of samples.
    mutating func change(_ sensor: String, _ body: (inout SensorStream) -> Void) {
        if let index = self.index(of: sensor) { body(&self.streams[index]) }
    }

    /// How it stands with a sensor, if that is news.
    mutating func news(of sensor: String) -> SensorStream.Outlook? {
        guard let index = self.index(of: sensor) else { return nil }
        let outlook = self.streams[index].outlook
        guard self.streams[index].told != outlook else { return nil }
        self.streams[index].told = outlook
        return outlook
    }

    /// Sensors whose claims came to nothing and are to be tried again.
    func retries(at arrival: Timestamp) -> [String] {
        self.streams.indices.lazy.filter { self.streams[$0].nextTry.map { $0 <= arrival } ?? false }
            .map { self.streams[$0].name }
    }

    /// When to ask for `silent` next; `nil` while no sensor has to speak.
    package func nextSilence(at now: Timestamp) -> Timestamp? {
        self.streams.indices.lazy.compactMap { self.streams[$0].silenceDeadline(at: now) }.min()
    }

    /// The sensors that have stalled since: nothing new comes of them, and it should.
    mutating func silent(at arrival: Timestamp) -> [String] {
        var sensors: [String] = []
        for index in self.streams.indices where self.streams[index].fallSilent(at: arrival) {
            sensors.append(self.streams[index].name)
        }
        return sensors
    }

    /// Switches motion off, sensors and all, or on again.
    mutating func pause(_ isPaused: Bool) {
        self.isPaused = isPaused
        for index in self.streams.indices { self.streams[index].breakOff() }
    }

    /// Makes every detector blind until a time. The longest of several counts.
    mutating func mute(until time: Timestamp) {
        self.mutedUntil = max(self.mutedUntil, time)
        for index in self.streams.indices { self.streams[index].engine.mute(until: self.mutedUntil) }
    }

    // MARK: Samples

    /// The stream of a sensor whose samples have come, for the steps that follow.
    ///
    /// - Returns: Whether a silence is over with them, too.
    mutating func begin(
        _ sensor: String, first: UInt64, _ times: Span<Int64>, at arrival: Timestamp
    ) -> (stream: Int, isHeardAgain: Bool)? {
        guard let index = self.index(of: sensor) else { return nil }
        self.streams[index].begin(first: first, count: times.count)
        return (index, self.streams[index].hear(times, at: arrival))
    }

    func width(of stream: Int) -> Int { self.streams[stream].channels.count }

    mutating func process(_ stream: Int, _ times: Span<Int64>, _ values: Span<Double>, at arrival: Timestamp) {
        self.streams[stream].process(times: times, values: values, at: arrival)
    }

    /// Whether a sample of this time would be looked at, or passed over in silence.
    func isNext(_ time: Timestamp, of stream: Int, at arrival: Timestamp) -> Bool {
        self.streams[stream].isNext(time, at: arrival)
    }

    /// Closes the buckets that end before a sample; one that ends with it takes the sample in.
    mutating func closeBuckets(of stream: Int, before time: Timestamp) {
        self.streams[stream].closeBuckets(before: time)
    }

    /// Takes the hits that the engine of a stream has made, in its order, and counts them for their apps. What is too much is left out.
    mutating func takeHits(of stream: Int, at arrival: Timestamp) -> [Hit] {
        if let clips = self.clips, !self.streams[stream].hits.isEmpty { self.streams[stream].tellHits(to: clips) }
        if self.hasLeftovers {
            let detectors = self.detectors
            self.streams[stream].hits.removeAll { detectors[$0.detector] == nil }
        }
        guard !self.streams[stream].hits.isEmpty else { return [] }
        var hits: [Hit] = []
        swap(&hits, &self.streams[stream].hits)
        // By the time that they are decided another sensor may be in its place, or none.
        if self.streams[stream].isSimulated { for index in hits.indices { hits[index].isSimulated = true } }
        hits.removeAll { hit in
            guard let owner = self.detectors.account(of: hit.detector) else { return false }
            return !self.hits.take(hit, of: owner.app, owner.payer, at: arrival)
        }
        return hits
    }

    /// Takes what was left out since, of each app.
    mutating func takeLeftOut() -> [HitBook.LeftOut] { self.hits.takeLeftOut() }

    /// The sensor of a stream of which a clip is complete.
    @inline(__always)
    func dueClip(of stream: Int) -> String? {
        self.clips != nil && self.streams[stream].cutter?.isDue == true ? self.streams[stream].name : nil
    }

    /// The sensors of which a clip is complete.
    var dueClips: [String] { self.clips == nil ? [] : self.streams.indices.compactMap { self.dueClip(of: $0) } }

    /// Puts the clip of a sensor into another's memory.
    mutating func cutClip(of sensor: String, into clip: inout MotionClip) {
        clip.removeAll()
        if let index = self.index(of: sensor) { self.streams[index].cutter?.cut(sensor, into: &clip) }
    }

    /// Leaves moments out of clips that are in the making.
    mutating func forgetMoments(_ isForgotten: (ClipMoment) -> Bool) {
        for index in self.streams.indices { self.streams[index].cutter?.forget(isForgotten) }
    }

    /// Takes back the room that hits had, for the next ones.
    mutating func giveBack(_ hits: consuming [Hit], of stream: Int) {
        hits.removeAll(keepingCapacity: true)
        self.streams[stream].hits = hits
    }

    var indices: Range<Int> { self.streams.indices }

    mutating func tick(_ stream: Int, at arrival: Timestamp) { self.streams[stream].tick(at: arrival) }

    // MARK: One order for all sensors

    /// How long after its time a sample of any sensor may still be under way.
    var held: TimeSpan {
        var longest = SensorStream.underWay
        for index in self.streams.indices { longest = max(longest, self.streams[index].held) }
        return longest
    }

    /// The sample time up to which all sensors have said what they had to say, `stream` with its last sample.
    ///
    /// - Parameter contest: Not changed; lent as it is so that with one sensor, where nobody asks it, nothing of it is copied.
    mutating func horizon(of stream: Int, _ contest: inout Arbiter, at arrival: Timestamp) -> Timestamp? {
        let time = self.streams[stream].engine.lastTime
        guard time >= 0 else { return nil }
        return min(Timestamp(microseconds: time), self.horizon(besides: stream, &contest, at: arrival))
    }

    /// The same for all sensors but one, which are given the time that their samples may be under way.
    mutating func horizon(besides stream: Int, _ contest: inout Arbiter, at arrival: Timestamp) -> Timestamp {
        var time = Timestamp(microseconds: .max)
        guard self.streams.count > 1 else { return time }
        // Only a motion that is not over has somebody wait.
        let open = contest.openGroups
        // Nobody else can keep up with a trace that is played ahead of the clock.
        guard !open.isEmpty, !self.streams[stream].isAhead(at: arrival) else { return time }
        let audiences = self.audiences ?? self.makeAudiences(contest)
        self.audiences = audiences
        for index in self.streams.indices
        where index != stream && self.streams[index].isRead && open.contains(where: { audiences[$0].contains(index) }) {
            time = min(time, self.streams[index].horizon(at: arrival))
        }
        return time
    }

    /// Finds out which sensors the apps of each group listen to.
    private func makeAudiences(_ contest: borrowing Arbiter) -> [Set<Int>] {
        var audiences = [Set<Int>](repeating: [], count: contest.policy.groups.count)
        for (id, owner) in self.detectors.all {
            guard let stream = self.index(of: owner.sensor) else { continue }
            for group in contest.groups(of: id) { audiences[Int(group)].insert(stream) }
        }
        return audiences
    }

    /// Who listens to what has changed, or how apps compete.
    mutating func audiencesChanged() { self.audiences = nil }

    /// Whether hits need not wait: none does, and nothing falls due before them that another sensor may have a say in.
    func isFree(until last: Timestamp, deadline: Timestamp?, _ horizon: Timestamp) -> Bool {
        guard self.waiting.isEmpty else { return false }
        return deadline.map { last < $0 } ?? true || last <= horizon
    }

    /// Lets hits wait. Returns false when there are too many.
    mutating func wait(_ hits: [Hit]) -> Bool {
        for hit in hits { self.waiting.insert(hit) }
        return self.waiting.count <= Self.mostWaiting
    }

    enum Release {
        case hits([Hit])
        case motion(Timestamp)
    }

    /// The next of what waits, up to the first deadline of the contest that a slower sensor may still have a say in; all of it
    /// without a time.
    mutating func release(upTo time: Timestamp?, deadline: Timestamp?) -> Release? {
        guard let next = self.waiting.first?.time else { return nil }
        if let deadline, deadline <= next {
            if let time, deadline > time { return nil }
            return .motion(deadline)
        }
        return .hits(self.waiting.popAllFirst())
    }

    // MARK: Time

    /// When something is due without a sample.
    mutating func nextTick(motion deadline: Timestamp?) -> Timestamp? {
        var earliest: Timestamp?
        func expect(_ time: Timestamp) { earliest = min(earliest ?? time, time) }
        if let deadline { expect(deadline + self.held) }
        if let hit = self.waiting.first { expect(hit.time + self.held) }
        for index in self.streams.indices {
            if let retry = self.streams[index].nextTry { expect(retry) }
            guard self.streams[index].detectors > 0 else { continue }
            if let end = self.streams[index].engine.nextDeadline { expect(end + self.streams[index].held) }
        }
        return earliest
    }

    /// Gives back memory that was needed for detectors that are gone.
    mutating func shrink() {
        self.detectors.shrink()
        self.hits.shrink()
        self.clips?.shrink()
        for index in self.streams.indices { self.streams[index].shrink() }
    }
}
