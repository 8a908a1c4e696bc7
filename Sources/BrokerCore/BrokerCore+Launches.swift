package import Arbitration
package import Motion

/// Apps that are started or resumed for what is due to them.
extension BrokerCore {
    // MARK: What became of it

    /// An app answered to a launch, and with that to all the events that it was handed.
    package mutating func answered(
        _ launch: Launch, _ answer: Answer, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard self.arbiter.isCurrent(launch) else { return }
        if let index = self.launchedIndex(of: launch.app), case .motion = launch.reason {
            let epochs = self.apps[index]?.queue.calledEpochs ?? []
            let app = AppHandle(UInt32(truncatingIfNeeded: index))
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
        guard let index = self.apps.firstIndex(where: { $0?.id == app }), !app.isAnonymous else {
            throw .unknownApp(app)
        }
        let client = ClientID(UInt32(truncatingIfNeeded: index))
        guard self.settings(client)?.grants.contains(.push) == true else { throw .life(.ungranted(.push)) }
        if let until = self.arbiter.wakeQuotaReturns(to: client.handle, at: arrival) {
            throw .wakeQuota(app, wait: until - arrival)
        }
        let ends = arrival + self.arbiter.policy.settings(for: app).wakeTimeout
        self.tell(.launch(LaunchRequest(app, .push, ends: ends)), at: arrival)
        self.perform(&actions)
    }

    // MARK: What is due

    /// Has an app that cannot receive launched for what waits for it, if a rule says so.
    mutating func launchForQueue(_ index: Int, at arrival: Timestamp) {
        if let wish = self.wish(of: index) { self.tell(.launch(wish), at: arrival) }
    }

    /// The same for what is kept for an app that is not there and of which nothing else is known.
    mutating func launchForAbsent(_ app: AbsentApp, at arrival: Timestamp) {
        if let wish = self.wish(of: app) { self.tell(.launch(wish), at: arrival) }
    }

    /// The same for all, the strongest first: they begin as they are told.
    mutating func launchForAll(at arrival: Timestamp) {
        let wishes =
            self.apps.indices.compactMap { self.wish(of: $0) } + self.absent.all.compactMap { self.wish(of: $0) }
        for wish in wishes.enumerated().sorted(by: {
            ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset)
        }) {
            self.tell(.launch(wish.element), at: arrival)
        }
    }

    private func wish(of index: Int) -> LaunchRequest? {
        guard let app = self.apps[index], let wish = app.queue.launchWish, !app.id.isAnonymous,
            self.arbiter.facts(of: AppHandle(UInt32(truncatingIfNeeded: index)))?.state.canReceive != true
        else { return nil }
        let first = app.queue.firstToLaunch.flatMap { app.detectors[$0.detector] }
        let kind = first?.effective.facts(isAvailable: true).kind ?? "motion"
        return LaunchRequest(app.id, .motion(kind), strength: wish.strength, ends: wish.ends)
    }

    private func wish(of app: AbsentApp) -> LaunchRequest? {
        app.queue.launchWish.map {
            LaunchRequest(app.id, .motion("motion"), strength: $0.strength, ends: $0.ends)
        }
    }

    /// Performs what follows for launches.
    mutating func follow(_ effect: LaunchEffect, _ actions: inout [BrokerAction]) {
        let now = self.arbiter.arrivalTime
        switch effect {
        case .begin(let launch): self.begin(launch, at: now, &actions)
        case .ended(let launch, let result, _):
            if let index = self.apps.firstIndex(where: { $0?.id == launch.app }) {
                self.apps[index]?.launches.end(launch, result, at: now)
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
        if let index = self.apps.firstIndex(where: { $0?.id == launch.app }) { self.apps[index]?.launches.begin() }
        switch launch.reason {
        case .push: actions.append(.launch(launch, [], missing: 0))
        case .task:
            guard self.isAwaited(launch.app) else {
                return self.tell(.launched(launch.app, launch.number, .needless), at: now)
            }
            actions.append(.start(launch))
        case .motion:
            let call = self.withQueue(of: launch.app, &actions) { $0.beginCall(at: now, &$1) }
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
            if let index = self.launchedIndex(of: launch.app) {
                let count = self.apps[index]?.queue.calledEpochs.count ?? 0
                self.apps[index]?.delivered &+= UInt64(count)
            }
            self.withQueue(of: launch.app, &actions) { $0.callAnswered(at: now, &$1) }
            // What came while it was called, it is called for again.
            if let index = self.launchedIndex(of: launch.app) { self.launchForQueue(index, at: now) }
        case .failed(let failure):
            self.withQueue(of: launch.app, &actions) { $0.callFailed(failure, at: now, &$1) }
        }
    }

    // MARK: Queues

    /// The app whose queue has what it is launched for.
    private func launchedIndex(of app: AppID) -> Int? {
        let indices = self.apps.indices.filter { self.apps[$0]?.id == app }
        return indices.first { self.apps[$0]?.queue.isLaunching == true } ?? indices.first
    }

    /// Does something with the queue that has what an app is launched for, wherever that is.
    @discardableResult
    private mutating func withQueue<Result>(
        of app: AppID, _ actions: inout [BrokerAction],
        _ body: (inout EventQueue, inout [QueueAction]) -> Result
    ) -> Result? {
        let known = self.launchedIndex(of: app)
        if let known, self.apps[known]?.queue.isLaunching == true || !self.absent.all.contains(where: { $0.id == app })
        {
            guard var queue = self.apps[known]?.queue else { return nil }
            let result = body(&queue, &self.queueActions)
            self.apps[known]?.queue = queue
            self.settleQueue(known, &actions)
            return result
        }
        let fitting = self.absent.all.firstIndex { $0.id == app && $0.queue.isLaunching }
        guard let index = fitting ?? self.absent.all.firstIndex(where: { $0.id == app }) else { return nil }
        let result = body(&self.absent[index].queue, &self.queueActions)
        self.tellAbsent(index, &actions)
        return result
    }
}
