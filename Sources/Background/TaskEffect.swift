package import Arbitration
package import Motion

/// What follows for the tasks of an app, in order.
package enum TaskEffect: Equatable, Sendable {
    /// Put it on the disk as it is now, and say `kept` when it is there.
    case keep(TaskRecord)
    /// Take it from the disk.
    case forget(TaskOwner, identifier: String)
    /// Put on the disk whether the app's user terminated it.
    case terminated(TaskOwner, Bool)
    /// Have the app running, and say `up` when it is, or `failed`.
    case launch(TaskOwner, identifier: String)
    /// Have the app, which is running, begin.
    case run(TaskOwner, TaskRun)
    /// Tell it that its time ends soon.
    case expiring(TaskOwner, identifier: String, remaining: TimeSpan)
    /// It came to its end.
    case ended(TaskOwner, TaskOutcome)
    /// The app said nothing when its time was over: it is not to go on.
    case silent(TaskOwner)
    /// The app does no task any more.
    case rests(TaskOwner)

    /// Whose list of tasks is another than before, or says another thing.
    package var changedOwner: TaskOwner? {
        switch self {
        case .keep(let record): record.owner
        case .forget(let owner, _), .terminated(let owner, _), .run(let owner, _), .ended(let owner, _): owner
        case .launch, .expiring, .silent, .rests: nil
        }
    }
}

/// A task as its app is told to begin it.
package struct TaskRun: Equatable, Sendable {
    package var identifier: String
    package var kind: TaskKind
    /// When its time is over.
    package var ends: AwakeTime
    /// How long it has.
    package var time: TimeSpan
    /// 1, unless it was begun before and not ended.
    package var attempt: UInt32
    /// Of the record that says that it is begun: tells this run from all others.
    package var revision: UInt64

    package init(
        _ identifier: String, _ kind: TaskKind, ends: AwakeTime, time: TimeSpan, attempt: UInt32, revision: UInt64
    ) {
        self.identifier = identifier
        self.kind = kind
        self.ends = ends
        self.time = time
        self.attempt = attempt
        self.revision = revision
    }
}

/// How a task ended.
package enum TaskEnd: UInt8, Word {
    /// The app did it.
    case done
    /// The app broke it off.
    case cancelled
    /// The app said nothing until its time was over.
    case silent
    /// The app left in the middle of it.
    case left
    /// The app could not be started, or did not take it.
    case failed
    /// The app's user ended it.
    case terminated

    package var name: String {
        switch self {
        case .done: "done"
        case .cancelled: "cancelled"
        case .silent: "silent"
        case .left: "left"
        case .failed: "failed"
        case .terminated: "terminated"
        }
    }
}

/// One run of a task, to be looked at afterwards.
package struct TaskOutcome: Equatable, Sendable {
    package var identifier: String
    package var attempt: UInt32
    package var end: TaskEnd
    /// Times of the wall clock.
    package var begun: Timestamp
    package var ended: Timestamp
    /// Whether it will be tried again.
    package var isTriedAgain: Bool
}

/// Why a task is not taken, or not run.
package enum TaskRefusal: Equatable, Sendable {
    /// A client without a name has nothing in the background.
    case anonymous
    /// The app file does not name it.
    case undeclared(String)
    /// The app file does not ask for the mode.
    case undeclaredMode(BackgroundMode)
    /// Policy does not grant the mode.
    case ungranted(BackgroundMode)
    /// As many of the kind wait as may.
    case tooMany(TaskKind)
    /// As many wait for all apps as may.
    case full(limit: Int)
    /// The app's user has his share of them.
    case shareUsed(limit: Int)
    /// No such task waits.
    case unknown(String)
    /// None is under way, or not the one that is meant.
    case nothingRuns
    /// The app's user terminated it, and has not opened it since.
    case terminated

    /// One word, for logs.
    package var name: String {
        switch self {
        case .anonymous: "anonymous"
        case .undeclared: "undeclared"
        case .undeclaredMode: "undeclared-mode"
        case .ungranted: "ungranted"
        case .tooMany: "too-many"
        case .full: "full"
        case .shareUsed: "share-used"
        case .unknown: "unknown"
        case .nothingRuns: "nothing-runs"
        case .terminated: "terminated"
        }
    }
}
