import Motion

/// What an app has used up. Outlives its registration, so that leaving and coming back gains nothing.
struct Ledger: Sendable {
    private var events = TokenBucket()
    private var wakes = TokenBucket()
    /// The assertions that it began.
    var hour = HourlyCount()
    /// The sample time of the last event.
    private var lastEvent: Timestamp?
    /// The time of the last launch, which a push may have been for: later than motion that was on its way by then.
    private var lastWake: Timestamp?

    /// Whether it says no more than an empty one would.
    func isSpent(at now: Timestamp, arrival: Timestamp, _ settings: AppSettings) -> Bool {
        self.events.isFull(at: now) && self.wakes.isFull(at: now) && self.hour.isSpent(at: arrival)
            && (self.lastEvent.map { $0 + settings.cooldown <= now } ?? true)
    }

    /// The time for which events are looked at, and taken: none before what was decided last.
    private func eventTime(_ time: Timestamp) -> Timestamp { max(time, self.lastEvent ?? time) }
    /// The same for launches.
    private func wakeTime(_ time: Timestamp) -> Timestamp { max(self.eventTime(time), self.lastWake ?? time) }

    /// Why an app may not have an event, as far as it has used up what it is given: S3 without the group. The first that is against
    /// it is the reason, and when all that is against it is over is what is seen. Of what a group decides the motion may be older
    /// than the app's last event.
    ///
    /// - Parameter promised: What it may get besides, which waits for a decision.
    func limit(
        _ settings: AppSettings, _ state: AppState, _ terms: DeliveryTerms, promised: Promised, at time: Timestamp,
        _ seen: inout LimitsSeen
    ) -> Reason? {
        var reason: Reason?
        if let quota = settings.quota {
            let now = self.eventTime(time)
            seen.burst = quota.burst
            let tokens = max(0, self.events.tokens(of: quota, at: now) - promised.count)
            seen.tokens = tokens
            if tokens == 0 {
                seen.wait(until: self.events.nextToken(of: quota, at: now, besides: promised.count))
                reason = .quota
            }
        }
        let wake = self.wakeLimit(settings, state, terms, promised: promised.count, at: time, &seen)
        reason = reason ?? wake
        guard let until = self.cooldownEnds(settings.cooldown, promised, around: time) else { return reason }
        seen.wait(until: until)
        return reason ?? .appCooldown
    }

    /// When the cooldowns are over that a time falls into, of what the app had and of what it may still get.
    private func cooldownEnds(_ cooldown: TimeSpan, _ promised: Promised, around time: Timestamp) -> Timestamp? {
        let waiting = promised.cooldownEnds(cooldown, around: time)
        guard let last = self.lastEvent, last.isWithin(cooldown, of: time) else { return waiting }
        return max(last + cooldown, waiting ?? last)
    }

    /// The same as far as only launches go: what an app that is there is not asked.
    func wakeLimit(
        _ settings: AppSettings, _ state: AppState, _ terms: DeliveryTerms, promised: Int, at time: Timestamp,
        _ seen: inout LimitsSeen
    ) -> Reason? {
        guard let quota = settings.wakeQuota, terms.kind == .wake, !state.canReceive else { return nil }
        let now = self.wakeTime(time)
        guard self.wakes.tokens(of: quota, at: now) <= promised else { return nil }
        seen.wait(until: self.wakes.nextToken(of: quota, at: now, besides: promised))
        return .wakeQuota
    }

    /// Takes an event from what the app is given, at the time for which `limit` found it there.
    mutating func spend(_ settings: AppSettings, isWake: Bool, at time: Timestamp) {
        let now = self.eventTime(time)
        if let quota = settings.quota { self.events.spend(quota, at: now) }
        if isWake { self.spendWake(settings, at: now) }
        self.lastEvent = now
    }

    /// Takes a launch from what the app is given.
    mutating func spendWake(_ settings: AppSettings, at time: Timestamp) {
        guard let quota = settings.wakeQuota else { return }
        let now = self.wakeTime(time)
        self.wakes.spend(quota, at: now)
        self.lastWake = now
    }

    /// Policy gives something else now: the app waits no longer than whoever has used up all of that.
    mutating func adopt(_ settings: AppSettings, at time: Timestamp) {
        if let quota = settings.quota { self.events.adopt(quota, at: self.eventTime(time)) }
        if let quota = settings.wakeQuota { self.wakes.adopt(quota, at: self.wakeTime(time)) }
    }

    /// How long until the app may be launched again; `nil`: now.
    ///
    /// - Parameter promised: How many events it may be launched for besides, which wait for a decision.
    func timeToWake(_ settings: AppSettings, promised: Int, at time: Timestamp) -> TimeSpan? {
        guard let quota = settings.wakeQuota, self.wakes.tokens(of: quota, at: time) <= promised else { return nil }
        return self.wakes.nextToken(of: quota, at: time, besides: promised) - time
    }

    /// Goes on from a time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        self.events.rewind(from: last, to: now)
        self.wakes.rewind(from: last, to: now)
        self.lastEvent = self.lastEvent.map { min($0, now) }
        self.lastWake = self.lastWake.map { min($0, now) }
    }
}
