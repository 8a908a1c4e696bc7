import Arbitration
package import Motion
package import Scenarios

/// What a broker writes down while somebody asked for it: what its arbiter was given, and what it decided.
package struct Recording: Sendable {
    private var inputs: ScenarioRecorder?
    private var log: DecisionLog?
    private var decisions = ""
    /// What the policy that is about to be in force was read from.
    var files: [Scenario.File] = []

    init(inputs: ScenarioRecorder?, log: DecisionLog?) {
        self.inputs = inputs
        self.log = log
    }

    mutating func add(
        _ input: ArbiterInput, at arrival: Timestamp, answers: [(detector: DetectorID, lastTrue: Timestamp?)],
        wasIdle: Bool
    ) {
        self.inputs?.add(input, at: arrival, answers: answers, wasIdle: wasIdle, files: self.files)
    }

    mutating func add(_ decision: ArbiterAction, at arrival: Timestamp, name: (AppHandle) -> AppID?) {
        guard let entry = self.log?.entry(decision, at: arrival, name: name) else { return }
        self.decisions += "\(entry)\n"
    }

    mutating func take() -> (inputs: String, decisions: String) {
        defer { self.decisions = "" }
        return (self.inputs?.takeText() ?? "", self.decisions)
    }

    var failure: String? { self.inputs?.failure }
}

extension BrokerCore {
    /// Begins to write down. Nobody may have registered yet, or the scenario would lack what came before.
    ///
    /// - Parameters:
    ///   - files: what the policy in force was read from; none: it is the built-in one.
    ///   - arrival: the time now, from which all times count.
    package mutating func record(
        inputs: Bool, decisions: Bool, files: [Scenario.File], at arrival: Timestamp
    ) {
        guard inputs || decisions, self.apps.isEmpty else { return }
        let epoch = self.arbiter.lastEpoch
        self.recording = Recording(
            inputs: inputs ? ScenarioRecorder(files: files, origin: arrival, epoch: epoch) : nil,
            log: decisions ? DecisionLog(origin: arrival, epoch: epoch) : nil)
    }

    package var isRecording: Bool { self.recording != nil }

    /// What was written down since the last time: lines of a scenario, and of the decision log.
    package mutating func takeRecord() -> (inputs: String, decisions: String) {
        self.recording?.take() ?? ("", "")
    }

    /// Why inputs are not written down any more.
    package var recordingFailure: String? { self.recording?.failure }
}
