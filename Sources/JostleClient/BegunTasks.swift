import DBus
import Protocol

/// Keeps the task that the broker has begun until the app takes it, and says what is told of the one that is under way.
///
/// For the broker one task is under way: the last that it began. The app may still be at another, which outlived its broker or its
/// time, and of which there is nothing to be said any more.
struct BegunTasks {
    private struct Begun {
        let task: JostleApp.RunningTask
        /// Its time ends soon.
        var isExpiring = false
        /// The broker that began it is gone.
        var isLost = false
    }

    /// The last that was begun, until the app takes it.
    private var waiting: Begun?
    private var current: Begun?

    var isEmpty: Bool { self.waiting == nil }

    /// How what the app is at is named to the broker.
    var name: [String: Value]? { self.current.map { [TaskKey.task: .string($0.task.identifier)] } }

    /// The time of the task that is under way ends soon.
    var isExpiring: Bool { self.current?.isExpiring ?? false }

    /// Takes in a task that the broker has begun. With one that waits it is over then.
    mutating func begin(_ task: JostleApp.RunningTask) { self.waiting = Begun(task: task) }

    /// Hands out the task that is under way from now on.
    mutating func next() -> JostleApp.RunningTask? {
        guard let begun = self.waiting.take() else { return nil }
        self.current = begun
        return begun.task
    }

    /// The time of the task that is under way ends soon: also one that waits has no more of it.
    mutating func expire() {
        self.current?.isExpiring = true
        self.waiting?.isExpiring = true
    }

    /// What that broker began the next one begins again, unless the app is at it.
    mutating func brokerLeaves() {
        self.waiting = nil
        self.current?.isLost = true
    }

    /// The task that was under way is over. `nil`: there is nothing to be said of it.
    mutating func finish(success: Bool) -> TaskResult? {
        guard let ended = self.current.take() else { return nil }
        guard let following = self.waiting else { return ended.isLost ? nil : success ? .done : .cancelled }
        // Another attempt at what is done by now is done, too.
        guard success, following.task.identifier == ended.task.identifier else { return nil }
        self.waiting = nil
        return .done
    }
}
