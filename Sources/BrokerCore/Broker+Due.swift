import Arbitration
import Background
package import Motion

/// What the shell asks before and after every input.
///
/// Mutating so that the core is looked at where it is: to ask it otherwise, another module would copy it whole.
extension Broker {
    /// What is to be told before an input.
    package struct Awaited {
        /// Tasks wait for a time of the wall clock.
        package let wallClock: Bool
        /// The system is awake, as far as was told.
        package let isAwake: Bool
    }

    /// Asked before every input.
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
}
