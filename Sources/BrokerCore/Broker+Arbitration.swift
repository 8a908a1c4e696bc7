package import Arbitration
import Detection
package import Motion
package import Scenarios

extension Broker {
    // MARK: Policy

    /// Counts the policies, from 1; events name the one that decided them.
    package var policyGeneration: UInt64 { self.decisions.arbiter.generation }

    /// Replaces the policy. What is open is decided as it was begun.
    ///
    /// - Parameters:
    ///   - prepared: What was looked up for it while the old one decided.
    ///   - files: What it was read from, for who records it; none: it is the built-in one.
    package mutating func swap(
        _ policy: Policy, prepared: PolicySuccession? = nil, from files: [Scenario.File] = [], at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.decisions.recordFiles(files)
        self.tell(.policy(policy, prepared: prepared), at: arrival)
        self.limitMailboxes(at: arrival, &actions)
        self.perform(&actions)
        self.work.review(self.taskSettings)
    }

    /// The rules in force.
    package var rules: [Rule] { self.decisions.arbiter.policy.rules }

    /// Looks up what a policy that is to come says to the detectors there are; false when nothing is left to look up.
    package func prepare(_ succession: inout PolicySuccession) -> Bool { succession.step(self.decisions.arbiter) }

    // MARK: Epochs

    /// The last epoch that was given out.
    package var lastEpoch: UInt64 { self.decisions.arbiter.lastEpoch }

    /// Gives out none up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) { self.decisions.skipEpochs(upTo: epoch) }

    // MARK: Samples

    /// Samples arrived; the columns are lent, so that the hot path copies nothing.
    package mutating func samples(
        _ sensor: String, first: UInt64, times: Span<Int64>, values: Span<Double>, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        guard let (stream, isHeardAgain) = self.sensing.begin(sensor, first: first, times, at: arrival) else { return }
        if isHeardAgain { self.tellNews(of: sensor, at: arrival, &actions) }
        if self.decisions.arbiter.policy.groups.isEmpty {
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
        if let time = self.sensing.horizon(of: stream, self.decisions.arbiter, at: arrival) {
            self.release(upTo: time, at: arrival)
            self.tell(.motion(time), at: arrival)
        }
        self.perform(&actions)
    }

    /// Runs the groups' deadlines that come at or before a sample, with the hits up to it.
    private mutating func pass(to sample: Timestamp, of stream: Int, at arrival: Timestamp) {
        // Nearly every sample ends here, and the horizon costs a look at every sensor.
        guard let deadline = self.decisions.arbiter.nextMotionDeadline, deadline <= sample else { return }
        let time = min(sample, self.sensing.horizon(besides: stream, self.decisions.arbiter, at: arrival))
        guard deadline <= time, self.sensing.isNext(sample, of: stream, at: arrival) else { return }
        self.sensing.closeBuckets(of: stream, before: sample)
        self.decide(stream, at: arrival)
        self.release(upTo: time, at: arrival)
        self.tell(.motion(time), at: arrival)
    }

    // MARK: Time

    /// When `tick` must be called, should no other input come before; `nil` while nothing waits for time alone.
    package var nextTick: Timestamp? {
        var earliest = self.decisions.arbiter.nextArrivalDeadline
        if let tick = self.sensing.nextTick(motion: self.decisions.arbiter.nextMotionDeadline) {
            earliest = min(earliest ?? tick, tick)
        }
        let due = self.work.deadline { self.decisions.arbiter.arrival(of: $0) }
        if let due { earliest = min(earliest ?? due, due) }
        if let deadline = self.mailboxes.deadline { earliest = min(earliest ?? deadline, deadline) }
        return earliest
    }

    /// Runs the deadlines that have come although no sample did.
    package mutating func tick(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for stream in self.sensing.indices {
            self.sensing.tick(stream, at: arrival)
            self.decide(stream, at: arrival)
        }
        let time = arrival - self.sensing.held
        self.release(upTo: time, at: arrival)
        self.tell(.motion(time), at: arrival)
        self.perform(&actions)
        self.retryClaims(at: arrival, &actions)
        self.passTasks(at: arrival, &actions)
    }

    // MARK: Deciding

    /// Hands the hits of a stream to the arbiter, or lets them wait.
    private mutating func decide(_ stream: Int, at arrival: Timestamp) {
        let hits = self.sensing.takeHits(of: stream)
        guard let last = hits.last?.time else { return }
        for hit in hits {
            guard let owner = self.sensing.owner(of: hit.detector) else { continue }
            self.registry.hit(owner.app)
        }
        let horizon = self.sensing.horizon(besides: stream, self.decisions.arbiter, at: arrival)
        if self.sensing.isFree(until: last, self.decisions.arbiter, horizon) {
            self.tell(.hits(hits), at: arrival)
        } else {
            let hasRoom = self.sensing.wait(hits)
            self.release(upTo: hasRoom ? horizon : nil, at: arrival)
        }
        self.sensing.giveBack(hits, of: stream)
    }

    /// Gives the arbiter what waits, up to the first deadline that a slower sensor may still have a say in; all of it without a
    /// time.
    mutating func release(upTo time: Timestamp?, at arrival: Timestamp) {
        while let next = self.sensing.release(upTo: time, deadline: self.decisions.arbiter.nextMotionDeadline) {
            switch next {
            case .hits(let hits): self.tell(.hits(hits), at: arrival)
            case .motion(let deadline): self.tell(.motion(deadline), at: arrival)
            }
        }
    }

    /// Gives the arbiter an input. What it decides waits for `perform`.
    mutating func tell(_ input: ArbiterInput, at arrival: Timestamp) {
        switch input {
        case .detector, .policy: self.sensing.audiencesChanged()
        case .app, .back, .away, .told, .foreground, .sleep, .beginAssertion, .endAssertion, .beginActivity,
            .endActivity, .leave, .task, .removeDetector, .available, .device, .hits, .motion, .rewind, .answer,
            .launch, .launched:
            break
        }
        self.decisions.take(input, at: arrival, remembering: self.sensing.memory)
    }

    /// Turns what the arbiter decided into actions, and counts it.
    mutating func perform(_ actions: inout [BrokerAction]) {
        while let decision = self.decisions.next() {
            switch decision {
            case .deliver(let delivery): self.deliver(delivery, &actions)
            case .verdict(let verdict): self.keep(verdict, &actions)
            case .repeated(let app, let hit, let epoch, let reason):
                self.registry.count(reason, of: app, epoch: epoch, at: hit.time)
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
        self.tellEarlyEnds(&actions)
        self.pumpMailboxes(at: self.decisions.arbiter.arrivalTime, &actions)
    }

    private mutating func keep(_ verdict: Verdict, _ actions: inout [BrokerAction]) {
        let app = verdict.app
        guard let owner = self.registry.owner(of: app) else { return }
        // An event that it was to be launched for comes to its end below, and is counted with that.
        if verdict.reason != .launchFailed || self.mailboxes[app]?.keeps(epoch: verdict.epoch) != true {
            self.registry.count(verdict.reason, of: app, epoch: verdict.epoch, at: verdict.time)
        }
        let record = VerdictRecord(verdict: verdict, user: owner.user, registration: owner.registration)
        self.records.keep(record)
        actions.append(.keep(record))
        self.tellEarlyEnds(of: app, &actions)
        self.revoke(after: verdict, &actions)
    }

    private mutating func deliver(_ delivery: Delivery, _ actions: inout [BrokerAction]) {
        let now = self.decisions.arbiter.arrivalTime
        // A detector that was removed in the meantime makes no events.
        guard let origin = self.sensing.origin(of: delivery.hit, heardAt: now), self.registry.has(delivery.app) else {
            return
        }
        // Whether it goes or waits is the mailbox's to know, whatever the route.
        let event = self.mailboxes.add(
            delivery, isSimulated: origin.isSimulated, since: origin.start, at: now, &self.mail)
        self.registry.expect(event, for: delivery.app)
        if let event { self.keep(event, of: delivery.app) }
        self.carry(&actions, delivering: delivery.epoch)
    }

    /// Remembers an event, so that it can be asked for by its number.
    private mutating func keep(_ event: Event, of app: AppHandle) {
        guard let id = self.registry.id(of: app), let owner = self.registry.owner(of: app) else { return }
        self.records.keep(event, of: id, owner.user, owner.registration)
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
