import Arbitration
package import Background
package import Detection
import Glibc
import Loop
package import Motion

/// What is kept on the disk, and the one thread that writes it.
///
/// Everything here belongs to the loop's thread and returns at once, whatever the disk does. What the writer has to say
/// is fetched with `takeNews` after it called `notify`.
///
/// Deliberately not `Sendable`: it belongs to the loop's thread.
package final class Store {
    private let shared: Monitor<StoreQueue>
    private let limits: StoreLimits
    private let notify: @Sendable () -> Void
    private var waiting: [UInt64: (Result<JournalAnswer, JournalFailure>) -> Void] = [:]
    private var lastQuestion: UInt64 = 0
    private var lastTaskChange: UInt64 = 0
    private var lastDurable: UInt64 = 0
    /// The last epoch of which the writer need not be told yet.
    private var quietUntil: UInt64 = .max
    /// What is filled when nothing can be kept.
    private var spareClip: MotionClip?

    /// Starts the writer, which makes the directory and what goes into it.
    ///
    /// - Parameter notify: Called from the writer's thread, or from within a call: there is something for `takeNews`.
    package init(
        in directory: String, run: StoreRun, limits: StoreLimits = StoreLimits(),
        notify: @escaping @Sendable () -> Void
    ) {
        self.limits = limits
        self.notify = notify
        let health = DiskHealth(
            calm: limits.calm.microseconds, longest: limits.longestCalm.microseconds, at: Clock.monotonic.now())
        self.shared = Monitor(
            StoreQueue(limits.pace, epochFloor: UInt64(max(0, run.started)), health), canListen: true)
        let writer = StoreWriter.Launch(
            directory: directory, run: run, limits: limits, shared: self.shared, notify: notify)
        if !writer.start() {
            self.shared.withLock { queue in
                queue.news.append(.told(.failed(Self.nobodyWrites)))
                queue.isOver = true
            }
            notify()
        }
    }

    /// What those are told who would wait for a thread that is not there.
    private static let nobodyWrites = "cannot start the thread that writes"

    /// Has something be among the news that the writer does not say.
    private func tell(_ item: StoreQueue.Item) {
        self.shared.withLock { $0.news.append(item) }
        self.notify()
    }

    // MARK: Epochs

    /// The epochs to begin with; `nil` when the disk does not answer in time, and then they come with the news.
    ///
    /// The one call that waits, for the start of a program; longer than that for another one that leaves the directory.
    package func firstEpochs(within patience: TimeSpan) throws(DirectoryInUse) -> EpochBlock? {
        let deadline = Clock.monotonic.now() + patience.microseconds
        let result: Result<EpochBlock?, DirectoryInUse> = self.shared.wait { queue in
            if let block = queue.firstEpochs {
                queue.firstEpochs = nil
                return .done(.success(block))
            }
            if case .taken(let what) = queue.hold { return .done(.failure(DirectoryInUse(description: what))) }
            if queue.isFailing || queue.isOver { return .done(.success(nil)) }
            // The writer says so by itself when that is over.
            var deadline = deadline
            if case .awaited(let until) = queue.hold { deadline = max(deadline, until + Self.answerTime) }
            return Clock.monotonic.now() >= deadline ? .done(.success(nil)) : .wait(until: deadline)
        }
        let block = try result.get()
        if let block { self.expect(block.end) }
        return block
    }

    /// How long the writer may take to say what it waited for, in µs.
    private static let answerTime: Int64 = 250_000

    private func expect(_ end: UInt64) { self.quietUntil = end - min(end, self.limits.epochBlock / 2) }

    /// Takes note of how far epochs have come. More are reserved long before they run out.
    package func useEpochs(upTo last: UInt64) {
        guard last >= self.quietUntil else { return }
        self.quietUntil = .max
        let end = last.addingReportingOverflow(self.limits.epochBlock)
        self.shared.change { queue in
            queue.epochs.extend(to: end.overflow ? .max : end.partialValue)
            return ((), true)
        }
    }

    // MARK: Rows

    /// Has something kept. When there is no room it is left out, or something of who has more that waits; that is counted.
    package func keep(_ entry: consuming JournalEntry, at wall: Int64) {
        let isBad = self.shared.change(with: JournalRow(entry: consume entry, wall: wall)) { queue, row in
            var isNews = false
            if queue.rows.outstanding >= self.limits.waitingRows {
                // Of a disk that fails, or to which nobody writes, it is known that nothing is kept.
                let isKept = queue.health.disk.isWell && !queue.isOver
                isNews = isKept && queue.health.rows.fail(at: Clock.monotonic.now())
                if isNews { queue.news.append(.told(.behind)) }
                guard queue.rows.makeRoom(for: row.entry.user) else { return (isNews, false) }
            }
            let isUrgent = queue.rows.add(row, at: Clock.monotonic.now())
            return (isNews, isUrgent || queue.isIdle)
        }
        if isBad { self.notify() }
    }

    /// Has noted what is otherwise now. That is little and seldom: nobody counts it.
    package func note(_ change: JournalChange, at wall: Int64) {
        self.shared.change { queue in
            queue.rows.add(ChangeRow(change: change, wall: wall), at: Clock.monotonic.now())
            return ((), queue.isIdle)
        }
    }

    /// A policy came into force; verdicts will name its generation.
    package func keep(_ policy: JournalPolicy) {
        self.shared.withLock { $0.keep(policy) }
    }

    // MARK: Clips

    /// Makes the memory of clips, so that keeping one allocates nothing.
    package func expectClips() {
        self.shared.withLock { $0.rows.clips.make() }
        self.spareClip = MotionClip()
    }

    /// Has memory filled with a clip, which is kept if `fill` says so. When the disk is behind it is left out, and counted.
    ///
    /// - Parameters:
    ///   - wall: The time now, in µs of the wall clock, and by the clock of samples.
    package func keepClip(at wall: Int64, _ now: Timestamp, _ fill: (inout MotionClip) -> Bool) {
        // Nobody else may have it while it is filled, or all of it were copied.
        guard var clip = self.shared.withLock({ $0.rows.clips.lend() }) else { return self.leaveOutClip(fill) }
        let isKept = fill(&clip)
        self.shared.change(with: ClipRow(clip: clip, wall: wall, now: now)) { queue, row in
            if isKept { queue.rows.clips.add(row) } else { queue.rows.clips.takeBack(row.clip) }
            return ((), isKept && queue.isIdle)
        }
    }

    /// A clip for which there is no memory is filled, too: whoever fills it begins anew.
    private func leaveOutClip(_ fill: (inout MotionClip) -> Bool) {
        var clip = self.spareClip.take() ?? MotionClip()
        let isLost = fill(&clip)
        self.spareClip = clip
        if isLost { self.shared.withLock { $0.rows.clips.leaveOut() } }
    }

    /// Has all clips of a user forgotten, or everybody's. Told when that is on the disk.
    package func forgetClips(
        of user: UInt32?, then: @escaping (Result<JournalAnswer, JournalFailure>) -> Void
    ) {
        self.lastQuestion &+= 1
        let number = self.lastQuestion
        self.waiting[number] = then
        let isHeard = self.shared.change { queue in
            guard !queue.isOver else { return (false, false) }
            queue.rows.clips.forget(of: user, number)
            return (true, true)
        }
        if !isHeard { self.tell(.answer(number, .failure(JournalFailure(description: Self.nobodyWrites)))) }
    }

    // MARK: What is due

    /// Has an event kept until it is forgotten. `takeNews` says when it is on the disk; with no room for it, it never is.
    ///
    /// - Parameter again: It was to be kept before, and may be on the disk. There is room for it: nobody tries once more, and there are
    ///   no more of these than queues hold.
    package func keep(_ event: DueEvent, again: Bool = false) {
        self.shared.change { queue in
            ((), queue.due.add(event, isKnown: again, upTo: again ? .max : self.limits.waitingRows))
        }
    }

    package func forget(_ event: DueEvent) {
        self.shared.change { queue in
            queue.due.remove(event)
            return ((), true)
        }
    }

    // MARK: Tasks

    /// Has a task kept as it is now. Each change of tasks has a number; `takeNews` says up to which they are on the disk.
    package func keep(_ record: TaskRecord) -> UInt64 { self.changeTasks { $0.keep(record, $1) } }

    /// Has kept that a task waits no more. That is a change, too.
    @discardableResult
    package func forget(_ owner: TaskOwner, task identifier: String) -> UInt64 {
        self.changeTasks { $0.forget(owner, identifier, $1) }
    }

    /// Has kept whether the user of an app terminated it. That is a change, too.
    @discardableResult
    package func keep(_ owner: TaskOwner, isTerminated: Bool) -> UInt64 {
        self.changeTasks { $0.setTerminated(owner, isTerminated, $1) }
    }

    private func changeTasks(_ body: (inout TaskChanges, UInt64) -> Void) -> UInt64 {
        self.change(&self.lastTaskChange) { body(&$0.tasks, $1) }
    }

    /// Has a change made that has the next number, and says which.
    private func change(_ last: inout UInt64, _ body: (inout StoreQueue, UInt64) -> Void) -> UInt64 {
        last &+= 1
        let number = last
        self.shared.change { queue in
            body(&queue, number)
            return ((), true)
        }
        return number
    }

    // MARK: Durable apps

    /// Has what an app registered for good be this, or nothing. `takeNews` says when this number is on the disk.
    package func set(_ id: AppID, to app: DurableApp?) -> UInt64 {
        let number = self.change(&self.lastDurable) { $0.durable.set(id, to: app, number: $1) }
        if self.shared.withLock({ $0.isOver }) { self.tell(.told(.uncommitted(Self.nobodyWrites))) }
        return number
    }

    /// Has changes of durable apps be written from now on: what was there before us was told, and is in them.
    package func appsAreJoined() {
        self.shared.change { queue in
            queue.durable.join()
            return ((), queue.durable.areReady)
        }
    }

    // MARK: Questions

    /// Asks for stored verdicts. The answer comes in some `takeNews`, together with all that was kept before.
    ///
    /// - Parameter user: Who wants to know: users take turns.
    package func ask(
        _ query: JournalQuery, for user: UInt32 = UserShares.unknown,
        then: @escaping (Result<JournalAnswer, JournalFailure>) -> Void
    ) {
        self.lastQuestion &+= 1
        let number = self.lastQuestion
        self.waiting[number] = then
        let isAsked = self.shared.change { queue in
            guard queue.questions.count < Self.mostQuestions, !queue.isOver else { return (false, false) }
            queue.questions.append(StoreQueue.Question(number: number, user: user, query: query))
            return (true, true)
        }
        if isAsked { return }
        self.tell(.answer(number, .failure(JournalFailure(description: "too many questions wait for the disk"))))
    }

    /// So many questions wait at most.
    package static let mostQuestions = 64

    // MARK: News

    /// What people or the broker are to know.
    package enum News: Sendable {
        /// More epochs are reserved; these are the first ones.
        case epochs(EpochBlock)
        /// What was due when the broker before us ended, for each app in the order of its numbers.
        case restored([DueEvent])
        /// These are on the disk now.
        case persisted([DueEvent])
        /// What the broker before us left of tasks, and the apps that their users had terminated.
        case restoredTasks([TaskRecord], terminated: [TaskOwner])
        /// The changes of tasks up to this number are on the disk now.
        case tasksKept(upTo: UInt64)
        /// What was registered for good before us; comes once, before the first epochs.
        case apps([DurableApp])
        /// Changes to durable apps up to this number are on the disk now.
        case committed(UInt64)
        /// Changes to durable apps are not on the disk, which fails. It is tried again.
        case uncommitted(String)
        /// What outlives us is not on the disk any more: it is to be kept again.
        case forgotten
        /// A file is broken, and stands beside by another name.
        case setAside(String)
        case failed(String)
        case recovered
        /// Rows of the journal are left out: more come than the disk takes. All else is kept.
        case behind
        case caughtUp
    }

    /// Fetches what the writer has to say, and runs the answers to questions.
    package func takeNews() -> [News] {
        var told: [News] = []
        for news in self.shared.withLock({ queue in queue.takeNews() }) {
            switch news {
            case .answer(let number, let result): self.waiting.removeValue(forKey: number)?(result)
            case .extended(let end): self.expect(end)
            case .told(let news):
                if case .epochs(let block) = news { self.expect(block.end) }
                told.append(news)
            }
        }
        return told
    }

    /// Readable when the disk has not answered for too long: then it is time for `noteSilence`.
    package var alarmDescriptor: Int32? { self.shared.withLock { $0.alarm.descriptor } }

    /// Finds out whether the disk has not answered for too long, and says so. Whoever waits for it is told each time.
    package func noteSilence() {
        let isSilent = self.shared.change { queue in
            let now = Clock.monotonic.now()
            guard queue.alarm.takeDue(at: now) else { return (false, false) }
            queue.alarm.set(for: now + self.limits.longestSilence.microseconds)
            let why = "the disk does not answer"
            queue.news.append(.told(.uncommitted(why)))
            if queue.health.disk.fail(at: now) { queue.news.append(.told(.failed(why))) }
            return (true, false)
        }
        if isSilent { self.notify() }
    }

    package var health: StoreHealth {
        self.shared.withLock { $0.health.disk.isWell && $0.health.rows.isWell && !$0.isOver ? .ok : .degraded }
    }

    /// Whether what is handed over comes to the disk, as far as is known. Rows of the journal may be left out all the same.
    package var isDiskWell: Bool { self.shared.withLock { $0.health.disk.isWell && !$0.isOver } }

    /// Rows that are in the journal, and rows that were left out.
    package var counts: (written: UInt64, dropped: UInt64) {
        self.shared.withLock { ($0.rows.written, $0.rows.dropped &+ $0.rows.clips.leftOut) }
    }

    /// Has the writer write what there is and end; does not wait longer than that.
    package func close(within patience: TimeSpan) {
        let deadline = Clock.monotonic.now() + patience.microseconds
        self.shared.change { queue in
            queue.isStopping = true
            return ((), true)
        }
        self.shared.wait { queue in
            queue.isOver || Clock.monotonic.now() >= deadline ? .done(()) : .wait(until: deadline)
        }
    }

    deinit { self.close(within: .zero) }
}

@available(*, unavailable)
extension Store: Sendable {}

/// Why a question has no answer.
package struct JournalFailure: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Another broker keeps its state where ours was to be.
package struct DirectoryInUse: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
