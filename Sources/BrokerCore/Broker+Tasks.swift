package import Arbitration
package import Background
package import Motion

/// Background work that apps hand in: the arbiter knows of it only that it keeps an app going.
extension Broker {
    package mutating func task(
        _ input: TaskInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        var refusal: TaskRefusal?
        switch input {
        case .came(let client): self.came(client, at: arrival, &actions)
        case .power(let power):
            self.change(device: \.power, to: power, at: arrival, &actions)
        case .submit, .cancel, .done, .force, .kept, .failed, .restored, .terminated, .clock, .idle:
            var owner: TaskOwner?
            if let app = input.app { owner = try self.owner(app) }
            refusal = self.work.take(input, of: owner, at: self.taskMoment(arrival), self.taskSettings)
        }
        self.work.update(self.decisions.arbiter.device.power, self.taskSettings)
        self.followWork(at: arrival, &actions)
        if let refusal { throw .task(refusal) }
    }

    // MARK: What there is to see

    /// Background work, whether its apps are here or not.
    package var tasks: Tasks { self.work.tasks }

    /// Nobody uses the device, as far as is known.
    package var isIdle: Bool { self.work.isIdle }

    package func owner(_ client: AppHandle) throws(Refusal) -> TaskOwner {
        guard let app = self.app(client) else { throw .unknownClient }
        return TaskOwner(app.id, user: app.user)
    }

    package func taskMoment(_ arrival: Timestamp) -> TaskMoment {
        self.work.moment(at: arrival, awake: self.decisions.arbiter.moment(at: arrival).awake)
    }

    /// When a time that tasks under way go by comes, if the system stays awake.
    package func arrival(of time: AwakeTime) -> Timestamp? { self.decisions.arbiter.arrival(of: time) }

    package var taskSettings: Tasks.Settings {
        let policy = self.decisions.arbiter.policy
        return { policy.settings(for: $0) }
    }

    // MARK: Inside

    mutating func passTasks(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.work.pass(to: self.taskMoment(arrival), self.taskSettings)
        self.followWork(at: arrival, &actions)
    }

    /// An app came to the bus: a task may be waiting for it to be up.
    private mutating func came(_ client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client) else { return }
        if self.facts(client)?.state == .foreground { self.opened(client, &actions) }
        let owner = TaskOwner(app.id, user: app.user)
        self.work.came(owner, self.taskSettings)
        if self.work.isStarting(owner) { self.begin(owner, in: client, at: arrival, &actions) }
        if let launch = self.decisions.arbiter.launches.launch(of: app.id), case .task = launch.reason {
            self.tell(.launched(app.id, launch.number, .done), at: arrival)
            self.perform(&actions)
            // It came for another user than the one whose task it was started for.
            self.startFailed(app.id, isUnknown: false, at: arrival, &actions)
        }
        self.passTasks(at: arrival, &actions)
    }

    /// An app left the bus.
    mutating func left(_ app: App, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.work.left(TaskOwner(app.id, user: app.user), at: self.taskMoment(arrival), self.taskSettings)
        self.followWork(at: arrival, &actions)
    }

    /// The user has an app before him, and wants it to work again.
    mutating func opened(_ client: AppHandle, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client) else { return }
        self.work.opened(TaskOwner(app.id, user: app.user), self.taskSettings)
        actions += self.work.takeEffects().map { .task($0) }
    }

    /// Does what follows, as far as that is ours to do.
    private mutating func followWork(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for effect in self.work.takeEffects() {
            switch effect {
            case .launch(let owner, let identifier):
                if let client = self.registry.connected(owner.app, of: owner.user) {
                    self.begin(owner, in: client, at: arrival, &actions)
                } else {
                    let ends = arrival + Self.longestWaitForStart
                    self.tell(.launch(LaunchRequest(owner.app, .task(identifier), ends: ends)), at: arrival)
                    self.perform(&actions)
                }
            case .silent(let owner): self.step(.overrun, owner, at: arrival, &actions)
            case .rests(let owner): self.step(.end, owner, at: arrival, &actions)
            case .keep, .forget, .terminated, .run, .expiring, .ended: actions.append(.task(effect))
            }
        }
    }

    // MARK: Starting apps

    /// How long a start may wait for others.
    private static let longestWaitForStart = TimeSpan.seconds(3_600)

    /// An app could not be started for its tasks.
    mutating func startFailed(
        _ app: AppID, isUnknown: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        for owner in self.work.awaiting(app) {
            self.work.startFailed(owner, isUnknown: isUnknown, at: self.taskMoment(arrival), self.taskSettings)
            self.followWork(at: arrival, &actions)
        }
    }

    private mutating func begin(
        _ owner: TaskOwner, in client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.step(.begin, owner, at: arrival, &actions)
        self.work.begin(owner, at: self.taskMoment(arrival), self.taskSettings)
        self.followWork(at: arrival, &actions)
    }

    private mutating func step(
        _ step: TaskStep, _ owner: TaskOwner, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let client = self.registry.connected(owner.app, of: owner.user) else { return }
        self.tell(.task(client, step), at: arrival)
        self.perform(&actions)
    }
}
