import Arbitration
import Background
import BrokerCore
import Journal
import Motion

/// What is on the disk, and how well that does. A transaction is on it whole, or not at all: it is synced before that is said.
struct SimulatedDisk {
    enum Mood: Int {
        case well, failing, silent
    }

    var mood = Mood.well
    private(set) var rows: [DueEvent.Key: DueEvent] = [:]
    private(set) var tasks: [TaskChanges.Key: TaskRecord] = [:]
    /// Whose apps their users ended.
    private(set) var terminated: Set<TaskOwner> = []
    /// What apps registered for good.
    private(set) var durable: [AppID: DurableApp] = [:]
    /// Up to where epochs may have been given out.
    private var reserved: UInt64 = 0
    /// How often all of it was lost.
    private(set) var losses = 0

    /// What is due, for each app in the order of its numbers.
    var due: [DueEvent] {
        // One may be there twice: as nobody's and as somebody's.
        func place(_ event: DueEvent) -> (AppID, UInt64, UInt64, Int64) {
            (event.app, event.content.sequence, event.content.epoch, event.user.map { Int64($0) } ?? -1)
        }
        return self.rows.values.sorted { place($0) < place($1) }
    }

    mutating func commit(_ changes: DueChanges) {
        for (key, event) in changes.events { self.rows[key] = event }
    }

    mutating func commit(_ changes: TaskChanges) {
        for (key, record) in changes.tasks { self.tasks[key] = record }
        for (owner, isTerminated) in changes.terminated {
            if isTerminated { self.terminated.insert(owner) } else { self.terminated.remove(owner) }
        }
    }

    mutating func commit(_ durable: [AppID: DurableApp?]) {
        for (id, app) in durable { self.durable[id] = app }
    }

    /// Reserves epochs from here on, and says where they begin.
    mutating func reserve(_ count: UInt64, from floor: UInt64) -> UInt64 {
        let first = max(self.reserved, floor)
        self.reserved = first + count
        return first
    }

    /// Loses all events. That epochs are lost is another story: the journal and the wall clock have them, too.
    mutating func wipe() {
        self.rows = [:]
        self.tasks = [:]
        self.terminated = []
        self.durable = [:]
        self.losses += 1
    }
}

/// The way of a broker's process to the disk: what waits for it, and what it has said and nobody has heard.
struct SimulatedStore {
    enum News {
        /// More epochs are reserved, from this one on.
        case epochs(UInt64)
        case durable([DurableApp])
        case restored([DueEvent])
        case persisted([DueEvent])
        case restoredTasks([TaskRecord], [TaskOwner])
        case tasksKept(upTo: UInt64)
        case forgotten
        case failed
    }

    private var waiting = WaitingDue()
    /// After so many more changes of what is due the broker is killed; `nil`: it is not.
    private var changesLeft: Int?
    /// What waited when it was.
    private var lastWaiting: WaitingDue?
    private var taken = DueChanges()
    private var tasks = TaskChanges()
    private var takenTasks = TaskChanges()
    private var lastTask: UInt64 = 0
    /// The last word on what each app registered for good.
    private var durable: [AppID: DurableApp?] = [:]
    /// What was said of that before the disk spoke is joined with what it had.
    private var areAppsJoined = false
    /// What is handed over does not get to the disk, as was said.
    private(set) var isFailing = false
    private var news: [News] = []
    private var isRestored = false
    /// Where epochs must not begin before, until they are reserved.
    private var floor: UInt64?
    private var losses = 0

    /// So many changes may wait for the writer.
    private let room: Int
    /// So many that none has ever run out.
    private static let epochs: UInt64 = 1 << 16

    /// A process begins. Its epochs begin behind all that were given out, if the disk says so in time.
    init(wall: UInt64, on disk: inout SimulatedDisk, room: Int) {
        self.room = room
        self.floor = wall
        self.losses = disk.losses
        guard disk.mood == .well else { return }
        self.open(&disk)
    }

    /// Where epochs begin that the disk knew of at once; `nil`: it did not.
    mutating func takeFirstEpoch() -> UInt64? {
        guard let index = self.news.firstIndex(where: { if case .epochs = $0 { true } else { false } }),
            case .epochs(let first) = self.news.remove(at: index)
        else { return nil }
        return first
    }

    private mutating func open(_ disk: inout SimulatedDisk) {
        if self.losses != disk.losses {
            self.losses = disk.losses
            self.news.append(.forgotten)
        }
        if !self.isRestored {
            self.isRestored = true
            // Apps are known first, and then what is due to them.
            self.news.append(.durable(disk.durable.values.sorted { $0.id < $1.id }))
            self.waiting.restored(disk.due)
            self.news.append(.restored(disk.due))
            let tasks = disk.tasks.values.sorted {
                ($0.owner, $0.request.earliest, $0.request.identifier)
                    < ($1.owner, $1.request.earliest, $1.request.identifier)
            }
            self.news.append(.restoredTasks(tasks, disk.terminated.sorted()))
        }
        guard let floor = self.floor else { return }
        self.floor = nil
        self.news.append(.epochs(disk.reserve(Self.epochs, from: floor)))
    }

    /// Returns whether there is room for it.
    mutating func keep(_ event: DueEvent, again: Bool = false) -> Bool {
        let isKept = self.waiting.add(event, isKnown: again, upTo: again ? .max : self.room)
        self.handsOver()
        return isKept
    }

    mutating func forget(_ event: DueEvent) {
        self.waiting.remove(event)
        self.handsOver()
    }

    // MARK: Killed between two changes

    /// Has the broker be killed when it has handed over so many more changes of what is due.
    mutating func cut(after changes: Int) { self.changesLeft = max(1, changes) }

    private mutating func handsOver() {
        guard let left = self.changesLeft else { return }
        self.changesLeft = left > 1 ? left - 1 : nil
        if left == 1 { self.lastWaiting = self.waiting }
    }

    /// Whether it was killed since. Then the disk has what had been handed over by that time.
    mutating func isCut(on disk: inout SimulatedDisk) -> Bool {
        guard let last = self.lastWaiting else { return false }
        self.waiting = last
        _ = self.work(on: &disk)
        return true
    }

    // MARK: Tasks

    /// Returns the number of the change.
    mutating func keep(_ record: TaskRecord) -> UInt64 {
        self.lastTask += 1
        self.tasks.keep(record, self.lastTask)
        return self.lastTask
    }

    mutating func forget(_ owner: TaskOwner, _ identifier: String) {
        self.lastTask += 1
        self.tasks.forget(owner, identifier, self.lastTask)
    }

    mutating func keep(_ owner: TaskOwner, isTerminated: Bool) {
        self.lastTask += 1
        self.tasks.setTerminated(owner, isTerminated, self.lastTask)
    }

    /// Has what an app registered for good be this; `nil`: nothing.
    mutating func set(_ id: AppID, to app: DurableApp?) { self.durable[id] = .some(app) }
    mutating func appsAreJoined() { self.areAppsJoined = true }

    // MARK: The writer

    /// The writer has a turn. Returns whether all that was handed over is on the disk.
    ///
    /// - Parameter last: After how many transactions power fails: the next one is torn, and nothing of it is there later.
    mutating func work(on disk: inout SimulatedDisk, upTo last: Int = .max) -> Bool {
        if disk.mood == .silent { return false }
        self.waiting.take(into: &self.taken)
        self.takenTasks.merge(self.tasks)
        self.tasks = TaskChanges()
        guard disk.mood == .well else {
            if !self.isFailing, self.isRestored, self.losses == disk.losses, last > 0 {
                // It begins to fail behind a commit, and does not say that all of this is there.
                disk.commit(self.taken)
                self.taken.mayBeThere()
            }
            self.waiting.setTaken(self.taken.count)
            if !self.isFailing { self.news.append(.failed) }
            self.isFailing = true
            return false
        }
        self.isFailing = false
        let wasLost = self.losses != disk.losses
        self.open(&disk)
        if last < 1 { return false }
        disk.commit(self.taken)
        let kept = self.taken.events.values.compactMap { $0 }
        self.taken = DueChanges()
        self.waiting.setTaken(0)
        if !kept.isEmpty { self.news.append(.persisted(kept)) }
        if last < 2 { return false }
        if !self.takenTasks.isEmpty {
            disk.commit(self.takenTasks)
            self.news.append(.tasksKept(upTo: self.takenTasks.last))
            self.takenTasks = TaskChanges()
        }
        guard self.areAppsJoined else { return !wasLost }
        disk.commit(self.durable)
        self.durable = [:]
        return !wasLost
    }

    /// Nothing was said, and not heard yet, after which more is due than is on the disk, or less.
    var isHeard: Bool {
        self.news.allSatisfy { news in
            switch news {
            case .restored, .restoredTasks, .durable, .forgotten: false
            case .epochs, .persisted, .tasksKept, .failed: true
            }
        }
    }

    mutating func takeNews() -> [News] {
        defer { self.news = [] }
        return self.news
    }
}
