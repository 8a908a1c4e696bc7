import Arbitration
import Background
import CLinux
import Glibc
import Loop
import Motion

/// The thread that writes: opens the files, keeps what is handed to it, answers questions about it.
///
/// It sleeps until there is something to do. While the disk fails it tries again now and then; what waits is kept as far as
/// there is room for it.
final class StoreWriter {
    private let run: StoreRun
    private let limits: StoreLimits
    private let shared: Monitor<StoreQueue>
    private let notify: @Sendable () -> Void

    private var directory: StoreDirectory
    private var state: StateStore?
    private var journal: JournalStore?
    private var failures: StoreFailures
    private var rows = TakenRows()
    private var questions: [StoreQueue.Question] = []
    private var epochs = EpochReserve()
    private var due = DueChanges()
    private var tasks = TaskChanges()
    private var durable = DurableChanges()
    /// What was due before us was told.
    private var isRestored = false
    private var news: [StoreQueue.Item] = []

    /// What the thread is made of.
    struct Launch: Sendable {
        let directory: String
        let run: StoreRun
        let limits: StoreLimits
        let shared: Monitor<StoreQueue>
        let notify: @Sendable () -> Void

        /// Starts the thread; false when there can be none.
        func start() -> Bool { startThread(stackBytes: Self.stackBytes) { StoreWriter(self).work() } }

        /// SQLite needs some tens of KiB, but 4.5 KiB for each of up to 200 links when a path leads in a circle. What is not
        /// touched takes no memory.
        static let stackBytes = 2 << 20
    }

    private init(_ launch: Launch) {
        self.directory = StoreDirectory(launch.directory, pause: launch.limits.retry)
        self.failures = StoreFailures(pause: launch.limits.retry)
        self.run = launch.run
        self.limits = launch.limits
        self.shared = launch.shared
        self.notify = launch.notify
    }

    private func work() {
        var isLast = false
        repeat {
            isLast = self.takeWork()
            let begun = Clock.threadTime()
            self.look()
            self.reserveEpochs()
            self.changeDue()
            self.changeTasks()
            self.changeApps()
            self.writeRows()
            self.writeClips()
            self.removeOld()
            self.answerQuestions()
            // What we did is seen as well, and is not to wake us.
            self.look()
            self.report(cost: Clock.threadTime() - begun)
        } while !isLast
        self.journal?.file.putAway()
        self.state?.file.putAway()
        self.journal = nil
        self.state = nil
        self.directory.letGo()
        self.shared.change { queue in
            queue.isOver = true
            return ((), true)
        }
    }

    // MARK: In and out

    /// Waits for something to do, and takes it. True when there will be no more.
    private func takeWork() -> Bool {
        let isFailing = self.failures.isAny
        let deadlines = [
            self.state?.file.deadline, self.journal?.file.deadline, self.journal?.nextTrim, self.directory.deadline,
        ]
        return self.shared.wait(for: self.directory.descriptor) { queue, isReadable -> Monitor<StoreQueue>.Step<Bool> in
            let now = Clock.monotonic.now()
            var next = self.failures.next(deadlines + [queue.health.disk.deadline, queue.health.rows.deadline])
            var isReady = queue.isStopping || !queue.questions.isEmpty || isReadable || next.map { now >= $0 } ?? false
            isReady = isReady || !queue.rows.clips.isEmpty
            if !isFailing {
                isReady = isReady || !queue.epochs.isEmpty || !queue.due.isEmpty
                isReady = isReady || !queue.tasks.isEmpty || queue.durable.areReady
                isReady = isReady || queue.rows.isDue(at: now)
                if let deadline = queue.rows.deadline { next = min(next ?? .max, deadline) }
            }
            queue.isIdle = !isReady && !isFailing && queue.rows.isEmpty
            guard isReady else { return .wait(until: next) }
            queue.alarm.set(for: now + self.limits.longestSilence.microseconds)
            self.take(&queue, at: now)
            return .done(queue.isStopping)
        }
    }

    private func take(_ queue: inout StoreQueue, at now: Int64) {
        self.rows.take(from: &queue.rows, at: now)
        self.rows.add(queue.takePolicies())
        self.questions += queue.takeQuestions()
        self.epochs.take(queue.epochs)
        queue.epochs = EpochOrders()
        queue.due.take(into: &self.due)
        self.tasks.merge(queue.tasks)
        queue.tasks = TaskChanges()
        queue.durable.take(into: &self.durable)
    }

    /// Hands out what there is to say.
    private func report(cost: Int64) {
        let isFailing = self.failures.isAny
        let reason = self.failures.endRound(at: Clock.monotonic.now(), cost: cost)
        let isNews = self.shared.change { queue in
            let now = Clock.monotonic.now()
            queue.alarm.set(for: nil)
            if let reason {
                if queue.health.disk.fail(at: now) { queue.news.append(.told(.failed(reason.description))) }
            }
            if !isFailing {
                if queue.health.disk.succeed(at: now) { queue.news.append(.told(.recovered)) }
                let hasRoom = queue.rows.outstanding < self.limits.waitingRows / 2
                if hasRoom, queue.health.rows.succeed(at: now) { queue.news.append(.told(.caughtUp)) }
            }
            queue.isFailing = isFailing
            queue.news += self.news
            let isNews = !queue.news.isEmpty || queue.firstEpochs != nil
            return (isNews, isNews)
        }
        self.news = []
        if isNews { self.notify() }
    }

    // MARK: What others do

    /// Looks whether the files still are what we left; begins anew with those that are not.
    private func look() {
        let changes: DirectoryWatch.Changes
        do throws(StoreError) {
            changes = try self.directory.look()
        } catch {
            if self.state != nil { self.stateFailed(error) }
            if self.journal != nil { _ = self.journalFailed(error) }
            // Should nothing have been open there.
            self.failures.directoryFailed(error)
            return
        }
        do throws(StoreError) {
            try self.state?.file.check(changes)
        } catch {
            self.stateFailed(error)
            if self.isTimeToReopen { self.reserveEpochs() }
        }
        do throws(StoreError) {
            try self.journal?.file.check(changes)
        } catch {
            if self.journalFailed(error) || self.isTimeToReopen { self.writeRows() }
        }
    }

    /// Whether a file need not wait to be opened anew.
    private var isTimeToReopen: Bool { self.failures.isTimeToReopen(at: Clock.monotonic.now()) }

    // MARK: Epochs

    private func reserveEpochs() {
        guard !self.epochs.orders.isEmpty || self.failures.state != nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            if let floor = self.epochs.orders.floor {
                let block = try self.state?.reserveEpochs(self.limits.epochBlock, from: floor)
                self.epochs.reserved(block)
                // The broker may be waiting for them, so that they come before what is only good for later.
                self.shared.change { queue in
                    queue.firstEpochs = block
                    return ((), true)
                }
            } else if self.epochs.orders.wanted == nil {
                try self.state?.probe()
            }
            if let end = self.epochs.orders.wanted {
                try self.state?.extendEpochs(to: end)
                self.epochs.extended(to: end)
                self.news.append(.extended(end))
            }
            try self.state?.checkpoint()
            self.failures.stateWorks()
        } catch {
            self.stateFailed(error)
        }
    }

    /// Sees to a failure.
    private func stateFailed(_ error: StoreError) {
        let error = self.state?.file.explain(error) ?? error
        self.failures.stateFailed(error, at: Clock.monotonic.now())
        switch error.code {
        case .unavailable, .full: return
        // Why we left it before is what counts.
        case .taken where self.state == nil: return
        case .broken, .lost, .unshared: self.failures.mend(error)
        case .touched, .emptied, .taken, .unread: break
        }
        self.directory.leave(Self.stateName, error.code)
        self.state = nil
    }

    private static let stateName = "state.db"
    private static let journalName = "journal.db"

    private func openState() throws(StoreError) {
        var store = StateStore(try self.openStateFile())
        let reserved = try store.reservedEpochs()
        // A new one has reserved nothing: what was read before is not in it.
        if reserved < self.epochs.end || (reserved == 0 && self.isRestored) {
            // Whatever was there is not there any more. That is told first: what fails may be there at the next try.
            self.news.append(.told(.forgotten))
            try store.extendEpochs(to: self.epochs.end)
        }
        if !self.isRestored {
            let content = try StateStore.Content(of: store.file.database)
            try store.file.checkShared()
            self.restore(content)
        }
        self.state = consume store
        guard reserved == 0, self.epochs.orders.floor != nil else { return }
        // It is new, or what was reserved is lost: then the journal has the last ones.
        guard StoreFile.size(self.directory.path(of: Self.journalName)) != nil else { return }
        do throws(StoreError) {
            if self.journal == nil { try self.openJournal() }
            if let last = try self.journal?.lastEpoch() { self.epochs.begin(behind: last) }
        } catch {
            _ = self.journalFailed(error)
        }
    }

    /// Opens the file. What was there before us can be read also where nothing can be written, and is told then.
    private func openStateFile() throws(StoreError) -> StoreFile {
        do throws(StoreError) {
            return try self.open(Self.stateName, StateStore.kind)
        } catch {
            if !self.isRestored, self.directory.isHeld, error.code == .unavailable || error.code == .full {
                let content = try? self.directory.read(Self.stateName, StateStore.kind) {
                    database throws(StoreError) in try StateStore.Content(of: database)
                }
                if let content { self.restore(content) }
            }
            throw error
        }
    }

    // MARK: What is due

    /// Tells what there was before us, at once: apps are about to ask for it.
    private func restore(_ content: StateStore.Content) {
        self.isRestored = true
        self.shared.withLock { queue in
            queue.news.append(.told(.apps(content.apps)))
            if !content.due.isEmpty {
                queue.due.restored(content.due)
                queue.news.append(.told(.restored(content.due)))
            }
            queue.news.append(.told(.restoredTasks(content.tasks, terminated: content.terminated)))
        }
        self.notify()
    }

    /// Brings what is due to the disk, and tells what is there.
    private func changeDue() {
        guard !self.due.isEmpty, self.failures.state == nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            try self.state?.change(self.due)
            let kept = self.due.events.values.compactMap { $0 }
            self.due = DueChanges()
            if !kept.isEmpty { self.news.append(.told(.persisted(kept))) }
        } catch {
            // What failed may have come after the commit.
            self.due.mayBeThere()
            self.stateFailed(error)
        }
        let left = self.due.count
        self.shared.withLock { $0.due.setTaken(left) }
    }

    // MARK: Tasks

    /// Brings the tasks to the disk, and tells how far that came.
    private func changeTasks() {
        guard !self.tasks.isEmpty, self.failures.state == nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            try self.state?.change(self.tasks)
            self.news.append(.told(.tasksKept(upTo: self.tasks.last)))
            self.tasks = TaskChanges()
        } catch {
            self.stateFailed(error)
        }
    }

    // MARK: Durable apps

    /// Brings what apps registered for good to the disk, and tells how far it is there.
    private func changeApps() {
        if self.failures.state == nil, !self.durable.isEmpty {
            do throws(StoreError) {
                if self.state == nil { try self.openState() }
                try self.state?.change(self.durable)
                self.news.append(.told(.committed(self.durable.last)))
                self.durable = DurableChanges()
            } catch {
                self.stateFailed(error)
            }
        }
        guard let failure = self.failures.state else { return }
        // What was not read yet can be joined with nothing, and somebody waits for it all the same.
        let isAwaited = self.shared.withLock { !$0.durable.isEmpty }
        guard isAwaited || !self.durable.isEmpty else { return }
        self.news.append(.told(.uncommitted(failure.description)))
    }

    // MARK: The journal

    private func openJournal() throws(StoreError) {
        let wasOpen = self.directory.wasOpen(Self.journalName)
        self.journal = try JournalStore(try self.open(Self.journalName, JournalStore.kind), self.limits, self.run)
        // To look it over took much of SQLite that writing does not need.
        if !wasOpen { CLinux_unmap_code() }
    }

    /// How many rows go into one transaction.
    private static let batch = 512

    private func writeRows(isSecondTry: Bool = false) {
        guard !self.rows.isEmpty || !self.rows.changes.isEmpty || self.failures.journal != nil else { return }
        var written = 0
        do throws(StoreError) {
            if self.journal == nil { try self.openJournal() }
            if self.rows.isEmpty { try self.journal?.probe() }
            if !self.rows.changes.isEmpty {
                try self.journal?.append(self.rows.changes)
                self.rows.dropChanges()
            }
            let wall = self.rows.lastWall ?? self.run.started
            while written < self.rows.count {
                let batch = self.rows.batch(from: written, most: Self.batch)
                try self.journal?.append(&self.rows, batch)
                written += batch.count
            }
            self.drop(written)
            written = 0
            try self.journal?.tidy(at: wall)
            self.failures.journalWorks()
        } catch {
            self.drop(written)
            // A small disk is soon full of what stands beside.
            if error.code == .full, !isSecondTry, self.makeRoom() { return self.writeRows(isSecondTry: true) }
            // What waits goes to the new one.
            if self.journalFailed(error), !isSecondTry { self.writeRows(isSecondTry: true) }
        }
    }

    /// Puts what stands beside the journal in its place; false when there is no room for that either, or somebody reads there.
    private func makeRoom() -> Bool {
        do throws(StoreError) {
            return try self.journal?.file.makeRoom() ?? true
        } catch {
            return false
        }
    }

    /// Forgets rows that are written.
    private func drop(_ count: Int) {
        self.rows.drop(count)
        self.shared.withLock { $0.rows.wrote(count) }
    }

    /// Sees to a failure; true when a broken journal is out of the way.
    private func journalFailed(_ error: StoreError) -> Bool {
        let error = self.journal?.file.explain(error) ?? error
        self.failures.journalFailed(error, at: Clock.monotonic.now())
        switch error.code {
        case .unavailable, .full: return false
        case .taken where self.journal == nil: return false
        case .broken: break
        case .lost, .unshared, .touched, .emptied, .taken, .unread:
            if error.code == .lost || error.code == .unshared { self.failures.mend(error) }
            self.directory.leave(Self.journalName, error.code)
            self.journal = nil
            return false
        }
        if self.journal != nil { self.failures.mend(error) }
        self.journal = nil
        do throws(StoreError) {
            try self.news.append(.told(.setAside(self.directory.setAside(Self.journalName, error))))
            return true
        } catch {
            self.failures.journalStays(error)
            return false
        }
    }

    /// Brings clips to the disk, and takes others from it. While the disk fails they are left out, for they would come again and again.
    private func writeClips() {
        guard !self.rows.clips.isEmpty || !self.rows.clipsToForget.isEmpty else { return }
        var failure = self.failures.journal.map { $0.description }
        var areGone = true
        if failure == nil {
            do throws(StoreError) {
                if self.journal == nil { try self.openJournal() }
                try self.journal?.append(self.rows.clips)
                // What nearly was a hit comes with no row.
                if let last = self.rows.clips.last { try self.journal?.tidy(at: last.wall) }
                areGone = try self.journal?.forgetClips(of: self.rows.clipsToForget.map(\.user)) ?? true
            } catch {
                failure = error.description
                _ = self.journalFailed(error)
            }
        }
        let refusal = failure ?? (areGone ? nil : Self.isBeingRead)
        for (number, _) in self.rows.clipsToForget {
            let result: Result<JournalAnswer, JournalFailure> =
                refusal.map { .failure(JournalFailure(description: $0)) } ?? .success(JournalAnswer())
            self.news.append(.answer(number, result))
        }
        self.rows.clipsToForget.removeAll(keepingCapacity: true)
        self.shared.withLock { queue in queue.rows.clips.giveBack(&self.rows.clips, areLost: failure != nil) }
    }

    /// Takes out of the journal what is too old by now, also where nothing is written that would have it looked for.
    private func removeOld() {
        guard self.failures.journal == nil, let due = self.journal?.nextTrim, due <= Clock.monotonic.now() else {
            return
        }
        do throws(StoreError) {
            try self.journal?.tidy(at: Clock.wallClock())
        } catch {
            _ = self.journalFailed(error)
        }
    }

    /// What those are told whose clips are in the journal no more, but still on the disk.
    private static let isBeingRead =
        "another program reads the journal, and what they were is there until it has; try again"

    private func answerQuestions() {
        for question in self.questions {
            do throws(StoreError) {
                if self.journal == nil { try self.openJournal() }
                let answer = try self.journal?.answer(question.query) ?? JournalAnswer()
                self.news.append(.answer(question.number, .success(answer)))
            } catch {
                self.news.append(.answer(question.number, .failure(JournalFailure(description: error.description))))
                if self.journalFailed(error) { self.writeRows(isSecondTry: true) }
            }
        }
        self.questions = []
    }

    // MARK: Files

    /// Opens a file in our directory, or makes it. A broken one is set aside, and said to be.
    private func open(_ name: String, _ kind: StoreFile.Kind) throws(StoreError) -> StoreFile {
        if !self.directory.isHeld { try self.hold() }
        // What was broken before we had it open is no failure of the disk now.
        let wasOpen = self.directory.wasOpen(name)
        var setAside: String?
        defer {
            if let setAside {
                self.news.append(.told(.setAside(setAside)))
                if wasOpen { self.failures.mend(StoreError(.broken, setAside)) }
            }
        }
        return try self.directory.open(name, kind, setAside: &setAside)
    }

    /// Takes our directory. A broker that starts waits for one that ends.
    private func hold() throws(StoreError) {
        let patience = self.isRestored ? .zero : self.limits.lockPatience
        let deadline = Clock.monotonic.now() + patience.microseconds
        do throws(StoreError) {
            try self.directory.hold(until: deadline) {
                self.shared.withLock { $0.hold = .awaited(until: deadline) }
            }
            self.shared.withLock { $0.hold = .free }
        } catch {
            if error.code == .taken { self.shared.withLock { $0.hold = .taken(error.description) } }
            throw error
        }
    }
}
