import Motion

extension Arbiter {
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
