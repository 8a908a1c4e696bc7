package import Motion

/// A session by the activity it belongs to.
package struct SessionKey: Hashable, Sendable {
    package var app: AppHandle
    package var activity: ActivityID

    package init(_ app: AppHandle, _ activity: ActivityID) {
        self.app = app
        self.activity = activity
    }
}

/// Whom a session met, and what the matrix says to that.
package struct SessionMeeting: Equatable, Sendable {
    package var other: AppID
    package var cell: InteractionMatrix.Cell

    package init(_ other: AppID, _ cell: InteractionMatrix.Cell) {
        self.other = other
        self.cell = cell
    }
}

/// How a session stands.
package struct SessionStanding: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case playing
        /// Begun, and silent until a later one is done.
        case interrupted(SessionMeeting)
        /// Not begun: it waits for one that goes on.
        case waiting(SessionMeeting)
    }

    package var state: State
    /// Softly, for the sake of another.
    package var ducked: SessionMeeting?
    /// The screen is locked, and its class is silent then.
    package var isSilenced: Bool

    package init(_ state: State, ducked: SessionMeeting? = nil, isSilenced: Bool = false) {
        self.state = state
        self.ducked = ducked
        self.isSilenced = isSilenced
    }

    /// How loud it may be, as a share of what it would be.
    package var share: Double { self.ducked?.cell.ducking?.share ?? 1 }

    package var isPlaying: Bool { self.state == .playing }
}

/// Keeps the sessions of all apps, and how they stand to each other.
///
/// A value without clock. How a session stands follows from which ones have begun, in which order, and from the matrix: nothing
/// is remembered of what was done to it, so nothing can be forgotten to be undone. Of two that do not go together the later one
/// sounds, until it ends. Sessions of one app never stand in each other's way.
package struct Sessions: Sendable {
    private struct Entry: Sendable {
        var key: SessionKey
        var app: AppID
        var request: SessionRequest
        /// What the app was last told.
        var told: SessionStanding?
    }

    /// What an app got while it was ducked.
    private struct Heard: Sendable {
        private var bucket = TokenBucket()
        /// The sample time of the last of it.
        private var last = Timestamp(microseconds: .min)

        /// Tokens at a time. What was spent may have been another cell's, or another policy's: nobody waits longer for it than who had
        /// used up all of this quota then.
        func tokens(of quota: Quota, at time: Timestamp) -> Int {
            var bucket = self.bucket
            bucket.adopt(quota, at: self.last)
            return bucket.tokens(of: quota, at: time)
        }

        mutating func spend(_ quota: Quota, at time: Timestamp) {
            self.bucket.adopt(quota, at: self.last)
            self.bucket.spend(quota, at: time)
            self.last = max(self.last, time)
        }

        /// Goes on from a time that is earlier than the last.
        mutating func rewind(from last: Timestamp, to now: Timestamp) {
            self.bucket.rewind(from: last, to: now)
            self.last = min(self.last, now)
        }
    }

    /// In the order in which they began.
    private var begun: [Entry] = []
    /// In the order in which they asked.
    private var waiting: [Entry] = []
    private var isLocked = false
    /// The events that apps got while they were ducked: with many sessions, or a new one, an app hears no more than with one.
    private var events: [AppHandle: Heard] = [:]

    /// Each is weighed against each.
    package static let most = 128
    /// What of them each user may have.
    package static let shares = UserShares(limit: most, reserve: most / 4)

    package init() {}

    package var count: Int { self.begun.count + self.waiting.count }
    /// Whose they are, one for each.
    package var apps: [AppHandle] { (self.begun + self.waiting).map(\.key.app) }
    package var isEmpty: Bool { self.begun.isEmpty && self.waiting.isEmpty }

    // MARK: Inputs

    /// What stands in the way of a session: nothing, or whom it would have to wait for or is rejected for.
    package func obstacle(
        to request: SessionRequest, of app: AppHandle, _ matrix: InteractionMatrix
    ) -> SessionMeeting? {
        let worst = self.worst(request, app, matrix)
        return worst.flatMap { $0.cell.outcome.admits ? nil : $0 }
    }

    /// Begins a session that nobody rejects, or lets it wait.
    package mutating func begin(
        _ key: SessionKey, _ app: AppID, _ request: SessionRequest, _ matrix: InteractionMatrix
    ) -> [SessionEffect] {
        self.waiting.append(Entry(key: key, app: app, request: request))
        return self.settle(matrix)
    }

    /// Ends the sessions of an app whose activities are over.
    package mutating func end(
        _ app: AppHandle, except running: [ActivityID], _ matrix: InteractionMatrix
    ) -> [SessionEffect] {
        func isOver(_ entry: Entry) -> Bool { entry.key.app == app && !running.contains(entry.key.activity) }
        guard self.begun.contains(where: isOver) || self.waiting.contains(where: isOver) else { return [] }
        self.begun.removeAll(where: isOver)
        self.waiting.removeAll(where: isOver)
        return self.settle(matrix)
    }

    package mutating func lock(_ isLocked: Bool, _ matrix: InteractionMatrix) -> [SessionEffect] {
        guard isLocked != self.isLocked else { return [] }
        self.isLocked = isLocked
        return self.settle(matrix)
    }

    /// Looks at all of them anew, for another matrix.
    package mutating func review(_ matrix: InteractionMatrix) -> [SessionEffect] { self.settle(matrix) }

    // MARK: What there is to see

    package func standing(of key: SessionKey) -> SessionStanding? { self.entry(key)?.told }
    package func request(of key: SessionKey) -> SessionRequest? { self.entry(key)?.request }

    private func entry(_ key: SessionKey) -> Entry? {
        self.begun.first { $0.key == key } ?? self.waiting.first { $0.key == key }
    }

    /// All of them with how they stand: those that have begun in that order, and then those that wait.
    package var all: [(key: SessionKey, app: AppID, request: SessionRequest, standing: SessionStanding)] {
        (self.begun + self.waiting).map { ($0.key, $0.app, $0.request, $0.told ?? SessionStanding(.playing)) }
    }

    /// Those of an app.
    package func sessions(
        of app: AppHandle
    ) -> [(key: SessionKey, request: SessionRequest, standing: SessionStanding)] {
        (self.begun + self.waiting).filter { $0.key.app == app }.map {
            ($0.key, $0.request, $0.told ?? SessionStanding(.playing))
        }
    }

    /// The harshest word of those that sound to a session of an app; of equal ones the earliest. `nil` when nobody sounds.
    package func worst(
        _ request: SessionRequest, _ app: AppHandle, _ matrix: InteractionMatrix
    ) -> SessionMeeting? {
        var worst: SessionMeeting?
        for entry in self.begun where entry.key.app != app && entry.told?.isPlaying == true {
            let cell = matrix.cell(holder: entry.request, requester: request)
            if worst.map({ $0.cell.outcome < cell.outcome }) ?? true { worst = SessionMeeting(entry.app, cell) }
        }
        return worst
    }

    /// What the classes say to a hit of an app: by its session, or else by the class that the rule gives it.
    ///
    /// An app without either mixes with everybody. Of several sessions the one that is best off speaks for it.
    func judge(
        _ app: AppHandle, grants: WordSet<BackgroundMode>, class name: String?, at time: Timestamp,
        _ matrix: InteractionMatrix
    ) -> MixingJudgement {
        var best: MixingJudgement?
        for session in self.sessions(of: app) {
            let judgement = MixingJudgement(
                session.key, session.request, session.standing, mayHear: self.mayHear(session.key, at: time))
            if judgement.refusal == nil { return judgement }
            if best == nil { best = judgement }
        }
        if let best { return best }
        guard let name, let own = matrix[name] else { return MixingJudgement() }
        if !own.requiredGrants.isEmpty, own.requiredGrants.isDisjoint(with: grants) {
            return MixingJudgement(name, missing: own.requiredGrants)
        }
        if self.isLocked, own.whenLocked == .silence { return MixingJudgement(silent: name) }
        return MixingJudgement(name, self.worst(SessionRequest(name), app, matrix))
    }

    /// Whether a ducked session may have one more event now.
    private func mayHear(_ key: SessionKey, at time: Timestamp) -> Bool {
        guard let entry = self.entry(key), let quota = entry.told?.ducked?.cell.ducking?.events else { return true }
        return self.events[entry.key.app]?.tokens(of: quota, at: time) ?? quota.burst > 0
    }

    /// Counts an event for the app of a session that is ducked.
    mutating func spend(_ key: SessionKey, at time: Timestamp) {
        guard let quota = self.entry(key)?.told?.ducked?.cell.ducking?.events else { return }
        self.events[key.app, default: Heard()].spend(quota, at: time)
    }

    /// Forgets what an app had, whose number may be used again.
    mutating func forget(_ app: AppHandle) { self.events[app] = nil }

    /// Goes on from a sample time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        for app in self.events.keys { self.events[app]?.rewind(from: last, to: now) }
    }

    // MARK: Settling

    /// Lets begin who can, finds how everybody stands now, and says what is another than before.
    private mutating func settle(_ matrix: InteractionMatrix) -> [SessionEffect] {
        var sounds = self.begun.indices.map { self.silencer(of: $0, matrix) == nil }
        while let next = self.next(sounds, matrix) {
            let entry = self.waiting.remove(at: next)
            for index in self.begun.indices where sounds[index] && self.begun[index].key.app != entry.key.app {
                let cell = matrix.cell(holder: self.begun[index].request, requester: entry.request)
                sounds[index] = cell.outcome.goesTogether
            }
            self.begun.append(entry)
            sounds.append(true)
        }
        let standings = self.standings(matrix)
        var effects: [SessionEffect] = []
        for index in self.begun.indices {
            effects += self.changes(of: self.begun[index], to: standings[index])
            self.begun[index].told = standings[index]
        }
        for index in self.waiting.indices {
            let entry = self.waiting[index]
            guard let obstacle = self.obstacle(to: entry.request, of: entry.key.app, matrix) else { continue }
            let standing = SessionStanding(.waiting(obstacle))
            effects += self.changes(of: entry, to: standing)
            self.waiting[index].told = standing
        }
        return effects
    }

    /// The first of those that wait that everybody who sounds lets begin.
    private func next(_ sounds: [Bool], _ matrix: InteractionMatrix) -> Int? {
        self.waiting.firstIndex { entry in
            self.begun.indices.allSatisfy { index in
                let holder = self.begun[index]
                return holder.key.app == entry.key.app || !sounds[index]
                    || matrix.cell(holder: holder.request, requester: entry.request).outcome.admits
            }
        }
    }

    /// Who silences one that has begun: the latest that does not go together with it.
    private func silencer(of index: Int, _ matrix: InteractionMatrix) -> SessionMeeting? {
        let entry = self.begun[index]
        for later in self.begun[(index + 1)...].reversed() where later.key.app != entry.key.app {
            let cell = matrix.cell(holder: entry.request, requester: later.request)
            if !cell.outcome.goesTogether { return SessionMeeting(later.app, cell) }
        }
        return nil
    }

    /// How those that have begun stand to each other.
    private func standings(_ matrix: InteractionMatrix) -> [SessionStanding] {
        var standings = self.begun.indices.map { index in
            SessionStanding(
                self.silencer(of: index, matrix).map { .interrupted($0) } ?? .playing,
                isSilenced: self.isLocked && matrix[self.begun[index].request.name]?.whenLocked == .silence)
        }
        // Only what is heard makes others soft.
        for later in self.begun.indices where standings[later].isPlaying && !standings[later].isSilenced {
            for index in self.begun.indices[..<later] where self.begun[later].key.app != self.begun[index].key.app {
                let cell = matrix.cell(holder: self.begun[index].request, requester: self.begun[later].request)
                guard let ducking = cell.ducking else { continue }
                if standings[index].ducked.map({ ducking.share < $0.cell.ducking?.share ?? 1 }) ?? true {
                    standings[index].ducked = SessionMeeting(self.begun[later].app, cell)
                }
            }
        }
        return standings
    }

    // MARK: Telling

    private func changes(of entry: Entry, to new: SessionStanding) -> [SessionEffect] {
        var changes: [SessionEffect.Change] = []
        let old = entry.told
        switch (old?.state, new.state) {
        case (.none, .waiting(let meeting)): changes.append(.waits(meeting))
        case (.none, .playing): changes.append(.began)
        case (.none, .interrupted(let meeting)), (.waiting, .interrupted(let meeting)):
            changes += [.began, .interrupted(meeting)]
        case (.waiting, .playing): changes.append(.began)
        case (.playing, .interrupted(let meeting)): changes.append(.interrupted(meeting))
        case (.interrupted, .playing): changes.append(.resumed(hint: !new.isSilenced))
        // Who it is that stands in the way is nothing to tell.
        case (.playing, .playing), (.interrupted, .interrupted), (.waiting, .waiting): break
        // What has begun does not wait again.
        case (.playing, .waiting), (.interrupted, .waiting): break
        }
        if new.share < 1, new.share != old?.share ?? 1, let meeting = new.ducked { changes.append(.ducked(meeting)) }
        if new.share == 1, let old, old.share < 1 { changes.append(.restored) }
        if new.isSilenced != old?.isSilenced ?? false { changes.append(new.isSilenced ? .silenced : .audible) }
        return changes.map { SessionEffect(key: entry.key, request: entry.request, change: $0) }
    }
}
