import Arbitration
package import Background
import Motion

/// Keeps the background work that apps hand in, and what it goes by: the wall clock, and whether the device is in use.
package struct Work {
    package private(set) var tasks = Tasks()
    /// Nobody uses the device, as far as is known.
    package private(set) var isIdle = true
    /// What the wall clock is ahead of arrival times.
    private var wallOffset = TimeSpan.zero
    /// What followed, until it is taken.
    private var effects: [TaskEffect] = []

    mutating func takeEffects() -> [TaskEffect] {
        defer { self.effects = [] }
        return self.effects
    }

    // MARK: Time

    /// What tasks go by: the time, and what policy says.
    struct Terms {
        let now: TaskMoment
        let settings: Tasks.Settings
    }

    func terms(at arrival: Timestamp, _ arbiter: borrowing Arbiter) -> Terms {
        let policy = arbiter.policy
        let now = TaskMoment(wall: arrival + self.wallOffset, awake: arbiter.moment(at: arrival).awake)
        return Terms(now: now, settings: { policy.settings(for: $0) })
    }

    /// When something is due without an input.
    ///
    /// - Parameter arrival: When a time comes that stands still in the sleep of the system.
    func deadline(_ arrival: (AwakeTime) -> Timestamp?) -> Timestamp? {
        let deadlines = self.tasks.deadlines
        let wall = deadlines.wall.map { $0 - self.wallOffset }
        guard let awake = deadlines.awake, let due = arrival(awake) else { return wall }
        return wall.map { min($0, due) } ?? due
    }

    mutating func pass(_ terms: Terms) { self.tasks.pass(to: terms.now, terms.settings, into: &self.effects) }

    // MARK: What is said

    /// - Parameter owner: Whose app says it, if one does.
    mutating func take(_ input: TaskInput, of owner: TaskOwner?, _ terms: Terms) -> TaskRefusal? {
        switch input {
        case .submit(_, let request, let declared):
            return owner.flatMap {
                self.tasks.submit(request, of: $0, declared, at: terms.now, terms.settings, into: &self.effects)
            }
        case .cancel(_, let identifier):
            return owner.flatMap { self.tasks.cancel(identifier, of: $0, terms.settings, into: &self.effects) }
        case .done(_, let isSuccess, let identifier):
            return owner.flatMap {
                self.tasks.done(identifier, isSuccess, of: $0, at: terms.now, terms.settings, into: &self.effects)
            }
        case .force(let owner, let identifier):
            return self.tasks.force(identifier, of: owner, at: terms.now, terms.settings, into: &self.effects)
        case .kept(let owner, let revision): self.tasks.kept(revision, of: owner, terms.settings, into: &self.effects)
        case .failed(let owner, let run):
            self.tasks.failed(owner, run: run, at: terms.now, terms.settings, into: &self.effects)
        case .restored(let records, let terminated):
            self.tasks.restore(records, terminated: terminated, terms.settings, into: &self.effects)
            // The wall clock may have been set back since they were submitted.
            self.tasks.clock(terms.now.wall, terms.settings, into: &self.effects)
        case .terminated(let owner): self.tasks.terminate(owner, at: terms.now, terms.settings, into: &self.effects)
        case .clock(let offset):
            let wall = terms.now.wall - self.wallOffset + offset
            self.wallOffset = offset
            self.tasks.clock(wall, terms.settings, into: &self.effects)
        case .idle(let isIdle): self.isIdle = isIdle
        // What the device runs on, the arbiter knows.
        case .came, .power: break
        }
        return nil
    }

    /// Has tasks go by what is the case now.
    mutating func update(_ power: Power, _ terms: Terms) {
        var met = WordSet<TaskNeed>.none
        if self.isIdle { met.insert(.idle) }
        if power == .ac { met.insert(.power) }
        self.tasks.update(met, terms.settings)
    }

    /// Has tasks go by a policy that was not in force.
    mutating func review(_ terms: Terms) { self.tasks.review(terms.settings) }

    // MARK: Apps

    /// An app is on the bus.
    mutating func came(_ owner: TaskOwner, _ terms: Terms) { self.tasks.came(owner, terms.settings) }

    /// An app left the bus.
    mutating func left(_ owner: TaskOwner, _ terms: Terms) {
        self.tasks.left(owner, at: terms.now, terms.settings, into: &self.effects)
    }

    /// The user has an app before him, and wants it to work again.
    mutating func opened(_ owner: TaskOwner, _ terms: Terms) {
        self.tasks.open(owner, terms.settings, into: &self.effects)
    }

    /// An app is there for the task that it was to be there for.
    mutating func begin(_ owner: TaskOwner, _ terms: Terms) {
        self.tasks.up(owner, at: terms.now, terms.settings, into: &self.effects)
    }

    // MARK: Starts

    func isStarting(_ owner: TaskOwner) -> Bool { self.tasks[owner]?.current?.stage == .launching }

    /// An app could not be started for a task.
    ///
    /// - Parameter isUnknown: The bus knows no such app.
    mutating func startFailed(_ owner: TaskOwner, isUnknown: Bool, _ terms: Terms) {
        if isUnknown {
            self.tasks.outOfReach(owner, terms.settings, into: &self.effects)
        } else {
            self.tasks.failed(owner, run: nil, at: terms.now, terms.settings, into: &self.effects)
        }
    }
}
