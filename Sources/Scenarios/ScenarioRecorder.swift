package import Arbitration
package import Motion

/// Writes down every input of an arbiter, so that a scenario gives the same decisions again.
///
/// Nothing in it differs from run to run but what happened: apps and detectors stand by name, times count from the beginning,
/// epochs from the first one.
package struct ScenarioRecorder: Sendable {
    /// What was written since somebody took it. Ends with a whole line, and so with a whole input.
    private var text = ""
    /// What times count from.
    private let origin: Timestamp
    /// The last epoch before the first one.
    private let epoch: UInt64
    private var apps: [AppHandle: App] = [:]
    private var detectors: [DetectorID: Detector] = [:]
    private var device = DeviceFacts()
    /// Motion that nothing came of; told with the next input, as far as that does not say it itself.
    private var pending: (arrival: Timestamp, motion: Timestamp)?
    /// Why nothing is written any more.
    package private(set) var failure: String?

    private struct App: Sendable {
        var id: AppID
        var facts: AppFacts
    }

    private struct Detector: Sendable {
        var app: AppHandle
        var name: String
        var lastTrue: Timestamp?
    }

    /// - Parameters:
    ///   - files: The policy that is in force; none: the built-in one is.
    ///   - origin: The time now. Nothing arrives earlier.
    ///   - epoch: The last epoch that was given out.
    package init(files: [Scenario.File], origin: Timestamp, epoch: UInt64) {
        self.origin = origin
        self.epoch = epoch
        self.text = Scenario.recordingHeader + "\n"
        self.write(Self.events(of: files), at: origin)
    }

    /// What was written since the last time.
    package mutating func takeText() -> String {
        defer { self.text = "" }
        return self.text
    }

    /// Writes an input down, once it was taken.
    ///
    /// - Parameters:
    ///   - answers: What the arbiter was told about conditions meanwhile.
    ///   - wasIdle: Whether nothing fell due up to the time and the motion of this input.
    ///   - files: With a policy: what it was read from; none: it is the built-in one.
    package mutating func add(
        _ input: ArbiterInput, at arrival: Timestamp, answers: [(detector: DetectorID, lastTrue: Timestamp?)],
        wasIdle: Bool, files: [Scenario.File] = []
    ) {
        guard self.failure == nil else { return }
        if case .motion(let time) = input, wasIdle, answers.isEmpty {
            self.pending = (arrival, max(self.pending?.motion ?? time, time))
            return
        }
        self.flushPending(before: input)
        for answer in answers where self.detectors[answer.detector].map({ $0.lastTrue != answer.lastTrue }) ?? false {
            guard let detector = self.detectors[answer.detector], let app = self.apps[detector.app] else { continue }
            self.detectors[answer.detector]?.lastTrue = answer.lastTrue
            self.write([.lastTrue(app.id, detector.name, answer.lastTrue.map { $0 - self.origin })], at: arrival)
        }
        let events = self.events(of: input, at: arrival, files)
        // Somebody unknown did something: time has passed all the same.
        self.write(events.isEmpty ? [.end] : events, at: arrival)
    }

    /// Hits bring their own motion.
    private mutating func flushPending(before input: ArbiterInput) {
        guard let pending = self.pending else { return }
        self.pending = nil
        if case .hits(let hits) = input, let first = hits.first, first.time >= pending.motion { return }
        self.write([.motion(pending.motion - self.origin)], at: pending.arrival)
    }

    // MARK: Writing

    /// Writes the parts of one input.
    private mutating func write(_ events: [Scenario.Event], at arrival: Timestamp) {
        let time = arrival - self.origin
        guard time >= .zero, time <= Scenario.longest, events.allSatisfy({ Self.canBeSaid($0) }) else {
            self.failure = "a time is out of all bounds"
            return
        }
        for (index, event) in events.enumerated() {
            self.text += Scenario.Step(time, event, isJoined: index > 0).description
        }
    }

    /// Whether all times lie where a scenario may name them.
    private static func canBeSaid(_ event: Scenario.Event) -> Bool {
        func fits(_ span: TimeSpan?) -> Bool {
            span.map { $0.microseconds.magnitude <= Scenario.longest.microseconds.magnitude } ?? true
        }
        switch event {
        case .hit(_, _, _, let lasting, let sample, _): return fits(lasting) && fits(sample)
        case .motion(let time): return fits(time)
        case .lastTrue(_, _, let time), .used(_, let time): return fits(time)
        case .detector(_, let facts): return fits(facts.rest) && facts.rest >= .zero
        case .app, .removeDetector, .available, .state, .activity, .assertion, .grants, .proof, .proven, .locked,
            .power, .clock, .answer, .leave, .policy, .end:
            return true
        }
    }

    // MARK: Inputs

    private mutating func events(
        of input: ArbiterInput, at arrival: Timestamp, _ files: [Scenario.File]
    ) -> [Scenario.Event] {
        switch input {
        case .app(let app, let id, let facts):
            self.apps[app] = App(id: id, facts: facts)
            let assumed = AppFacts(state: facts.state, proof: facts.proof)
            return [.app(id, state: facts.state, proof: facts.proof)] + self.changes(of: id, from: assumed, to: facts)
        case .facts(let app, let facts):
            guard let old = self.apps[app] else { return [] }
            self.apps[app]?.facts = facts
            let changes = self.changes(of: old.id, from: old.facts, to: facts)
            return changes.isEmpty ? [.state(old.id, facts.state)] : changes
        case .leave(let app):
            guard let old = self.apps.removeValue(forKey: app) else { return [] }
            self.detectors = self.detectors.filter { $0.value.app != app }
            return [.leave(old.id)]
        case .detector(let detector, let app, let facts):
            guard let owner = self.apps[app] else { return [] }
            self.detectors[detector] = Detector(app: app, name: facts.name)
            return [.detector(owner.id, facts)]
        case .removeDetector(let detector):
            guard let old = self.detectors.removeValue(forKey: detector), let app = self.apps[old.app] else {
                return []
            }
            return [.removeDetector(app.id, old.name)]
        case .available(let detector, let isAvailable):
            guard let old = self.detectors[detector], let app = self.apps[old.app] else { return [] }
            return [.available(app.id, old.name, isAvailable)]
        case .device(let device):
            defer { self.device = device }
            return Self.changes(from: self.device, to: device)
        case .hits(let hits): return self.events(of: hits, at: arrival)
        case .motion(let time): return [.motion(time - self.origin)]
        case .answer(let app, let epoch, let answer):
            guard let owner = self.apps[app] else { return [] }
            return [.answer(owner.id, answer, epoch: epoch &- self.epoch)]
        case .policy: return Self.events(of: files)
        }
    }

    private static func events(of files: [Scenario.File]) -> [Scenario.Event] {
        files.isEmpty ? [.policy(nil)] : files.map { .policy($0) }
    }

    private func events(of hits: [Hit], at arrival: Timestamp) -> [Scenario.Event] {
        let events = hits.compactMap { hit -> Scenario.Event? in
            guard let detector = self.detectors[hit.detector], let app = self.apps[detector.app] else { return nil }
            let sample = hit.time == arrival ? nil : hit.time - self.origin
            return .hit(app.id, detector.name, peak: hit.peak, sample: sample, isClipped: hit.isClipped)
        }
        // What nobody's detector found is motion all the same.
        guard events.isEmpty, let last = hits.last else { return events }
        return [.motion(last.time - self.origin)]
    }

    private func changes(of id: AppID, from old: AppFacts, to new: AppFacts) -> [Scenario.Event] {
        var events: [Scenario.Event] = []
        if old.state != new.state { events.append(.state(id, new.state)) }
        if old.proof != new.proof { events.append(.proof(id, new.proof)) }
        if old.isProvenEnough != new.isProvenEnough { events.append(.proven(id, new.isProvenEnough)) }
        if old.grants != new.grants { events.append(.grants(id, new.grants)) }
        for mode in BackgroundMode.allCases where old.activities.contains(mode) != new.activities.contains(mode) {
            events.append(.activity(id, mode, isRunning: new.activities.contains(mode)))
        }
        if old.hasAssertion != new.hasAssertion { events.append(.assertion(id, isHeld: new.hasAssertion)) }
        if old.lastUsed != new.lastUsed {
            let isNever = new.lastUsed == Timestamp(microseconds: .min)
            events.append(.used(id, isNever ? nil : new.lastUsed - self.origin))
        }
        return events
    }

    private static func changes(from old: DeviceFacts, to new: DeviceFacts) -> [Scenario.Event] {
        var events: [Scenario.Event] = []
        if old.isLocked != new.isLocked { events.append(.locked(new.isLocked)) }
        if old.power != new.power { events.append(.power(new.power)) }
        if old.minuteOfWeek != new.minuteOfWeek { events.append(.clock(new.minuteOfWeek)) }
        return events.isEmpty ? [.locked(new.isLocked)] : events
    }
}
