import Arbitration
import Detection
import Motion

/// Has the arbiter hear what detectors hit, each in its time: samples and all other inputs of the contest in, decisions out.
///
/// Whatever concerns a detector is said to both: to the sensors, where it is at work, and to the arbiter.
struct Hearing {
    /// The sensors, and the detectors at work.
    private(set) var sensing: Sensing
    /// Who gets the events. Its apps and detectors have our numbers.
    private(set) var arbiter: Arbiter
    /// How it stands since it was told something last.
    private(set) var outlook: Arbiter.Outlook
    /// What it decided and nobody performed yet, the last first: taken from the end, nothing is copied.
    private var decisions: [ArbiterAction] = []
    /// What it decided since, in order.
    private var later: [ArbiterAction] = []
    /// What happened since somebody took it; `nil`: nobody wants to know.
    private var steps: [ArbiterStep]?

    /// A flood of decisions leaves no more room behind than ordinary ones need.
    private static let spareDecisions = 1_024

    init(
        _ limits: BrokerLimits, _ policy: Policy, epoch: UInt64, batchLatency: TimeSpan, clips: ClipTerms? = nil
    ) {
        self.sensing = Sensing(limits, batchLatency: batchLatency, clips: clips)
        var arbiter = Arbiter(policy: policy, epoch: epoch)
        self.outlook = arbiter.outlook()
        self.arbiter = arbiter
    }

    // MARK: The arbiter

    /// Gives the arbiter an input. What it decides waits for `next`.
    ///
    /// When the broker stood still, answers that came in time may be read behind this input. Only a tick, before which all
    /// that came is read, finds that nobody answered.
    mutating func tell(_ input: ArbiterInput, at arrival: Timestamp) {
        if let deadline = self.outlook.nextArrivalDeadline, deadline <= arrival, !self.outlook.isPatient,
            self.arbiter.isReplyDue(by: arrival)
        {
            // The wait begins before anything has fallen due.
            self.give(.patience(true), at: self.outlook.arrivalTime)
        }
        self.give(input, at: arrival)
    }

    private mutating func give(_ input: ArbiterInput, at arrival: Timestamp) {
        switch input {
        case .detector, .policy: self.sensing.audiencesChanged()
        case .app, .back, .away, .told, .foreground, .frozen, .playing, .sleep, .beginAssertion, .endAssertion,
            .beginActivity, .endActivity, .leave, .task, .removeDetector, .available, .device, .hits, .motion, .rewind,
            .patience, .answer, .launch, .launched:
            break
        }
        if self.steps != nil { return self.giveAndKeep(input, at: arrival) }
        // Lent for this input: meanwhile the sensors do not change.
        let memory = self.sensing.memory
        self.arbiter.take(input, at: arrival, lastTrue: { memory.lastTrue($0) }, into: &self.later)
        self.outlook = self.arbiter.outlook()
    }

    private mutating func giveAndKeep(_ input: ArbiterInput, at arrival: Timestamp) {
        let wasIdle = if case .motion(let time) = input { self.arbiter.isIdle(until: time, at: arrival) } else { false }
        let memory = self.sensing.memory
        var answers: [(detector: DetectorID, lastTrue: Timestamp?)] = []
        let first = self.later.count
        self.arbiter.take(
            input, at: arrival,
            lastTrue: { detector in
                let time = memory.lastTrue(detector)
                answers.append((detector, time))
                return time
            }, into: &self.later)
        self.outlook = self.arbiter.outlook()
        let decisions = Array(self.later[first...])
        self.steps?.append(
            ArbiterStep(input, at: arrival, answers: answers, wasIdle: wasIdle, decisions: decisions))
    }

    /// The next decision to perform. What is performed may lead to more.
    mutating func next() -> ArbiterAction? {
        if self.decisions.isEmpty {
            if self.later.isEmpty {
                if self.later.capacity > Self.spareDecisions { self.later = [] }
                if self.decisions.capacity > Self.spareDecisions { self.decisions = [] }
                return nil
            }
            swap(&self.decisions, &self.later)
            self.decisions.turnRound()
        }
        return self.decisions.popLast()
    }

    /// What it answered to the input at hand, which asked for something.
    var refusal: LifeRefusal? {
        var refusal: LifeRefusal?
        for decision in self.decisions.reversed() + self.later {
            switch decision {
            case .assertion(_, _, let answer, _), .activity(_, _, let answer): refusal = answer
            case .deliver, .verdict, .repeated, .life, .session, .launch: break
            }
        }
        return refusal
    }

    /// Gives out no epoch up to this one any more: others may have.
    mutating func skipEpochs(upTo epoch: UInt64) {
        self.arbiter.skipEpochs(upTo: epoch)
        self.outlook = self.arbiter.outlook()
    }

    // MARK: Apps and detectors

    /// An app comes under a number that is free. Returns detectors that one of its name left behind, which are gone now.
    mutating func enter(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32?, at arrival: Timestamp
    ) -> [InstalledDetector] {
        // Who comes back finds its house in order.
        let gone = self.sensing.enter(app, id, user)
        self.tell(.app(app, id, entrance), at: arrival)
        return gone
    }

    /// An app has gone, and the arbiter knows. Returns those of its detectors that are gone; the others are leftovers.
    mutating func forget(
        _ app: AppHandle, _ detectors: [InstalledDetector], of id: AppID, _ user: UInt32?
    ) -> [InstalledDetector] { self.sensing.leave(app, detectors, of: id, user) }

    /// Takes some leftovers from their engines. Returns those.
    mutating func discardLeftovers() -> [InstalledDetector] { self.sensing.discardLeftovers() }

    /// Counts what detectors cost that are about to be added, and takes out those that they replace. All or none.
    mutating func count(_ change: Registry.Change) throws(Refusal) {
        try self.sensing.count(change)
    }

    /// Puts a detector of an app to work, which was counted before.
    ///
    /// - Parameter payer: Of whose share it is.
    /// - Returns: The detector as it is kept.
    mutating func add(
        _ detector: CompiledDetector, of app: AppHandle, _ payer: UInt32, at arrival: Timestamp
    ) -> (id: DetectorID, detector: CompiledDetector) {
        let added = self.sensing.add(detector, of: app, payer, at: arrival)
        let facts = added.detector.facts(isAvailable: self.sensing.isAvailable(detector.sensor))
        self.tell(.detector(added.id, app, facts), at: arrival)
        return added
    }

    /// Takes a detector away that another takes the place of. Its place in its user's share stays.
    mutating func replace(_ detector: InstalledDetector, at arrival: Timestamp) {
        self.tell(.removeDetector(detector.id), at: arrival)
        self.sensing.remove(detector.id, on: detector.sensor)
    }

    /// Takes a detector away, and what it costs out of its payer's share.
    mutating func remove(_ detector: InstalledDetector, at arrival: Timestamp) {
        self.tell(.removeDetector(detector.id), at: arrival)
        self.sensing.discard(detector)
    }

    /// Puts a detector in again whose sensor has other channels now, or whose thresholds are others. What it hit before counts.
    ///
    /// - Parameter compiled: What it is now; `nil`: the sensor cannot serve it, and it never fires.
    mutating func addAgain(
        _ detector: InstalledDetector, as compiled: CompiledDetector?, of app: AppHandle, at arrival: Timestamp
    ) {
        guard let compiled else { return self.tell(.available(detector.id, false), at: arrival) }
        self.sensing.addAgain(compiled, as: detector.id, at: arrival)
        self.sensing.recount(detector.effective, as: compiled, of: detector.payer)
        let facts = compiled.facts(isAvailable: self.sensing.isAvailable(detector.sensor))
        self.tell(.detector(detector.id, app, facts), at: arrival)
    }

    // MARK: Sensors

    /// A sensor is there, or was described anew; `nil`: that is no news.
    ///
    /// - Returns: Whether its detectors have to be put in again, and whether it was ahead of the clock until now.
    mutating func appear(
        _ sensor: SensorDescription, at arrival: Timestamp
    ) -> (isRebuilt: Bool, wasAhead: Bool)? {
        guard let news = self.sensing.appear(sensor, at: arrival) else { return nil }
        if news.isRebuilt {
            self.release(upTo: nil, at: arrival)
            self.sensing.rebuild(sensor.name)
        } else {
            self.setAvailable(self.sensing.isAvailable(sensor.name), at: arrival, on: sensor.name)
        }
        return news
    }

    /// What was ahead of the clock is over, if nothing else is.
    mutating func rewind(at arrival: Timestamp) {
        if !self.sensing.isAhead(at: arrival) { self.tell(.rewind(arrival), at: arrival) }
    }

    /// The reader went away, and all sensors with it.
    mutating func disappear(at arrival: Timestamp) {
        self.sensing.disappear()
        self.release(upTo: nil, at: arrival)
        self.setAvailable(false, at: arrival, on: nil)
    }

    /// Has the arbiter know if the detectors of a sensor can fire by now, or cannot any more, or look less often. Returns whether
    /// that is news.
    mutating func tellNews(of sensor: String, at arrival: Timestamp) -> Bool {
        guard let outlook = self.sensing.news(of: sensor) else { return false }
        self.setAvailable(outlook.standing == .ready, at: arrival, on: sensor)
        return true
    }

    /// Tells the arbiter whether detectors can fire, of one sensor or of all: nobody waits for those that cannot.
    private mutating func setAvailable(_ isAvailable: Bool, at arrival: Timestamp, on sensor: String?) {
        for detector in self.sensing.detectors(on: sensor) {
            self.tell(.available(detector, isAvailable), at: arrival)
        }
    }

    /// Takes in what became of our claim on a sensor.
    mutating func take(_ news: ClaimNews, of sensor: String, at arrival: Timestamp) {
        self.sensing.change(sensor) { $0.take(news, at: arrival) }
    }

    /// Lets `steer` claim once more what was refused.
    mutating func retryClaim(of sensor: String) { self.sensing.change(sensor) { $0.tryAgain() } }

    mutating func paceChanged(_ sensor: String, _ pace: SensorPace, _ resting: Resting?, at arrival: Timestamp) {
        self.sensing.paceChanged(sensor, pace, resting, at: arrival)
    }

    /// The next sensor of which something else is to be claimed than is.
    mutating func steer(from sensor: inout Int) -> Sensing.ClaimChange? { self.sensing.steer(from: &sensor) }

    /// The sensors that have stalled: nothing new comes of them, and it should.
    mutating func silent(at arrival: Timestamp) -> [String] { self.sensing.silent(at: arrival) }

    mutating func pause(_ isPaused: Bool) { self.sensing.pause(isPaused) }

    mutating func mute(until time: Timestamp) { self.sensing.mute(until: time) }

    /// An app is another user's than it was.
    mutating func pass(_ app: AppHandle, to user: UInt32) { self.sensing.pass(app, to: user) }

    /// An app that was nobody's is a user's now.
    mutating func own(_ app: AppHandle, by user: UInt32) { self.sensing.own(app, by: user) }

    // MARK: Clips

    /// Puts the clip of a sensor into another's memory: those of its moments that policy lets be kept. Returns whether there are any.
    mutating func cutClip(of sensor: String, into clip: inout MotionClip) -> Bool {
        self.sensing.cutClip(of: sensor, into: &clip)
        let policy = self.arbiter.policy
        clip.removeMoments { !policy.settings(for: $0.app).sensing.keepsClips }
        return !clip.moments.isEmpty && clip.times.count > 1
    }

    /// Leaves moments out of clips that are in the making.
    mutating func forgetMoments(_ isForgotten: (ClipMoment) -> Bool) { self.sensing.forgetMoments(isForgotten) }

    // MARK: Samples

    /// Samples of a sensor have come; `nil`: nobody knows it.
    ///
    /// - Returns: Whether a silence is over with them, too.
    mutating func begin(
        _ sensor: String, first: UInt64, _ times: Span<Int64>, at arrival: Timestamp
    ) -> (stream: Int, isHeardAgain: Bool)? { self.sensing.begin(sensor, first: first, times, at: arrival) }

    /// Has the detectors see the samples that have come, and the arbiter hear what they hit.
    mutating func process(_ stream: Int, _ times: Span<Int64>, _ values: Span<Double>, at arrival: Timestamp) {
        if !self.outlook.hasGroups {
            self.sensing.process(stream, times, values, at: arrival)
            self.decide(stream, at: arrival)
        } else {
            // What falls due before a sample must not know the sample yet, so groups see one at a time.
            let width = self.sensing.width(of: stream)
            for row in times.indices {
                self.pass(to: Timestamp(microseconds: times[row]), of: stream, at: arrival)
                let start = min(row * width, values.count)
                self.sensing.process(
                    stream, times.extracting(row..<row + 1),
                    values.extracting(start..<min(start + width, values.count)), at: arrival)
                self.decide(stream, at: arrival)
            }
        }
        if let time = self.sensing.horizon(of: stream, &self.arbiter, at: arrival) {
            self.release(upTo: time, at: arrival)
            self.tell(.motion(time), at: arrival)
        }
    }

    /// Takes what was too much to be heard since, of each app.
    mutating func takeLeftOut() -> [HitBook.LeftOut] { self.sensing.takeLeftOut() }

    /// Runs the groups' deadlines that come at or before a sample, with the hits up to it.
    private mutating func pass(to sample: Timestamp, of stream: Int, at arrival: Timestamp) {
        // Nearly every sample ends here, and the horizon costs a look at every sensor.
        guard let deadline = self.outlook.nextMotionDeadline, deadline <= sample else { return }
        let time = min(sample, self.sensing.horizon(besides: stream, &self.arbiter, at: arrival))
        guard deadline <= time, self.sensing.isNext(sample, of: stream, at: arrival) else { return }
        self.sensing.closeBuckets(of: stream, before: sample)
        self.decide(stream, at: arrival)
        self.release(upTo: time, at: arrival)
        self.tell(.motion(time), at: arrival)
    }

    /// Hands the hits of a stream to the arbiter, or lets them wait.
    private mutating func decide(_ stream: Int, at arrival: Timestamp) {
        let hits = self.sensing.takeHits(of: stream, at: arrival)
        guard let last = hits.last?.time else { return }
        let horizon = self.sensing.horizon(besides: stream, &self.arbiter, at: arrival)
        if self.sensing.isFree(until: last, deadline: self.outlook.nextMotionDeadline, horizon) {
            self.tell(.hits(hits), at: arrival)
        } else {
            let hasRoom = self.sensing.wait(hits)
            self.release(upTo: hasRoom ? horizon : nil, at: arrival)
        }
        self.sensing.giveBack(hits, of: stream)
    }

    /// Gives the arbiter what waits, up to the first deadline that a slower sensor may still have a say in; all of it without a
    /// time.
    private mutating func release(upTo time: Timestamp?, at arrival: Timestamp) {
        while let next = self.sensing.release(upTo: time, deadline: self.outlook.nextMotionDeadline) {
            switch next {
            case .hits(let hits): self.tell(.hits(hits), at: arrival)
            case .motion(let deadline): self.tell(.motion(deadline), at: arrival)
            }
        }
    }

    // MARK: Time

    /// When `tick` has something to do, should nothing else come before.
    mutating func nextTick() -> Timestamp? {
        let arrival = self.outlook.nextArrivalDeadline
        guard let tick = self.sensing.nextTick(motion: self.outlook.nextMotionDeadline) else { return arrival }
        return arrival.map { min($0, tick) } ?? tick
    }

    /// Runs the deadlines that have come although no sample did.
    mutating func tick(at arrival: Timestamp) {
        if let deadline = self.outlook.nextArrivalDeadline, deadline <= arrival {
            self.give(.patience(false), at: arrival)
        }
        for stream in self.sensing.indices {
            self.sensing.tick(stream, at: arrival)
            self.decide(stream, at: arrival)
        }
        let time = arrival - self.sensing.held
        self.release(upTo: time, at: arrival)
        self.tell(.motion(time), at: arrival)
    }

    /// Gives back memory that was needed for those who have gone.
    mutating func shrink() {
        self.sensing.shrink()
        self.arbiter.shrink()
    }

    // MARK: What happened

    /// From now on every input is kept with what came of it, until somebody takes that.
    mutating func keepSteps() { self.steps = [] }

    /// There is something to take.
    var hasSteps: Bool { self.steps?.isEmpty == false }

    /// Takes what the arbiter was given and what it decided, since the last time.
    mutating func takeSteps() -> [ArbiterStep] {
        guard let steps = self.steps else { return [] }
        self.steps = []
        return steps
    }
}
