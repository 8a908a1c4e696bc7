/// Why a candidate did or did not get an event. The stage stands first in its code.
package enum Reason: UInt8, Word {
    /// The app was once proven better than it is now.
    case mismatch
    /// The app is suspended, and no rule wakes it or stores for it.
    case suspended
    /// The app is not on the bus, and no rule wakes it or stores for it.
    case dead
    /// A rule says no.
    case denied
    /// No rule matches, and the policy's default is no.
    case noRule
    /// The app had as many events as its quota allows.
    case quota
    /// The app was woken as often as policy allows.
    case wakeQuota
    /// The app's last event is too short a time ago.
    case appCooldown
    /// The group's last event is too short a time ago.
    case groupCooldown
    /// Another candidate ranks higher.
    case outranked
    /// The group had decided when the app's detector fired.
    case late
    /// Somebody ahead in the order consumed the event.
    case consumed
    /// The time for the whole order was up before its turn came.
    case budget
    /// It left, was suspended or lost its detector before its turn came.
    case gone
    /// Its session is interrupted.
    case interrupted
    /// Its session is ducked, and had the events that it gets then.
    case ducked
    /// It would have to wait for a session to end.
    case delayed
    /// A session leaves no place for it, or its class wants a grant that it has not.
    case rejected
    /// The screen is locked, and its class is silent then.
    case silenced
    /// Sent.
    case sent
    /// Sent in a way that starts or resumes the app.
    case woken
    /// Kept for when the app is back.
    case stored
    /// It was offered the event and consumed it.
    case taken
    /// It was offered the event and passed it on.
    case passed
    /// It was offered the event and did not answer in time.
    case silent
    /// It was offered the event and went away.
    case left
    /// Newer events filled its queue before it could be sent.
    case queueFull
    /// It grew too old before the app had it, or had acknowledged it.
    case expired
    /// Its detector was removed, or somebody else was to react after all.
    case removed
    /// The app said that it has it.
    case acknowledged
    /// The app could not be started or resumed for it.
    case launchFailed
    /// It was away, and its user had no room for more of what is kept for apps that are.
    case unkept

    package enum Stage: UInt8, Comparable, Sendable, CaseIterable {
        case identity, alive, rule, limits, group, delivery

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        package var name: String {
            switch self {
            case .identity: "identity"
            case .alive: "alive"
            case .rule: "rule"
            case .limits: "limits"
            case .group: "group"
            case .delivery: "delivery"
            }
        }
    }

    package var stage: Stage {
        switch self {
        case .mismatch: .identity
        case .suspended, .dead: .alive
        case .denied, .noRule: .rule
        case .quota, .wakeQuota, .appCooldown, .groupCooldown: .limits
        case .outranked, .late, .consumed, .budget, .gone, .interrupted, .ducked, .delayed, .rejected, .silenced:
            .group
        case .sent, .woken, .stored, .taken, .passed, .silent, .left, .queueFull, .expired, .removed, .acknowledged,
            .launchFailed, .unkept:
            .delivery
        }
    }

    /// The code: the stage's number and a word.
    package var name: String {
        switch self {
        case .mismatch: "S0.mismatch"
        case .suspended: "S1.suspended"
        case .dead: "S1.dead"
        case .denied: "S2.denied"
        case .noRule: "S2.no-rule"
        case .quota: "S3.quota"
        case .wakeQuota: "S3.wake-quota"
        case .appCooldown: "S3.app-cooldown"
        case .groupCooldown: "S3.group-cooldown"
        case .outranked: "S4.outranked"
        case .late: "S4.late"
        case .consumed: "S4.consumed"
        case .budget: "S4.budget"
        case .gone: "S4.gone"
        case .interrupted: "S4.interrupted"
        case .ducked: "S4.ducked"
        case .delayed: "S4.delayed"
        case .rejected: "S4.rejected"
        case .silenced: "S4.silenced"
        case .sent: "S5.sent"
        case .woken: "S5.woken"
        case .stored: "S5.stored"
        case .taken: "S5.taken"
        case .passed: "S5.passed"
        case .silent: "S5.silent"
        case .left: "S5.left"
        case .queueFull: "S5.queue-full"
        case .expired: "S5.expired"
        case .removed: "S5.removed"
        case .acknowledged: "S5.acknowledged"
        case .launchFailed: "S5.launch-failed"
        case .unkept: "S5.unkept"
        }
    }

    /// Whether it is the word on an event that was kept, after the verdict.
    package var isEnd: Bool {
        switch self {
        case .queueFull, .expired, .removed, .acknowledged, .launchFailed, .unkept: true
        case .mismatch, .suspended, .dead, .denied, .noRule, .quota, .wakeQuota, .appCooldown, .groupCooldown,
            .outranked, .late, .consumed, .budget, .gone, .interrupted, .ducked, .delayed, .rejected, .silenced, .sent,
            .woken, .stored, .taken, .passed, .silent, .left:
            false
        }
    }

    /// Whether the event it stands for may still come to its end.
    package var isOpen: Bool { self == .sent || self == .woken || self == .stored || self.isEnd }

    /// Whether its event waits until its app was started or resumed for it, and has answered.
    package var isWaiting: Bool { self == .woken }

    /// Whether it says that the app has the event, as far as anybody can know. One that waits for a launch it has not.
    package var isReceived: Bool { self.isDelivered && !self.isWaiting }

    /// Whether an event went out to the app or is kept for it.
    package var isDelivered: Bool {
        switch self {
        case .queueFull, .expired, .removed, .launchFailed, .unkept: false
        default: self.stage == .delivery
        }
    }
}
