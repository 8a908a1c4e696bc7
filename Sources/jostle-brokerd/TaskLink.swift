import Arbitration
import Background
import BrokerCore
import DBus
import DaemonSupport
import Glibc
import Journal
import Loop
import Motion
import Protocol

/// Brings background work to the disk that apps hand in, tells them to begin, and shows what waits.
final class TaskLink {
    private unowned let service: BrokerService
    private let store: Store?
    /// Changes that are on their way to the disk.
    private var kept = KeptTasks()
    /// Runs of which apps cannot be told before they, or others, have answered, in order; one of an app.
    private var held: [(run: TaskRun, owner: TaskOwner)] = []
    /// Tells when somebody sets the wall clock, while tasks wait that go by it.
    private var clockWatch: ClockSetWatch?

    /// - Parameter store: `nil` when nothing is kept on the disk.
    init(_ service: BrokerService, _ store: Store?) {
        self.service = service
        self.store = store
    }

    /// Does what follows for a task.
    func perform(_ effect: TaskEffect) {
        if let owner = effect.changedOwner { self.client(of: owner)?.changed("Tasks") }
        switch effect {
        case .keep(let record): self.keep(record)
        case .forget(let owner, let identifier):
            if let store = self.store { self.bring(nil, as: store.forget(owner, task: identifier), to: store) }
        case .terminated(let owner, let isTerminated):
            if let store = self.store { self.bring(nil, as: store.keep(owner, isTerminated: isTerminated), to: store) }
        case .run(let owner, let run): self.run(run, in: owner)
        case .expiring(let owner, let identifier, let remaining):
            self.client(of: owner)?.tellExpiring(identifier, remaining)
        case .ended(let owner, let outcome):
            let again = outcome.isTriedAgain ? ", to be tried again" : ""
            self.service.log.info(
                "task \(outcome.identifier) of \(owner.app): \(outcome.end.name) "
                    + "after \((outcome.ended - outcome.begun).inWords)\(again)")
        // The core does these itself.
        case .launch, .silent, .rests: break
        }
    }

    private func client(of owner: TaskOwner) -> Client? {
        self.service.links.clients.registered(app: owner.app.name).flatMap { $0.uid == owner.user ? $0 : nil }
    }

    // MARK: The disk

    private func keep(_ record: TaskRecord) {
        guard let store = self.store else { return self.service.taskKept(record.owner, record.revision) }
        self.bring(record, as: store.keep(record), to: store)
    }

    /// Remembers that a change is on its way to the disk.
    private func bring(_ record: TaskRecord?, as number: UInt64, to store: Store) {
        self.kept.add(record, number)
        // Nobody waits for a disk that fails. One that is too slow for the rows of the journal takes tasks all the same.
        if !store.isDiskWell { self.releaseTasks() }
    }

    /// Has `answer` told when a task is on the disk; at once, when nobody is bringing it there.
    func wait(for revision: UInt64, _ answer: @escaping (Bool) -> Void) { self.kept.wait(for: revision, answer) }

    /// The same of all that has changed by now.
    func waitForLast(_ answer: @escaping (Bool) -> Void) { self.kept.waitForLast(answer) }

    /// Lets go what waits for the disk. It may come there later; nobody can say so now.
    private func releaseTasks() {
        for change in self.kept.take() {
            if let task = change.task { self.service.taskKept(task.owner, task.revision) }
            for answer in change.answers { answer(false) }
        }
    }

    /// Changes up to this one are on the disk.
    func committed(upTo number: UInt64) {
        for change in self.kept.take(upTo: number) {
            if let task = change.task { try? self.input(.kept(task.owner, revision: task.revision)) }
            for answer in change.answers { answer(true) }
        }
    }

    /// The disk fails.
    func notCommitted() {
        self.releaseTasks()
        try? self.service.input { (_, _, _) throws(Refusal) in }
    }

    /// Brings all that the core knows to the disk again, which has lost it. Nobody waits for that: whoever does, waits for a
    /// change that is on its way already.
    func storeAgain() {
        guard let store = self.store else { return }
        for tasks in self.service.core.work.tasks.all {
            for record in tasks.records { _ = store.keep(record) }
            if tasks.isTerminated { store.keep(tasks.owner, isTerminated: true) }
        }
    }

    func restore(_ records: [TaskRecord], terminated: [TaskOwner]) {
        if !records.isEmpty { self.service.log.info("\(records.count) tasks wait from before") }
        try? self.input(.restored(records, terminated: terminated))
    }

    // MARK: Running

    /// Hands an input about tasks to the core, which is told the wall clock first.
    func input(_ input: TaskInput) throws(Refusal) {
        let wall = Timestamp(microseconds: Clock.wallClock())
        let isWaiting = try self.service.input { (core, now, actions) throws(Refusal) in
            try core.apply(.task(.clock(wall - now)), at: now, &actions)
            try core.apply(.task(input), at: now, &actions)
            return core.awaited().wallClock
        }
        self.watchClock(isWaiting)
    }

    /// A timer of the loop knows nothing of a clock that is set: what is due by it then is due at once. Without a descriptor that
    /// counts from the next input on.
    private func watchClock(_ isWaiting: Bool) {
        guard isWaiting else { return self.clockWatch = nil }
        guard self.clockWatch == nil else { return }
        self.clockWatch = try? ClockSetWatch(on: self.service.loop) { [unowned self] in self.service.happened(.tick) }
    }

    /// Has an app begin. It answers at once, and says `TaskDone` when it is through.
    ///
    /// The time of one that does not answer passes all the same.
    private func run(_ run: TaskRun, in owner: TaskOwner) {
        guard let client = self.client(of: owner) else { return }
        let connection = client.uniqueName
        guard self.service.links.launches.owed.begin(.task, connection, of: owner.user) == .granted else {
            self.held.removeAll { $0.owner == owner }
            return self.held.append((run, owner))
        }
        let target = CallTarget(connection, Path.receiver, InterfaceName.receiver.description)
        let deadline = self.service.core.arbiter.arrival(of: run.ends) ?? .zero
        let options: [String: Value] = [
            TaskKey.attempt: .uint32(run.attempt), TaskKey.kind: .string(run.kind.name),
            TaskKey.time: .uint64((.zero + run.time).wire),
        ]
        self.service.bus.call(
            target, "RunTask", run.identifier, deadline.wire, options, timeout: Connection.noTimeout, autoStart: false
        ) { [weak self] result in
            guard let self else { return }
            self.service.links.launches.owed.end(.task, connection)
            do throws(BusError) {
                _ = try result.take()
            } catch {
                self.service.log.notice("\(owner.app) does not take the task \(run.identifier): \(error)")
                try? self.input(.failed(owner, run: run.revision))
            }
            self.runHeld()
        }
    }

    /// Tells apps of what they could not be told before, unless it is over: somebody has answered.
    private func runHeld() {
        guard !self.held.isEmpty else { return }
        let (held, tasks) = (self.held, self.service.core.work.tasks)
        self.held = []
        for (run, owner) in held where tasks[owner]?.current?.record.revision == run.revision {
            self.run(run, in: owner)
        }
    }

    /// Runs a task at once, to try it. For whoever may say what state apps are in.
    func run(_ app: String, _ identifier: String, _ call: MethodCall) {
        self.service.authority.ifReporter(among: self.service.core.arbiter.policy.reporters, call) {
            [weak self] user, _ in
            guard let self else { return }
            guard let owner = self.taskOwners(app, for: user).first else {
                return call.fail(.notFound("no task of '\(printable(app))' waits"))
            }
            do throws(Refusal) {
                try self.input(.force(owner, identifier))
                call.reply()
            } catch {
                call.fail(BusError(error))
            }
        }
    }

    /// The user of an app ended it, and will not have it do anything until he opens it again.
    ///
    /// - Parameter user: Who says so.
    func terminate(_ app: String, for user: UInt32, _ call: MethodCall) {
        var owners = self.taskOwners(app, for: user)
        let client = self.service.links.clients.registered(app: app) ?? self.service.links.clients[AppID(app)]
        if owners.isEmpty, let owner = client?.appState?.owner { owners = [owner] }
        guard !owners.isEmpty else { return call.fail(.notFound("there is no app '\(printable(app))'")) }
        // Who has no app file can have no tasks, and it would be kept for good that there is nothing to run.
        for owner in owners where client?.file != nil || self.service.core.work.tasks[owner] != nil {
            try? self.input(.terminated(owner))
        }
        // It outlives the broker from the answer on, unless the disk fails.
        self.waitForLast { _ in call.reply() }
    }

    /// Whose tasks a user means by the id of an app, or by its unique name.
    private func taskOwners(_ app: String, for user: UInt32) -> [TaskOwner] {
        let clients = self.service.links.clients
        // Of a connection there is only one, whoever asks.
        if let owner = clients.registered(app)?.appState?.owner { return [owner] }
        let present = clients.registered(app: app)?.appState?.owner
        return self.service.core.work.tasks.owners(of: app, for: user, present: present)
    }

    // MARK: What there is to see

    /// Answers with the tasks that wait or run, of the apps that the caller may see.
    func list(_ call: MethodCall) {
        self.service.authority.ifKnown(call) { [weak self] identity in
            guard let self else { return }
            let rows = self.service.core.work.tasks.all.lazy.filter {
                identity.isRoot || identity.owns($0.owner.app, of: $0.owner.user)
            }.flatMap { tasks in
                self.rows(of: tasks).map {
                    Structure(tasks.owner.app.name, $0.identifier, $0.kind, $0.state, $0.details)
                }
            }
            call.reply(Array(rows.prefix(self.service.core.limits.listRows)))
        }
    }

    /// A task as it is shown.
    struct TaskRow {
        var identifier: String
        var kind: String
        /// `waiting`, or what the one under way is at.
        var state: String
        var details: [String: Value]
    }

    func rows(of tasks: AppTasks) -> [TaskRow] {
        let settings = self.service.core.arbiter.policy.settings(for: tasks.owner.app)
        var rows: [TaskRow] = []
        if let current = tasks.current {
            var details = Self.details(of: current.record)
            var state = "starting"
            if case .running(let ends, _) = current.stage {
                state = "running"
                details[TaskKey.deadline] = self.service.core.arbiter.arrival(of: ends).map { .uint64($0.wire) }
            }
            let request = current.record.request
            rows.append(
                TaskRow(identifier: request.identifier, kind: request.kind.name, state: state, details: details))
        }
        return rows
            + tasks.pending.map { task in
                var details = Self.details(of: task.record)
                let times = tasks.times(of: task, self.service.core.work.tasks.met, settings)
                if let times { details[TaskKey.due] = .uint64(max(times.due, task.request.earliest).wire) }
                let waits = self.waits(task, tasks, settings)
                if !waits.isEmpty { details[TaskKey.waitsFor] = .array(of: "s", waits.map { .string($0) }) }
                return TaskRow(
                    identifier: task.request.identifier, kind: task.request.kind.name, state: "waiting",
                    details: details)
            }
    }

    /// What has to change before a task is begun, besides the time.
    private func waits(_ task: AppTasks.Pending, _ tasks: AppTasks, _ settings: AppSettings) -> [String] {
        var waits = task.request.needs.subtracting(self.service.core.work.tasks.met).elements.map {
            switch $0 {
            case .idle: "idle"
            case .power: "external-power"
            }
        }
        if !settings.grants.contains(task.request.kind.mode) { waits.append("grant") }
        if tasks.isTerminated { waits.append("user") }
        if tasks.isOutOfReach { waits.append("app") }
        return waits
    }

    private static func details(of record: TaskRecord) -> [String: Value] {
        let request = record.request
        var details: [String: Value] = [
            TaskKey.earliest: .uint64(request.earliest.wire), TaskKey.attempt: .uint32(record.attempt),
            TaskKey.idle: .boolean(request.needs.contains(.idle)),
            TaskKey.power: .boolean(request.needs.contains(.power)),
            TaskKey.discretionary: .boolean(request.isDiscretionary),
        ]
        if let latest = request.latest { details[TaskKey.latest] = .uint64(latest.wire) }
        return details
    }
}
