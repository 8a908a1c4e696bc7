import Arbitration
import BrokerCore
import Motion

/// Counts for itself what each user has of the limits, and says where the broker's book says something else.
struct UsageWatch {
    private struct Holder {
        let user: UInt32
        var detectors: Set<Int> = []
    }

    private var holders: [AppHandle: Holder] = [:]
    /// What is wrong.
    private(set) var finding: String?

    mutating func brokerEnds() { self.holders = [:] }

    mutating func registered(_ app: AppHandle, of user: UInt32) { self.holders[app] = Holder(user: user) }
    mutating func left(_ app: AppHandle) { self.holders[app] = nil }

    mutating func added(_ numbers: [Int], by app: AppHandle) { self.holders[app]?.detectors.formUnion(numbers) }
    mutating func removed(_ number: Int, by app: AppHandle) { self.holders[app]?.detectors.remove(number) }

    /// - Parameter kept: Events that are due for good to apps that are not here; others may be kept for them, too.
    mutating func check(_ usage: [LimitUsage], kept: [StoredEvent], absent: Int) {
        guard self.finding == nil else { return }
        for limit in usage {
            if limit.held > limit.limit { self.finding = "\(limit.held) of \(limit.limit) \(limit.name) are held" }
            if limit.users.reduce(0, { $0 + limit.held(by: $1) }) != limit.held {
                self.finding = "\(limit.name): what users hold is not what all hold"
            }
            for user in Setup.users {
                let own = self.holders.values.filter { $0.user == user }
                let waiting = kept.filter { $0.user == user }
                let held = limit.held(by: user)
                let isRight =
                    switch limit.name {
                    case "apps": held == own.count
                    case "detectors": held == own.reduce(0) { $0 + $1.detectors.count }
                    case "absent-apps": held >= Set(waiting.map(\.app)).count && held <= absent
                    case "kept-bytes": held >= waiting.reduce(0) { $0 + $1.event.bytes }
                    default: held >= 0
                    }
                if !isRight { self.finding = "user \(user) is said to hold \(held) of \(limit.name)" }
            }
        }
    }

    /// Nobody is here, and nothing is due.
    mutating func end(_ usage: [LimitUsage]) {
        for limit in usage where limit.held != 0 && self.finding == nil {
            self.finding = "nobody is there, and \(limit.held) of \(limit.name) are held"
        }
    }
}
