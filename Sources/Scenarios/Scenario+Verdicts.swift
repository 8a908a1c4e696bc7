import Arbitration
import Motion

extension Scenario {
    /// What led to verdicts, as far as they tell: for each its hit, with the app and the device as they were then, and the
    /// answer that it tells of, as soon as the app is asked. Beside it the verdicts in the order of the hits.
    ///
    /// What verdicts do not tell all of is left out. Further hits of a motion have no verdict of their own, so a motion is over here when its first hits are.
    package static func leading(to past: [PastVerdict]) -> (scenario: Scenario, hits: [PastVerdict]) {
        var builder = Builder(past)
        builder.build()
        return (Scenario(builder.steps), builder.hits)
    }

    private struct Builder {
        private struct Known {
            var facts: AppFacts
            var detectors: [String: DetectorFacts] = [:]
        }

        private struct Fired: Hashable {
            var app: AppID
            var detector: String
            var time: TimeSpan
        }

        private let past: [PastVerdict]
        private(set) var steps: [Step] = []
        private(set) var hits: [PastVerdict] = []
        /// What apps did about their events, the next one last.
        private var deeds: [Step] = []
        private var apps: [AppID: Known] = [:]
        private var device = DeviceFacts()
        private var run: Int64?
        private var fired: [Fired: Int] = [:]

        init(_ past: [PastVerdict]) {
            self.past = past.filter(\.tellsAll).sorted { ($0.hit, $0.verdict.epoch) < ($1.hit, $1.verdict.epoch) }
            self.deeds = Self.deeds(of: self.past).sorted { $0.time > $1.time }
        }

        mutating func build() {
            var rest = self.past[...]
            while let time = rest.first?.hit {
                let sample = rest.prefix { $0.hit == time }
                rest = rest.dropFirst(sample.count)
                self.passDeeds(before: time)
                for past in sample {
                    self.begin(past.run, at: time)
                    self.set(past.verdict, at: time)
                }
                // Those of one sample stand together.
                for past in sample { self.add(past, at: time) }
            }
            self.passDeeds(before: Scenario.longest)
        }

        private mutating func add(_ event: Event, at time: TimeSpan) { self.steps.append(Step(time, event)) }

        private mutating func add(_ past: PastVerdict, at time: TimeSpan) {
            let verdict = past.verdict
            let hit = Fired(app: verdict.id, detector: verdict.detector, time: time)
            // Whoever got the event of an owner that died has two.
            if let index = self.fired[hit] {
                if verdict.isDelivered { self.hits[index] = past }
                return
            }
            self.fired[hit] = self.hits.count
            self.hits.append(past)
            self.add(.hit(verdict.id, verdict.detector, peak: verdict.intensity), at: time)
        }

        private mutating func passDeeds(before time: TimeSpan) {
            while let deed = self.deeds.last, deed.time < time {
                self.steps.append(self.deeds.removeLast())
                if case .state(let id, .some(let state)) = deed.event { self.apps[id]?.facts.state = state }
            }
        }

        /// How often an app may be asked, in case, and how long after it answered.
        private static let answering = (every: TimeSpan.milliseconds(50), for: TimeSpan.milliseconds(1_200))

        /// What an app answered to a motion it answers whenever it is asked, but not about its next motion.
        private static func answers(_ answer: Answer, _ one: PastVerdict, before next: TimeSpan) -> [Step] {
            let end = min(one.made + self.answering.for, next)
            let times = stride(
                from: one.hit.microseconds, to: end.microseconds, by: Int(self.answering.every.microseconds))
            return times.dropFirst().map {
                Step(TimeSpan(microseconds: $0), .answer(one.verdict.id, answer, epoch: nil))
            }
        }

        /// What apps did that shows in verdicts.
        private static func deeds(of past: [PastVerdict]) -> [Step] {
            // When each app's next motion is.
            var nextHits = past.map { _ in Scenario.longest }
            var motions: [AppID: (this: TimeSpan, next: TimeSpan)] = [:]
            for (index, one) in past.enumerated().reversed() {
                let known = motions[one.verdict.id] ?? (Scenario.longest, Scenario.longest)
                let motion = one.hit < known.this ? (this: one.hit, next: known.this) : known
                motions[one.verdict.id] = motion
                nextHits[index] = motion.next
            }
            var owners: [UInt64: Verdict] = [:]
            for one in past where one.verdict.isDelivered { owners[one.verdict.epoch] = one.verdict }
            var deeds: [Step] = []
            var replaced: Set<UInt64> = []
            for (index, one) in past.enumerated() {
                let id = one.verdict.id
                switch one.verdict.reason {
                case .taken: deeds += self.answers(.consume, one, before: nextHits[index])
                case .passed: deeds += self.answers(.pass, one, before: nextHits[index])
                case .left, .gone: deeds.append(Step(one.made, .state(id, .dead)))
                case .wakeQuota where one.verdict.facts.state.canReceive:
                    deeds.append(Step(one.made, .state(id, .dead)))
                case .launchFailed: deeds.append(Step(one.made, .launched(id, .failed(.notStarted), number: nil)))
                case .mismatch, .suspended, .dead, .denied, .noRule, .quota, .wakeQuota, .appCooldown, .groupCooldown,
                    .outranked, .late, .consumed, .budget, .interrupted, .ducked, .delayed, .rejected, .silenced, .sent,
                    .woken, .stored, .silent, .queueFull, .expired, .removed, .acknowledged, .unkept:
                    break
                }
                // The event of an owner that died, or could not be launched, went to others.
                if let old = one.verdict.contest?.inherits, let owner = owners[old], replaced.insert(old).inserted {
                    let isLaunched = owner.reason == .woken
                    deeds.append(
                        Step(
                            one.made,
                            isLaunched
                                ? .launched(owner.id, .failed(.notStarted), number: nil) : .state(owner.id, .dead)))
                }
            }
            return deeds
        }

        // MARK: How things were

        /// All apps leave with their broker; those that will be heard of under the next one are there from the start, because
        /// a group waits for whoever can still fire.
        private mutating func begin(_ run: Int64, at time: TimeSpan) {
            guard self.run != run else { return }
            self.run = run
            for id in self.apps.keys.sorted() { self.add(.leave(id), at: time) }
            self.apps = [:]
            for past in self.past where past.run == run {
                let verdict = past.verdict
                if self.apps[verdict.id] == nil { self.enter(verdict.id, verdict.facts, at: time) }
                if self.apps[verdict.id]?.detectors[verdict.detector] == nil { self.install(verdict, at: time) }
            }
        }

        private mutating func enter(_ id: AppID, _ facts: AppFacts, at time: TimeSpan) {
            self.apps[id] = Known(
                facts: AppFacts(state: facts.state, proof: facts.proof, isProvenEnough: facts.isProvenEnough))
            let entrance = AppEntrance(proof: facts.proof, isProvenEnough: facts.isProvenEnough, told: facts.state)
            self.add(.app(id, entrance), at: time)
        }

        private mutating func install(_ verdict: Verdict, at time: TimeSpan) {
            let detector = DetectorFacts(
                name: verdict.detector, preset: verdict.preset, threshold: verdict.threshold,
                dimension: verdict.dimension, rest: .zero)
            guard self.apps[verdict.id]?.detectors[verdict.detector] != detector else { return }
            self.apps[verdict.id]?.detectors[verdict.detector] = detector
            self.add(.detector(verdict.id, detector), at: time)
        }

        private mutating func set(_ verdict: Verdict, at time: TimeSpan) {
            self.set(verdict.device, at: time)
            let (id, facts) = (verdict.id, verdict.facts)
            if let old = self.apps[id]?.facts, (old.proof, old.isProvenEnough) != (facts.proof, facts.isProvenEnough) {
                // That does not change while an app is there.
                self.apps[id] = nil
                self.add(.leave(id), at: time)
            }
            if self.apps[id] == nil { self.enter(id, facts, at: time) }
            self.update(id, to: facts, at: time)
            self.install(verdict, at: time)
        }

        private mutating func update(_ id: AppID, to facts: AppFacts, at time: TimeSpan) {
            guard let old = self.apps[id]?.facts else { return }
            if old.state != facts.state { self.add(.state(id, facts.state), at: time) }
            for mode in old.activities.subtracting(facts.activities).elements {
                self.add(.activity(id, mode, isRunning: false), at: time)
            }
            for mode in facts.activities.subtracting(old.activities).elements {
                self.add(.activity(id, mode, isRunning: true), at: time)
            }
            // One that is still there may be another one by now: its time begins anew.
            if old.hasAssertion { self.add(.assertion(id, .end(name: nil)), at: time) }
            if facts.hasAssertion { self.add(.assertion(id, .begin(name: nil)), at: time) }
            self.apps[id]?.facts = facts
        }

        private mutating func set(_ device: DeviceFacts, at time: TimeSpan) {
            if device.isLocked != self.device.isLocked { self.add(.locked(device.isLocked), at: time) }
            if device.power != self.device.power { self.add(.power(device.power), at: time) }
            if device.minuteOfWeek != self.device.minuteOfWeek { self.add(.clock(device.minuteOfWeek), at: time) }
            self.device = device
        }
    }
}
