package import Motion

/// What is to be seen to after an input.
package struct DueAfterInput {
    /// When a tick must be, should no other input come before; `nil` while nothing waits for time alone.
    package let tick: Timestamp?
    /// Some who left are still to be cleaned up after.
    package let isCleaning: Bool
    /// So much has gone that memory should be given back.
    package let isShrinking: Bool
    /// There may be something to write down.
    package let isRecording: Bool
    /// The last epoch that was given out.
    package let lastEpoch: UInt64
}
