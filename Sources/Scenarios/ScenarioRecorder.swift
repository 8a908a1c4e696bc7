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
    /// Motion that nothing came of; told with the next input.
    private var pending: (arrival: Timestamp, motion: Timestamp)?
    /// Why nothing is written any more.
    package private(set) var failure: String?

    private struct App: Sendable {
        var id: AppID
        /// What its activities were for.
        var modes: [ActivityID: BackgroundMode] = [:]
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
        self.flushPending()
        for answer in answers where self.detectors[answer.detector].map({ $0.lastTrue != answer.lastTrue }) ?? false {
            guard let detector = self.detectors[answer.detector], let app = self.apps[detector.app] else { continue }
            self.detectors[answer.detector]?.lastTrue = answer.lastTrue
            self.write([.lastTrue(app.id, detector.name, answer.lastTrue.map { $0 - self.origin })], at: arrival)
        }
        let events = self.events(of: input, at: arrival, files)
        // Somebody unknown did something: time has passed all the same.
        self.write(events.isEmpty ? [.end] : events, at: arrival)
    }

    private mutating func flushPending() {
        guard let pending = self.pending else { return }
        self.pending = nil
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
        case .hit(_, _, _, let lasting, let sample, _, _): return fits(lasting) && fits(sample)
        case .motion(let time), .rewind(let time): return fits(time)
        case .lastTrue(_, _, let time): return fits(time)
        case .detector(_, let facts): return fits(facts.rest) && facts.rest >= .zero
        case .assertion(_, .begin(_, let warning, _)): return fits(warning) && warning >= .zero
        case .app, .back, .away, .removeDetector, .available, .state, .foreground, .frozen, .playing, .activity,
            .assertion(_, .end),
            .assertion(_, .renew), .task, .locked, .sleep, .power, .clock, .answer, .launched, .leave, .policy,
            .patience, .end:
            return true
        case .launch(_, _, _, let lasting, _): return fits(lasting) && lasting >= .zero
        }
    }

    // MARK: Inputs

    private mutating func events(
        of input: ArbiterInput, at arrival: Timestamp, _ files: [Scenario.File]
    ) -> [Scenario.Event] {
        switch input {
        case .app(let app, let id, let entrance):
            self.apps[app] = App(id: id)
            return [.app(id, entrance)]
        case .back(let app, let entrance): return self.apps[app].map { [.back($0.id, entrance)] } ?? []
        case .away(let app): return self.apps[app].map { [.away($0.id)] } ?? []
        case .told(let app, let state): return self.apps[app].map { [.state($0.id, state)] } ?? []
        case .foreground(let report, _): return [.foreground(report)]
        case .frozen(let apps): return [.frozen(Set(apps.keys))]
        case .playing(let apps): return [.playing(apps)]
        case .task(let app, let step): return self.apps[app].map { [.task($0.id, step)] } ?? []
        case .sleep(let begins): return [.sleep(begins)]
        case .beginAssertion(let app, let request):
            let step = Scenario.AssertionStep.begin(
                name: request.name, warning: request.warning, number: request.id.number)
            return self.apps[app].map { [.assertion($0.id, step)] } ?? []
        case .endAssertion(let app, let id):
            return self.apps[app].map { [.assertion($0.id, .end(name: nil, number: id.number))] } ?? []
        case .beginActivity(let app, let id, let mode, let session):
            self.apps[app]?.modes[id] = mode
            return self.apps[app].map {
                [.activity($0.id, mode, isRunning: true, number: id.number, session: session)]
            } ?? []
        case .endActivity(let app, let id):
            // What never began ends nothing.
            guard let owner = self.apps[app], let mode = owner.modes[id] else { return [] }
            self.apps[app]?.modes[id] = nil
            return [.activity(owner.id, mode, isRunning: false, number: id.number)]
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
        case .rewind(let time): return [.rewind(time - self.origin)]
        case .patience(let begins): return [.patience(begins)]
        case .answer(let app, let epoch, let answer):
            guard let owner = self.apps[app] else { return [] }
            return [.answer(owner.id, answer, epoch: epoch &- self.epoch)]
        case .launch(let request):
            let lasting = max(.zero, request.ends - arrival)
            return [
                .launch(
                    request.app, request.reason, strength: request.strength, lasting: lasting, user: request.user)
            ]
        case .launched(let app, let number, let result): return [.launched(app, result, number: number)]
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
            return .hit(app.id, detector.name, peak: hit.peak, sample: sample, isClipped: hit.isClipped, note: hit.note)
        }
        // What nobody's detector found is motion all the same.
        guard events.isEmpty, let last = hits.last else { return events }
        return [.motion(last.time - self.origin)]
    }

    private static func changes(from old: DeviceFacts, to new: DeviceFacts) -> [Scenario.Event] {
        var events: [Scenario.Event] = []
        if old.isLocked != new.isLocked { events.append(.locked(new.isLocked)) }
        if old.power != new.power { events.append(.power(new.power)) }
        if old.minuteOfWeek != new.minuteOfWeek { events.append(.clock(new.minuteOfWeek)) }
        return events.isEmpty ? [.locked(new.isLocked)] : events
    }
}
