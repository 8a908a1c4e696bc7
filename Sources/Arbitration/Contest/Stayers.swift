import Motion

/// Remembers whose conditions were true to the end of a motion that had lasted for as long as one may.
struct Stayers: Sendable {
    private struct Stayer: Sendable {
        let id: AppID
        let user: UInt32?
        /// The end of the last such motion.
        let time: Timestamp
    }

    /// In the order of time.
    private var stayers: [Stayer] = []

    /// What is longer ago counts no more: since then its conditions may have been false, and no motion told so.
    private static let memory = TimeSpan.seconds(300)
    /// The oldest are forgotten before there are more.
    private static let most = 256

    var isEmpty: Bool { self.stayers.isEmpty }

    func contains(_ app: AppEntry, at time: Timestamp) -> Bool { self.last(app, asUser: false, at: time) != nil }

    /// Whether an app has stayed since another did, so that the other need not wait for it.
    ///
    /// Between users all apps of a user count as one: they take no turns at the cost of another's.
    func isBehind(_ app: AppEntry, _ other: AppEntry, at time: Timestamp) -> Bool {
        let areUsers = app.user != other.user
        guard let own = self.last(app, asUser: areUsers, at: time) else { return false }
        return self.last(other, asUser: areUsers, at: time).map { $0 < own } ?? true
    }

    /// When an app stayed last, or any of its user's.
    private func last(_ app: AppEntry, asUser: Bool, at now: Timestamp) -> Timestamp? {
        let stayer = self.stayers.last { stayer in
            let isMeant = stayer.id == app.id || (asUser && app.user != nil)
            return isMeant && stayer.user == app.user && now <= stayer.time + Self.memory
        }
        return stayer?.time
    }

    mutating func add(_ app: AppEntry, at time: Timestamp) {
        self.remove(app)
        self.stayers.removeAll { $0.time + Self.memory < time }
        self.stayers.append(Stayer(id: app.id, user: app.user, time: time))
        if self.stayers.count > Self.most { self.stayers.removeFirst() }
    }

    mutating func remove(_ app: AppEntry) { self.stayers.removeAll { $0.id == app.id && $0.user == app.user } }

    mutating func removeAll() { self.stayers.removeAll() }
}
