package import Detection
package import Motion

/// One sensor as the broker uses it: the claim it needs, the stream that comes in, and the engine that reads it.
///
/// What is asked of it with each sample is inlined: a call would copy all of it.
package struct SensorStream {
    package let name: String
    /// `nil` while there is no reader that has the sensor.
    package private(set) var description: SensorDescription?
    package private(set) var channels: [String]
    var engine: DetectionEngine
    var detectors = 0
    /// What the detectors of each user cost here.
    var costs: SensorCosts
    /// Hits of the last samples, until they are decided.
    var hits: [Hit] = []
    /// Cuts clips; `nil`: none are kept of it.
    var cutter: ClipCutter?

    /// What we claimed last, or would claim if the sensor were there.
    package private(set) var wanted: SensorPace?
    private var claimed: SensorPace?
    /// What the reader says of our claim.
    private var terms: Terms?
    /// The fastest rate that the reader allows us, where that is less than we claimed.
    package private(set) var allowed: Double?
    /// Why the last claim came to nothing, until one does not.
    package var refusal: String? { self.patience.refusal }
    private var patience = RetryPatience()
    private var silence = SilenceWatch()
    /// Nobody has told of it, and nobody waits for it. Of a call all detectors are counted before the first is put in.
    var isUnknown: Bool { self.detectors == 0 && self.description == nil && self.costs.isEmpty }
    /// What everybody knows of it.
    var told = Outlook(standing: .absent)

    private var numbers = SampleNumbers()

    private struct Terms {
        let pace: SensorPace
        /// Why it gets nothing at present, and since when we know, if so.
        var rest: (why: Resting, since: Timestamp)?
    }

    enum Change {
        case claim(SensorPace)
        case release
    }

    init(name: String, channels: [String], _ limits: BrokerLimits, clips: ClipTerms? = nil) {
        self.name = name
        // Where somebody was is kept nowhere.
        let kept = name == SensorDescription.location ? nil : clips
        self.cutter = kept.map { ClipCutter($0, channels: channels) }
        self.costs = SensorCosts(limits)
        self.channels = channels
        self.engine = Self.makeEngine(for: name, channels: channels)
    }

    /// Makes an engine without detectors.
    private static func makeEngine(for sensor: String, channels: [String], range: Double? = nil) -> DetectionEngine {
        DetectionEngine(channels: channels, range: range, gap: SensorLimits.gap(of: sensor))
    }

    /// Begins anew with what the sensor sees, without detectors.
    mutating func rebuild(mutedUntil time: Timestamp) {
        self.engine = Self.makeEngine(for: self.name, channels: self.channels, range: self.description?.range)
        self.engine.mute(until: time)
        // What a trace ran ahead with is over.
        self.cutter?.beginAnew()
    }

    /// What those who wait for its detectors have to know.
    struct Outlook: Equatable {
        var standing: SensorStanding
        var allowed: Double?
    }

    /// What the reader says is in force for us.
    package var inForce: SensorPace? { self.terms?.pace }

    var outlook: Outlook { Outlook(standing: self.standing, allowed: self.allowed) }

    /// True while detectors can fire: a device is behind the sensor and works, and we are not kept from its samples.
    package var isAvailable: Bool { self.standing == .ready }

    /// How it stands with the sensor, as far as our detectors go.
    package var standing: SensorStanding {
        guard let description else { return .absent }
        if !description.isAvailable { return .absent }
        // A claim that was to replace another leaves that one in force.
        if let refusal = self.refusal, self.inForce == nil { return .refused(refusal) }
        if let rest = self.terms?.rest { return .resting(rest.why) }
        return self.silence.isSilent ? .stalled : .ready
    }

    package var counters: DetectionEngine.Counters { self.engine.counters }
    /// Times that samples were missing or out of step.
    package var gaps: UInt64 { self.numbers.gaps }
    /// Samples that were sent to us and did not come.
    package var lost: UInt64 { self.numbers.lost }
    package var received: UInt64 { self.numbers.received }

    mutating func appear(_ sensor: SensorDescription) {
        // A claim outlives the device behind the sensor, but not the reader.
        if self.description == nil { self.claimed = nil }
        self.description = sensor
        self.silence.rest()
        if let terms, terms.rest == nil { self.silence.begin() }
        self.tryAgain()
        if self.channels != sensor.channels {
            self.cutter = self.cutter.map { $0.madeAnew(for: sensor.channels) }
        }
        self.channels = sensor.channels
        self.engine.setRange(sensor.range)
        self.breakOff()
    }

    /// The reader went away: our claim went with it, and what comes next begins anew.
    mutating func disappear() {
        self.description = nil
        self.claimed = nil
        self.forgetTerms()
        self.breakOff()
    }

    private mutating func forgetTerms() {
        self.terms = nil
        self.allowed = nil
        self.patience = RetryPatience()
        self.silence.rest()
    }

    /// Nothing is detected across what did not come.
    mutating func breakOff() {
        self.numbers.beginAnew()
        self.engine.gap()
        self.cutter?.finish()
    }

    /// What has to change about the claim, if anything. A paused sensor is wanted by nobody.
    mutating func steer(_ batchLatency: TimeSpan, isPaused: Bool) -> Change? {
        let rate = self.detectors == 0 || isPaused ? nil : self.engine.neededRate
        self.wanted = rate.map { SensorPace(rate: $0, batchLatency: batchLatency) }
        guard self.description != nil, self.wanted != self.claimed else { return nil }
        self.claimed = self.wanted
        guard let wanted = self.wanted else {
            self.forgetTerms()
            self.cutter?.finish()
            return .release
        }
        return .claim(wanted)
    }

    /// Takes in what became of our claim.
    mutating func take(_ news: ClaimNews, at now: Timestamp) {
        switch news {
        case .answered(let pace, let allowed): self.claimAnswered(pace, allowed: allowed)
        case .failed(let reason): self.claimFailed(reason, at: now)
        case .ended: self.claimEnded()
        }
    }

    /// The reader answered a claim. Numbers begin again with each claim; nothing is lost in between.
    private mutating func claimAnswered(_ pace: SensorPace, allowed: Double?) {
        guard self.claimed != nil else { return }
        self.terms = Terms(pace: pace)
        self.allowed = allowed
        self.patience = RetryPatience()
        self.silence.begin()
        self.numbers.beginAnew()
    }

    /// A claim came to nothing: it is tried again after a while.
    private mutating func claimFailed(_ reason: String, at now: Timestamp) {
        // What was released meanwhile is not missed.
        guard self.claimed != nil else { return }
        self.patience.failed(reason, at: now)
    }

    /// What was in force is not any more, and nobody said why.
    private mutating func claimEnded() {
        self.terms = nil
        self.silence.rest()
    }

    /// When a claim that came to nothing is tried again.
    @inline(__always)
    var nextTry: Timestamp? { self.patience.nextTry }

    /// Lets `steer` claim once more what was refused.
    mutating func tryAgain() {
        guard self.patience.nextTry != nil else { return }
        self.patience.tried()
        self.claimed = nil
    }

    /// Something else is in force for our claim, or it rests, or goes on.
    mutating func paceChanged(_ pace: SensorPace, _ resting: Resting?, at now: Timestamp) {
        // Of what was released meanwhile nothing is in force.
        guard self.claimed != nil else { return }
        let before = self.terms?.rest
        self.terms = Terms(pace: pace, rest: resting.map { ($0, before?.since ?? now) })
        guard resting != before?.why else { return }
        if resting == nil { self.silence.begin() } else { self.silence.rest() }
    }

    /// When it looks as if the sensor had stalled, should nothing come until then; `nil` while it may be silent.
    func silenceDeadline(at now: Timestamp) -> Timestamp? {
        guard let inForce, let description, description.isSteady, description.isAvailable else { return nil }
        return self.silence.deadline(for: inForce, at: now)
    }

    /// Nothing has come for so long that something is wrong. Returns whether that is news.
    mutating func fallSilent(at now: Timestamp) -> Bool {
        guard let deadline = self.silenceDeadline(at: now), deadline <= now else { return false }
        return self.silence.fallSilent()
    }

    /// Takes note that samples have come. Returns whether that ends a silence, or a rest: only what is no older than it must be does.
    mutating func hear(_ times: Span<Int64>, at arrival: Timestamp) -> Bool {
        guard !times.isEmpty else { return false }
        let time = Timestamp(microseconds: times[times.count - 1])
        guard arrival - time <= self.held + SilenceWatch.patience else { return false }
        let isHeardAgain = self.silence.hear(at: arrival)
        // What was measured since we believe that nothing comes says that we were not told. What is older was under way already.
        guard let rest = self.terms?.rest, time > rest.since, self.description?.hasOwnClock == false else {
            return isHeardAgain
        }
        self.terms?.rest = nil
        self.silence.begin()
        return true
    }

    /// When a hit of this time happened, by the clock of arrivals. What our claim lets a sample wait does not make it old.
    func start(of time: Timestamp, heardAt arrival: Timestamp) -> Timestamp {
        let isNow = self.description?.hasOwnClock ?? false
        return isNow ? arrival : min(arrival, time + (self.inForce?.batchLatency ?? .zero))
    }

    /// Takes note of the numbers of samples that are about to be processed.
    mutating func begin(first: UInt64, count: Int) {
        // Nothing is detected across what is missing.
        if !self.numbers.follow(first, count: count) { self.engine.gap() }
    }

    mutating func process(times: Span<Int64>, values: Span<Double>, at arrival: Timestamp) {
        self.engine.process(times: times, values: values, arrival: self.latest(arrival), hits: &self.hits)
        self.cutter?.take(times, values, upTo: self.engine.lastTime)
    }

    // MARK: Clips

    /// Has its hits told to whoever cuts clips, and leaves out those that nobody else hears of.
    mutating func tellHits(to clips: ClipWatch) {
        var kept = 0
        for index in self.hits.indices {
            let hit = self.hits[index]
            let isNear = clips.isNear(hit.detector)
            self.tell(hit, isNear: isNear, clips)
            guard !isNear else { continue }
            if kept < index { self.hits[kept] = hit }
            kept += 1
        }
        self.hits.removeLast(self.hits.count - kept)
    }

    private mutating func tell(_ hit: Hit, isNear: Bool, _ clips: ClipWatch) {
        let subject = isNear ? clips.subject(of: hit.detector) ?? hit.detector : hit.detector
        guard self.cutter?.wants(subject, at: hit.time, isNear: isNear) == true else { return }
        // Who rests after a hit misses nothing for want of strength.
        if isNear, let ends = self.engine.status(of: subject)?.restEnds, ends > hit.time { return }
        if let moment = clips.moment(of: hit) { self.cutter?.add(moment) }
    }

    /// Counts what a detector that notices near misses would cost. Returns false when its user's share has no room for it.
    mutating func countNear(_ detector: CompiledDetector, for payer: UInt32) -> Bool {
        self.costs.addNear(detector, for: payer)
        let hasRoom = self.costs.overrun(of: payer) == nil
        if !hasRoom { self.costs.removeNear(detector, for: payer) }
        self.costs.book(payer)
        return hasRoom
    }

    /// Takes it from the engine, and what it costs out of its user's share.
    mutating func removeNear(_ beside: ClipWatch.Beside) {
        self.engine.remove(beside.id)
        self.costs.removeNear(beside.detector, for: beside.payer)
        self.costs.book(beside.payer)
    }

    /// Gives back memory that was needed for detectors that are gone.
    mutating func shrink() {
        self.hits.shrink()
        self.engine.shrink()
        self.costs.shrink()
    }

    /// Whether a sample of this time would be looked at, or passed over in silence.
    func isNext(_ time: Timestamp, at arrival: Timestamp) -> Bool {
        self.engine.isNext(time, arrival: self.latest(arrival))
    }

    /// Whether its motion is made or replayed.
    var isSimulated: Bool { self.description?.isSimulated ?? false }

    /// Measured samples cannot come from the future. Replayed ones may run ahead of the clock.
    private func latest(_ arrival: Timestamp) -> Timestamp? { self.isSimulated ? nil : arrival }

    /// How long a sample takes at most from the reader to us.
    static let underWay = TimeSpan.milliseconds(100)

    /// How long after its time a sample may still be under way.
    @inline(__always)
    var held: TimeSpan { (self.inForce?.batchLatency ?? .zero) + Self.underWay }

    /// Whether it has come to a time that has not been: only a trace can.
    @inline(__always)
    func isAhead(at arrival: Timestamp) -> Bool { self.engine.lastTime > max(-1, arrival.microseconds) }

    /// Whether samples of it may be under way to somebody.
    @inline(__always)
    var isRead: Bool { self.description != nil && self.detectors > 0 }

    /// The sample time up to which it has said what it had to say, by its last sample or because more is too late.
    @inline(__always)
    func horizon(at arrival: Timestamp) -> Timestamp {
        let (last, latest) = (self.engine.lastTime, arrival - self.held)
        return last < 0 ? latest : max(Timestamp(microseconds: last), latest)
    }

    /// Closes the buckets that end before a sample; one that ends with it takes the sample in.
    mutating func closeBuckets(before time: Timestamp) {
        self.engine.tick(to: time - TimeSpan(microseconds: 1), hits: &self.hits)
    }

    mutating func tick(at arrival: Timestamp) { self.engine.tick(to: arrival - self.held, hits: &self.hits) }
}
