extension JostleApp {
    /// A time-limited right to keep going in the background. It ends when this value goes, or with `end`.
    public struct Assertion: ~Copyable {
        /// The app's own name for it.
        public let name: String
        /// When its time is over, in CLOCK_BOOTTIME microseconds, if the system does not sleep; `nil` while the app is in the
        /// foreground and nothing of it is used.
        public let deadline: UInt64?
        /// Tells it from others of the same name.
        public let number: UInt64
        private let line: Lifeline

        init(_ name: String, _ number: UInt64, deadline: UInt64?, _ line: consuming Lifeline) {
            self.name = name
            self.number = number
            self.deadline = deadline
            self.line = line
        }

        /// True when the broker ended it: its time is over, or the app is in the foreground again.
        public var isEnded: Bool { self.line.isEnded }

        /// Ends it.
        public consuming func end() {}
    }
}
