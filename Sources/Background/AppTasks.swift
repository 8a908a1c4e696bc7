package import Arbitration
package import Motion

/// The background work of one app: what waits, what is under way, and when the next thing happens.
///
/// A value without clock, as `AppLife` is. One task at a time is under way. It is on the disk as begun before the app hears of
/// it, so that none is begun twice without saying so, whatever crashes.
package struct AppTasks: Sendable {
    /// A task that waits.
    package struct Pending: Equatable, Sendable {
        package var record: TaskRecord
        /// Somebody wants it run now, whatever it waits for.
        package var isForced = false

        package var request: TaskRequest { self.record.request }
    }

    /// The task that is under way.
    package struct Operation: Equatable, Sendable {
        package var record: TaskRecord
        package var begun: Timestamp
        package var stage: Stage
        /// The app is brought to run for it, and was not up for another.
        package var wakes: Bool
    }

    package enum Stage: Equatable, Sendable {
        /// Until it is on the disk that it is begun.
        case keeping
        /// Until the app is there.
        case launching
        /// `warns`: when the app is told that it ends soon; `nil`: it was.
        case running(ends: AwakeTime, warns: AwakeTime?)
    }

    package let owner: TaskOwner
    /// In the order in which they were submitted.
    package private(set) var pending: [Pending] = []
    package private(set) var current: Operation?
    /// The user ended the app, and has not opened it since.
    package private(set) var isTerminated = false
    /// The user has opened the app, whatever the disk says of before.
    private var wasOpened = false
    /// Nobody can start the app: its tasks wait until it comes by itself.
    package private(set) var isOutOfReach = false
    /// What came of the last ones, oldest first.
    package private(set) var outcomes: [TaskOutcome] = []
    /// How often the app was brought to run for tasks. Several in a row are one.
    package private(set) var wakeUps: UInt64 = 0
    /// Runs in a row that came to nothing.
    private var failures = 0
    /// None is begun before this, because the last one came to nothing.
    private(set) var restsUntil = Timestamp(microseconds: .min)

    /// So often is a task begun at most.
    package static let mostAttempts: UInt32 = 3
    package static let mostOutcomes = 8
    /// For so long is an app left alone at most when one came to nothing.
    static let longestRest = TimeSpan.seconds(60)
    /// How long before the end of its time a task's app is told.
    static func warning(of time: TimeSpan) -> TimeSpan {
        min(.seconds(5), TimeSpan(microseconds: time.microseconds / 4))
    }

    package init(_ owner: TaskOwner) { self.owner = owner }

    /// What is to be on the disk of it: what waits, and what is under way unless it was submitted anew since.
    package var records: [TaskRecord] {
        let waiting = self.pending.map(\.record)
        guard let current = self.current?.record,
            !waiting.contains(where: { $0.request.identifier == current.request.identifier })
        else { return waiting }
        return waiting + [current]
    }

    /// Whether nothing would be lost with it but what came of its last tasks.
    package var isSpent: Bool { self.pending.isEmpty && self.current == nil && !self.isTerminated }

    // MARK: What waits

    /// - Parameter declared: What its app file says.
    package mutating func submit(
        _ request: TaskRequest, declared: DeclaredTasks, revision: UInt64, at now: TaskMoment,
        _ settings: AppSettings, into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        let mode = request.kind.mode
        guard declared.identifiers.contains(request.identifier) else {
            return .undeclared(request.identifier)
        }
        guard declared.modes.contains(mode) else { return .undeclaredMode(mode) }
        guard settings.grants.contains(mode) else { return .ungranted(mode) }
        let others = self.pending.filter { $0.request.identifier != request.identifier }
        guard others.count(where: { $0.request.kind == request.kind }) < request.kind.mostPending else {
            return .tooMany(request.kind)
        }
        let delay =
            switch request.kind {
            case .refresh: max(request.delay, settings.refreshInterval)
            case .processing: request.delay
            }
        let wait = TaskWait(until: request.earliest, delay, since: now.wall)
        var record = TaskRecord(self.owner, request, revision: revision)
        record.request.earliest = wait.ends
        record.wait = wait
        self.pending = others + [Pending(record: record)]
        effects.append(.keep(record))
        return nil
    }

    package mutating func cancel(_ identifier: String, into effects: inout [TaskEffect]) -> TaskRefusal? {
        guard let index = self.pending.firstIndex(where: { $0.request.identifier == identifier }) else {
            return .unknown(identifier)
        }
        self.pending.remove(at: index)
        // What is under way had given its place on the disk to the one that was submitted since, and stands there again.
        if let current = self.current?.record, current.request.identifier == identifier {
            effects.append(.keep(current))
        } else {
            effects.append(.forget(self.owner, identifier: identifier))
        }
        return nil
    }

    /// Takes in what was on the disk. One that was begun then was under way when the broker ended.
    package mutating func restore(_ record: TaskRecord, into effects: inout [TaskEffect]) {
        let identifier = record.request.identifier
        // What was submitted meanwhile is newer.
        let isKnown =
            self.current?.record.request.identifier == identifier
            || self.pending.contains { $0.request.identifier == identifier }
        guard !isKnown else { return }
        guard record.attempt < Self.mostAttempts else {
            return effects.append(.forget(self.owner, identifier: identifier))
        }
        self.pending.append(Pending(record: record))
    }

    /// The user had ended the app, unless he has opened it since.
    package mutating func restoreTermination(into effects: inout [TaskEffect]) {
        self.isTerminated = !self.wasOpened
        if self.wasOpened { effects.append(.terminated(self.owner, false)) }
    }

    /// Has one that waits run now, whatever it waits for. After the one that is under way, should there be one.
    package mutating func force(_ identifier: String) -> TaskRefusal? {
        guard let index = self.pending.firstIndex(where: { $0.request.identifier == identifier }) else {
            return .unknown(identifier)
        }
        guard !self.isTerminated else { return .terminated }
        self.pending[index].isForced = true
        return nil
    }

    /// When a task may be run together with others, and when it is run in any case; `nil`: not as things are.
    package func times(
        of task: Pending, _ met: WordSet<TaskNeed>, _ settings: AppSettings
    ) -> (ready: Timestamp, due: Timestamp)? {
        let request = task.request
        guard !self.isTerminated, !self.isOutOfReach else { return nil }
        if task.isForced { return (Timestamp(microseconds: .min), Timestamp(microseconds: .min)) }
        guard request.needs.subtracting(met).isEmpty, settings.grants.contains(request.kind.mode) else { return nil }
        let window = request.isDiscretionary && !met.isAll ? settings.discretion : settings.taskWindow
        let end = min(request.earliest + window, max(request.latest ?? Timestamp(microseconds: .max), request.earliest))
        let ready = request.isDiscretionary && !met.isAll ? end : request.earliest
        return (max(ready, self.restsUntil), max(end, self.restsUntil))
    }

    /// When any of them may be run together with others, and when one is in any case; `nil`: not without an input.
    package func times(_ met: WordSet<TaskNeed>, _ settings: AppSettings) -> (ready: Timestamp, due: Timestamp)? {
        guard self.current == nil else { return nil }
        var earliest: (ready: Timestamp, due: Timestamp)?
        for task in self.pending {
            guard let times = self.times(of: task, met, settings) else { continue }
            earliest = (
                min(earliest?.ready ?? times.ready, times.ready), min(earliest?.due ?? times.due, times.due)
            )
        }
        return earliest
    }

    // MARK: What is under way

    /// Begins one that is ready. One that is left to our discretion comes along when the app is up anyway.
    package mutating func begin(
        revision: UInt64, isUp: Bool, _ met: WordSet<TaskNeed>, at now: TaskMoment, _ settings: AppSettings,
        into effects: inout [TaskEffect]
    ) -> Bool {
        guard self.current == nil, let next = self.next(isUp: isUp, met, at: now, settings) else { return false }
        var record = self.pending.remove(at: next).record
        record.attempt += 1
        record.revision = revision
        self.current = Operation(record: record, begun: now.wall, stage: .keeping, wakes: !isUp)
        effects.append(.keep(record))
        return true
    }

    /// The one to begin: what somebody wants at once, and then the earliest.
    private func next(
        isUp: Bool, _ met: WordSet<TaskNeed>, at now: TaskMoment, _ settings: AppSettings
    ) -> Int? {
        var best: (index: Int, time: Timestamp)?
        for (index, task) in self.pending.enumerated() {
            guard let times = self.times(of: task, met, settings) else { continue }
            let ready = isUp ? min(times.ready, max(task.request.earliest, self.restsUntil)) : times.ready
            guard ready <= now.wall, ready < best?.time ?? Timestamp(microseconds: .max) else { continue }
            best = (index, ready)
        }
        return best?.index
    }

    /// The change is on the disk.
    package mutating func kept(_ revision: UInt64, into effects: inout [TaskEffect]) {
        guard let current = self.current, current.stage == .keeping, current.record.revision == revision else { return }
        self.current?.stage = .launching
        effects.append(.launch(self.owner, identifier: current.record.request.identifier))
    }

    /// The app is there.
    package mutating func up(at now: TaskMoment, _ settings: AppSettings, into effects: inout [TaskEffect]) {
        guard let current = self.current, current.stage == .launching else { return }
        let request = current.record.request
        let time = settings.time(for: request.kind)
        let ends = now.awake + time
        if current.wakes { self.wakeUps &+= 1 }
        self.current?.stage = .running(ends: ends, warns: ends - Self.warning(of: time))
        self.current?.begun = now.wall
        effects.append(
            .run(
                self.owner,
                TaskRun(
                    request.identifier, request.kind, ends: ends, time: time, attempt: current.record.attempt,
                    revision: current.record.revision)))
    }

    /// The app says that it is through with it.
    ///
    /// - Parameter identifier: Which one it means; `nil`: it does not say. One whose time is over may come when another runs.
    package mutating func done(
        _ identifier: String?, _ isSuccess: Bool, at now: TaskMoment, into effects: inout [TaskEffect]
    ) -> TaskRefusal? {
        guard let current = self.current, case .running = current.stage,
            identifier == nil || identifier == current.record.request.identifier
        else { return .nothingRuns }
        self.failures = 0
        self.restsUntil = Timestamp(microseconds: .min)
        self.end(isSuccess ? .done : .cancelled, at: now, into: &effects)
        return nil
    }

    /// The app could not be started, or did not take the task.
    ///
    /// - Parameter run: Which run that is about; `nil`: the one for which the app was to be started.
    package mutating func failed(_ run: UInt64?, at now: TaskMoment, into effects: inout [TaskEffect]) {
        switch (self.current?.stage, run) {
        case (.launching, nil): self.fail(.failed, at: now, into: &effects)
        case (.running, let run?) where run == self.current?.record.revision:
            self.fail(.failed, at: now, into: &effects)
        case (nil, _), (.keeping, _), (.launching, _), (.running, _): return
        }
    }

    /// Nobody can start the app for what is to be begun, and so it was not.
    package mutating func outOfReach(into effects: inout [TaskEffect]) {
        guard self.current?.stage == .launching else { return }
        self.isOutOfReach = true
        self.putBack(into: &effects)
    }

    /// What is to be begun was not, and waits again as if nothing had been.
    private mutating func putBack(into effects: inout [TaskEffect]) {
        guard var current = self.current else { return }
        self.current = nil
        current.record.attempt -= 1
        let identifier = current.record.request.identifier
        guard !self.pending.contains(where: { $0.request.identifier == identifier }) else { return }
        self.pending.insert(Pending(record: current.record), at: 0)
        effects.append(.keep(current.record))
    }

    /// The app came to the bus.
    package mutating func came() { self.isOutOfReach = false }

    /// The app is gone. One that is being brought back is somebody else's concern.
    package mutating func left(at now: TaskMoment, into effects: inout [TaskEffect]) {
        switch self.current?.stage {
        case nil, .keeping, .launching: return
        case .running: self.fail(.left, at: now, into: &effects)
        }
    }

    /// The user ended the app.
    package mutating func terminate(at now: TaskMoment, into effects: inout [TaskEffect]) {
        self.wasOpened = false
        guard !self.isTerminated else { return }
        self.isTerminated = true
        effects.append(.terminated(self.owner, true))
        for index in self.pending.indices { self.pending[index].isForced = false }
        switch self.current?.stage {
        case nil: break
        case .keeping, .launching: self.putBack(into: &effects)
        case .running:
            let isTriedAgain = self.current.map { $0.record.attempt < Self.mostAttempts } ?? false
            self.end(.terminated, isTriedAgain: isTriedAgain, at: now, into: &effects)
        }
    }

    /// The user opened the app.
    package mutating func open(into effects: inout [TaskEffect]) {
        self.wasOpened = true
        guard self.isTerminated else { return }
        self.isTerminated = false
        effects.append(.terminated(self.owner, false))
    }

    // MARK: Time

    /// When something happens to the task under way without an input.
    package var deadline: AwakeTime? {
        guard case .running(let ends, let warns) = self.current?.stage else { return nil }
        return warns ?? ends
    }

    /// Lets everything happen that is due by now to the task under way.
    package mutating func pass(to now: TaskMoment, into effects: inout [TaskEffect]) {
        guard let current = self.current, case .running(let ends, let warns) = current.stage else { return }
        if ends <= now.awake {
            self.fail(.silent, at: now, into: &effects)
        } else if let warns, warns <= now.awake {
            self.current?.stage = .running(ends: ends, warns: nil)
            effects.append(
                .expiring(
                    self.owner, identifier: current.record.request.identifier, remaining: ends - now.awake))
        }
    }

    /// None is kept from being begun beyond this.
    mutating func rest(until latest: Timestamp) { self.restsUntil = min(self.restsUntil, latest) }

    /// The wall clock was set back: what was submitted while it was ahead does not wait until it has caught up.
    mutating func wait(by wall: Timestamp, into effects: inout [TaskEffect]) {
        for index in self.pending.indices {
            guard self.pending[index].record.wait(by: wall) else { continue }
            effects.append(.keep(self.pending[index].record))
        }
        guard self.current?.record.wait(by: wall) == true, let record = self.current?.record else { return }
        // What was submitted since has its place on the disk.
        let isReplaced = self.pending.contains { $0.request.identifier == record.request.identifier }
        if !isReplaced { effects.append(.keep(record)) }
    }

    // MARK: Ends

    /// Ends a task that came to nothing. The app is left alone for a while, the longer the more often that happened.
    private mutating func fail(_ end: TaskEnd, at now: TaskMoment, into effects: inout [TaskEffect]) {
        guard let current = self.current else { return }
        self.restsUntil = now.wall + min(Self.longestRest, .seconds(1 << min(6, Int64(self.failures))))
        self.failures += 1
        // What was told in time that its time is over has had its turn.
        let isTriedAgain = end != .silent && current.record.attempt < Self.mostAttempts
        self.end(end, isTriedAgain: isTriedAgain, at: now, into: &effects)
        if end == .silent { effects.append(.silent(self.owner)) }
    }

    private mutating func end(
        _ end: TaskEnd, isTriedAgain: Bool = false, at now: TaskMoment, into effects: inout [TaskEffect]
    ) {
        guard let current = self.current else { return }
        self.current = nil
        let identifier = current.record.request.identifier
        // What was submitted since takes its place.
        let isReplaced = self.pending.contains { $0.request.identifier == identifier }
        let isKept = isTriedAgain && !isReplaced
        if isKept {
            // Before all others: it was submitted before them.
            self.pending.insert(Pending(record: current.record), at: 0)
        } else if !isReplaced {
            effects.append(.forget(self.owner, identifier: identifier))
        }
        let outcome = TaskOutcome(
            identifier: identifier, attempt: current.record.attempt, end: end, begun: current.begun, ended: now.wall,
            isTriedAgain: isKept)
        if self.outcomes.count == Self.mostOutcomes { self.outcomes.removeFirst() }
        self.outcomes.append(outcome)
        effects.append(.ended(self.owner, outcome))
    }
}
