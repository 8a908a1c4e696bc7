import Arbitration
import Background
import Glibc
import Motion

/// The thread that writes: opens the files, keeps what is handed to it, answers questions about it.
///
/// It sleeps until there is something to do. While the disk fails it tries again now and then; what waits is kept as far as
/// there is room for it.
final class StoreWriter {
    private let directory: String
    private let run: StoreRun
    private let limits: StoreLimits
    private let shared: Monitor<StoreQueue>
    private let notify: @Sendable () -> Void

    private var held: HeldDirectory?
    private var state: StateStore?
    private var journal: JournalStore?
    /// The files that were open, and why they are not any more.
    private var left: [String: StoreError.Code] = [:]
    /// When we began to open files anew the last time.
    private var reopenedAt: Int64 = .min / 2
    /// What went wrong in this round and is mended already.
    private var mended: StoreError?
    /// Rows that were taken and are not written yet.
    private var rows: [JournalRow] = []
    private var policies: [UInt64: JournalPolicy] = [:]
    private var questions: [(UInt64, JournalQuery)] = []
    private var epochFloor: UInt64?
    private var wantedEpochs: UInt64?
    /// Up to where epochs were given out, whatever the disk says.
    private var reservedEnd: UInt64 = 0
    private var due = DueChanges()
    private var tasks = TaskChanges()
    private var durable = DurableChanges()
    /// What was due before us was told.
    private var isRestored = false
    private var isStopping = false
    private var news: [StoreQueue.Item] = []
    private var stateFailure: StoreError?
    private var journalFailure: StoreError?
    private var retryAt: Int64 = 0

    /// What the thread is made of.
    struct Launch: Sendable {
        let directory: String
        let run: StoreRun
        let limits: StoreLimits
        let shared: Monitor<StoreQueue>
        let notify: @Sendable () -> Void

        private final class Box: Sendable {
            let launch: Launch
            init(_ launch: Launch) { self.launch = launch }
        }

        /// Starts the thread; false when there can be none. The corresponding C function is `pthread_create`.
        func start() -> Bool {
            var attributes = pthread_attr_t()
            // SAFETY: the attributes are ours, and the thread takes over the box that it is handed.
            unsafe pthread_attr_init(&attributes)
            defer { unsafe pthread_attr_destroy(&attributes) }
            unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
            unsafe pthread_attr_setstacksize(&attributes, Self.stackBytes)
            let box = unsafe Unmanaged.passRetained(Box(self))
            var thread = pthread_t()
            let result = unsafe pthread_create(
                &thread, &attributes,
                { argument in
                    // SAFETY: the one reference that was made for us.
                    guard let argument = unsafe argument else { return nil }
                    let box = unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
                    StoreWriter(box.launch).work()
                    return nil
                }, box.toOpaque())
            if result != 0 { unsafe box.release() }
            return result == 0
        }

        /// SQLite needs some tens of KiB, but 4.5 KiB for each of up to 200 links when a path leads in a circle. What is not
        /// touched takes no memory.
        static let stackBytes = 2 << 20
    }

    private init(_ launch: Launch) {
        self.directory = launch.directory
        self.run = launch.run
        self.limits = launch.limits
        self.shared = launch.shared
        self.notify = launch.notify
    }

    private func work() {
        repeat {
            self.takeWork()
            self.look()
            self.reserveEpochs()
            self.changeDue()
            self.changeTasks()
            self.changeApps()
            self.writeRows()
            self.answerQuestions()
            // What we did is seen as well, and is not to wake us.
            self.look()
            self.report()
        } while !self.isStopping
        // Puts all in its place.
        self.journal = nil
        self.state = nil
        self.held = nil
        self.shared.change { queue in
            queue.isOver = true
            return ((), true)
        }
    }

    // MARK: In and out

    private var isFailing: Bool { self.stateFailure != nil || self.journalFailure != nil }

    /// Waits for something to do, and takes it.
    private func takeWork() {
        let isFailing = self.isFailing
        let lookAt = [self.state?.file.deadline, self.journal?.file.deadline].compactMap { $0 }.min()
        self.shared.wait(for: self.held?.descriptor) { queue, isReadable -> Monitor<StoreQueue>.Step<Void> in
            let now = Monitor<StoreQueue>.now()
            var next = isFailing ? self.retryAt : queue.health.deadline
            if let lookAt { next = min(next ?? .max, lookAt) }
            var isReady = queue.isStopping || !queue.questions.isEmpty || isReadable || next.map { now >= $0 } ?? false
            if !isFailing {
                isReady = isReady || queue.epochFloor != nil || queue.wantedEpochs != nil || !queue.due.isEmpty
                isReady = isReady || !queue.tasks.isEmpty || !queue.durable.isEmpty
                isReady = isReady || queue.rows.isDue(at: now)
                if let deadline = queue.rows.deadline { next = min(next ?? .max, deadline) }
            }
            queue.isIdle = !isReady && !isFailing && queue.rows.isEmpty
            guard isReady else { return .wait(until: next) }
            self.take(&queue)
            return .done(())
        }
    }

    private func take(_ queue: inout StoreQueue) {
        queue.rows.take(into: &self.rows)
        for policy in queue.policies { self.policies[policy.generation] = policy }
        queue.policies = []
        // Verdicts of longer ago are written.
        while self.policies.count > Self.mostPolicies, let oldest = self.policies.keys.min() {
            self.policies[oldest] = nil
        }
        self.questions += queue.questions
        queue.questions = []
        self.epochFloor = queue.epochFloor ?? self.epochFloor
        queue.epochFloor = nil
        self.wantedEpochs = queue.wantedEpochs ?? self.wantedEpochs
        queue.wantedEpochs = nil
        queue.due.take(into: &self.due)
        self.tasks.merge(queue.tasks)
        queue.tasks = TaskChanges()
        self.durable.merge(queue.durable)
        queue.durable = DurableChanges()
        self.isStopping = queue.isStopping
    }

    private static let mostPolicies = 64

    /// Hands out what there is to say.
    private func report() {
        let isFailing = self.isFailing
        let reason = self.stateFailure ?? self.journalFailure ?? self.mended
        self.mended = nil
        let isNews = self.shared.change { queue in
            let now = Monitor<StoreQueue>.now()
            if let reason {
                if queue.health.fail(at: now) { queue.news.append(.told(.failed(reason.description))) }
            }
            if !isFailing, queue.rows.outstanding < self.limits.waitingRows / 2, queue.health.succeed(at: now) {
                queue.news.append(.told(.recovered))
            }
            queue.isFailing = isFailing
            queue.news += self.news
            let isNews = !queue.news.isEmpty || queue.firstEpochs != nil
            return (isNews, isNews)
        }
        self.news = []
        if isNews { self.notify() }
    }

    /// When to try again.
    private func put(off failure: StoreError) -> StoreError {
        let now = Monitor<StoreQueue>.now()
        let retry = self.limits.retry.microseconds
        switch failure.code {
        case .broken, .unavailable, .full, .taken: self.retryAt = now + retry
        case .lost, .unshared, .touched, .emptied:
            // At once, unless somebody does it again and again.
            self.retryAt = max(now, self.reopenedAt + retry)
            self.reopenedAt = self.retryAt
        }
        return failure
    }

    // MARK: What others do

    /// Looks whether the files still are what we left; begins anew with those that are not.
    private func look() {
        let changes: DirectoryWatch.Changes
        do throws(StoreError) {
            changes = try self.held?.look() ?? DirectoryWatch.Changes()
        } catch {
            // What cannot be seen now is ours all the same, as long as it is open.
            if error.code == .lost { self.held = nil }
            if self.state != nil { self.stateFailed(error) }
            if self.journal != nil { _ = self.journalFailed(error) }
            // Should nothing have been open there.
            self.mended = error
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
    private var isTimeToReopen: Bool { Monitor<StoreQueue>.now() >= self.retryAt }

    // MARK: Epochs

    private func reserveEpochs() {
        guard self.epochFloor != nil || self.wantedEpochs != nil || self.stateFailure != nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            if let floor = self.epochFloor {
                let block = try self.state?.reserveEpochs(self.limits.epochBlock, from: floor)
                self.epochFloor = nil
                self.reservedEnd = max(self.reservedEnd, block?.end ?? 0)
                // The broker may be waiting for them, so that they come before what is only good for later.
                self.shared.change { queue in
                    queue.firstEpochs = block
                    return ((), true)
                }
            } else if self.wantedEpochs == nil {
                try self.state?.probe()
            }
            if let end = self.wantedEpochs {
                try self.state?.extendEpochs(to: end)
                self.wantedEpochs = nil
                self.reservedEnd = max(self.reservedEnd, end)
                self.news.append(.extended(end))
            }
            try self.state?.checkpoint()
            self.stateFailure = nil
        } catch {
            self.stateFailed(error)
        }
    }

    /// Sees to a failure.
    private func stateFailed(_ error: StoreError) {
        let error = self.state?.file.explain(error) ?? error
        self.stateFailure = self.put(off: error)
        switch error.code {
        case .unavailable, .full, .taken: return
        case .broken:
            self.mended = self.mended ?? error
            self.state?.file.abandon()
        case .lost, .unshared:
            self.mended = self.mended ?? error
            self.state?.file.abandon()
        case .touched, .emptied: self.state?.file.abandon()
        }
        self.left[Self.stateName] = error.code
        self.state = nil
    }

    private static let stateName = "state.db"
    private static let journalName = "journal.db"

    private func openState() throws(StoreError) {
        let store = StateStore(try self.open(Self.stateName, StateStore.kind))
        let reserved = try store.reservedEpochs()
        if reserved < self.reservedEnd {
            // Whatever was there is not there any more.
            try store.extendEpochs(to: self.reservedEnd)
            self.news.append(.told(.forgotten))
        }
        if !self.isRestored {
            self.restore(try store.apps(), try store.due(), try store.tasks(), terminated: try store.terminatedApps())
        }
        self.state = consume store
        guard reserved == 0, let floor = self.epochFloor else { return }
        // It is new, or what was reserved is lost: then the journal has the last ones.
        guard StoreFile.size("\(self.directory)/\(Self.journalName)") != nil else { return }
        do throws(StoreError) {
            if self.journal == nil { try self.openJournal() }
            if let last = try self.journal?.lastEpoch() { self.epochFloor = max(floor, last &+ 1) }
        } catch {
            _ = self.journalFailed(error)
        }
    }

    // MARK: What is due

    /// Tells what there was before us, at once: apps are about to ask for it.
    private func restore(
        _ apps: [DurableApp], _ due: [DueEvent], _ tasks: [TaskRecord], terminated: [TaskOwner]
    ) {
        self.isRestored = true
        self.shared.withLock { queue in
            queue.news.append(.told(.apps(apps)))
            if !due.isEmpty { queue.news.append(.told(.restored(due))) }
            if !tasks.isEmpty || !terminated.isEmpty {
                queue.news.append(.told(.restoredTasks(tasks, terminated: terminated)))
            }
        }
        self.notify()
    }

    /// Brings what is due to the disk, and tells what is there.
    private func changeDue() {
        guard !self.due.isEmpty, self.stateFailure == nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            try self.state?.change(self.due)
            let kept = self.due.events.values.compactMap { $0 }
            self.due = DueChanges()
            if !kept.isEmpty { self.news.append(.told(.persisted(kept))) }
        } catch {
            self.stateFailed(error)
        }
        let left = self.due.count
        self.shared.withLock { $0.due.setTaken(left) }
    }

    // MARK: Tasks

    /// Brings the tasks to the disk, and tells how far that came.
    private func changeTasks() {
        guard !self.tasks.isEmpty, self.stateFailure == nil else { return }
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
        guard !self.durable.isEmpty else { return }
        if self.stateFailure == nil {
            do throws(StoreError) {
                if self.state == nil { try self.openState() }
                try self.state?.change(self.durable)
                self.news.append(.told(.committed(self.durable.last)))
                self.durable = DurableChanges()
            } catch {
                self.stateFailed(error)
            }
        }
        if let failure = self.stateFailure { self.news.append(.told(.uncommitted(failure.description))) }
    }

    // MARK: The journal

    private func openJournal() throws(StoreError) {
        self.journal = try JournalStore(try self.open(Self.journalName, JournalStore.kind), self.limits, self.run)
    }

    /// How many rows go into one transaction.
    private static let batch = 512

    private func writeRows(isSecondTry: Bool = false) {
        guard !self.rows.isEmpty || self.journalFailure != nil else { return }
        var written = 0
        do throws(StoreError) {
            if self.journal == nil { try self.openJournal() }
            if self.rows.isEmpty { try self.journal?.probe() }
            let wall = self.rows.last?.wall ?? self.run.started
            while written < self.rows.count {
                let batch = self.rows[written..<min(written + Self.batch, self.rows.count)]
                try self.journal?.append(batch, policies: self.policies)
                written += batch.count
            }
            self.drop(written)
            written = 0
            try self.journal?.tidy(at: wall)
            self.journalFailure = nil
        } catch {
            self.drop(written)
            // A small disk is soon full of what stands beside.
            if error.code == .full, !isSecondTry, self.makeRoom() { return self.writeRows(isSecondTry: true) }
            // What waits goes to the new one.
            if self.journalFailed(error), !isSecondTry { self.writeRows(isSecondTry: true) }
        }
    }

    /// Puts what stands beside the journal in its place; false when there is no room for that either.
    private func makeRoom() -> Bool {
        do throws(StoreError) {
            try self.journal?.file.makeRoom()
            return true
        } catch {
            return false
        }
    }

    /// Forgets rows that are written.
    private func drop(_ count: Int) {
        if count == self.rows.count {
            self.rows.removeAll(keepingCapacity: true)
        } else {
            self.rows.removeFirst(count)
        }
        self.shared.withLock { $0.rows.wrote(count) }
    }

    /// Sees to a failure; true when a broken journal is out of the way.
    private func journalFailed(_ error: StoreError) -> Bool {
        let error = self.journal?.file.explain(error) ?? error
        self.journalFailure = self.put(off: error)
        switch error.code {
        case .unavailable, .full, .taken: return false
        case .broken: break
        case .lost, .unshared, .touched, .emptied:
            if error.code == .lost || error.code == .unshared { self.mended = self.mended ?? error }
            self.left[Self.journalName] = error.code
            self.journal?.file.abandon()
            self.journal = nil
            return false
        }
        if self.journal != nil { self.mended = self.mended ?? error }
        self.journal?.file.abandon()
        self.journal = nil
        do throws(StoreError) {
            try self.news.append(
                .told(.setAside(StoreFile.setAside("\(self.directory)/\(Self.journalName)", error))))
            return true
        } catch {
            self.journalFailure = error
            return false
        }
    }

    private func answerQuestions() {
        for (number, query) in self.questions {
            do throws(StoreError) {
                if self.journal == nil { try self.openJournal() }
                let answer = try self.journal?.answer(query) ?? JournalAnswer()
                self.news.append(.answer(number, .success(answer)))
            } catch {
                self.news.append(.answer(number, .failure(JournalFailure(description: error.description))))
                if self.journalFailed(error) { self.writeRows(isSecondTry: true) }
            }
        }
        self.questions = []
    }

    // MARK: Files

    /// Opens a file in our directory, or makes it. A broken one is set aside, and said to be.
    private func open(_ name: String, _ kind: StoreFile.Kind) throws(StoreError) -> StoreFile {
        if self.held == nil { try self.hold() }
        var setAside: String?
        let file = try StoreFile.open(
            "\(self.directory)/\(name)", kind, left: self.left[name], pause: self.limits.retry, in: &self.held,
            setAside: &setAside)
        // What was broken before we had it open is no failure of the disk now.
        let wasOpen = self.left.updateValue(.unavailable, forKey: name) != nil
        if let setAside {
            self.news.append(.told(.setAside(setAside)))
            if wasOpen { self.mended = self.mended ?? StoreError(.broken, setAside) }
        }
        return file
    }

    /// Takes our directory. A broker that starts waits for one that ends.
    private func hold() throws(StoreError) {
        let patience = self.isRestored ? .zero : self.limits.lockPatience
        let deadline = Monitor<StoreQueue>.now() + patience.microseconds
        do throws(StoreError) {
            self.held = try HeldDirectory(self.directory, until: deadline) {
                self.shared.withLock { $0.hold = .awaited(until: deadline) }
            }
            self.shared.withLock { $0.hold = .free }
        } catch {
            if error.code == .taken { self.shared.withLock { $0.hold = .taken(error.description) } }
            throw error
        }
    }
}
