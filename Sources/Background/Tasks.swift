package import Arbitration
package import Motion

/// The background work of all apps, and when the next of it is due.
///
/// Time alone wakes nobody before something is due in any case; then everything begins that may, so that one wake-up of the
/// device serves them all.
package struct Tasks: Sendable {
    private var apps: [AppTasks?] = []
    private var handles: [TaskOwner: AppHandle] = [:]
    private var free: [UInt32] = []
    /// How many are remembered for nothing but what came of their last tasks.
    private var spent = 0
    /// By app, in the wall clock: when one of its tasks is due in any case, and when one may begin together with others.
    private var due = DeadlineHeap()
    private var ready = DeadlineHeap()
    /// By app, in the time that the system is awake: when something happens to the task under way.
    private var running = DeadlineHeap()
    /// No app rests beyond this, in the wall clock.
    private var latestRest = Timestamp(microseconds: .min)
    /// None was submitted after this, in the wall clock.
    private var latestSubmission = Timestamp(microseconds: .min)
    private var lastRevision: UInt64 = 0
    /// What was submitted before it was known what the disk has: that is older, and over. `nil`: it is known.
    private var submitted: [TaskOwner: Set<String>]? = [:]
    /// What tasks can wait for that is the case.
    package private(set) var met = WordSet<TaskNeed>.all
    /// What waits, and whose it is.
    private var pending = Tasks.shares
    package var pendingCount: Int { self.pending.taken }
    /// Who has what waits.
    package var usage: LimitUsage { LimitUsage("tasks", self.pending) }

    /// What policy gives an app.
    package typealias Settings = (AppID) -> AppSettings

    /// So many wait at most, of all apps.
    package static let mostPending = 100_000
    /// What of them each user may have.
    package static let shares = UserShares(limit: mostPending, reserve: mostPending / 2)
    private static let mostSpent = 4_096

    package init() {}

    package subscript(_ owner: TaskOwner) -> AppTasks? {
        self.handles[owner].flatMap { self.apps[Int($0.index)] }
    }

    /// Those of all apps, by app.
    package var all: [AppTasks] { self.handles.keys.sorted().compactMap { self[$0] } }

    /// Whose tasks a user means by the name of an app: if he has such an app, his own; else that of whoever is here, or all.
    ///
    /// - Parameter present: whose app of this name is on the bus, if one is.
    package func owners(of app: String, for user: UInt32, present: TaskOwner? = nil) -> [TaskOwner] {
        let owners = self.owners(of: AppID(app))
        let own = owners.filter { $0.user == user }
        if !own.isEmpty { return own }
        return present.map { [$0] } ?? owners
    }

    /// Whose tasks an app is to be started for: one user's, or all.
    package func awaiting(_ app: AppID, of user: UInt32?) -> [TaskOwner] {
        let owners = user.map { [TaskOwner(app, user: $0)] } ?? self.owners(of: app)
        return owners.filter { self[$0]?.current?.stage == .launching }
    }

    /// All who have tasks of an app. Of others none is put in order for that.
    private func owners(of app: AppID) -> [TaskOwner] { self.handles.keys.filter { $0.app == app }.sorted() }

    // MARK: What waits

    package mutating func submit(
        _ request: TaskRequest, of owner: TaskOwner, _ declared: DeclaredTasks, at now: TaskMoment,
        _ settings: Settings, into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        guard !owner.app.isAnonymous else { return .anonymous }
        guard self.pending.room(for: owner.user) > 0 else {
            return owner.user == UserShares.root
                ? .full(limit: Self.mostPending) : .shareUsed(limit: Self.shares.share)
        }
        let revision = self.nextRevision()
        let refusal =
            self.change(owner, settings, makes: true) { tasks, settings in
                tasks.submit(request, declared: declared, revision: revision, at: now, settings, into: &effects)
            } ?? nil
        guard refusal == nil else { return refusal }
        self.latestSubmission = max(self.latestSubmission, now.wall)
        self.submitted?[owner, default: []].insert(request.identifier)
        return nil
    }

    package mutating func cancel(
        _ identifier: String, of owner: TaskOwner, _ settings: Settings, into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        self.change(owner, settings) { tasks, _ in tasks.cancel(identifier, into: &effects) } ?? .unknown(identifier)
    }

    /// Takes in what was on the disk when the broker started.
    package mutating func restore(
        _ records: [TaskRecord], terminated: [TaskOwner], _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        let submitted = self.submitted ?? [:]
        self.submitted = nil
        for record in records where self.pendingCount < Self.mostPending {
            if submitted[record.owner]?.contains(record.request.identifier) == true { continue }
            if let since = record.wait?.since { self.latestSubmission = max(self.latestSubmission, since) }
            _ = self.change(record.owner, settings, makes: true) { tasks, _ in
                tasks.restore(record, into: &effects)
            }
        }
        for owner in terminated {
            _ = self.change(owner, settings, makes: true) { tasks, _ in
                tasks.restoreTermination(into: &effects)
            }
        }
    }

    /// Has one that waits run now, whatever it waits for.
    package mutating func force(
        _ identifier: String, of owner: TaskOwner, at now: TaskMoment, _ settings: Settings,
        into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        let refusal = self.change(owner, settings) { tasks, _ in tasks.force(identifier) } ?? .unknown(identifier)
        if refusal == nil { self.begin(owner, isUp: false, at: now, settings, into: &effects) }
        return refusal
    }

    // MARK: What is under way

    /// A change is on the disk.
    package mutating func kept(
        _ revision: UInt64, of owner: TaskOwner, _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        _ = self.change(owner, settings) { tasks, _ in tasks.kept(revision, into: &effects) }
    }

    /// An app that a task is to be run in is there.
    package mutating func up(
        _ owner: TaskOwner, at now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        _ = self.change(owner, settings) { tasks, settings in tasks.up(at: now, settings, into: &effects) }
    }

    /// An app says that it is through with its task. What else of it is ready follows at once.
    ///
    /// - Parameter identifier: Which one it means; `nil`: it does not say.
    package mutating func done(
        _ identifier: String?, _ isSuccess: Bool, of owner: TaskOwner, at now: TaskMoment, _ settings: Settings,
        into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        let refusal =
            self.change(owner, settings) { tasks, _ in tasks.done(identifier, isSuccess, at: now, into: &effects) }
            ?? .nothingRuns
        if refusal == nil { self.goOn(owner, isUp: true, at: now, settings, into: &effects) }
        return refusal
    }

    /// An app could not be started, or did not take its task.
    ///
    /// - Parameter run: Which run that is about; `nil`: the one for which the app was to be started.
    package mutating func failed(
        _ owner: TaskOwner, run: UInt64?, at now: TaskMoment, _ settings: Settings,
        into effects: inout [TaskEffect]
    ) {
        let wasBusy = self[owner]?.current != nil
        _ = self.change(owner, settings) { tasks, _ in tasks.failed(run, at: now, into: &effects) }
        if wasBusy { self.goOn(owner, isUp: false, at: now, settings, into: &effects) }
    }

    /// Nobody can start the app: what is to be begun waits until it comes by itself.
    package mutating func outOfReach(_ owner: TaskOwner, _ settings: Settings, into effects: inout [TaskEffect]) {
        _ = self.change(owner, settings) { tasks, _ in tasks.outOfReach(into: &effects) }
    }

    /// An app came to the bus.
    package mutating func came(_ owner: TaskOwner, _ settings: Settings) {
        _ = self.change(owner, settings) { tasks, _ in tasks.came() }
    }

    /// An app left the bus.
    package mutating func left(
        _ owner: TaskOwner, at now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        let wasBusy = self[owner]?.current != nil
        _ = self.change(owner, settings) { tasks, _ in tasks.left(at: now, into: &effects) }
        if wasBusy { self.goOn(owner, isUp: false, at: now, settings, into: &effects) }
    }

    /// An app's user ended it: it runs no task until its user opens it.
    package mutating func terminate(
        _ owner: TaskOwner, at now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        let wasBusy = self[owner]?.current != nil
        _ = self.change(owner, settings, makes: true) { tasks, _ in tasks.terminate(at: now, into: &effects) }
        if wasBusy { effects.append(.rests(owner)) }
    }

    package mutating func open(_ owner: TaskOwner, _ settings: Settings, into effects: inout [TaskEffect]) {
        _ = self.change(owner, settings) { tasks, _ in tasks.open(into: &effects) }
    }

    // MARK: Time, and what else changes

    /// The wall clock says this now. Had it been set back, who rests or waits from then on would do so until it had caught up.
    package mutating func clock(_ wall: Timestamp, _ settings: Settings, into effects: inout [TaskEffect]) {
        let latest = wall + AppTasks.longestRest
        // It is said with each input, and hardly ever set.
        guard self.latestRest > latest || self.latestSubmission > wall else { return }
        self.latestRest = min(self.latestRest, latest)
        self.latestSubmission = min(self.latestSubmission, wall)
        // In one order, because something may follow.
        for owner in self.handles.keys.sorted() {
            _ = self.change(owner, settings) { tasks, _ in
                tasks.rest(until: latest)
                tasks.wait(by: wall, into: &effects)
            }
        }
    }

    /// What is the case that tasks can wait for.
    package mutating func update(_ met: WordSet<TaskNeed>, _ settings: Settings) {
        guard met != self.met else { return }
        self.met = met
        self.review(settings)
    }

    /// Policy may give other terms now.
    package mutating func review(_ settings: Settings) {
        for handle in self.handles.values { self.schedule(handle, settings) }
    }

    /// When something is due without an input, in the wall clock and in the time that the system is awake.
    package var deadlines: (wall: Timestamp?, awake: AwakeTime?) {
        (self.due.first?.time, self.running.first.map { AwakeTime(microseconds: $0.time.microseconds) })
    }

    /// Lets everything happen that is due by now.
    package mutating func pass(to now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]) {
        while let first = self.running.first, first.time.microseconds <= now.awake.microseconds,
            let owner = self.apps[Int(first.app.index)]?.owner
        {
            let wasBusy = self[owner]?.current != nil
            _ = self.change(owner, settings) { tasks, _ in tasks.pass(to: now, into: &effects) }
            if wasBusy, self[owner]?.current == nil {
                self.goOn(owner, isUp: false, at: now, settings, into: &effects)
            }
        }
        guard let first = self.due.first, first.time <= now.wall else { return }
        while let first = self.ready.first, first.time <= now.wall,
            let owner = self.apps[Int(first.app.index)]?.owner
        {
            guard self.begin(owner, isUp: false, at: now, settings, into: &effects) else { break }
        }
    }

    // MARK: Inside

    @discardableResult
    private mutating func begin(
        _ owner: TaskOwner, isUp: Bool, at now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]
    ) -> Bool {
        let revision = self.nextRevision()
        let met = self.met
        return self.change(owner, settings) { tasks, settings in
            tasks.begin(revision: revision, isUp: isUp, met, at: now, settings, into: &effects)
        } ?? false
    }

    /// Begins what else is ready, or lets the app rest.
    private mutating func goOn(
        _ owner: TaskOwner, isUp: Bool, at now: TaskMoment, _ settings: Settings, into effects: inout [TaskEffect]
    ) {
        guard self[owner]?.current == nil else { return }
        if !self.begin(owner, isUp: isUp, at: now, settings, into: &effects) { effects.append(.rests(owner)) }
    }

    private mutating func nextRevision() -> UInt64 {
        self.lastRevision &+= 1
        return self.lastRevision
    }

    /// Changes what is known of one app, and what is due of it; `nil`: nothing is known.
    private mutating func change<Result>(
        _ owner: TaskOwner, _ settings: Settings, makes: Bool = false,
        _ body: (inout AppTasks, AppSettings) -> Result
    ) -> Result? {
        guard let handle = self.handles[owner] ?? (makes ? self.make(owner) : nil) else { return nil }
        let index = Int(handle.index)
        guard var tasks = self.apps[index] else { return nil }
        // Taken out while it changes, so that it is not copied.
        self.apps[index] = nil
        let (before, wasSpent) = (tasks.pending.count, tasks.isSpent)
        let result = body(&tasks, settings(owner.app))
        self.pending.set(self.pending.held(by: owner.user) + tasks.pending.count - before, for: owner.user)
        self.spent += (tasks.isSpent ? 1 : 0) - (wasSpent ? 1 : 0)
        self.apps[index] = tasks
        self.latestRest = max(self.latestRest, tasks.restsUntil)
        self.schedule(handle, settings)
        return result
    }

    private mutating func schedule(_ handle: AppHandle, _ settings: Settings) {
        guard let tasks = self.apps[Int(handle.index)] else { return }
        let times = tasks.times(self.met, settings(tasks.owner.app))
        let order = UInt64(handle.index)
        self.due.set(handle, order, to: times?.due)
        self.ready.set(handle, order, to: times?.ready)
        self.running.set(handle, order, to: tasks.deadline.map { Timestamp(microseconds: $0.microseconds) })
    }

    private mutating func make(_ owner: TaskOwner) -> AppHandle {
        if self.spent > Self.mostSpent { self.forgetSpent() }
        let handle = AppHandle(self.free.popLast() ?? UInt32(truncatingIfNeeded: self.apps.count))
        if Int(handle.index) == self.apps.count { self.apps.append(nil) }
        self.apps[Int(handle.index)] = AppTasks(owner)
        self.handles[owner] = handle
        self.spent += 1
        return handle
    }

    private mutating func forgetSpent() {
        // In one order, because handles that become free are given out again.
        for (owner, handle) in self.handles.sorted(by: { $0.value < $1.value })
        where self.apps[Int(handle.index)]?.isSpent == true {
            self.apps[Int(handle.index)] = nil
            self.handles[owner] = nil
            self.free.append(handle.index)
        }
        self.spent = 0
    }
}
