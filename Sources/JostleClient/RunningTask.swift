extension JostleApp {
    /// A task that the broker has begun.
    public struct RunningTask: Equatable, Sendable {
        /// The app's own name for it, as in its app file.
        public let identifier: String
        /// 1, unless it was begun before and not ended: the app crashed, or the broker did.
        public let attempt: UInt32
        /// When its time is over, in CLOCK_BOOTTIME microseconds.
        public let deadline: UInt64
    }
}
