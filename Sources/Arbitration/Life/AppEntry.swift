import Motion

/// An app as it is known: who it is, what rules see of it, and what policy gives it.
struct AppEntry: Sendable {
    let id: AppID
    /// Rises with each registration: the last word in every comparison.
    let order: UInt64
    /// What had been decided last when it came; 0: nothing. It has waited no longer, so that leaving and coming back gains nothing.
    private(set) var since: UInt64
    /// The modes that its app file asks for.
    private(set) var declared: WordSet<BackgroundMode>
    /// Its app file says that it is at work in audio while its player plays.
    private var hasPlayer: Bool
    /// False while it exists without being on the bus.
    private(set) var isConnected: Bool
    /// Whose it is, if it is somebody's.
    private(set) var user: UInt32?
    private(set) var facts: AppFacts
    /// What policy gives it, as far as it asks for it.
    private(set) var settings: AppSettings

    /// - Parameter settings: What policy gives an app of this name.
    init(_ id: AppID, order: UInt64, since: UInt64, _ entrance: AppEntrance, _ settings: AppSettings) {
        self.id = id
        self.order = order
        self.since = since
        self.declared = entrance.declared
        self.hasPlayer = entrance.hasPlayer
        self.isConnected = entrance.isConnected
        self.user = entrance.user
        self.facts = AppFacts(state: .dead, proof: entrance.proof, isProvenEnough: entrance.isProvenEnough)
        self.settings = settings
        _ = self.grant(settings)
    }

    /// Whether it is the app that is meant by a name and a user.
    func isApp(_ id: AppID, of user: UInt32?) -> Bool { self.id == id && isMeant(appOf: self.user, by: user) }

    /// Whether what its player does counts: it asks for that, and has audio.
    var isAtWorkWhilePlaying: Bool { self.hasPlayer && self.settings.grants.contains(.audio) }

    /// Takes in what is known of it now.
    mutating func admit(_ entrance: AppEntrance, _ settings: AppSettings) {
        self.declared = entrance.declared
        self.hasPlayer = entrance.hasPlayer
        self.isConnected = entrance.isConnected
        self.user = entrance.user
        self.facts.proof = entrance.proof
        self.facts.isProvenEnough = entrance.isProvenEnough
        _ = self.grant(settings)
    }

    /// Takes in that it is another user's from now on, who has not used it.
    mutating func forgetPast(since: UInt64) {
        self.since = since
        self.facts.lastUsed = Timestamp(microseconds: .min)
    }

    mutating func disconnect() { self.isConnected = false }

    /// Takes in what policy gives an app of this name. Returns whether it has something else now.
    mutating func grant(_ settings: AppSettings) -> Bool {
        var own = settings
        own.grants = own.grants.intersection(self.declared)
        self.facts.grants = own.grants
        if own == self.settings { return false }
        self.settings = own
        return true
    }

    /// Takes in how it lives now.
    ///
    /// - Parameter report: The number of what was said, if it is where it is because of that.
    mutating func show(_ life: AppLife, report: UInt32, at arrival: Timestamp) {
        let state = life.appState
        if state == .foreground, self.facts.state != .foreground { self.facts.lastUsed = arrival }
        self.facts.state = state
        self.facts.activities = life.modes
        self.facts.hasAssertion = life.hasAssertion
        self.facts.report = report
    }

    /// Takes in that it left.
    mutating func die() { self.facts.state = .dead }
}
