import Arbitration
import Motion
import Scenarios

/// Hands inputs to the arbiter one by one, keeps what it decides until that is performed, and has both written down while
/// somebody asked for it.
struct Decisions {
    /// Who gets the events. Its apps and detectors have our numbers.
    private(set) var arbiter: Arbiter
    /// What it decided and nobody performed yet, from `performed` on.
    private var actions: [ArbiterAction] = []
    private var performed = 0
    private var recording: Recording?

    /// A flood of decisions leaves no more room behind than ordinary ones need.
    private static let spareDecisions = 1_024

    init(policy: Policy, epoch: UInt64) {
        self.arbiter = Arbiter(policy: policy, epoch: epoch)
    }

    /// Takes an input. What is decided by that waits for `next`.
    ///
    /// - Parameter memory: What of the past the arbiter may ask for.
    mutating func take(_ input: ArbiterInput, at arrival: Timestamp, remembering memory: Sensing.Memory) {
        if self.recording != nil { return self.takeAndRecord(input, at: arrival, memory) }
        self.arbiter.take(input, at: arrival, lastTrue: { memory.lastTrue($0) }, into: &self.actions)
    }

    private mutating func takeAndRecord(_ input: ArbiterInput, at arrival: Timestamp, _ memory: Sensing.Memory) {
        let wasIdle = if case .motion(let time) = input { self.arbiter.isIdle(until: time, at: arrival) } else { false }
        var answers: [(detector: DetectorID, lastTrue: Timestamp?)] = []
        let first = self.actions.count
        self.arbiter.take(
            input, at: arrival,
            lastTrue: { detector in
                let time = memory.lastTrue(detector)
                answers.append((detector, time))
                return time
            }, into: &self.actions)
        self.recording?.add(input, at: arrival, answers: answers, wasIdle: wasIdle)
        for decision in self.actions[first...] { self.recording?.add(decision, at: arrival) }
    }

    /// The next decision to perform. What is performed may lead to more.
    mutating func next() -> ArbiterAction? {
        guard self.performed < self.actions.count else {
            self.actions.removeAll(keepingCapacity: self.actions.capacity <= Self.spareDecisions)
            self.performed = 0
            return nil
        }
        defer { self.performed += 1 }
        return self.actions[self.performed]
    }

    /// What it answered to the input at hand, which asked for something.
    var refusal: LifeRefusal? {
        var refusal: LifeRefusal?
        for decision in self.actions[self.performed...] {
            switch decision {
            case .assertion(_, _, let answer, _), .activity(_, _, let answer): refusal = answer
            case .deliver, .verdict, .repeated, .life, .session, .launch: break
            }
        }
        return refusal
    }

    /// Gives out no epoch up to this one any more: others may have.
    mutating func skipEpochs(upTo epoch: UInt64) { self.arbiter.skipEpochs(upTo: epoch) }

    mutating func shrink() { self.arbiter.shrink() }

    // MARK: Writing down

    var isRecording: Bool { self.recording != nil }

    /// Begins to write down.
    ///
    /// - Parameter files: What the policy in force was read from.
    mutating func record(inputs: Bool, decisions: Bool, files: [Scenario.File], at arrival: Timestamp) {
        let epoch = self.arbiter.lastEpoch
        self.recording = Recording(
            inputs: inputs ? ScenarioRecorder(files: files, origin: arrival, epoch: epoch) : nil,
            log: decisions ? DecisionLog(origin: arrival, epoch: epoch) : nil)
    }

    /// What the policy that is about to be in force was read from.
    mutating func recordFiles(_ files: [Scenario.File]) { self.recording?.files = files }

    /// What was written down since the last time: lines of a scenario, and of the decision log.
    mutating func takeRecord() -> (inputs: String, decisions: String) { self.recording?.take() ?? ("", "") }

    /// Why inputs are not written down any more.
    var recordingFailure: String? { self.recording?.failure }
}
