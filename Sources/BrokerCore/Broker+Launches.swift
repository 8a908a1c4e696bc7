package import Arbitration
package import Motion

/// Apps that are started or resumed for what is due to them.
extension Broker {
    // MARK: What became of it

    /// An app answered to a launch, and with that to all the events that it was handed.
    package mutating func answered(
        _ launch: Launch, _ answer: Answer, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard self.decisions.arbiter.isCurrent(launch) else { return }
        if let app = self.mailboxes.launched(launch.app), case .motion = launch.reason {
            let epochs = self.mailboxes[app]?.calledEpochs ?? []
            for epoch in epochs { self.tell(.answer(app, epoch: epoch, answer), at: arrival) }
        }
        self.tell(.launched(launch.app, launch.number, .done), at: arrival)
        self.perform(&actions)
    }

    /// An app could not be launched.
    package mutating func failed(
        _ launch: Launch, _ failure: LaunchFailure, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.tell(.launched(launch.app, launch.number, .failed(failure)), at: arrival)
        self.perform(&actions)
    }

    /// Somebody who may wants an app launched. What comes of it is told as an action.
    package mutating func push(
        _ app: AppID, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard let client = self.registry.app(named: app), !app.isAnonymous else {
            throw .unknownApp(app)
        }
        guard self.settings(client)?.grants.contains(.push) == true else { throw .life(.ungranted(.push)) }
        if let until = self.decisions.arbiter.wakeQuotaReturns(to: client, at: arrival) {
            throw .wakeQuota(app, wait: until - arrival)
        }
        let ends = arrival + self.decisions.arbiter.policy.settings(for: app).wakeTimeout
        self.tell(.launch(LaunchRequest(app, .push, ends: ends)), at: arrival)
        self.perform(&actions)
    }

    // MARK: What is due

    /// Has an app that cannot receive launched for what waits for it, if a rule says so.
    mutating func launchForMail(of app: AppHandle, at arrival: Timestamp) {
        if let wish = self.wish(of: app) { self.tell(.launch(wish), at: arrival) }
    }

    /// The same for what is kept for an app that is not there and of which nothing else is known.
    mutating func launchForAbsent(_ app: AppID, _ user: UInt32, at arrival: Timestamp) {
        for wish in self.absentWishes(of: app, user) { self.tell(.launch(wish), at: arrival) }
    }

    /// The same for all, the strongest first: they begin as they are told.
    mutating func launchForAll(at arrival: Timestamp) {
        let wishes = self.registry.handles.compactMap { self.wish(of: $0) } + self.absentWishes()
        for wish in wishes.enumerated().sorted(by: {
            ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset)
        }) {
            self.tell(.launch(wish.element), at: arrival)
        }
    }

    private func wish(of app: AppHandle) -> LaunchRequest? {
        guard let wish = self.mailboxes.wish(of: app), self.decisions.arbiter.facts(of: app)?.state.canReceive != true
        else { return nil }
        let first = wish.first.flatMap { self.registry[app]?.detectors[$0.detector] }
        let kind = first?.effective.facts(isAvailable: true).kind ?? "motion"
        return LaunchRequest(wish.id, .motion(kind), strength: wish.strength, ends: wish.ends)
    }

    private func absentWishes(of app: AppID? = nil, _ user: UInt32? = nil) -> [LaunchRequest] {
        self.mailboxes.absentWishes(of: app, user).map {
            LaunchRequest($0.id, .motion("motion"), strength: $0.strength, ends: $0.ends)
        }
    }

    /// Performs what follows for launches.
    mutating func follow(_ effect: LaunchEffect, _ actions: inout [BrokerAction]) {
        let now = self.decisions.arbiter.arrivalTime
        switch effect {
        case .begin(let launch): self.begin(launch, at: now, &actions)
        case .ended(let launch, let result, _):
            if let app = self.registry.app(named: launch.app) {
                self.registry.launchEnded(app, launch, result, at: now)
            }
            if case .motion = launch.reason { self.settle(launch, result, at: now, &actions) }
            actions.append(.launchEnded(launch, result))
        case .gaveUp(let request, let failure):
            actions.append(.launchGivenUp(request, failure))
            guard case .task = request.reason else { return }
            self.startFailed(request.app, isUnknown: failure == .unknown, at: now, &actions)
        }
    }

    private mutating func begin(_ launch: Launch, at now: Timestamp, _ actions: inout [BrokerAction]) {
        if let app = self.registry.app(named: launch.app) { self.registry.launchBegins(app) }
        switch launch.reason {
        case .push: actions.append(.launch(launch, [], missing: 0))
        case .task:
            guard !self.work.awaiting(launch.app).isEmpty else {
                return self.tell(.launched(launch.app, launch.number, .needless), at: now)
            }
            actions.append(.start(launch))
        case .motion:
            let call = self.mailboxes.changeLaunched(launch.app, &self.mail) { $0.beginCall(at: now, &$1) }
            self.carry(&actions)
            guard let call, !call.events.isEmpty else {
                return self.tell(.launched(launch.app, launch.number, .needless), at: now)
            }
            actions.append(.launch(launch, call.events, missing: call.missing))
        }
    }

    private mutating func settle(
        _ launch: Launch, _ result: LaunchResult, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        switch result {
        case .needless: break
        case .done:
            if let app = self.mailboxes.launched(launch.app) {
                let count = self.mailboxes[app]?.calledEpochs.count ?? 0
                self.registry.handedOver(count, to: app)
            }
            self.mailboxes.changeLaunched(launch.app, &self.mail) { $0.callAnswered(at: now, &$1) }
            self.carry(&actions)
            // What came while it was called, it is called for again.
            if let app = self.mailboxes.launched(launch.app) { self.launchForMail(of: app, at: now) }
        case .failed(let failure):
            self.mailboxes.changeLaunched(launch.app, &self.mail) { $0.callFailed(failure, at: now, &$1) }
            self.carry(&actions)
        }
    }
}
