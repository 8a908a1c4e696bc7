package import Arbitration
package import Motion

/// How the launches of an app went.
package struct LaunchRecord: Equatable, Sendable {
    package private(set) var begun: UInt64 = 0
    package private(set) var failed: UInt64 = 0
    /// The last one that is over.
    package private(set) var last: Last?

    package struct Last: Equatable, Sendable {
        package var reason: LaunchReason
        package var result: LaunchResult
        package var time: Timestamp
    }

    mutating func begin() { self.begun &+= 1 }

    mutating func end(_ launch: Launch, _ result: LaunchResult, at now: Timestamp) {
        switch result {
        case .done: break
        case .failed: self.failed &+= 1
        // It was called off, or put off, before anybody was called.
        case .needless, .postponed:
            self.begun &-= 1
            return
        }
        self.last = Last(reason: launch.reason, result: result, time: now)
    }
}
