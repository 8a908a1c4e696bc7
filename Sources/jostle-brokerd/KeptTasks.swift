import Arbitration
import Background

/// Changes of tasks that are on their way to the disk, and who waits for them.
struct KeptTasks {
    /// One change, by the number that the store gave it.
    struct Change {
        let number: UInt64
        /// Which task is so from now on; `nil`: one waits no more, or an app's user ended the app, or opened it.
        let task: (owner: TaskOwner, revision: UInt64)?
        /// Told whether it is on the disk.
        var answers: [(Bool) -> Void] = []
    }

    private var changes: [Change] = []

    mutating func add(_ record: TaskRecord?, _ number: UInt64) {
        self.changes.append(Change(number: number, task: record.map { ($0.owner, $0.revision) }))
    }

    /// Has `answer` told when a record is on the disk; at once, when nobody is bringing it there.
    mutating func wait(for revision: UInt64, _ answer: @escaping (Bool) -> Void) {
        self.wait(at: self.changes.firstIndex { $0.task?.revision == revision }, answer)
    }

    /// The same of the last change, and with that of all before it.
    mutating func waitForLast(_ answer: @escaping (Bool) -> Void) {
        self.wait(at: self.changes.indices.last, answer)
    }

    private mutating func wait(at index: Int?, _ answer: @escaping (Bool) -> Void) {
        guard let index else { return answer(false) }
        self.changes[index].answers.append(answer)
    }

    /// Takes out what is on the disk now.
    mutating func take(upTo number: UInt64 = .max) -> [Change] {
        let taken = self.changes.prefix { $0.number <= number }
        self.changes.removeFirst(taken.count)
        return Array(taken)
    }
}
