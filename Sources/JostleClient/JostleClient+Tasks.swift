import DBus
import EventLoop
import Motion
import Protocol

extension JostleClient {
    /// What background work is like.
    public enum TaskKind: String, Sendable {
        /// Short, to have something new to show: one of them waits at a time.
        case refresh
        /// Longer, to tidy up or work something out: ten of them wait at a time.
        case processing
    }

    /// When and under which conditions a task is to be run.
    public struct TaskConditions: Sendable {
        /// Not before so much time from now.
        public var after: Duration = .zero
        /// Until when, from now, it may be put off to run together with others; `nil`: as long as policy says.
        public var within: Duration?
        /// Only while nobody uses the device.
        public var whenIdle = false
        /// Only while the device does not run on its battery.
        public var onExternalPower = false
        /// Left to the broker, which waits for a moment that disturbs nobody.
        public var isDiscretionary = false

        /// No conditions: as soon as policy lets it.
        public init() {}
    }

    /// A task that the broker has begun.
    public struct RunningTask: Equatable, Sendable {
        /// The app's own name for it, as in its app file.
        public let identifier: String
        /// 1, unless it was begun before and not ended: the app crashed, or the broker did.
        public let attempt: UInt32
        /// When its time is over, in CLOCK_BOOTTIME microseconds.
        public let deadline: UInt64
    }

    /// Says that this app runs a task of this name. False: its app file does not name it, and the broker never will.
    public func registerTask(_ identifier: String) throws(JostleError) -> Bool {
        let value = try self.ask { (connection, target) throws(BusError) in
            let properties = CallTarget(target.name, target.path, "org.freedesktop.DBus.Properties")
            return try connection.callAndWait(
                properties, "Get", InterfaceName.app.description, "TaskIdentifiers"
            ).read(reply: Value.self)
        }
        self.hasTasks = true
        guard case .array(_, let names) = value else { return false }
        return names.contains(.string(identifier))
    }

    /// Hands in background work for later. A task of the same name is replaced.
    ///
    ///     var conditions = JostleClient.TaskConditions()
    ///     conditions.after = .seconds(3_600)
    ///     try client.submitTask("tidy-up", .processing, conditions)
    ///
    /// - Returns: when it may begin, in microseconds of the wall clock; for a refresh no sooner than policy lets it.
    @discardableResult
    public func submitTask(
        _ identifier: String, _ kind: TaskKind, _ conditions: TaskConditions = TaskConditions()
    ) throws(JostleError) -> UInt64 {
        let options = conditions.options
        let inForce = try self.ask { (connection, target) throws(BusError) in
            try connection.callAndWait(target, "SubmitTask", identifier, kind.rawValue, options)
                .read(reply: [String: Value].self)
        }
        self.hasTasks = true
        guard case .uint64(let earliest) = inForce["earliest-begin"] else { return 0 }
        return earliest
    }

    /// Takes back a task that waits.
    public func cancelTask(_ identifier: String) throws(JostleError) {
        _ = try self.ask { (connection, target) throws(BusError) in
            _ = try connection.callAndWait(target, "CancelTask", identifier)
        }
    }

    /// Handles events until the broker begins a task; `nil`: until `stop`.
    ///
    ///     while let task = try client.nextTask() {
    ///         try client.submitTask(task.identifier, .refresh)
    ///         try client.finishTask(success: work())
    ///     }
    public func nextTask() throws(JostleError) -> RunningTask? {
        try self.run(until: { !self.begunTasks.isEmpty })
        guard !self.begunTasks.isEmpty else { return nil }
        self.isTaskExpiring = false
        return self.begunTasks.removeFirst()
    }

    /// Says that the task that is under way is done, or was broken off. False: too late, its time was over, or the broker that
    /// had begun it is gone.
    @discardableResult
    public func finishTask(success: Bool) throws(JostleError) -> Bool {
        self.isTaskExpiring = false
        do throws(JostleError) {
            _ = try self.ask { (connection, target) throws(BusError) in
                _ = try connection.callAndWait(target, "TaskDone", success)
            }
            return true
        } catch {
            guard error.name == "org.jostle.Error.NotFound" else { throw error }
            return false
        }
    }

    /// Lets the broker call us, at the object where it looks for that.
    func exportReceiver() {
        let object = ExportedObject(Path.receiver, [(Receiver.table, Receiver(self))])
        self.connection.export(object)
    }

    func receivedTaskExpiring(_ message: borrowing Message) {
        guard self.isOurs(message) else { return self.forgeries &+= 1 }
        self.isTaskExpiring = true
    }

    /// What the broker calls. Holds the client weakly, because the client's connection holds it.
    final class Receiver {
        private weak var client: JostleClient?

        init(_ client: JostleClient) { self.client = client }

        static let table = Interface<Receiver>(
            InterfaceName.receiver,
            methods: [
                Method("RunTask", in: ["identifier", "deadline", "options"]) {
                    (
                        receiver: Receiver, call: MethodCall, identifier: String, deadline: UInt64,
                        options: [String: Value]
                    )
                        throws(BusError) in
                    // Anybody can call us.
                    guard let client = receiver.client, call.sender == client.broker else {
                        throw .accessDenied("only the broker runs tasks")
                    }
                    var attempt: UInt32 = 1
                    if case .uint32(let number) = options["attempt"] { attempt = number }
                    client.begunTasks.append(RunningTask(identifier: identifier, attempt: attempt, deadline: deadline))
                },
                Method(later: "Deliver", in: ["reason", "events", "options"], out: ["answer"], as: String.self) {
                    (
                        receiver: Receiver, call: MethodCall, reason: String, events: [EventCodec.Wire],
                        options: [String: Value]
                    ) throws(BusError) in
                    let bodies = events.compactMap { EventCodec.body($0) }
                    guard bodies.count == events.count else {
                        throw .invalidArguments("Deliver: an event has no time")
                    }
                    let missing = LaunchOptions.missing(in: options)
                    receiver.client?.arrived(
                        .launch(Launch(reason: reason, events: bodies.map { MotionEvent($0) }, missing: missing), call))
                },
            ])
    }
}

extension JostleClient.TaskConditions {
    /// As they travel. Times are of the wall clock there.
    fileprivate var options: [String: Value] {
        func time(_ span: Duration) -> Value {
            let (seconds, attoseconds) = span.components
            let later = TimeSpan.seconds(seconds) + TimeSpan(microseconds: attoseconds / 1_000_000_000_000)
            return .uint64((Timestamp(microseconds: Clock.wallClock()) + later).wire)
        }
        var options: [String: Value] = [:]
        if self.after > .zero { options["earliest-begin"] = time(self.after) }
        if let within = self.within { options["latest-begin"] = time(max(within, self.after)) }
        if self.whenIdle { options["idle"] = .boolean(true) }
        if self.onExternalPower { options["external-power"] = .boolean(true) }
        if self.isDiscretionary { options["discretionary"] = .boolean(true) }
        return options
    }
}
