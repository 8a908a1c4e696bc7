import Arbitration
import Background
package import Motion
package import Scenarios

/// What is left to do when many have gone: it may wait, and is done a little at a time.
extension BrokerCore {
    /// Memory is given back when so many apps and detectors have gone.
    private static let manyGone = 256

    /// What is to be told before an input.
    package struct Awaited {
        /// Tasks wait for a time of the wall clock.
        package let wallClock: Bool
        /// The system is awake, as far as was told.
        package let isAwake: Bool
    }

    /// Asked before every input. Mutating so that the core is looked at where it is: to ask it otherwise, another module would
    /// copy it whole.
    package mutating func awaited() -> Awaited {
        Awaited(wallClock: self.work.tasks.pendingCount > 0, isAwake: !self.decisions.arbiter.isAsleep)
    }

    /// What is to be seen to after an input.
    package struct Due {
        /// When `tick` must be called, should no other input come before.
        package let tick: Timestamp?
        /// `clean` has something to do.
        package let isCleaning: Bool
        /// So much has gone that memory should be given back.
        package let isShrinking: Bool
        /// There may be something to write down.
        package let isRecording: Bool
        /// The last epoch that was given out.
        package let lastEpoch: UInt64
    }

    /// Asked after every input.
    package mutating func due() -> Due {
        Due(
            tick: self.nextTick, isCleaning: self.isCleaningDue, isShrinking: self.isShrinkingDue,
            isRecording: self.isRecording, lastEpoch: self.lastEpoch)
    }

    var isCleaningDue: Bool { self.sensing.hasLeftovers }
    var isShrinkingDue: Bool { self.registry.gone >= Self.manyGone && !self.sensing.hasLeftovers }

    /// Takes some detectors of apps that left from their engines.
    package mutating func clean(_ actions: inout [BrokerAction]) {
        guard self.sensing.hasLeftovers else { return }
        self.giveBack(self.sensing.discardLeftovers())
        if !self.sensing.hasLeftovers { self.steer(&actions) }
    }

    /// Gives back memory that was needed for those who have gone.
    package mutating func shrink() {
        self.registry.shrink()
        self.sensing.shrink()
        self.mailboxes.shrink()
        self.mail.shrink()
        self.decisions.shrink()
    }

    // MARK: Writing down

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
