package import Motion

extension Arbiter {
    /// Takes in a wish that an app be launched. What events cost of its quota they did when they were delivered; a push costs
    /// as much as an event, unless it joins one that waits.
    mutating func wish(_ request: LaunchRequest) {
        if request.reason == .push, !self.launches.isWaiting(request.app, for: .push) {
            let time = self.quotaTime(at: self.arrivalTime)
            for index in self.apps.indices where self.apps[index]?.id == request.app {
                guard let entry = self.apps[index], !entry.facts.state.canReceive, let quota = entry.settings.wakeQuota
                else { continue }
                self.apps[index]?.ledger.wakes.spend(quota, at: time)
            }
        }
        self.launches.add(request)
    }

    /// When an app may be launched by a push again; `nil`: now, as far as its quota says.
    package func wakeQuotaReturns(to app: AppHandle, at arrival: Timestamp) -> Timestamp? {
        guard let entry = self.entry(app), !entry.facts.state.canReceive, let quota = entry.settings.wakeQuota,
            !self.launches.isWaiting(entry.id, for: .push)
        else { return nil }
        let time = self.quotaTime(at: arrival)
        guard entry.ledger.wakes.tokens(of: quota, at: time) <= 0 else { return nil }
        return arrival + (entry.ledger.wakes.nextToken(of: quota, at: time) - time)
    }

    /// Quotas go by the time of samples, and no sample need have come.
    private func quotaTime(at arrival: Timestamp) -> Timestamp { max(self.motionTime, arrival) }

    /// Takes in word on a launch.
    mutating func launched(
        _ app: AppID, _ number: UInt64, _ result: LaunchResult, into actions: inout [ArbiterAction]
    ) {
        var effects: [LaunchEffect] = []
        self.launches.finish(app, number, result, at: self.arrivalTime, &effects)
        self.follow(effects, into: &actions)
    }

    /// Launches whoever may be after an input, and ends what did not come in time.
    mutating func runLaunches(into actions: inout [ArbiterAction]) {
        var effects: [LaunchEffect] = []
        let policy = self.policy
        self.launches.run(to: self.arrivalTime, timeout: { policy.settings(for: $0).wakeTimeout }, &effects)
        self.follow(effects, into: &actions)
    }

    private mutating func follow(_ effects: [LaunchEffect], into actions: inout [ArbiterAction]) {
        for effect in effects {
            // What is carried is settled before the app's state is another.
            actions.append(.launch(effect))
            switch effect {
            case .begin(let launch):
                self.setLaunched(launch.app, until: self.arrivalTime + launch.timeout, into: &actions)
            case .ended(let launch, let result, _):
                self.setLaunched(launch.app, until: nil, into: &actions)
                if case .failed = result { self.handOn(from: launch.app, into: &actions) }
            case .gaveUp: break
            }
        }
        if !effects.isEmpty { self.factsChanged(into: &actions) }
    }

    private mutating func setLaunched(_ id: AppID, until answerBy: Timestamp?, into actions: inout [ArbiterAction]) {
        for index in self.apps.indices where self.apps[index]?.id == id {
            self.live(AppHandle(UInt32(truncatingIfNeeded: index)), into: &actions) {
                $0.launch(until: answerBy, at: $2, $1)
            }
        }
    }

    /// Whoever is on the bus need not be started for its tasks, and whoever can receive need not be launched for motion.
    mutating func noteForLaunches(_ id: AppID, from old: AppState, to new: AppState) {
        guard old != new, !id.isAnonymous else { return }
        self.launches.setRunning(id, new != .dead)
        if old == .dead { self.launches.withdraw(id) { if case .task = $0 { true } else { false } } }
        guard new.canReceive, !old.canReceive else { return }
        self.launches.withdraw(id) { if case .motion = $0 { true } else { false } }
        // What it was to be launched for it is sent.
        if self.launches.launch(of: id) == nil { self.forgetEntrusted(id) }
    }

    // MARK: What there is to see

    /// Whether a launch is the one that is under way.
    package func isCurrent(_ launch: Launch) -> Bool { self.launches.launch(of: launch.app) == launch }
}
