import Glibc
import Loop
import Synchronization

/// What somebody has said of the end of this process, for whoever waits beside its loop for somebody who may never read or answer.
package enum EndRequest {
    /// The signal that told us to end, SIGTERM before any other; 0: none has.
    private static let signal = Atomic<Int32>(0)

    /// Keeps that the loop has heard of a signal that tells us to end, and that is not pending any more.
    package static func note(_ signal: Int32) {
        // Who was asked to terminate stays so, whatever comes behind it.
        if self.signal.load(ordering: .relaxed) != SIGTERM { self.signal.store(signal, ordering: .relaxed) }
    }

    /// Whether one of some signals has told us to end, also where the loop has not heard of it yet.
    package static func hasCome(by signals: [Int32]) -> Bool {
        signals.contains(self.signal.load(ordering: .relaxed)) || isPending(signals)
    }
}
