package import Motion

/// What became of an event behind its verdict, as far as its reason does not say it.
package struct Aftermath: Equatable, Sendable {
    /// Launches of its app for it that failed.
    package var failures: UInt32 = 0
    /// Why the last of them did.
    package var failure: LaunchFailure?
    /// How long after the motion it came to its end; `nil` while it has not, and when that is its verdict.
    package var after: TimeSpan?

    package init(failures: UInt32 = 0, failure: LaunchFailure? = nil, after: TimeSpan? = nil) {
        self.failures = failures
        self.failure = failure
        self.after = after
    }

    package mutating func failed(_ failure: LaunchFailure) {
        self.failures &+= 1
        self.failure = failure
    }

    /// What people read below the verdict of an event that its app was to be launched for; `nil` when there is no more to say.
    ///
    /// - Parameter isLost: The broker that kept the event is gone, and the event with it.
    package func line(_ verdict: Verdict, isLost: Bool) -> String? {
        guard verdict.isLaunching else { return nil }
        var parts: [String] = []
        if verdict.reason.isWaiting {
            parts.append(isLost ? "the broker ended before the app had it" : "it waits since then")
        } else if let after {
            parts.append(
                verdict.isReceived ? "the app had it \(after.inWords) later" : "given up \(after.inWords) later")
        }
        if let failure {
            parts.append(
                self.failures == 1
                    ? "a launch failed: \(failure.name)" : "\(self.failures) launches failed, the last: \(failure.name)"
            )
        }
        return parts.isEmpty ? nil : "  \(parts.joined(separator: "; "))"
    }
}
