package import Arbitration
package import Background
package import Motion

/// Background work that apps hand in: the arbiter knows of it only that it keeps an app going.
extension BrokerCore {
    package mutating func task(
        _ input: TaskInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let (now, settings) = (self.taskMoment(arrival), self.taskSettings)
        var effects: [TaskEffect] = []
        var refusal: TaskRefusal?
        switch input {
        case .submit(let client, let request, let declared):
            let owner = try self.owner(client)
            refusal = self.tasks.submit(request, of: owner, declared, at: now, settings, into: &effects)
        case .came(let client): self.came(client, at: arrival, &actions)
        case .cancel(let client, let identifier):
            refusal = self.tasks.cancel(identifier, of: try self.owner(client), settings, into: &effects)
        case .force(let owner, let identifier):
            refusal = self.tasks.force(identifier, of: owner, at: now, settings, into: &effects)
        case .done(let client, let isSuccess):
            refusal = self.tasks.done(isSuccess, of: try self.owner(client), at: now, settings, into: &effects)
        case .kept(let owner, let revision): self.tasks.kept(revision, of: owner, settings, into: &effects)
        case .failed(let owner, let run): self.tasks.failed(owner, run: run, at: now, settings, into: &effects)
        case .restored(let records, let terminated):
            self.tasks.restore(records, terminated: terminated, settings, into: &effects)
        case .terminated(let owner): self.tasks.terminate(owner, at: now, settings, into: &effects)
        case .clock(let offset): self.wallOffset = offset
        case .idle(let isIdle): self.isIdle = isIdle
        case .power(let power):
            var device = self.arbiter.device
            device.power = power
            self.tell(.device(device), at: arrival)
            self.perform(&actions)
        }
        self.tasks.update(self.met, settings)
        self.follow(effects, at: arrival, &actions)
        if let refusal { throw .task(refusal) }
    }

    // MARK: What there is to see

    package func owner(_ client: AppHandle) throws(Refusal) -> TaskOwner {
        guard let app = self.app(client) else { throw .unknownClient }
        return TaskOwner(app.id, user: app.user)
    }

    package func taskMoment(_ arrival: Timestamp) -> TaskMoment {
        TaskMoment(wall: arrival + self.wallOffset, awake: self.arbiter.moment(at: arrival).awake)
    }

    /// When a time that tasks under way go by comes, if the system stays awake.
    package func arrival(of time: AwakeTime) -> Timestamp? { self.arbiter.arrival(of: time) }

    /// What tasks can wait for that is the case.
    private var met: WordSet<TaskNeed> {
        var met = WordSet<TaskNeed>.none
        if self.isIdle { met.insert(.idle) }
        if self.arbiter.device.power == .ac { met.insert(.power) }
        return met
    }

    package var taskSettings: Tasks.Settings {
        let policy = self.arbiter.policy
        return { policy.settings(for: $0) }
    }

    // MARK: Inside

    /// When something is due without an input.
    var taskDeadline: Timestamp? {
        let deadlines = self.tasks.deadlines
        let wall = deadlines.wall.map { $0 - self.wallOffset }
        let awake = deadlines.awake.flatMap { self.arbiter.arrival(of: $0) }
        return [wall, awake].compactMap { $0 }.min()
    }

    mutating func passTasks(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        var effects: [TaskEffect] = []
        self.tasks.pass(to: self.taskMoment(arrival), self.taskSettings, into: &effects)
        self.follow(effects, at: arrival, &actions)
    }

    mutating func reviewTasks() { self.tasks.review(self.taskSettings) }

    /// An app came to the bus: a task may be waiting for it to be up.
    private mutating func came(_ client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client) else { return }
        if self.facts(client)?.state == .foreground { self.opened(client, &actions) }
        let owner = TaskOwner(app.id, user: app.user)
        self.tasks.came(owner, self.taskSettings)
        if self.tasks[owner]?.current?.stage == .launching { self.begin(owner, in: client, at: arrival, &actions) }
        if let launch = self.arbiter.launches.launch(of: app.id), case .task = launch.reason {
            self.tell(.launched(app.id, launch.number, .done), at: arrival)
            self.perform(&actions)
            // It came for another user than the one whose task it was started for.
            self.startFailed(app.id, isUnknown: false, at: arrival, &actions)
        }
        self.passTasks(at: arrival, &actions)
    }

    /// An app left the bus.
    mutating func left(_ app: App, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        let owner = TaskOwner(app.id, user: app.user)
        var effects: [TaskEffect] = []
        self.tasks.left(owner, at: self.taskMoment(arrival), self.taskSettings, into: &effects)
        self.follow(effects, at: arrival, &actions)
    }

    /// The user has an app before him, and wants it to work again.
    mutating func opened(_ client: AppHandle, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client) else { return }
        var effects: [TaskEffect] = []
        self.tasks.open(TaskOwner(app.id, user: app.user), self.taskSettings, into: &effects)
        actions += effects.map { .task($0) }
    }

    /// Does what follows, as far as that is ours to do.
    private mutating func follow(
        _ effects: [TaskEffect], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        for effect in effects {
            switch effect {
            case .launch(let owner, let identifier):
                if let client = self.client(of: owner) {
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

    /// The tasks that an app is to be started for.
    private func awaiting(_ app: AppID) -> [AppTasks] {
        self.tasks.all.filter { $0.owner.app == app && $0.current?.stage == .launching }
    }

    /// Whether there still is a task that an app is to be started for.
    func isAwaited(_ app: AppID) -> Bool { !self.awaiting(app).isEmpty }

    /// An app could not be started for its tasks.
    mutating func startFailed(
        _ app: AppID, isUnknown: Bool, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let (now, settings) = (self.taskMoment(arrival), self.taskSettings)
        for tasks in self.awaiting(app) {
            var effects: [TaskEffect] = []
            if isUnknown {
                self.tasks.outOfReach(tasks.owner, settings, into: &effects)
            } else {
                self.tasks.failed(tasks.owner, run: nil, at: now, settings, into: &effects)
            }
            self.follow(effects, at: arrival, &actions)
        }
    }

    private mutating func begin(
        _ owner: TaskOwner, in client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.step(.begin, owner, at: arrival, &actions)
        var effects: [TaskEffect] = []
        self.tasks.up(owner, at: self.taskMoment(arrival), self.taskSettings, into: &effects)
        self.follow(effects, at: arrival, &actions)
    }

    private mutating func step(
        _ step: TaskStep, _ owner: TaskOwner, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let client = self.client(of: owner) else { return }
        self.tell(.task(client, step), at: arrival)
        self.perform(&actions)
    }

    /// The connection of an app of a user.
    private func client(of owner: TaskOwner) -> AppHandle? {
        self.apps.first { $0.id == owner.app && $0.user == owner.user && $0.isConnected }
    }
}
