package import Motion

/// What is to be seen to after an input.
package struct DueAfterInput {
    /// When a tick must be, should no other input come before; `nil` while nothing waits for time alone.
    package let tick: Timestamp?
    /// Some who left are still to be cleaned up after.
    package let isCleaning: Bool
    /// So much has gone that memory should be given back.
    package let isShrinking: Bool
    /// What happened is to be taken, as somebody wants to know.
    package let hasSteps: Bool
    /// The last epoch that was given out.
    package let lastEpoch: UInt64
}
