extension JostleApp {
    /// A running use of a mode, such as playing audio. It ends when this value goes, or with `end`.
    public struct Activity: ~Copyable {
        /// The mode.
        public let mode: String
        /// Tells it from the app's others: `SessionChange` has the same.
        public let number: UInt64
        private let line: Lifeline

        init(_ mode: String, _ number: UInt64, _ line: consuming Lifeline) {
            self.mode = mode
            self.number = number
            self.line = line
        }

        /// True when the broker ended it: the app was suspended.
        public var isEnded: Bool { self.line.isEnded }

        /// Ends it.
        public consuming func end() {}
    }
}
