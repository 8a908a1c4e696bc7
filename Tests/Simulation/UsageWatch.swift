import Arbitration
import BrokerCore
import Motion

/// Counts for itself what each user has of the limits, and says where the broker's book says something else.
struct UsageWatch {
    /// An app that exists, on the bus or not.
    private struct Holder {
        /// Whose it is while it is on the bus.
        var user: UInt32?
        /// Who pays for what is installed of it; `nil`: nothing is.
        var payer: UInt32?
        /// What is installed of it, by number; and what of that is at work, as the app asked for none of the same name.
        var installed: Set<Int> = []
        var filed: Set<Int> = []
        /// What it asked for itself.
        var own: Set<Int> = []
    }

    /// What is counted here, too.
    private static let counted: Set<String> = ["apps", "detectors", "absent-apps", "kept-bytes"]

    private var holders: [AppHandle: Holder] = [:]
    /// What is wrong.
    private(set) var finding: String?

    mutating func brokerEnds() { self.holders = [:] }

    mutating func registered(_ app: AppHandle, of user: UInt32) { self.holders[app, default: Holder()].user = user }

    mutating func left(_ app: AppHandle) {
        guard var holder = self.holders[app] else { return }
        holder.user = nil
        holder.own = []
        holder.filed = holder.installed
        self.holders[app] = holder.payer == nil ? nil : holder
    }

    mutating func installed(_ app: AppHandle, _ numbers: [Int], payer: UInt32) {
        var holder = self.holders[app] ?? Holder()
        holder.payer = payer
        holder.installed = Set(numbers)
        holder.filed = holder.installed.subtracting(holder.own)
        self.holders[app] = holder
    }

    mutating func uninstalled(_ app: AppHandle) {
        guard var holder = self.holders[app] else { return }
        holder.payer = nil
        holder.installed = []
        holder.filed = []
        self.holders[app] = holder.user == nil ? nil : holder
    }

    mutating func added(_ numbers: [Int], by app: AppHandle) {
        self.holders[app]?.own.formUnion(numbers)
        self.holders[app]?.filed.subtract(numbers)
    }

    mutating func removed(_ number: Int, by app: AppHandle) {
        self.holders[app]?.own.remove(number)
        self.holders[app]?.filed.remove(number)
    }

    /// - Parameter mailboxes: What is really kept for apps that are not here.
    mutating func check(_ usage: [LimitUsage], _ mailboxes: Mailboxes) {
        guard self.finding == nil else { return }
        var counts: [String: [UInt32: Int]] = [:]
        for holder in self.holders.values {
            if let payer = holder.payer ?? holder.user { counts["apps", default: [:]][payer, default: 0] += 1 }
            if let user = holder.user, !holder.own.isEmpty {
                counts["detectors", default: [:]][user, default: 0] += holder.own.count
            }
            if let payer = holder.payer, !holder.filed.isEmpty {
                counts["detectors", default: [:]][payer, default: 0] += holder.filed.count
            }
        }
        for box in mailboxes.absentBoxes {
            let user = box.user ?? UserShares.root
            counts["absent-apps", default: [:]][user, default: 0] += 1
            counts["kept-bytes", default: [:]][user, default: 0] += box.queue.keptBytes
        }
        for limit in usage {
            if limit.held > limit.limit { self.finding = "\(limit.held) of \(limit.limit) \(limit.name) are held" }
            if limit.users.reduce(0, { $0 + limit.held(by: $1) }) != limit.held {
                self.finding = "\(limit.name): what users hold is not what all hold"
            }
            let isCounted = Self.counted.contains(limit.name)
            for user in Setup.users {
                let (held, count) = (limit.held(by: user), counts[limit.name]?[user] ?? 0)
                if held < 0 || isCounted && count != held {
                    self.finding = "user \(user) is said to hold \(held) of \(limit.name), and holds \(count)"
                }
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
