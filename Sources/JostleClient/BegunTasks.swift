/// Keeps tasks that the broker has begun until the app takes them, one at a time.
struct BegunTasks {
    private var waiting: [JostleApp.RunningTask] = []
    /// The task that was handed out last. The broker may have begun another since, when its time was over.
    private(set) var last: String?
    /// The time of the task that is under way ends soon.
    private(set) var isExpiring = false

    var isEmpty: Bool { self.waiting.isEmpty }

    /// Takes in a task that the broker has begun.
    mutating func begin(_ task: JostleApp.RunningTask) { self.waiting.append(task) }

    /// Hands out the task that is under way from now on.
    mutating func next() -> JostleApp.RunningTask? {
        guard !self.waiting.isEmpty else { return nil }
        self.isExpiring = false
        let task = self.waiting.removeFirst()
        self.last = task.identifier
        return task
    }

    /// The time of the task that is under way ends soon.
    mutating func expire() { self.isExpiring = true }

    /// The task that was under way is over.
    mutating func finish() { self.isExpiring = false }
}
