import Arbitration
import Motion
import Scenarios

/// Writes down what an arbiter is given, and what it decides, while somebody asked for it.
struct Recording: Sendable {
    private var inputs: ScenarioRecorder?
    private var log: DecisionLog?
    private var decisions = ""
    private var names = AppTable<AppID>()
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
        if case .app(let app, let id, _) = input { self.names.put(id, for: app) }
        self.inputs?.add(input, at: arrival, answers: answers, wasIdle: wasIdle, files: self.files)
    }

    mutating func add(_ decision: ArbiterAction, at arrival: Timestamp) {
        let names = self.names
        guard let entry = self.log?.entry(decision, at: arrival, name: { names[$0] }) else { return }
        self.decisions += "\(entry)\n"
    }

    mutating func take() -> (inputs: String, decisions: String) {
        defer { self.decisions = "" }
        return (self.inputs?.takeText() ?? "", self.decisions)
    }

    var failure: String? { self.inputs?.failure }
}
