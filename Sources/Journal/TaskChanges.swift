import Arbitration
package import Background

/// What is to be done to the tasks on the disk: the last word on each.
package struct TaskChanges: Sendable {
    package struct Key: Hashable, Sendable {
        package let owner: TaskOwner
        package let identifier: String
    }

    /// `nil`: it waits no more.
    package private(set) var tasks: [Key: TaskRecord?] = [:]
    /// Whether the user of an app terminated it.
    package private(set) var terminated: [TaskOwner: Bool] = [:]
    /// The number of the last change that is among them.
    package private(set) var last: UInt64 = 0

    package var isEmpty: Bool { self.last == 0 }

    package init() {}

    package mutating func keep(_ record: TaskRecord, _ number: UInt64) {
        self.tasks[Key(owner: record.owner, identifier: record.request.identifier)] = .some(record)
        self.last = number
    }

    package mutating func forget(_ owner: TaskOwner, _ identifier: String, _ number: UInt64) {
        self.tasks[Key(owner: owner, identifier: identifier)] = .some(nil)
        self.last = number
    }

    package mutating func setTerminated(_ owner: TaskOwner, _ isTerminated: Bool, _ number: UInt64) {
        self.terminated[owner] = isTerminated
        self.last = number
    }

    /// Takes in what comes later.
    package mutating func merge(_ later: TaskChanges) {
        self.tasks.merge(later.tasks) { _, later in later }
        self.terminated.merge(later.terminated) { _, later in later }
        self.last = max(self.last, later.last)
    }
}
