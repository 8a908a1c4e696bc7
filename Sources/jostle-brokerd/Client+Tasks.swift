import Arbitration
import Background
import BrokerCore
import DBus
import Loop
import Motion
import Protocol

/// The app's background work, as it sees it.
extension Client {
    /// Answers when the task is on the disk.
    func submitTask(
        _ identifier: String, _ word: String, _ options: [String: Value], _ call: MethodCall
    ) throws(BusError) {
        let request = try TaskRequest(identifier, word, options, wall: Timestamp(microseconds: Clock.wallClock()))
        try self.task(.submit(self.id, request, declared: self.declaredTasks))
        let waiting = self.tasks?.pending.first { $0.request.identifier == identifier }
        guard let record = waiting?.record ?? self.tasks?.current?.record else {
            throw .failed("the task is over already")
        }
        self.service.links.tasks.wait(for: record.revision) { isDurable in
            call.reply([
                TaskKey.earliest: Value.uint64(record.request.earliest.wire), TaskKey.durable: .boolean(isDurable),
            ])
        }
    }

    /// Answers when it is on the disk that the task waits no more: who was told so does not find it there again.
    func cancelTask(_ identifier: String, _ call: MethodCall) throws(BusError) {
        try self.task(.cancel(self.id, identifier))
        self.service.links.tasks.waitForLast { _ in call.reply() }
    }

    func task(_ input: TaskInput) throws(BusError) {
        do throws(Refusal) {
            try self.service.links.tasks.input(input)
        } catch {
            throw BusError(error)
        }
    }

    func tellExpiring(_ identifier: String, _ remaining: TimeSpan) {
        guard let begun = self.tasks?.current?.begun else { return }
        let ends = self.awakeTime + remaining
        // Numbers begin with 1, and at most one task is under way.
        self.object?.tell(InterfaceName.app, "TaskExpiring", about: NewsSubject(0, "task")) { [weak self] in
            // Whoever reads late may be at another one.
            guard let self, self.tasks?.current?.begun == begun else { return nil }
            let left = max(.zero, ends - self.awakeTime)
            let details: [String: Value] = [TaskKey.remaining: .uint64((Timestamp.zero + left).wire)]
            return [identifier, details]
        }
    }

    private var awakeTime: AwakeTime { self.service.now { core, now in core.arbiter.moment(at: now).awake } }

    // MARK: What there is to see

    private var tasks: AppTasks? {
        (self.appState?.owner).flatMap { self.service.core.work.tasks[$0] }
    }

    var taskList: [Structure<String, String, String, [String: Value]>] {
        let rows = self.tasks.map { self.service.links.tasks.rows(of: $0) } ?? []
        return rows.map { Structure($0.identifier, $0.kind, $0.state, $0.details) }
    }

    /// What came of its last tasks.
    var taskOutcomes: [[String: Value]] {
        (self.tasks?.outcomes ?? []).map {
            [
                TaskKey.identifier: .string($0.identifier), TaskKey.attempt: .uint32($0.attempt),
                TaskKey.result: .string($0.end.name), TaskKey.began: .uint64($0.begun.wire),
                TaskKey.ended: .uint64($0.ended.wire),
            ]
        }
    }
}

extension TaskRequest {
    /// A task as an app asks for it.
    ///
    /// - Parameter wall: what the wall clock says.
    init(_ identifier: String, _ word: String, _ options: [String: Value], wall: Timestamp) throws(BusError) {
        let reader = try OptionReader(
            options, of: "task",
            known: [
                TaskKey.earliest, TaskKey.earliestIn, TaskKey.latest, TaskKey.latestIn, TaskKey.idle, TaskKey.power,
                TaskKey.discretionary,
            ])
        let kind = try GivenWord.read(word, "kind of task", among: TaskKind.allCases, name: \.name)
        var needs = WordSet<TaskNeed>.none
        if try reader.flag(TaskKey.idle) == true { needs.insert(.idle) }
        if try reader.flag(TaskKey.power) == true { needs.insert(.power) }
        let earliest = try Self.time(reader, TaskKey.earliest, or: TaskKey.earliestIn, wall)
        let latest = try Self.time(reader, TaskKey.latest, or: TaskKey.latestIn, wall)
        if let earliest, let latest, latest < earliest {
            throw .invalidConfiguration("task: the latest time (latest-begin, latest-in) comes before the earliest")
        }
        // From now on is from when it is submitted, whatever the wall clock is set to.
        let delay = try reader.time(TaskKey.earliestIn)
        self.init(
            identifier, kind, earliest: delay == nil ? earliest ?? .zero : .zero, delay: delay ?? .zero, latest: latest,
            needs: needs, isDiscretionary: try reader.flag(TaskKey.discretionary) ?? false)
    }
    /// A time of the wall clock, said as such or from now on.
    private static func time(
        _ reader: OptionReader, _ key: String, or later: String, _ wall: Timestamp
    ) throws(BusError) -> Timestamp? {
        switch (try reader.count(key), try reader.time(later)) {
        case (let count?, nil):
            guard let time = Timestamp(wire: count) else {
                throw .invalidConfiguration("task: \(key) \(count) us is too long")
            }
            return time
        case (nil, let delay?): return wall + delay
        case (nil, nil): return nil
        case (.some, .some): throw .invalidConfiguration("task: give \(key) or \(later), not both")
        }
    }
}
