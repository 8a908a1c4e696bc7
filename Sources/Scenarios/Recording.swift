package import Arbitration
package import Motion

/// Writes down what an arbiter is given, as a scenario, and what it decides.
package struct Recording: Sendable {
    private var inputs: ScenarioRecorder?
    private var log: DecisionLog?
    private var decisions = ""
    private var names: [AppHandle: AppID] = [:]
    /// What the policy was read from that is in force, or is about to be; none: it is the built-in one.
    package var files: [Scenario.File]

    /// Nobody may have registered yet, or the scenario would lack what came before.
    ///
    /// - Parameters:
    ///   - files: what the policy in force was read from; none: it is the built-in one.
    ///   - arrival: the time now, from which all times count.
    ///   - epoch: the last epoch that was given out.
    package init(inputs: Bool, decisions: Bool, files: [Scenario.File], at arrival: Timestamp, epoch: UInt64) {
        self.inputs = inputs ? ScenarioRecorder(files: files, origin: arrival, epoch: epoch) : nil
        self.log = decisions ? DecisionLog(origin: arrival, epoch: epoch) : nil
        self.files = files
    }

    package mutating func add(_ step: ArbiterStep) {
        if case .app(let app, let id, _) = step.input { self.names[app] = id }
        self.inputs?.add(
            step.input, at: step.arrival, answers: step.answers, wasIdle: step.wasIdle, files: self.files)
        let names = self.names
        for decision in step.decisions {
            guard let entry = self.log?.entry(decision, at: step.arrival, name: { names[$0] }) else { continue }
            self.decisions += "\(entry)\n"
        }
    }

    /// What was written down since the last time: lines of a scenario, and of the decision log.
    package mutating func take() -> (inputs: String, decisions: String) {
        defer { self.decisions = "" }
        return (self.inputs?.takeText() ?? "", self.decisions)
    }

    /// Why inputs are not written down any more.
    package var failure: String? { self.inputs?.failure }
}
