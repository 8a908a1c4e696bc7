import Arbitration
import Background
import BrokerCore
import DBus
import DaemonSupport
import EventLoop
import Glibc
import Journal
import Motion
import Protocol

/// Background work: what apps hand in, what is kept of it, and who is told to begin.
extension BrokerService {
    /// Does what follows for a task.
    func perform(_ effect: TaskEffect) {
        switch effect {
        case .keep(let record): self.keep(record)
        case .forget(let owner, let identifier): self.storeLink?.store.forget(owner, task: identifier)
        case .terminated(let owner, let isTerminated): self.storeLink?.store.keep(owner, isTerminated: isTerminated)
        case .run(let owner, let run): self.run(run, in: owner)
        case .expiring(let owner, let identifier, let remaining):
            self.client(of: owner)?.tellExpiring(identifier, remaining)
        case .ended(let owner, let outcome):
            let again = outcome.isTriedAgain ? ", to be tried again" : ""
            self.log.info(
                "task \(outcome.identifier) of \(owner.app): \(outcome.end.name) "
                    + "after \((outcome.ended - outcome.begun).inWords)\(again)")
        // The core does these itself.
        case .launch, .silent, .rests: break
        }
    }

    private func client(of owner: TaskOwner) -> Client? {
        self.registered(app: owner.app.name).flatMap { $0.uid == owner.user ? $0 : nil }
    }

    // MARK: The disk

    private func keep(_ record: TaskRecord) {
        guard let store = self.storeLink?.store else { return self.taskKept(record.owner, record.revision) }
        self.keptTasks.add(record, store.keep(record))
        // Nobody waits for a disk that fails.
        if store.health != .ok { self.releaseTasks() }
    }

    /// Lets go what waits for the disk. It may come there later; nobody can say so now.
    private func releaseTasks() {
        for change in self.keptTasks.take() {
            self.taskKept(change.owner, change.revision)
            change.answer?(false)
        }
    }

    func tasksKept(upTo number: UInt64) {
        for change in self.keptTasks.take(upTo: number) {
            try? self.task(.kept(change.owner, revision: change.revision))
            change.answer?(true)
        }
    }

    /// The disk fails.
    func tasksNotKept() {
        self.releaseTasks()
        try? self.input { (_, _, _) throws(Refusal) in }
    }

    func restore(_ records: [TaskRecord], terminated: [TaskOwner]) {
        self.log.info("\(records.count) tasks wait from before")
        try? self.task(.restored(records, terminated: terminated))
    }

    // MARK: Running

    func task(_ input: TaskInput) throws(Refusal) {
        let wall = Timestamp(microseconds: Clock.wallClock())
        try self.input { (core, now, actions) throws(Refusal) in
            try core.task(.clock(wall - now), at: now, &actions)
            try core.task(input, at: now, &actions)
        }
    }

    /// Has an app begin. It answers when it knows, and says `TaskDone` when it is through.
    private func run(_ run: TaskRun, in owner: TaskOwner) {
        guard let client = self.client(of: owner) else { return }
        let target = CallTarget(client.uniqueName, Path.receiver, InterfaceName.receiver.description)
        let deadline = self.core.arrival(of: run.ends) ?? .zero
        let options: [String: Value] = [
            "attempt": .uint32(run.attempt), "kind": .string(run.kind.name), "time": .uint64((.zero + run.time).wire),
        ]
        self.bus.call(
            target, "RunTask", run.identifier, deadline.wire, options, timeout: Connection.noTimeout, autoStart: false
        ) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                _ = try result.take()
            } catch {
                self.log.notice("\(owner.app) does not take the task \(run.identifier): \(error)")
                try? self.task(.failed(owner, run: run.revision))
            }
        }
    }

    /// Runs a task at once, to try it. For whoever may say what state apps are in.
    func runTask(_ app: String, _ identifier: String, _ call: MethodCall) {
        self.authority.ifReporter(among: self.core.reporters, call) { [weak self] in
            guard let self else { return }
            guard let owner = self.taskOwners(app).first else {
                return call.fail(.notFound("no task of '\(printable(app))' waits"))
            }
            do throws(Refusal) {
                try self.task(.force(owner, identifier))
                call.reply()
            } catch {
                call.fail(BusError(error))
            }
        }
    }

    /// The user of an app ended it, and will not have it do anything until he opens it again.
    func terminate(_ app: String, _ call: MethodCall) {
        let known = self.taskOwners(app)
        let owners = known.isEmpty && AppID.isValid(app) ? [TaskOwner(AppID(app), user: getuid())] : known
        guard !owners.isEmpty else { return call.fail(.notFound("there is no app '\(printable(app))'")) }
        for owner in owners { try? self.task(.terminated(owner)) }
        call.reply()
    }

    /// Whose tasks somebody means by the id of an app, or by its unique name.
    private func taskOwners(_ app: String) -> [TaskOwner] {
        if let client = self.registered(app: app), let owner = try? self.core.owner(client.id) { return [owner] }
        return self.core.tasks.all.map(\.owner).filter { $0.app.name == app }
    }

    // MARK: What there is to see

    /// Answers with the tasks that wait or run, of the apps that the caller may see.
    func listTasks(_ call: MethodCall) {
        self.authority.ifKnown(call) { [weak self] uid in
            guard let self else { return }
            let rows = self.core.tasks.all.lazy.filter { uid == 0 || $0.owner.user == uid }.flatMap { tasks in
                self.rows(of: tasks).map {
                    Structure(tasks.owner.app.name, $0.identifier, $0.kind, $0.state, $0.details)
                }
            }
            call.reply(Array(rows.prefix(self.core.limits.listRows)))
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
        let settings = self.core.taskSettings(tasks.owner.app)
        var rows: [TaskRow] = []
        if let current = tasks.current {
            var details = Self.details(of: current.record)
            var state = "starting"
            if case .running(let ends, _) = current.stage {
                state = "running"
                details["deadline"] = self.core.arrival(of: ends).map { .uint64($0.wire) }
            }
            let request = current.record.request
            rows.append(
                TaskRow(identifier: request.identifier, kind: request.kind.name, state: state, details: details))
        }
        return rows
            + tasks.pending.map { task in
                var details = Self.details(of: task.record)
                let times = tasks.times(of: task, self.core.tasks.met, settings)
                if let times { details["due"] = .uint64(max(times.due, task.request.earliest).wire) }
                let waits = self.waits(task, tasks, settings)
                if !waits.isEmpty { details["waits-for"] = .array(of: "s", waits.map { .string($0) }) }
                return TaskRow(
                    identifier: task.request.identifier, kind: task.request.kind.name, state: "waiting",
                    details: details)
            }
    }

    /// What has to change before a task is begun, besides the time.
    private func waits(_ task: AppTasks.Pending, _ tasks: AppTasks, _ settings: AppSettings) -> [String] {
        var waits = task.request.needs.subtracting(self.core.tasks.met).elements.map {
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
            "earliest-begin": .uint64(request.earliest.wire), "attempt": .uint32(record.attempt),
            "idle": .boolean(request.needs.contains(.idle)),
            "external-power": .boolean(request.needs.contains(.power)),
            "discretionary": .boolean(request.isDiscretionary),
        ]
        if let latest = request.latest { details["latest-begin"] = .uint64(latest.wire) }
        return details
    }
}

extension BusError {
    /// Why a task is not taken, or not run.
    init(_ refusal: TaskRefusal) {
        switch refusal {
        case .anonymous: self = .accessDenied("a client without a name has nothing in the background")
        case .undeclared(let identifier):
            self = .accessDenied(
                "the app file does not name the task '\(printable(identifier))': Tasks in apps.d/APPID.conf")
        case .undeclaredMode(let mode): self.init(LifeRefusal.undeclared(mode))
        case .ungranted(let mode): self.init(LifeRefusal.ungranted(mode))
        case .tooMany(let kind):
            self = .limitsExceeded("too many \(kind.name) tasks wait: \(kind.name)-tasks is \(kind.mostPending)")
        case .full(let limit): self = .limitsExceeded("too many tasks wait: tasks is \(limit)")
        case .shareUsed(let limit):
            self = .limitsExceeded(
                "too many tasks wait; your user's share of tasks is used up: tasks-per-user is \(limit)")
        case .unknown(let identifier): self = .notFound("no task '\(printable(identifier))' waits")
        case .nothingRuns: self = .notFound("no task is under way")
        case .terminated:
            self = .accessDenied("the user ended the app: it runs no task until the user opens it again")
        }
    }
}
