package import Motion

/// The life of one app: which state it is in, what keeps it going, and when that ends.
///
/// A value without clock: each input comes with its moment and returns what follows from it, in order. What policy gives the app
/// comes with each input, too, because it may change at any time.
package struct AppLife: Sendable {
    /// Where the app is, as far as others say. Its state follows from that and from what it does.
    package enum Place: Equatable, Sendable {
        /// Off the bus.
        case gone
        case foreground
        /// The user sees it and works with another.
        case visible
        /// It would be in the foreground, or seen, if the screen were not locked.
        case behindLock
        case background
        /// It cannot run.
        case frozen
        /// Somebody said what state it is in, and that is it, whatever else is the case.
        case told(AppState)
    }

    package enum State: Equatable, Sendable {
        case dead
        case foreground
        case inactive
        case background(Stay)
        case suspended
    }

    /// What keeps an app in the background from being suspended.
    package enum Stay: Equatable, Sendable {
        /// An activity that counts, an assertion, a task, or what it was launched for.
        case working
        /// Nothing; but it may go on for a moment.
        case grace(until: Timestamp)
        /// Somebody said that it is in the background.
        case told
    }

    package private(set) var place = Place.gone
    package private(set) var state = State.dead
    /// Since when it is in this state, and why.
    package private(set) var since: Timestamp
    package private(set) var cause = StateCause.left
    /// In the order in which they began.
    package private(set) var assertions: [Assertion] = []
    package private(set) var activities: [Activity] = []
    /// A task of its is under way.
    package private(set) var doesTask = false
    /// Its player plays, its app file says that this counts, and policy grants it audio.
    private var isPlaying = false
    /// Assertions that it did not end in time.
    package private(set) var overruns: UInt64 = 0
    /// It is launched for something, and has until then to answer.
    package private(set) var launchedUntil: Timestamp?
    /// Since when budgets are being used up: it left the foreground, or the screen was locked.
    private(set) var awaySince: AwakeTime?

    /// Assertions or activities of one app at a time.
    package static let mostHeld = 64

    package init(at arrival: Timestamp) { self.since = arrival }

    package var appState: AppState {
        switch self.state {
        case .dead: .dead
        case .foreground: .foreground
        case .inactive: .inactive
        case .background: .background
        case .suspended: .suspended
        }
    }

    package var modes: WordSet<BackgroundMode> {
        var modes = WordSet(self.activities.map(\.mode))
        if self.isAtPlay { modes.insert(.audio) }
        return modes
    }
    /// Whether it is at work because its player plays. Who is suspended or dead is at no work.
    package var isAtPlay: Bool { self.isPlaying && self.appState.canReceive }
    package var hasAssertion: Bool { !self.assertions.isEmpty }

    // MARK: Where it is

    package mutating func move(
        to place: Place, _ cause: StateCause, at now: Moment, _ settings: AppSettings
    ) -> [LifeEffect] {
        guard place != self.place else { return [] }
        self.place = place
        var effects: [LifeEffect] = []
        switch place {
        case .foreground, .told(.foreground):
            if self.awaySince != nil { effects += self.endAssertions(.foreground) }
            self.awaySince = nil
        case .behindLock, .background, .told(.background):
            if self.awaySince == nil { self.awaySince = now.awake }
        // Seen by the user: what it used of its budget is not given back, and the time away neither begins nor ends.
        case .visible, .told(.inactive): break
        case .gone, .frozen, .told(.suspended), .told(.dead): break
        }
        effects += self.enter(self.next(hasMoved: true, at: now, settings), cause, at: now)
        return effects + self.suspendIfDue(cause, at: now)
    }

    /// Policy gives something else now.
    package mutating func review(at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        self.settle(.grace, at: now, settings)
    }

    /// The app is launched for something, and has so long to answer; `nil`: that is over.
    ///
    /// Nothing suspends it meanwhile. Who was suspended, or is to be started, has a new stay in the background, with a budget of its
    /// own.
    package mutating func launch(
        until answerBy: Timestamp?, at now: Moment, _ settings: AppSettings
    ) -> [LifeEffect] {
        let isNew = self.state == .suspended || self.state == .dead
        if answerBy != nil, isNew, self.awaySince != nil { self.awaySince = now.awake }
        self.launchedUntil = answerBy
        return self.settle(.launched, at: now, settings)
    }

    /// Its player plays, as far as that counts, or no more.
    package mutating func play(_ isPlaying: Bool, at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        guard isPlaying != self.isPlaying else { return [] }
        self.isPlaying = isPlaying
        return self.settle(isPlaying ? .player : .grace, at: now, settings)
    }

    // MARK: What it does

    /// - Parameter hour: How many it began, whatever connection it had then.
    package mutating func begin(
        _ request: AssertionRequest, _ hour: inout HourlyCount, at now: Moment, _ settings: AppSettings
    ) -> LifeRefusal? {
        if let refusal = self.refusal(self.assertions.count) { return refusal }
        if self.assertions.contains(where: { $0.id == request.id }) { return .repeated }
        let assertion = Assertion(request, begun: now.awake)
        if let ends = assertion.ends(awaySince: self.awaySince, settings), ends <= now.awake {
            return .budget(settings.assertionBudget)
        }
        if let limit = settings.assertionsPerHour, let next = hour.next(within: limit, at: now.arrival) {
            return .hourly(limit: limit, next: next)
        }
        hour.add(at: now.arrival, within: settings.assertionsPerHour)
        self.assertions.append(assertion)
        _ = self.settle(.grace, at: now, settings)
        return nil
    }

    package mutating func end(_ id: AssertionID, at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        self.assertions.removeAll { $0.id == id }
        return self.settle(.grace, at: now, settings)
    }

    package mutating func begin(
        _ id: ActivityID, _ mode: BackgroundMode, needsGrant: Bool = true, at now: Moment, _ settings: AppSettings
    ) -> LifeRefusal? {
        if let refusal = self.refusal(self.activities.count) { return refusal }
        if self.activities.contains(where: { $0.id == id }) { return .repeated }
        guard !needsGrant || settings.grants.contains(mode) else { return .ungranted(mode) }
        self.activities.append(Activity(id: id, mode: mode))
        _ = self.settle(.grace, at: now, settings)
        return nil
    }

    package mutating func end(_ id: ActivityID, at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        self.activities.removeAll { $0.id == id }
        return self.settle(.grace, at: now, settings)
    }

    /// A task begins or ends. One that begins brings a suspended app back.
    package mutating func task(_ step: TaskStep, at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        switch step {
        case .begin:
            guard self.place != .gone else { return [] }
            self.doesTask = true
            return self.enter(self.next(hasMoved: true, at: now, settings), .task, at: now)
        case .end, .overrun:
            guard self.doesTask else { return [] }
            self.doesTask = false
            return self.settle(step == .overrun ? .overrun : .grace, at: now, settings)
        }
    }

    private func refusal(_ held: Int) -> LifeRefusal? {
        switch self.state {
        case .dead, .suspended: .away(self.appState)
        case .foreground, .inactive, .background: held < Self.mostHeld ? nil : .tooMany(limit: Self.mostHeld)
        }
    }

    // MARK: Time

    /// When something happens without an input, on either clock.
    package func deadlines(_ settings: AppSettings) -> (arrival: Timestamp?, awake: AwakeTime?) {
        var awake: AwakeTime?
        for assertion in self.assertions {
            guard let ends = assertion.ends(awaySince: self.awaySince, settings) else { continue }
            let due = assertion.announced == ends ? ends : ends - assertion.request.warning
            awake = min(awake ?? due, due)
        }
        guard case .background(.grace(let until)) = self.state else { return (nil, awake) }
        return (until, awake)
    }

    /// It becomes another user's, who has used nothing of its budget. What it is launched for may be the old one's alone.
    mutating func forgetPast(launchedUntil answerBy: Timestamp?) {
        self.overruns = 0
        self.awaySince = nil
        self.launchedUntil = answerBy
    }

    /// Lets everything happen that is due by now.
    package mutating func pass(to now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        var effects: [LifeEffect] = []
        var isOverrun = false
        for assertion in self.assertions {
            guard let ends = assertion.ends(awaySince: self.awaySince, settings) else { continue }
            if ends <= now.awake {
                self.assertions.removeAll { $0.id == assertion.id }
                self.overruns &+= 1
                isOverrun = true
                effects.append(.assertionEnded(assertion.id, name: assertion.name, .overrun))
            } else if assertion.announced != ends, ends - assertion.request.warning <= now.awake {
                if let index = self.assertions.firstIndex(where: { $0.id == assertion.id }) {
                    self.assertions[index].announced = ends
                }
                effects.append(.expiring(assertion.id, name: assertion.name, remaining: ends - now.awake))
            }
        }
        return effects + self.settle(isOverrun ? .overrun : .grace, at: now, settings)
    }

    /// How long it can go on as things are; `nil`: nothing ends it.
    package func remaining(at now: Moment, _ settings: AppSettings) -> TimeSpan? {
        switch self.state {
        case .dead, .suspended: return .zero
        case .background(.grace(let until)): return max(.zero, until - now.arrival)
        case .foreground, .inactive, .background(.working), .background(.told): break
        }
        if self.doesTask || !settings.grants.isDisjoint(with: self.modes) { return nil }
        let ends = self.assertions.compactMap { $0.ends(awaySince: self.awaySince, settings) }
        let left = ends.max().map { max(.zero, $0 - now.awake) }
        guard let launchedUntil = self.launchedUntil, case .background = self.state else { return left }
        return max(left ?? .zero, launchedUntil - now.arrival)
    }

    /// How long one assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    package func remaining(of id: AssertionID, at now: Moment, _ settings: AppSettings) -> TimeSpan? {
        let assertion = self.assertions.first { $0.id == id }
        return assertion?.ends(awaySince: self.awaySince, settings).map { max(.zero, $0 - now.awake) }
    }

    // MARK: The state

    /// Brings the state up to date after something changed that keeps the app going, or time passed.
    private mutating func settle(_ cause: StateCause, at now: Moment, _ settings: AppSettings) -> [LifeEffect] {
        var next = self.next(hasMoved: false, at: now, settings)
        // Who overran has had its time.
        if cause == .overrun, case .background(.grace) = next { next = .background(.grace(until: now.arrival)) }
        let effects = self.enter(next, cause, at: now)
        return effects + self.suspendIfDue(cause, at: now)
    }

    /// The state that follows from place and doings.
    private func next(hasMoved: Bool, at now: Moment, _ settings: AppSettings) -> State {
        switch self.place {
        case .gone, .told(.dead): return .dead
        case .foreground, .told(.foreground): return .foreground
        case .visible, .behindLock, .told(.inactive): return .inactive
        case .told(.background): return .background(.told)
        case .frozen, .told(.suspended): return .suspended
        case .background: break
        }
        switch (self.state, hasMoved || self.launchedUntil != nil || self.isPlaying) {
        // Only a new place, a launch or a player that plays, and so runs, brings a suspended app back.
        case (.suspended, false): return .suspended
        case (.suspended, true), (.dead, _), (.foreground, _), (.inactive, _), (.background, _): break
        }
        if self.launchedUntil != nil || self.doesTask || self.isPlaying || !self.assertions.isEmpty
            || !settings.grants.isDisjoint(with: self.modes)
        {
            return .background(.working)
        }
        if case .background(.grace(let until)) = self.state { return .background(.grace(until: until)) }
        return .background(.grace(until: now.arrival + settings.grace))
    }

    private mutating func enter(_ next: State, _ cause: StateCause, at now: Moment) -> [LifeEffect] {
        let from = self.appState
        self.state = next
        let to = self.appState
        guard from != to else { return [] }
        self.since = now.arrival
        self.cause = cause
        var effects: [LifeEffect] = [.changed(StateChange(from: from, to: to, cause))]
        switch next {
        case .suspended, .dead: effects += self.endAll()
        case .foreground, .inactive, .background: break
        }
        return effects
    }

    private mutating func suspendIfDue(_ cause: StateCause, at now: Moment) -> [LifeEffect] {
        guard case .background(.grace(let until)) = self.state, until <= now.arrival else { return [] }
        return self.enter(.suspended, cause == .overrun ? .overrun : .grace, at: now)
    }

    private mutating func endAll() -> [LifeEffect] {
        let ended = self.activities.map { LifeEffect.activityEnded($0.id, $0.mode) }
        self.activities = []
        self.doesTask = false
        return self.endAssertions(.suspended) + ended
    }

    private mutating func endAssertions(_ end: AssertionEnd) -> [LifeEffect] {
        let ended = self.assertions.map { LifeEffect.assertionEnded($0.id, name: $0.name, end) }
        self.assertions = []
        return ended
    }
}
