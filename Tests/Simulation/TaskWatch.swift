import Arbitration
import Background
import Motion

/// Knows the background work of apps: what waits, what runs, and that each run begins as it may and ends once.
struct TaskWatch {
    /// A task of an app.
    struct Name: Hashable {
        let owner: TaskOwner
        let identifier: String
    }

    private struct Run {
        let run: TaskRun
        /// When its time is over, in the time that the system is awake.
        let ends: Int64
    }

    struct Counts: Equatable {
        var submitted = 0
        var run = 0
        var done = 0
        var ended = 0
        var restored = 0
    }

    // Of this broker.
    private var runs: [TaskOwner: Run] = [:]
    /// Revisions of which it was said that they are on the disk, or that nobody brings them there.
    private var kept: Set<UInt64> = []
    private var terminated: Set<TaskOwner> = []
    /// What was submitted.
    private var submitted: Set<Name> = []

    /// What was begun, by revision: how often by then.
    private var begun: [UInt64: UInt32] = [:]
    /// What was under way when the last broker ended, until it is submitted anew: it waits again, and may have to wait until another
    /// time.
    private var left: [Name: Start] = [:]

    /// A task that was begun so often.
    private struct Start: Equatable {
        let revision: UInt64
        let attempt: UInt32

        init(_ record: TaskRecord) { (self.revision, self.attempt) = (record.revision, record.attempt) }
    }

    // Of all lives.
    /// What is wrong, first of all.
    private(set) var finding: String?
    private(set) var counts = Counts()

    private mutating func find(_ what: String) { self.finding = self.finding ?? what }

    mutating func brokerEnds() {
        self.runs = [:]
        self.kept = []
        self.terminated = []
        self.submitted = []
        self.begun = [:]
        self.left = [:]
    }

    // MARK: What happens

    mutating func isKept(_ revision: UInt64) { self.kept.insert(revision) }

    /// A record changes: it waits, or is begun.
    ///
    /// - Parameter isForced: Somebody wanted it run whatever it waits for.
    mutating func keeps(_ record: TaskRecord, isForced: Bool, _ met: WordSet<TaskNeed>, wall: Timestamp) {
        let name = record.request.identifier
        let isLeft = self.left[Name(owner: record.owner, identifier: name)] == Start(record)
        if record.attempt > AppTasks.mostAttempts { self.find("\(name): begun \(record.attempt) times") }
        // One that was to be begun, and was not, is known.
        guard record.attempt > 0, !isLeft,
            self.begun.updateValue(record.attempt, forKey: record.revision) == nil
        else { return }
        if let run = self.runs[record.owner] { self.find("\(name): begun while \(run.run.identifier) runs") }
        if self.terminated.contains(record.owner) { self.find("\(name): begun for who was ended") }
        if isForced { return }
        if wall < record.request.earliest { self.find("\(name): begun at \(wall), before \(record.request.earliest)") }
        if !record.request.needs.subtracting(met).isEmpty { self.find("\(name): begun without what it needs") }
    }

    mutating func terminated(_ owner: TaskOwner, _ isTerminated: Bool) {
        if isTerminated { self.terminated.insert(owner) } else { self.terminated.remove(owner) }
    }

    mutating func begins(_ run: TaskRun, of owner: TaskOwner, isThere: Bool, awake: Int64) {
        self.counts.run += 1
        if let other = self.runs[owner] { self.find("\(run.identifier) runs beside \(other.run.identifier)") }
        if !isThere { self.find("\(run.identifier) runs in an app that is not there") }
        if !self.kept.contains(run.revision) {
            self.find("\(run.identifier) runs, and the disk has not said that it is begun")
        }
        if self.begun[run.revision] != run.attempt {
            self.find("\(run.identifier) runs for the \(run.attempt). time, and was not begun so often")
        }
        self.runs[owner] = Run(run: run, ends: awake + run.time.microseconds)
    }

    mutating func ends(_ outcome: TaskOutcome, of owner: TaskOwner) {
        self.counts.ended += 1
        if outcome.end == .done { self.counts.done += 1 }
        let run = self.runs.removeValue(forKey: owner)?.run
        switch outcome.end {
        // Its app could not be started.
        case .failed where run == nil: break
        case .done, .cancelled, .silent, .left, .failed, .terminated:
            if run?.identifier != outcome.identifier || run?.attempt != outcome.attempt {
                self.find("\(outcome.identifier) ended (\(outcome.end.name)), and \(run?.identifier ?? "nothing") ran")
            }
        }
        if outcome.isTriedAgain, outcome.attempt >= AppTasks.mostAttempts {
            self.find("\(outcome.identifier) is tried again after \(outcome.attempt) times")
        }
    }

    // MARK: What must hold

    /// After a step.
    mutating func check(_ tasks: Tasks) {
        for app in tasks.all {
            let waiting = app.pending.map(\.request)
            if Set(waiting.map(\.identifier)).count != waiting.count {
                self.find("a task of \(app.owner.app) waits twice")
            }
            for kind in TaskKind.allCases {
                // One that was under way may be back.
                let count = waiting.count { $0.kind == kind }
                if count > kind.mostPending + 1 { self.find("\(count) tasks of \(app.owner.app) wait") }
            }
            let isRunning = if case .running = app.current?.stage { true } else { false }
            if isRunning != (self.runs[app.owner] != nil) {
                self.find("what runs in \(app.owner.app) is not what began")
            }
        }
        let held = tasks.all.reduce(0) { $0 + $1.pending.count }
        if held != tasks.pendingCount { self.find("\(held) tasks wait, and \(tasks.pendingCount) are counted") }
    }

    /// Time passed, and the broker has had its turn.
    mutating func checkTime(awake: Int64) {
        for run in self.runs.values where run.ends < awake {
            self.find("\(run.run.identifier) has had its time, and is not over")
        }
    }

    /// All that was handed over is on the disk, and all that the disk says was heard.
    mutating func committed(_ rows: [TaskRecord], _ terminated: Set<TaskOwner>, _ tasks: Tasks) {
        let disk = Set(rows.map { Row($0) })
        let known = Set(tasks.all.flatMap(\.records).map { Row($0) })
        if disk != known {
            if let lost = known.subtracting(disk).first { self.find("\(lost) waits, and is not on the disk") }
            if let left = disk.subtracting(known).first { self.find("\(left) is on the disk, and waits no more") }
        }
        if terminated != Set(tasks.all.filter(\.isTerminated).map(\.owner)) {
            self.find("who was ended is not who is on the disk as that")
        }
    }

    /// A task on the disk, and how often it was begun by then.
    private struct Row: Hashable, CustomStringConvertible {
        let name: Name
        let attempt: UInt32

        init(_ record: TaskRecord) {
            self.name = Name(owner: record.owner, identifier: record.request.identifier)
            self.attempt = record.attempt
        }

        var description: String {
            "\(self.name.owner.app) \(self.name.owner.user) \(self.name.identifier) \(self.attempt)"
        }
    }

    /// What was on the disk is about to be taken in.
    mutating func finds(_ records: [TaskRecord]) {
        for record in records where record.attempt > 0 {
            let name = Name(owner: record.owner, identifier: record.request.identifier)
            if !self.submitted.contains(name) { self.left[name] = Start(record) }
        }
    }

    /// What was on the disk was taken in.
    mutating func restored(_ records: [TaskRecord], _ terminated: [TaskOwner], _ tasks: Tasks) {
        self.counts.restored += records.count
        // Who was opened since the broker began is not any more.
        self.terminated.formUnion(terminated.filter { tasks[$0]?.isTerminated == true })
        for record in records {
            let app = tasks[record.owner]
            let isThere = app?.records.contains { $0.request.identifier == record.request.identifier } ?? false
            // What was submitted anew by then may be over.
            let name = Name(owner: record.owner, identifier: record.request.identifier)
            if !isThere, record.attempt < AppTasks.mostAttempts, !self.submitted.contains(name) {
                self.find("\(record.request.identifier) was on the disk, and is lost")
            }
        }
    }

    mutating func submits(_ identifier: String, _ owner: TaskOwner) {
        self.counts.submitted += 1
        let name = Name(owner: owner, identifier: identifier)
        self.submitted.insert(name)
        self.left[name] = nil
    }

    /// Nothing waits for anything any more.
    mutating func end(_ tasks: Tasks) {
        for app in tasks.all where !app.pending.isEmpty || app.current != nil {
            let stage = app.current.map { "\($0.stage)" } ?? "nothing is under way"
            self.find("\(app.pending.count) tasks of \(app.owner.app) wait for ever, \(stage)")
        }
    }
}

extension AppTasks {
    /// Nothing waits, and nothing is under way.
    var isDone: Bool { self.pending.isEmpty && self.current == nil }
}
