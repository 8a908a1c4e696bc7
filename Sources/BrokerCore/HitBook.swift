import Arbitration
import Motion

/// Counts what the detectors of each app hit, and leaves out what is too much of one app or one user.
///
/// Nobody's detectors are to keep the broker from all else, whatever they listen to. As many hits may come at once as there may be
/// detectors: one motion may be a hit of each. What is left out is told by number.
///
/// Of what a user has, some is kept for apps that are seldom hit: another of the user's, which may be in a sandbox, takes all the rest for as
/// long as it likes.
struct HitBook {
    /// How many hits a second of one app are heard, and of all apps of one user.
    static let perSecond = (ofApp: 2_000, ofUser: 4_000)
    /// An app is hit no more than seldom up to here.
    private static let seldom = Quota(count: 2, period: .seconds(1), burst: 4)
    /// Users are forgotten whose hits are no matter any more, when there are more than this.
    private static let manyUsers = 32

    /// Hits of an app that were too many.
    struct LeftOut {
        let app: AppHandle
        let count: UInt64
        /// Of the last of them.
        let time: Timestamp
    }

    private struct Entry {
        var count: UInt64 = 0
        var bucket = TokenBucket()
        /// Whether it is seldom hit.
        var seldom = TokenBucket()
        /// Since it was told last.
        var leftOut: UInt64 = 0
        var time = Timestamp.zero
    }

    private let ofApp: Quota
    private let ofUser: Quota
    /// Of a user's, as many as are kept for apps that are seldom hit.
    private let kept: Int
    private var apps = AppTable<Entry>()
    /// A list, because there are few, and each hit looks one up.
    private var users: [(user: UInt32, bucket: TokenBucket)] = []
    /// Apps of which something was left out since that was told last.
    private var over: [AppHandle] = []

    init(_ limits: BrokerLimits) {
        let second = TimeSpan.seconds(1)
        self.ofApp = Quota(count: Self.perSecond.ofApp, period: second, burst: limits.detectorsPerApp)
        let share = limits.detectorShares.share
        self.kept = max(1, share / 8)
        self.ofUser = Quota(count: Self.perSecond.ofUser, period: second, burst: share + self.kept)
    }

    /// An app comes, or becomes another user's: nothing is known of it.
    mutating func enter(_ app: AppHandle) { self.apps.put(Entry(), for: app) }

    mutating func leave(_ app: AppHandle) { self.apps.remove(app) }

    /// All hits of an app, those that were left out, too.
    func count(of app: AppHandle) -> UInt64 { self.apps[app]?.count ?? 0 }

    /// Counts a hit. Returns whether it is to be heard.
    ///
    /// - Parameter payer: Of whose share its detector is. What the system installed is no user's.
    mutating func take(_ hit: Hit, of app: AppHandle, _ payer: UInt32, at now: Timestamp) -> Bool {
        let place = payer == UserShares.root ? nil : self.place(of: payer, at: now)
        let left = place.map { self.users[$0].bucket.tokens(of: self.ofUser, at: now) }
        let (quota, kept) = (self.ofApp, self.kept)
        let (isHeard, isNew) = self.apps.update(app) { (entry: inout Entry?) in
            entry?.count &+= 1
            let isSeldom = entry.map { $0.seldom.tokens(of: Self.seldom, at: now) > 0 } ?? true
            let isUserFree = left.map { $0 > (isSeldom ? 0 : kept) } ?? true
            if isUserFree, entry.map({ $0.bucket.tokens(of: quota, at: now) > 0 }) ?? true {
                entry?.bucket.spend(quota, at: now)
                if isSeldom { entry?.seldom.spend(Self.seldom, at: now) }
                return (true, false)
            }
            entry?.leftOut &+= 1
            entry?.time = hit.time
            return (false, entry?.leftOut == 1)
        }
        if isHeard, let place { self.users[place].bucket.spend(self.ofUser, at: now) }
        if isNew { self.over.append(app) }
        return isHeard
    }

    private mutating func place(of user: UInt32, at now: Timestamp) -> Int {
        if let place = self.users.firstIndex(where: { $0.user == user }) { return place }
        if self.users.count >= Self.manyUsers { self.users.removeAll { $0.bucket.isFull(at: now) } }
        self.users.append((user, TokenBucket()))
        return self.users.count - 1
    }

    /// Takes what was left out since, of each app.
    mutating func takeLeftOut() -> [LeftOut] {
        if self.over.isEmpty { return [] }
        var all: [LeftOut] = []
        for app in self.over {
            guard let entry = self.apps[app], entry.leftOut > 0 else { continue }
            all.append(LeftOut(app: app, count: entry.leftOut, time: entry.time))
            self.apps.update(app) { $0?.leftOut = 0 }
        }
        self.over = []
        return all
    }

    /// Gives back the room of those who have gone.
    mutating func shrink() { self.apps.shrink() }
}
