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
        /// What it asked for itself, and what it took away of what was installed.
        var own: Set<Int> = []
        var withdrawn: Set<Int> = []
    }

    /// What is counted here, too, by user.
    private struct Counts {
        var apps: [UInt32: Int] = [:]
        var detectors: [UInt32: Int] = [:]
        var absentApps: [UInt32: Int] = [:]
        var keptBytes: [UInt32: Int] = [:]

        /// Those of a limit; `nil`: it is not counted here.
        subscript(limit: String) -> [UInt32: Int]? {
            switch limit {
            case "apps": self.apps
            case "detectors": self.detectors
            case "absent-apps": self.absentApps
            case "kept-bytes": self.keptBytes
            default: nil
            }
        }
    }

    private var holders: [AppHandle: Holder] = [:]
    /// What is wrong.
    private(set) var finding: String?

    mutating func brokerEnds() { self.holders = [:] }

    mutating func registered(_ app: AppHandle, of user: UInt32) { self.holders[app, default: Holder()].user = user }

    mutating func left(_ app: AppHandle) {
        guard var holder = self.holders[app] else { return }
        holder.user = nil
        holder.own = []
        holder.withdrawn = []
        holder.filed = holder.installed
        self.holders[app] = holder.payer == nil ? nil : holder
    }

    /// - Parameter registered: What it registered for good, which is in no file.
    mutating func installed(_ app: AppHandle, _ numbers: [Int], registered: [Int], payer: UInt32) {
        var holder = self.holders[app] ?? Holder()
        holder.payer = payer
        holder.installed = Set(numbers + registered)
        holder.withdrawn.formIntersection(numbers)
        holder.filed = holder.installed.subtracting(holder.own).subtracting(holder.withdrawn)
        self.holders[app] = holder
    }

    mutating func uninstalled(_ app: AppHandle) {
        guard var holder = self.holders[app] else { return }
        holder.payer = nil
        holder.installed = []
        holder.withdrawn = []
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
        if self.holders[app]?.installed.contains(number) == true { self.holders[app]?.withdrawn.insert(number) }
    }

    /// - Parameter mailboxes: What is really kept for apps that are not here.
    mutating func check(_ usage: [LimitUsage], _ mailboxes: Mailboxes) {
        guard self.finding == nil else { return }
        var counts = Counts()
        for holder in self.holders.values {
            if let payer = holder.payer ?? holder.user { counts.apps[payer, default: 0] += 1 }
            if let user = holder.user { counts.detectors[user, default: 0] += holder.own.count }
            if let payer = holder.payer { counts.detectors[payer, default: 0] += holder.filed.count }
        }
        for box in mailboxes.absentBoxes {
            let user = box.user ?? UserShares.root
            counts.absentApps[user, default: 0] += 1
            counts.keptBytes[user, default: 0] += box.queue.keptBytes
        }
        for limit in usage {
            if limit.held > limit.limit { self.finding = "\(limit.held) of \(limit.limit) \(limit.name) are held" }
            if limit.users.reduce(0, { $0 + limit.held(by: $1) }) != limit.held {
                self.finding = "\(limit.name): what users hold is not what all hold"
            }
            let counted = counts[limit.name]
            for user in Setup.users {
                let held = limit.held(by: user)
                let count = counted.map { $0[user] ?? 0 } ?? max(0, held)
                if count != held {
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
