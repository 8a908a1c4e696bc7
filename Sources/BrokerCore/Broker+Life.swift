package import Arbitration
package import Motion

extension Broker {
    // MARK: What is said of apps

    package mutating func report(
        _ foreground: ForegroundReport, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.tell(.foreground(foreground), at: arrival)
        self.perform(&actions)
    }

    package mutating func tell(
        _ client: AppHandle, _ state: AppState?, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard self.app(client) != nil else { throw .unknownClient }
        self.tell(.told(client, state), at: arrival)
        self.perform(&actions)
    }

    package mutating func lock(_ isLocked: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.change(device: \.isLocked, to: isLocked, at: arrival, &actions)
    }

    /// The local time is in another minute of the week, whichever way it got there.
    package mutating func clock(_ minute: Int, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        if self.decisions.arbiter.device.minuteOfWeek == minute { return }
        self.change(device: \.minuteOfWeek, to: minute, at: arrival, &actions)
    }

    mutating func change<Value>(
        device fact: WritableKeyPath<DeviceFacts, Value>, to value: Value, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        var device = self.decisions.arbiter.device
        device[keyPath: fact] = value
        self.tell(.device(device), at: arrival)
        self.perform(&actions)
    }

    /// Whether a rule goes by the local time, so that somebody must tell it.
    package var followsClock: Bool { self.decisions.arbiter.policy.rules.contains { $0.conditions.times != nil } }

    package mutating func sleep(_ begins: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.tell(.sleep(begins), at: arrival)
        self.perform(&actions)
    }

    // MARK: What apps do

    package mutating func begin(
        _ request: AssertionRequest, of client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard self.app(client) != nil else { throw .unknownClient }
        try self.ask(.beginAssertion(client, request), at: arrival, &actions)
    }

    package mutating func end(
        _ assertion: AssertionID, of client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.tell(.endAssertion(client, assertion), at: arrival)
        self.perform(&actions)
    }

    package mutating func begin(
        _ activity: ActivityID, _ mode: BackgroundMode, _ session: SessionRequest? = nil, of client: AppHandle,
        at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard let app = self.app(client) else { throw .unknownClient }
        if session != nil || mode == .audio { try self.checkSessions(of: app.user) }
        try self.ask(.beginActivity(client, activity, mode, session), at: arrival, &actions)
    }

    /// Each session is weighed against each, so that there are few for all.
    private func checkSessions(of user: UInt32) throws(Refusal) {
        var shares = Sessions.shares
        for handle in self.decisions.arbiter.sessions.apps {
            guard let app = self.app(handle) else { continue }
            shares.set(shares.held(by: app.user) + 1, for: app.user)
        }
        guard shares.room(for: user) > 0 else { throw Refusal("sessions", shares, user, "too many sessions") }
    }

    package mutating func end(
        _ activity: ActivityID, of client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.tell(.endActivity(client, activity), at: arrival)
        self.perform(&actions)
    }

    /// Gives the arbiter an input that it answers.
    private mutating func ask(
        _ input: ArbiterInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        self.tell(input, at: arrival)
        let refusal = self.decisions.refusal
        self.perform(&actions)
        if let refusal { throw .life(refusal) }
    }

    // MARK: What there is to see

    /// The sessions of an app, and how they stand.
    package func sessions(
        of client: AppHandle
    ) -> [(key: SessionKey, request: SessionRequest, standing: SessionStanding)] {
        self.decisions.arbiter.sessions.sessions(of: client)
    }

    /// What rules see of an app.
    package func facts(_ client: AppHandle) -> AppFacts? { self.decisions.arbiter.facts(of: client) }
    package func life(_ client: AppHandle) -> AppLife? { self.decisions.arbiter.life(of: client) }
    package func settings(_ client: AppHandle) -> AppSettings? { self.decisions.arbiter.settings(of: client) }
    package var reporters: Policy.Entitled { self.decisions.arbiter.policy.reporters }
    package var pushers: Policy.Entitled { self.decisions.arbiter.policy.pushers }
    package var foreground: ForegroundReport { self.decisions.arbiter.foreground }
    package var isLocked: Bool { self.decisions.arbiter.device.isLocked }
    package var isAsleep: Bool { self.decisions.arbiter.isAsleep }

    /// How long an app can go on as things are; `nil`: nothing ends it.
    package func remaining(_ client: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        self.decisions.arbiter.remaining(of: client, at: arrival)
    }

    /// How long an assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    package func remaining(_ assertion: AssertionID, of client: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        self.decisions.arbiter.remaining(of: assertion, client, at: arrival)
    }
}
