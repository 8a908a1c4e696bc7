package import Motion

/// One input of an arbiter as it was taken: what it was given, what it was told when it asked, and what it decided.
///
/// Whoever is handed these in order can write down all that happened, and everything can be decided again.
package struct ArbiterStep: Sendable {
    package let input: ArbiterInput
    package let arrival: Timestamp
    /// What the arbiter was told about conditions meanwhile.
    package let answers: [(detector: DetectorID, lastTrue: Timestamp?)]
    /// Nothing fell due up to the time and the motion of this input.
    package let wasIdle: Bool
    package let decisions: [ArbiterAction]

    package init(
        _ input: ArbiterInput, at arrival: Timestamp, answers: [(detector: DetectorID, lastTrue: Timestamp?)],
        wasIdle: Bool, decisions: [ArbiterAction]
    ) {
        self.input = input
        self.arrival = arrival
        self.answers = answers
        self.wasIdle = wasIdle
        self.decisions = decisions
    }
}
