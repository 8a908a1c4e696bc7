import Arbitration
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

    private var state: StateStore?
    private var journal: JournalStore?
    /// Rows that were taken and are not written yet.
    private var rows: [JournalRow] = []
    private var policies: [UInt64: JournalPolicy] = [:]
    private var questions: [(UInt64, JournalQuery)] = []
    private var epochFloor: UInt64?
    private var wantedEpochs: UInt64?
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

        /// SQLite needs some tens of KiB.
        private static let stackBytes = 512 * 1_024
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
            self.reserveEpochs()
            self.changeDue()
            self.changeTasks()
            self.changeApps()
            self.writeRows()
            self.answerQuestions()
            self.report()
        } while !self.isStopping
        // Puts all in its place.
        self.journal = nil
        self.state = nil
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
        self.shared.wait { queue -> Monitor<StoreQueue>.Step<Void> in
            let now = Monitor<StoreQueue>.now()
            var next = isFailing ? self.retryAt : nil
            var isReady = queue.isStopping || !queue.questions.isEmpty || (isFailing && now >= self.retryAt)
            if !isFailing {
                isReady = isReady || queue.epochFloor != nil || queue.wantedEpochs != nil || !queue.due.isEmpty
                isReady = isReady || !queue.tasks.isEmpty || !queue.durable.isEmpty
                if !queue.rows.isEmpty {
                    isReady = isReady || queue.isUrgent || now >= queue.lingerUntil
                    next = queue.lingerUntil
                }
            }
            queue.isIdle = !isReady && next == nil
            guard isReady else { return .wait(until: next) }
            self.take(&queue)
            return .done(())
        }
    }

    private func take(_ queue: inout StoreQueue) {
        if self.rows.isEmpty {
            // Both keep their memory.
            swap(&self.rows, &queue.rows)
        } else {
            self.rows += queue.rows
            queue.rows.removeAll(keepingCapacity: true)
        }
        queue.isUrgent = false
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
        self.due.merge(queue.due)
        queue.due = DueChanges()
        queue.dueOutstanding = self.due.count
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
        let reason = self.stateFailure ?? self.journalFailure
        let isNews = self.shared.change { queue in
            if isFailing, !queue.isFailing, let reason { queue.news.append(.told(.failed(reason.description))) }
            let isWell = !isFailing && queue.outstanding < self.limits.waitingRows / 2
            if isWell, queue.isFailing || queue.hasOverflowed {
                queue.news.append(.told(.recovered))
                queue.hasOverflowed = false
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
        self.retryAt = Monitor<StoreQueue>.now() + self.limits.retry.microseconds
        return failure
    }

    // MARK: Epochs

    private func reserveEpochs() {
        guard self.epochFloor != nil || self.wantedEpochs != nil || self.stateFailure != nil else { return }
        do throws(StoreError) {
            if self.state == nil { try self.openState() }
            if let floor = self.epochFloor {
                let block = try self.state?.reserveEpochs(self.limits.epochBlock, from: floor)
                self.epochFloor = nil
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
                self.news.append(.extended(end))
            }
            try self.state?.checkpoint()
            self.stateFailure = nil
        } catch {
            self.stateFailure = self.put(off: error)
            if error.code == .broken { self.state = nil }
        }
    }

    private func openState() throws(StoreError) {
        let store = StateStore(try self.open("state.db", StateStore.kind))
        let reserved = try store.reservedEpochs()
        if !self.isRestored {
            self.restore(try store.apps(), try store.due(), try store.tasks(), terminated: try store.terminatedApps())
        }
        self.state = consume store
        guard reserved == 0, let floor = self.epochFloor else { return }
        // It is new, or what was reserved is lost: then the journal has the last ones.
        guard StoreFile.size("\(self.directory)/journal.db") != nil else { return }
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
            self.stateFailure = self.put(off: error)
            if error.code == .broken { self.state = nil }
        }
        let left = self.due.count
        self.shared.withLock { $0.dueOutstanding = $0.due.count + left }
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
            self.stateFailure = self.put(off: error)
            if error.code == .broken { self.state = nil }
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
                self.stateFailure = self.put(off: error)
                if error.code == .broken { self.state = nil }
            }
        }
        if let failure = self.stateFailure { self.news.append(.told(.uncommitted(failure.description))) }
    }

    // MARK: The journal

    private func openJournal() throws(StoreError) {
        self.journal = try JournalStore(try self.open("journal.db", JournalStore.kind), self.limits, self.run)
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
            // What waits goes to the new one.
            if self.journalFailed(error), !isSecondTry { self.writeRows(isSecondTry: true) }
        }
    }

    /// Forgets rows that are written.
    private func drop(_ count: Int) {
        if count == self.rows.count {
            self.rows.removeAll(keepingCapacity: true)
        } else {
            self.rows.removeFirst(count)
        }
        self.shared.withLock { queue in
            queue.outstanding -= count
            queue.written &+= UInt64(count)
        }
    }

    /// Sees to a failure; true when a broken journal is out of the way.
    private func journalFailed(_ error: StoreError) -> Bool {
        self.journalFailure = self.put(off: error)
        guard error.code == .broken else { return false }
        self.journal = nil
        do throws(StoreError) {
            try self.news.append(
                .told(.setAside(StoreFile.setAside("\(self.directory)/journal.db", error))))
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
        try self.makeDirectory()
        var setAside: String?
        let file = try StoreFile.open("\(self.directory)/\(name)", kind, setAside: &setAside)
        if let setAside { self.news.append(.told(.setAside(setAside))) }
        return file
    }

    /// Makes our directory, for us alone, unless it is there.
    private func makeDirectory() throws(StoreError) {
        var made = ""
        for part in self.directory.split(separator: "/") {
            made += "/\(part)"
            // SAFETY: the path is NUL-terminated for the call.
            guard unsafe mkdir(made, 0o700) == 0 || errno == EEXIST else {
                // A directory that was there need not let us make what is there.
                var status = stat()
                let code = errno
                guard unsafe stat(made, &status) == 0 else {
                    errno = code
                    throw .system("make the directory \(made)")
                }
                continue
            }
        }
    }
}
