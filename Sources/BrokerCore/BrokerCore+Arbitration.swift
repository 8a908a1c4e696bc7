package import Arbitration
import Detection
package import Motion
package import Scenarios

extension BrokerCore {
    // MARK: Policy

    /// Counts the policies, from 1; events name the one that decided them.
    package var policyGeneration: UInt64 { self.arbiter.generation }

    /// Replaces the policy. What is open is decided as it was begun.
    ///
    /// - Parameters:
    ///   - prepared: What was looked up for it while the old one decided.
    ///   - files: What it was read from, for who records it; none: it is the built-in one.
    package mutating func swap(
        _ policy: Policy, prepared: PolicySuccession? = nil, from files: [Scenario.File] = [], at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.recording?.files = files
        self.tell(.policy(policy, prepared: prepared), at: arrival)
        self.limitMailboxes(at: arrival, &actions)
        self.perform(&actions)
        self.reviewTasks()
    }

    /// The rules in force.
    package var rules: [Rule] { self.arbiter.policy.rules }

    /// Looks up what a policy that is to come says to the detectors there are; false when nothing is left to look up.
    package func prepare(_ succession: inout PolicySuccession) -> Bool { succession.step(self.arbiter) }

    // MARK: Epochs

    /// The last epoch that was given out.
    package var lastEpoch: UInt64 { self.arbiter.lastEpoch }

    /// Gives out none up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) { self.arbiter.skipEpochs(upTo: epoch) }

    // MARK: Samples

    /// Samples arrived; the columns are lent, so that the hot path copies nothing.
    package mutating func samples(
        _ sensor: String, first: UInt64, times: Span<Int64>, values: Span<Double>, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        guard let index = self.index(of: sensor) else { return }
        self.streams[index].begin(first: first, count: times.count)
        if self.streams[index].hear(times, at: arrival) { self.tellOutlook(of: index, at: arrival, &actions) }
        if self.arbiter.policy.groups.isEmpty {
            self.streams[index].process(times: times, values: values, at: arrival)
            self.decide(index, at: arrival)
        } else {
            // What falls due before a sample must not know the sample yet, so groups see one at a time.
            let width = self.streams[index].channels.count
            for row in times.indices {
                self.pass(to: Timestamp(microseconds: times[row]), of: index, at: arrival)
                let start = min(row * width, values.count)
                self.streams[index].process(
                    times: times.extracting(row..<row + 1),
                    values: values.extracting(start..<min(start + width, values.count)), at: arrival)
                self.decide(index, at: arrival)
            }
        }
        if let time = self.horizon(of: index, at: arrival) {
            self.release(upTo: time, at: arrival)
            self.tell(.motion(time), at: arrival)
        }
        self.perform(&actions)
    }

    /// Runs the groups' deadlines that come at or before a sample, with the hits up to it.
    private mutating func pass(to sample: Timestamp, of stream: Int, at arrival: Timestamp) {
        // Nearly every sample ends here, and the horizon costs a look at every sensor.
        guard let deadline = self.arbiter.nextMotionDeadline, deadline <= sample else { return }
        let time = min(sample, self.horizon(besides: stream, at: arrival))
        guard deadline <= time, self.streams[stream].isNext(sample, at: arrival) else { return }
        self.streams[stream].closeBuckets(before: sample)
        self.decide(stream, at: arrival)
        self.release(upTo: time, at: arrival)
        self.tell(.motion(time), at: arrival)
    }

    // MARK: Time

    /// When `tick` must be called, should no other input come before; `nil` while nothing waits for time alone.
    package var nextTick: Timestamp? {
        var earliest = self.arbiter.nextArrivalDeadline
        if let deadline = self.arbiter.nextMotionDeadline {
            let tick = deadline + self.held
            earliest = min(earliest ?? tick, tick)
        }
        if let hit = self.waiting.first {
            let tick = hit.time + self.held
            earliest = min(earliest ?? tick, tick)
        }
        for index in self.streams.indices {
            guard let retry = self.streams[index].nextTry else { continue }
            earliest = min(earliest ?? retry, retry)
        }
        if let deadline = self.taskDeadline { earliest = min(earliest ?? deadline, deadline) }
        if let deadline = self.mailboxes.deadline { earliest = min(earliest ?? deadline, deadline) }
        for index in self.streams.indices {
            guard let tick = self.streams[index].nextTick else { continue }
            earliest = min(earliest ?? tick, tick)
        }
        return earliest
    }

    /// Runs the deadlines that have come although no sample did.
    package mutating func tick(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for index in self.streams.indices {
            self.streams[index].tick(at: arrival)
            self.decide(index, at: arrival)
        }
        self.release(upTo: arrival - self.held, at: arrival)
        self.tell(.motion(arrival - self.held), at: arrival)
        self.perform(&actions)
        self.retryClaims(at: arrival, &actions)
        self.passTasks(at: arrival, &actions)
    }

    /// How long after its time a sample of any sensor may still be under way.
    private var held: TimeSpan {
        var longest = SensorStream.underWay
        for index in self.streams.indices { longest = max(longest, self.streams[index].held) }
        return longest
    }

    // MARK: Deciding

    /// Hands the hits of a stream to the arbiter.
    private mutating func decide(_ stream: Int, at arrival: Timestamp) {
        guard !self.streams[stream].hits.isEmpty else { return }
        if !self.leftovers.isEmpty {
            let owners = self.owners
            self.streams[stream].hits.removeAll { owners[Int($0.detector.index)] == nil }
        }
        for hit in self.streams[stream].hits {
            guard let owner = self.owner(of: hit.detector) else { continue }
            self.apps[owner.client]?.hits &+= 1
        }
        self.pass(self.streams[stream].hits, of: stream, at: arrival)
        self.streams[stream].hits.removeAll(keepingCapacity: true)
    }

    /// Gives the arbiter an input. What it decides waits for `perform`.
    mutating func tell(_ input: ArbiterInput, at arrival: Timestamp) {
        switch input {
        case .detector, .policy: self.audiences = nil
        case .app, .back, .away, .told, .foreground, .sleep, .beginAssertion, .endAssertion, .beginActivity,
            .endActivity, .leave, .task, .removeDetector, .available, .device, .hits, .motion, .rewind, .answer,
            .launch, .launched:
            break
        }
        // Lent for the call: while these are held, the streams do not change.
        let (streams, owners) = (self.streams, self.owners)
        if self.recording != nil { return self.tellAndRecord(input, streams, owners, at: arrival) }
        self.arbiter.take(
            input, at: arrival, lastTrue: { Self.lastTrue($0, streams, owners) }, into: &self.decisions)
    }

    private mutating func tellAndRecord(
        _ input: ArbiterInput, _ streams: [SensorStream], _ owners: [DetectorOwner?], at arrival: Timestamp
    ) {
        let wasIdle = if case .motion(let time) = input { self.arbiter.isIdle(until: time, at: arrival) } else { false }
        var answers: [(detector: DetectorID, lastTrue: Timestamp?)] = []
        let first = self.decisions.count
        self.arbiter.take(
            input, at: arrival,
            lastTrue: { detector in
                let time = Self.lastTrue(detector, streams, owners)
                answers.append((detector, time))
                return time
            }, into: &self.decisions)
        self.recording?.add(input, at: arrival, answers: answers, wasIdle: wasIdle)
        for decision in self.decisions[first...] {
            let apps = self.apps
            self.recording?.add(decision, at: arrival) { apps[$0]?.id }
        }
    }

    func owner(of detector: DetectorID) -> DetectorOwner? {
        detector.index < self.owners.count ? self.owners[Int(detector.index)] : nil
    }

    static func lastTrue(
        _ detector: DetectorID, _ streams: [SensorStream], _ owners: [DetectorOwner?]
    ) -> Timestamp? {
        let index = Int(detector.index)
        guard index < owners.count, let owner = owners[index] else { return nil }
        return streams.first { $0.name == owner.sensor }?.engine.status(of: detector)?.lastTrue
    }

    /// Turns what the arbiter decided into actions, and counts it.
    mutating func perform(_ actions: inout [BrokerAction]) {
        // What is performed may lead to more, which may be performed by then.
        while self.performed < self.decisions.count {
            let decision = self.decisions[self.performed]
            self.performed += 1
            switch decision {
            case .deliver(let delivery): self.deliver(delivery, &actions)
            case .verdict(let verdict): self.keep(verdict, &actions)
            case .repeated(let app, let hit, let epoch, let reason):
                self.apps[app]?.count(reason, epoch: epoch, at: hit.time)
            case .life(let app, let effect):
                actions.append(.life(app, effect))
                if case .changed(let change) = effect {
                    self.stateChanged(of: app, change, &actions)
                    if change.to == .foreground { self.opened(app, &actions) }
                }
            case .session(let effect): actions.append(.session(effect.key.app, effect))
            case .launch(let effect): self.follow(effect, &actions)
            case .assertion, .activity: break
            }
        }
        // A flood of them leaves no more room behind than ordinary ones need.
        self.decisions.removeAll(keepingCapacity: self.decisions.capacity <= Self.spareActions)
        self.performed = 0
        self.pumpMailboxes(at: self.arbiter.arrivalTime, &actions)
    }

    private mutating func keep(_ verdict: Verdict, _ actions: inout [BrokerAction]) {
        let app = verdict.app
        // Not a copy of the app, which would have to be made anew when it counts.
        guard let user = self.apps[app]?.user, let registration = self.apps[app]?.registration
        else { return }
        // An event that it was to be launched for comes to its end below, and is counted with that.
        if verdict.reason != .launchFailed || self.mailboxes[app]?.keeps(epoch: verdict.epoch) != true {
            self.apps[app]?.count(verdict.reason, epoch: verdict.epoch, at: verdict.time)
        }
        let record = VerdictRecord(verdict: verdict, user: user, registration: registration)
        self.recent.keep(record)
        actions.append(.keep(record))
        self.revoke(after: verdict, &actions)
    }

    private mutating func deliver(_ delivery: Delivery, _ actions: inout [BrokerAction]) {
        // A detector that was removed in the meantime makes no events.
        guard let owner = self.owner(of: delivery.hit.detector), self.apps.has(delivery.app) else { return }
        let stream = self.index(of: owner.sensor)
        let isSimulated = stream.flatMap { self.streams[$0].description?.isSimulated } ?? false
        let now = self.arbiter.arrivalTime
        let start = stream.map { self.streams[$0].happened(delivery.hit.time, heardAt: now) } ?? now
        // Whether it goes or waits is the mailbox's to know, whatever the route.
        let event = self.mailboxes.add(delivery, isSimulated: isSimulated, since: start, at: now, &self.mail)
        self.apps[delivery.app]?.lastEvent = event
        if let event { self.keep(event, of: delivery.app) }
        self.carry(&actions)
    }

    /// Remembers an event, so that it can be asked for by its number.
    private mutating func keep(_ event: Event, of app: AppHandle) {
        guard let id = self.apps[app]?.id, let user = self.apps[app]?.user,
            let registration = self.apps[app]?.registration
        else { return }
        self.recent.keep(event, of: id, user, registration)
    }

    /// Who lost an event that it had been offered must not act on it later.
    private mutating func revoke(after verdict: Verdict, _ actions: inout [BrokerAction]) {
        if verdict.reason == .silent || verdict.reason == .passed || verdict.reason == .left
            || verdict.reason == .launchFailed
        {
            self.revoke(verdict.epoch, from: verdict.app, &actions)
        }
        if let inherited = verdict.contest?.inherits, verdict.isDelivered { self.revoke(inherited, &actions) }
    }
}
