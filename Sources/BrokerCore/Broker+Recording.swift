package import Motion
package import Scenarios

/// The way to what writes down while somebody asked for it.
extension Broker {
    /// Begins to write down what is given to the arbiter, and what it decides. Nobody may have registered yet, or the scenario
    /// would lack what came before.
    ///
    /// - Parameters:
    ///   - files: what the policy in force was read from; none: it is the built-in one.
    ///   - arrival: the time now, from which all times count.
    package mutating func record(inputs: Bool, decisions: Bool, files: [Scenario.File], at arrival: Timestamp) {
        guard inputs || decisions, self.registry.isEmpty else { return }
        self.decisions.record(inputs: inputs, decisions: decisions, files: files, at: arrival)
    }

    package var isRecording: Bool { self.decisions.isRecording }

    /// What was written down since the last time: lines of a scenario, and of the decision log.
    package mutating func takeRecord() -> (inputs: String, decisions: String) { self.decisions.takeRecord() }

    /// Why inputs are not written down any more.
    package var recordingFailure: String? { self.decisions.recordingFailure }
}
