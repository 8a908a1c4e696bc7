import DBus
import Protocol

extension JostleApp {
    /// What background work is like.
    public enum TaskKind: String, Sendable {
        /// Short, to have something new to show: one of them waits at a time.
        case refresh
        /// Longer, to tidy up or work something out: ten of them wait at a time.
        case processing
    }

    /// The time of the task that is under way ends soon: break it off.
    public var isTaskExpiring: Bool { self.tasks.isExpiring }

    /// Says that this app runs a task of this name. False: its app file does not name it, and the broker never will.
    public func registerTask(_ identifier: String) throws(JostleError) -> Bool {
        let value = try self.ask { (link) throws(BusError) in try link.property("TaskIdentifiers") }
        guard case .array(_, let names) = value else { return false }
        return names.contains(.string(identifier))
    }

    /// Hands in background work for later. A task of the same name is replaced.
    ///
    ///     var conditions = JostleApp.TaskConditions()
    ///     conditions.after = .seconds(3_600)
    ///     try client.submitTask("tidy-up", .processing, conditions)
    ///
    /// - Returns: when it may begin, in microseconds of the wall clock; for a refresh no sooner than policy lets it.
    @discardableResult
    public func submitTask(
        _ identifier: String, _ kind: TaskKind, _ conditions: TaskConditions = TaskConditions()
    ) throws(JostleError) -> UInt64 {
        let options = conditions.options
        let inForce = try self.ask { (link) throws(BusError) in
            try link.ask("SubmitTask", identifier, kind.rawValue, options).read(reply: [String: Value].self)
        }
        guard case .uint64(let earliest) = inForce[TaskKey.earliest] else { return 0 }
        return earliest
    }

    /// Takes back a task that waits.
    public func cancelTask(_ identifier: String) throws(JostleError) {
        _ = try self.ask { (link) throws(BusError) in _ = try link.ask("CancelTask", identifier, noOptions) }
    }

    /// Handles events until the broker begins a task; `nil`: until `stop`.
    ///
    ///     while let task = try client.nextTask() {
    ///         try client.submitTask(task.identifier, .refresh)
    ///         try client.finishTask(success: work())
    ///     }
    public func nextTask() throws(JostleError) -> RunningTask? {
        try self.run(until: { !self.tasks.isEmpty })
        return self.tasks.next()
    }

    /// Says that the task that is under way is done, or was broken off. False: too late, its time was over, or the broker that
    /// had begun it is gone or does not answer. The next one is told only if it began the same again and that is done.
    @discardableResult
    public func finishTask(success: Bool) throws(JostleError) -> Bool {
        guard let name = self.tasks.name, let result = self.tasks.finish(success: success) else { return false }
        do throws(JostleError) {
            _ = try self.ask { (link) throws(BusError) in _ = try link.ask("TaskDone", result.rawValue, name) }
            return true
        } catch {
            guard error.name == "org.jostle.Error.NotFound" || error.kind == .noService else { throw error }
            return false
        }
    }
}
