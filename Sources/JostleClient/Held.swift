import EventLoop
import Glibc

extension JostleClient {
    /// A time-limited right to keep going in the background. It ends when this value goes, or with `end`.
    public struct Assertion: ~Copyable {
        /// The app's own name for it.
        public let name: String
        /// When its time is over, in CLOCK_BOOTTIME microseconds, if the system does not sleep; `nil` while the app is in the
        /// foreground and nothing of it is used.
        public let deadline: UInt64?
        private let descriptor: OwnedDescriptor

        init(_ name: String, deadline: UInt64?, _ descriptor: consuming OwnedDescriptor) {
            self.name = name
            self.deadline = deadline
            self.descriptor = descriptor
        }

        /// True when the broker ended it: its time is over, or the app is in the foreground again.
        public var isEnded: Bool { isAtEnd(self.descriptor) }

        /// Ends it.
        public consuming func end() {}
    }

    /// A running use of a mode, such as playing audio. It ends when this value goes, or with `end`.
    public struct Activity: ~Copyable {
        /// The mode.
        public let mode: String
        private let descriptor: OwnedDescriptor

        init(_ mode: String, _ descriptor: consuming OwnedDescriptor) {
            self.mode = mode
            self.descriptor = descriptor
        }

        /// True when the broker ended it: the app was suspended.
        public var isEnded: Bool { isAtEnd(self.descriptor) }

        /// Ends it.
        public consuming func end() {}
    }
}

/// Whether the broker closed its end. It never writes anything.
private func isAtEnd(_ descriptor: borrowing OwnedDescriptor) -> Bool {
    var byte: UInt8 = 0
    // SAFETY: the kernel writes at most the one byte. Our end does not block.
    return unsafe read(descriptor.raw, &byte, 1) == 0
}
