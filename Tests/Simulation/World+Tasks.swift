import Arbitration
import Background
import BrokerCore
import Motion

/// Background work: what `TaskLink` does.
extension World {
    /// What the wall clock says.
    var wallTime: Timestamp { Timestamp(microseconds: self.wall) }
    /// How long the system has been awake, in µs.
    var awake: Int64 { self.now.microseconds - self.slept }

    // MARK: What apps say

    /// The task of a number: two kinds, of two names each, in four ways.
    private func task(_ number: Int) -> TaskRequest {
        let kind = number & 2 == 0 ? TaskKind.refresh : .processing
        var needs = WordSet<TaskNeed>.none
        if number & 4 != 0 { needs.insert(.power) }
        return TaskRequest(
            "\(kind.name)-\(number & 1)", kind, earliest: self.wallTime + .seconds(Int64(number & 1)),
            latest: nil, needs: needs, isDiscretionary: number & 8 != 0)
    }

    static let declared = ["refresh-0", "refresh-1", "processing-0", "processing-1"]

    mutating func submit(_ number: Int, of app: AppHandle, _ id: AppID) {
        // Only an app file says that an app has any.
        let hasFile = Setup.files.indices.contains { Setup.files[$0].app == id && self.files[$0] > 0 }
        let declared = DeclaredTasks(hasFile ? Self.declared : [], modes: .all)
        let request = self.task(number)
        guard self.task(.submit(app, request, declared: declared)), let user = self.box(of: app)?.user else { return }
        self.tasks.submits(request.identifier, TaskOwner(id, user: user))
    }

    /// Hands an input about tasks to the core, which is told the wall clock first.
    @discardableResult
    mutating func task(_ input: TaskInput) -> Bool {
        self.input(.task(.clock(self.wallTime - self.now)))
        return self.input(.task(input)) != nil
    }

    /// Somebody wants all that waits run now, of one owner or of all.
    mutating func forceTasks(of owner: TaskOwner? = nil) {
        for tasks in self.process?.core.work.tasks.all ?? [] where owner.map({ $0 == tasks.owner }) ?? true {
            for task in tasks.pending {
                self.forced.insert(TaskWatch.Name(owner: tasks.owner, identifier: task.request.identifier))
                self.task(.force(tasks.owner, task.request.identifier))
            }
        }
    }

    /// A client is through with its task.
    mutating func finishTask(_ client: Int, isSuccess: Bool) {
        guard self.clients[client].task != nil else { return }
        self.clients[client].task = nil
        self.say(client, .taskDone(isSuccess))
    }

    /// Everybody comes whose tasks wait, and has time.
    mutating func finishTasks() {
        self.device = 1
        for round in 0..<2 * Int(AppTasks.mostAttempts) {
            guard self.process?.core.work.tasks.all.contains(where: { !$0.isDone }) == true else { return }
            self.tellDevice()
            for client in self.clients.indices where Setup.apps[client] == Setup.apps[Setup.firstLaunched] {
                self.quit(client)
            }
            self.quieten()
            for client in round & 1 == 0 ? Array(self.clients.indices) : self.clients.indices.reversed() {
                self.start(client)
            }
            self.quieten()
            self.openAll()
            self.forceTasks()
            self.quieten()
        }
    }

    /// The users of all apps want them to work again.
    mutating func openAll() {
        for client in self.clients.indices {
            self.tell(client, 2)
            self.tell(client, 1)
            self.tell(client, 0)
        }
    }

    mutating func tellDevice() {
        guard self.process != nil else { return }
        self.task(.idle(self.device & 1 != 0))
        self.task(.power(self.device & 2 != 0 ? .battery(0.5) : .ac))
    }

    // MARK: What follows

    mutating func perform(_ effect: TaskEffect) {
        switch effect {
        case .keep(let record):
            let name = TaskWatch.Name(owner: record.owner, identifier: record.request.identifier)
            let isForced = self.forced.contains(name)
            let met = self.process?.core.work.tasks.met ?? .none
            self.tasks.keeps(record, isForced: isForced, met, wall: self.wallTime)
            guard let number = self.process?.store.keep(record) else { return }
            self.process?.keptTasks.append((number, record.owner, record.revision))
            // Nobody waits for a disk that fails.
            if self.process?.store.isFailing == true { self.releaseTasks() }
        case .forget(let owner, let identifier): self.process?.store.forget(owner, identifier)
        case .terminated(let owner, let isTerminated):
            self.tasks.terminated(owner, isTerminated)
            self.process?.store.keep(owner, isTerminated: isTerminated)
        case .run(let owner, let run):
            let connection = self.connection(of: owner)
            self.tasks.begins(run, of: owner, isThere: connection != nil, awake: self.awake)
            if let connection { self.connections[connection].hear(.runTask(owner, run, process: self.processes)) }
        case .ended(let owner, let outcome): self.tasks.ends(outcome, of: owner)
        case .expiring, .launch, .silent, .rests: break
        }
    }

    /// The connection of an app of a user that is registered.
    private func connection(of owner: TaskOwner) -> Int? {
        self.process?.handles.all.first {
            let client = self.connections[$0.connection].client
            return Setup.apps[client] == owner.app && Setup.user(of: client) == owner.user
        }?.connection
    }

    // MARK: The disk

    /// Lets go what waits for the disk.
    mutating func releaseTasks() {
        for change in self.process?.keptTasks ?? [] {
            self.tasks.isKept(change.revision)
            let input = TaskInput.kept(change.owner, revision: change.revision)
            _ = try? self.process?.core.apply(.task(input), at: self.now, &self.returned)
        }
        self.process?.keptTasks = []
    }

    /// Changes up to this one are on the disk.
    mutating func tasksKept(upTo number: UInt64) {
        while let change = self.process?.keptTasks.first, change.number <= number {
            self.process?.keptTasks.removeFirst()
            self.tasks.isKept(change.revision)
            self.task(.kept(change.owner, revision: change.revision))
        }
    }

    mutating func storeTasksAgain() {
        for tasks in self.process?.core.work.tasks.all ?? [] {
            for record in tasks.records { _ = self.process?.store.keep(record) }
            if tasks.isTerminated { self.process?.store.keep(tasks.owner, isTerminated: true) }
        }
    }

    mutating func restoreTasks(_ records: [TaskRecord], _ terminated: [TaskOwner]) {
        self.tasks.finds(records)
        self.task(.restored(records, terminated: terminated))
        if let tasks = self.process?.core.work.tasks { self.tasks.restored(records, terminated, tasks) }
    }
}
