import Arbitration
import Background
import Motion

/// Keeps the background work that apps hand in, and what it goes by: the wall clock, and whether the device is in use.
struct Work {
    private(set) var tasks = Tasks()
    /// Nobody uses the device, as far as is known.
    private(set) var isIdle = true
    /// What the wall clock is ahead of arrival times.
    private var wallOffset = TimeSpan.zero
    /// What followed, until it is taken.
    private var effects: [TaskEffect] = []

    mutating func takeEffects() -> [TaskEffect] {
        defer { self.effects = [] }
        return self.effects
    }

    // MARK: Time

    func moment(at arrival: Timestamp, awake: AwakeTime) -> TaskMoment {
        TaskMoment(wall: arrival + self.wallOffset, awake: awake)
    }

    /// When something is due without an input.
    ///
    /// - Parameter awake: Says when a time that the system is awake comes.
    func deadline(awake arrival: (AwakeTime) -> Timestamp?) -> Timestamp? {
        let deadlines = self.tasks.deadlines
        guard let wall = deadlines.wall.map({ $0 - self.wallOffset }) else { return deadlines.awake.flatMap(arrival) }
        return deadlines.awake.flatMap(arrival).map { min($0, wall) } ?? wall
    }

    mutating func pass(to now: TaskMoment, _ settings: Tasks.Settings) {
        self.tasks.pass(to: now, settings, into: &self.effects)
    }

    // MARK: What is said

    /// - Parameter owner: Whose app says it, if one does.
    mutating func take(
        _ input: TaskInput, of owner: TaskOwner?, at now: TaskMoment, _ settings: Tasks.Settings
    ) -> TaskRefusal? {
        switch input {
        case .submit(_, let request, let declared):
            return owner.flatMap {
                self.tasks.submit(request, of: $0, declared, at: now, settings, into: &self.effects)
            }
        case .cancel(_, let identifier):
            return owner.flatMap { self.tasks.cancel(identifier, of: $0, settings, into: &self.effects) }
        case .done(_, let isSuccess):
            return owner.flatMap { self.tasks.done(isSuccess, of: $0, at: now, settings, into: &self.effects) }
        case .force(let owner, let identifier):
            return self.tasks.force(identifier, of: owner, at: now, settings, into: &self.effects)
        case .kept(let owner, let revision): self.tasks.kept(revision, of: owner, settings, into: &self.effects)
        case .failed(let owner, let run):
            self.tasks.failed(owner, run: run, at: now, settings, into: &self.effects)
        case .restored(let records, let terminated):
            self.tasks.restore(records, terminated: terminated, settings, into: &self.effects)
        case .terminated(let owner): self.tasks.terminate(owner, at: now, settings, into: &self.effects)
        case .clock(let offset): self.wallOffset = offset
        case .idle(let isIdle): self.isIdle = isIdle
        // What the device runs on, the arbiter knows.
        case .came, .power: break
        }
        return nil
    }

    /// Has tasks go by what is the case now.
    mutating func update(_ power: Power, _ settings: Tasks.Settings) {
        var met = WordSet<TaskNeed>.none
        if self.isIdle { met.insert(.idle) }
        if power == .ac { met.insert(.power) }
        self.tasks.update(met, settings)
    }

    /// Has tasks go by a policy that was not in force.
    mutating func review(_ settings: Tasks.Settings) { self.tasks.review(settings) }

    // MARK: Apps

    /// An app is on the bus.
    mutating func came(_ owner: TaskOwner, _ settings: Tasks.Settings) { self.tasks.came(owner, settings) }

    /// An app left the bus.
    mutating func left(_ owner: TaskOwner, at now: TaskMoment, _ settings: Tasks.Settings) {
        self.tasks.left(owner, at: now, settings, into: &self.effects)
    }

    /// The user has an app before him, and wants it to work again.
    mutating func opened(_ owner: TaskOwner, _ settings: Tasks.Settings) {
        self.tasks.open(owner, settings, into: &self.effects)
    }

    /// An app is there for the task that it was to be there for.
    mutating func begin(_ owner: TaskOwner, at now: TaskMoment, _ settings: Tasks.Settings) {
        self.tasks.up(owner, at: now, settings, into: &self.effects)
    }

    // MARK: Starts

    func isStarting(_ owner: TaskOwner) -> Bool { self.tasks[owner]?.current?.stage == .launching }

    /// The owners of tasks that an app is to be started for.
    func awaiting(_ app: AppID) -> [TaskOwner] {
        self.tasks.all.filter { $0.owner.app == app && $0.current?.stage == .launching }.map(\.owner)
    }

    /// An app could not be started for a task.
    ///
    /// - Parameter isUnknown: The bus knows no such app.
    mutating func startFailed(_ owner: TaskOwner, isUnknown: Bool, at now: TaskMoment, _ settings: Tasks.Settings) {
        if isUnknown {
            self.tasks.outOfReach(owner, settings, into: &self.effects)
        } else {
            self.tasks.failed(owner, run: nil, at: now, settings, into: &self.effects)
        }
    }
}
