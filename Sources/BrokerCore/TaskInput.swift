package import Arbitration
package import Background
package import Motion

/// What happens to background work, and to what it can wait for.
package enum TaskInput: Sendable {
    /// An app can be told of its tasks from now on.
    case came(AppHandle)
    /// An app hands in a task, or another in place of one of the same name. `declared` is what its app file says.
    case submit(AppHandle, TaskRequest, declared: DeclaredTasks)
    case cancel(AppHandle, String)
    /// Somebody wants one that waits run now, to try it.
    case force(TaskOwner, String)
    /// An app says that it is through with the task that is under way; `task`: which one it means, if it says so.
    case done(AppHandle, isSuccess: Bool, task: String? = nil)
    /// A record of this revision is on the disk, or will not be.
    case kept(TaskOwner, revision: UInt64)
    /// An app did not take a run; `nil`: it could not be started for it.
    case failed(TaskOwner, run: UInt64?)
    /// What was on the disk when the broker started.
    case restored([TaskRecord], terminated: [TaskOwner])
    /// The user of an app ended it.
    case terminated(TaskOwner)
    /// What the wall clock is ahead of arrival times.
    case clock(TimeSpan)
    /// Whether nobody uses the device.
    case idle(Bool)
    case power(Power)

    /// The app that says it, if one does.
    var app: AppHandle? {
        switch self {
        case .came(let app), .submit(let app, _, _), .cancel(let app, _), .done(let app, _, _): app
        case .force, .kept, .failed, .restored, .terminated, .clock, .idle, .power: nil
        }
    }
}
