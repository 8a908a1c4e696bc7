package import Motion

/// Decides what becomes of what is wanted: staged, tried, kept or taken back.
///
/// A value: what the disk, the broker and the server say comes in, what is to be done goes out, in order. Of two steps the second
/// is only done when the first was; what could not be done comes back as `failed`. At any step the process may end: what is on the
/// disk then is either what was in force before or what was to be, and which of them, `init` finds out.
package struct DesiredMachine: Sendable {
    package enum Input: Sendable {
        /// A message came. Whether it may be believed was looked at before. What the server only kept is not new.
        case offered(DesiredScope, DesiredState, isNew: Bool)
        /// Nothing is wanted there any more.
        case withdrawn(DesiredScope)
        /// A message came that nobody can use.
        case unusable(DesiredScope, DesiredProblem)
        /// All of it is on the disk, beside what is in force, and was checked.
        case staged(DesiredProblem?)
        /// It could not be checked, and why: nothing is known against it.
        case unchecked(DesiredProblem)
        /// The broker answered to the `reload` of this number whether it goes by it.
        case reloaded(UInt64, DesiredProblem?)
        /// It did not answer, and why.
        case unanswered(UInt64, DesiredProblem)
        /// It is what is gone back to from now on.
        case kept
        /// The broker is there, or not any more.
        case broker(isThere: Bool)
        /// The broker answered to a question, or not.
        case probed(Bool)
        /// What of that which is in force the broker does not go by, because of what the device itself says by now; `nil`: it goes by all.
        case leftOut(DesiredProblem?)
        /// The server is there, or not.
        case connection(Bool)
        /// The server has this report.
        case told(DesiredReport)
        /// The disk did not do what was asked.
        case failed(DesiredProblem)
        case time
    }

    package enum Effect: Equatable, Sendable {
        /// Writes all of it beside what is in force, and checks it: `staged`.
        case stage(DesiredState)
        /// Writes down what the last attempt came to.
        case note(DesiredMemory.Attempt)
        /// Puts it in the place of what is in force, at once.
        case switchTo(UInt64)
        /// Makes it what will be gone back to from now on: `kept`.
        case keep(UInt64)
        /// Removes all that neither is in force nor can be gone back to.
        case clear
        /// Has the broker read everything anew: `reloaded`. A broker may take longer than it is waited for, so that its answers are
        /// told apart by their numbers.
        case reload(UInt64)
        /// Does what is wanted of the bridge itself: thresholds and pause.
        case follow(DesiredState)
        case report(DesiredReport)
        /// Asks the broker something: `probed`.
        case probe
        /// Calls `time` then.
        case wake(Timestamp)
        /// For the log.
        case say(String)
    }

    private enum Stage: Equatable, Sendable {
        case idle
        case staging(DesiredState, DesiredScope)
        case reloading(DesiredState, DesiredScope, until: Timestamp)
        case trial(Trial)
        case keeping(Trial)
        /// The broker reads again what was before, or has.
        case returning(until: Timestamp, isBack: Bool)
        /// What was before could not be put back, or only what came of it not be written down: again then.
        case stuck(DesiredMemory.Attempt, until: Timestamp, isBack: Bool)
    }

    private struct Trial: Equatable, Sendable {
        var state: DesiredState
        var scope: DesiredScope
        var settled: Timestamp
        var end: Timestamp
        var isTold = false
        var isProbed = false
        var isAsked = false
    }

    private struct Offer: Sendable {
        var state: DesiredState
        var isNew: Bool
    }

    package static let mostAttempts = 3
    /// How many messages are looked at in a row, and after how long one more.
    package static let burst = 8
    package static let pause = TimeSpan.seconds(5)
    /// How long after a connection it is waited for all that a server has kept: what was wanted meanwhile comes one by one, and only the
    /// newest counts.
    package static let gathering = TimeSpan.milliseconds(500)
    /// How long a trial lasts at least, if it is not confirmed sooner by its bound.
    package static let settling = TimeSpan.seconds(10)
    private static let retry = TimeSpan.seconds(5)

    /// The longest and shortest time until what was tried is confirmed.
    package static let confirmRange = TimeSpan.seconds(2)...TimeSpan.seconds(86_400)

    private let allowed: Set<BridgeConfiguration.Allow.Change>
    private let confirmWithin: TimeSpan
    /// The key by which all must be signed now.
    private let signer: String?
    /// What is under way, as it was wanted.
    private var wanted = DesiredState.none
    private var memory: DesiredMemory
    private var stage = Stage.idle
    private var waiting: [DesiredScope: Offer] = [:]
    private var isConnected = false
    private var gathersUntil = Timestamp.zero
    private var isBrokerThere = false
    /// What of that which is in force the broker does not go by.
    private var leftOut: DesiredProblem?
    /// Only the answer to the last one counts.
    private var lastReload: UInt64 = 0
    private var budget = DesiredMachine.burst
    private var budgetSince: Timestamp
    /// What is reported, and again when somebody asks.
    package private(set) var report: DesiredReport

    /// Goes on from what is on the disk. A trial that was interrupted is taken back.
    package init(
        _ memory: DesiredMemory, allowing allowed: Set<BridgeConfiguration.Allow.Change>, confirmWithin: TimeSpan,
        signedBy signer: String? = nil, at now: Timestamp
    ) {
        self.memory = memory
        self.signer = signer
        // Where that was not written down yet it was whoever may sign now.
        if self.memory.last?.isSignerUnknown == true {
            self.memory.last?.signer = signer
            self.memory.last?.isSignerUnknown = false
        }
        self.allowed = allowed
        self.confirmWithin = min(max(confirmWithin, Self.confirmRange.lowerBound), Self.confirmRange.upperBound)
        self.budgetSince = now
        self.report = DesiredReport(.none, version: 0, inForce: memory.inForce.version)
        if let last = memory.last { self.report = Self.report(of: last, inForce: memory.inForce.version) }
    }

    /// What is to be done first.
    package mutating func begin(at now: Timestamp) -> [Effect] {
        guard var last = self.memory.last, last.outcome == .trial else {
            if self.memory.inForce != self.memory.confirmed {
                // Nothing says what this is.
                return self.goBack(
                    DesiredMemory.Attempt(
                        version: self.memory.inForce.version, outcome: .interrupted, count: 1, scope: "",
                        problem: DesiredProblem("the bridge ended before it was confirmed"), signer: self.signer),
                    at: now)
            }
            return [.follow(self.memory.inForce), .report(self.report)]
        }
        if last.version == self.memory.confirmed.version, self.memory.inForce == self.memory.confirmed {
            // It was kept, and only that could not be written down any more.
            last.outcome = .applied
            return [.note(last), .follow(self.memory.inForce)] + self.tell(last)
        }
        last.outcome = last.count < Self.mostAttempts ? .interrupted : .rolledBack
        last.problem = DesiredProblem("the bridge ended before it was confirmed")
        return self.goBack(last, at: now)
    }

    /// What the broker reads now, as far as is known.
    package var inForce: DesiredState { self.memory.inForce }
    package var isIdle: Bool { self.stage == .idle }

    package mutating func step(_ input: Input, at now: Timestamp) -> [Effect] {
        switch input {
        case .offered(let scope, let state, let isNew):
            self.waiting[scope] = Offer(state: state, isNew: isNew)
            return self.next(at: now)
        case .withdrawn(let scope):
            // What was done because of it stays; what was not begun is not.
            self.waiting[scope] = nil
            return []
        case .unusable(let scope, let problem):
            guard self.spend(at: now) else { return [] }
            let report = DesiredReport(
                .refused, version: 0, inForce: self.memory.inForce.version, scope: "\(scope)", problem: problem)
            // What is under way has the word.
            guard self.stage == .idle else { return [.say("\(scope): \(problem)")] }
            self.report = report
            return [.say("\(scope): \(problem)"), .report(report)]
        case .staged(let problem): return self.staged(problem, at: now)
        case .unchecked(let problem): return self.unchecked(problem, at: now)
        case .reloaded(self.lastReload, let problem): return self.reloaded(problem, at: now)
        case .unanswered(self.lastReload, let problem): return self.unanswered(problem, at: now)
        case .reloaded, .unanswered: return []
        case .kept: return self.kept(at: now)
        case .broker(let isThere):
            self.isBrokerThere = isThere
            return isThere ? self.next(at: now) : self.brokerEnded(at: now)
        case .probed(let isThere):
            guard case .trial(var trial) = self.stage else { return [] }
            guard isThere else {
                return self.takeBack(trial.state, trial.scope, "the broker does not answer", at: now)
            }
            trial.isProbed = true
            self.stage = .trial(trial)
            return self.confirm(at: now)
        case .leftOut(let problem): return self.brokerLeavesOut(problem)
        case .connection(let isThere):
            self.isConnected = isThere
            if isThere { self.gathersUntil = now + Self.gathering }
            return self.confirm(at: now)
        case .told(let report):
            guard case .trial(var trial) = self.stage, report.outcome == .trial, report.version == trial.state.version
            else { return [] }
            trial.isTold = true
            self.stage = .trial(trial)
            return self.confirm(at: now)
        case .failed(let problem): return self.failed(problem, at: now)
        case .time: return self.timePassed(now)
        }
    }

    // MARK: Whether anything is done

    /// Begins with the newest that waits.
    private mutating func next(at now: Timestamp) -> [Effect] {
        guard self.stage == .idle, self.isBrokerThere, !self.waiting.isEmpty else { return [] }
        guard now >= self.gathersUntil else { return [.wake(self.gathersUntil)] }
        guard self.spend(at: now) else { return [.wake(self.budgetSince + Self.pause)] }
        // The newest counts. Of equal ones that for the device alone: it is what was tried first.
        let newest = self.waiting.max { a, b in
            (a.value.state.version, b.key.isGroup ? 1 : 0, "\(a.key)")
                < (b.value.state.version, a.key.isGroup ? 1 : 0, "\(b.key)")
        }
        guard let (scope, offer) = newest else { return [] }
        let older = self.waiting.filter { $0.key != scope }.keys.sorted { "\($0)" < "\($1)" }
        self.waiting.removeAll()
        var effects = older.map { Effect.say("what is wanted of \($0) is older than what is wanted of \(scope)") }
        effects += self.look(at: offer, for: scope, now)
        return effects
    }

    private mutating func look(at offer: Offer, for scope: DesiredScope, _ now: Timestamp) -> [Effect] {
        let state = offer.state
        if let last = self.memory.last, last.signer == self.signer {
            if state.version < last.version {
                let problem = DesiredProblem("it is older than version \(last.version)")
                // What the server kept of before is no news to anybody, and what came of the last that was wanted stays said.
                guard offer.isNew else { return [.say("version \(state.version) for \(scope) is refused: \(problem)")] }
                return self.refuse(state, scope, problem)
            }
            if state.version == last.version, last.outcome != .interrupted {
                // What was refused or taken back is not tried a second time; what is in force is.
                if last.outcome == .applied, state.over(self.memory.inForce) != self.memory.inForce {
                    return self.refuse(
                        state, scope, DesiredProblem("version \(state.version) stands for something else here"))
                }
                return self.tell(last)
            }
        }
        if self.memory.last != nil,
            [self.memory.inForce.version, self.memory.confirmed.version].contains(state.version)
        {
            return self.refuse(
                state, scope, DesiredProblem("version \(state.version) is in force already, signed by another key"))
        }
        let missing = state.changes.subtracting(self.allowed).map(\.rawValue).sorted()
        guard missing.isEmpty else {
            return self.refuse(
                state, scope,
                DesiredProblem("this device does not let others change: \(missing.joined(separator: ", "))"))
        }
        let whole = state.over(self.memory.inForce)
        self.wanted = state
        self.stage = .staging(whole, scope)
        return [.stage(whole)]
    }

    /// Says that it never came into force. Nothing was changed.
    private mutating func refuse(_ state: DesiredState, _ scope: DesiredScope, _ problem: DesiredProblem) -> [Effect] {
        self.stage = .idle
        self.report = DesiredReport(
            .refused, version: state.version, inForce: self.memory.inForce.version, scope: "\(scope)", problem: problem)
        return [.say("version \(state.version) for \(scope) is refused: \(problem)"), .report(self.report)]
    }

    private mutating func spend(at now: Timestamp) -> Bool {
        while self.budget < Self.burst, now - self.budgetSince >= Self.pause {
            self.budget += 1
            self.budgetSince = self.budgetSince + Self.pause
        }
        if self.budget == Self.burst { self.budgetSince = now }
        guard self.budget > 0 else { return false }
        self.budget -= 1
        return true
    }

    // MARK: The attempt

    /// When it goes back.
    private var patience: TimeSpan { self.wanted.confirmWithin ?? self.confirmWithin }

    private mutating func staged(_ problem: DesiredProblem?, at now: Timestamp) -> [Effect] {
        guard case .staging(let state, let scope) = self.stage else { return [] }
        if let problem { return self.refuse(state, scope, problem) + self.clear(at: now) }
        let attempt = self.nextAttempt(.trial, state, scope)
        let until = now + self.patience
        self.stage = .reloading(state, scope, until: until)
        self.memory.last = attempt
        self.memory.inForce = state
        self.leftOut = nil
        return [.note(attempt), .switchTo(state.version), self.reload(), .wake(until)]
    }

    /// Nothing was changed, and it may be tried again, as often as what the broker did not answer.
    private mutating func unchecked(_ problem: DesiredProblem, at now: Timestamp) -> [Effect] {
        guard case .staging(let state, let scope) = self.stage else { return [] }
        let attempt = self.interrupted(self.nextAttempt(.interrupted, state, scope, problem), for: scope)
        self.memory.last = attempt
        return [.note(attempt)] + self.tell(attempt) + self.clear(at: now)
    }

    private func nextAttempt(
        _ outcome: DesiredMemory.Attempt.Outcome, _ state: DesiredState, _ scope: DesiredScope,
        _ problem: DesiredProblem? = nil
    ) -> DesiredMemory.Attempt {
        var again = 0
        if let last = self.memory.last, last.version == state.version, last.signer == self.signer { again = last.count }
        return DesiredMemory.Attempt(
            version: state.version, outcome: outcome, count: again + 1, scope: "\(scope)", problem: problem,
            signer: self.signer)
    }

    /// Has what was wanted tried again, unless that was done often enough.
    private mutating func interrupted(
        _ attempt: DesiredMemory.Attempt, for scope: DesiredScope
    ) -> DesiredMemory.Attempt {
        var attempt = attempt
        if attempt.count >= Self.mostAttempts { attempt.outcome = .rolledBack }
        if attempt.outcome == .interrupted, self.waiting[scope] == nil {
            self.waiting[scope] = Offer(state: self.wanted, isNew: false)
        }
        return attempt
    }

    private mutating func reload() -> Effect {
        self.lastReload &+= 1
        return .reload(self.lastReload)
    }

    private mutating func reloaded(_ problem: DesiredProblem?, at now: Timestamp) -> [Effect] {
        switch self.stage {
        case .reloading(let state, let scope, _):
            if let problem { return self.goBack(self.attempt(.refused, state, scope, problem), at: now) }
            let settling = min(Self.settling, TimeSpan(microseconds: self.patience.microseconds / 2))
            let trial = Trial(state: state, scope: scope, settled: now + settling, end: now + self.patience)
            self.stage = .trial(trial)
            self.report = DesiredReport(
                .trial, version: state.version, inForce: state.version, scope: "\(scope)")
            return [.follow(state), .report(self.report), .wake(trial.settled)]
        case .returning:
            // What the broker says of what it had before changes nothing.
            let note = problem.map { [Effect.say("the broker does not take back what it had: \($0)")] } ?? []
            return note + self.clear(at: now)
        case .stuck: return self.wentBack()
        case .idle, .staging, .trial, .keeping: return []
        }
    }

    private mutating func confirm(at now: Timestamp) -> [Effect] {
        guard case .trial(let trial) = self.stage, now >= trial.settled, self.isConnected, trial.isTold, trial.isProbed
        else { return [] }
        self.stage = .keeping(trial)
        return [.keep(trial.state.version)]
    }

    private func whyNotConfirmed(_ trial: Trial) -> String {
        guard trial.isProbed else { return "the broker does not answer" }
        return self.isConnected && !trial.isTold
            ? "the server does not take the report" : "the server was not there to confirm it"
    }

    private mutating func kept(at now: Timestamp) -> [Effect] {
        guard case .keeping(let trial) = self.stage else { return [] }
        let attempt = self.attempt(.applied, trial.state, trial.scope, nil)
        self.stage = .idle
        self.memory.confirmed = trial.state
        self.memory.last = attempt
        return [.note(attempt)] + self.tell(attempt) + self.next(at: now)
    }

    private func attempt(
        _ outcome: DesiredMemory.Attempt.Outcome, _ state: DesiredState, _ scope: DesiredScope,
        _ problem: DesiredProblem?
    ) -> DesiredMemory.Attempt {
        DesiredMemory.Attempt(
            version: state.version, outcome: outcome, count: max(1, self.memory.last?.count ?? 1), scope: "\(scope)",
            problem: problem, signer: self.signer)
    }

    // MARK: The way back

    private mutating func brokerEnded(at now: Timestamp) -> [Effect] {
        switch self.stage {
        case .trial(let trial): return self.takeBack(trial.state, trial.scope, "the broker ended", at: now)
        case .reloading(let state, let scope, _):
            return self.takeBack(state, scope, "the broker ended", at: now)
        case .returning:
            // It reads what is there when it begins.
            return self.clear(at: now)
        case .idle, .staging, .keeping, .stuck: return []
        }
    }

    /// Nothing is known against it: it may be tried again, a few times.
    private mutating func unanswered(_ problem: DesiredProblem, at now: Timestamp) -> [Effect] {
        switch self.stage {
        case .reloading(let state, let scope, _):
            let attempt = self.attempt(.interrupted, state, scope, problem)
            return self.goBack(self.interrupted(attempt, for: scope), at: now)
        case .returning:
            return [.say("the broker does not take back what it had: \(problem)")] + self.clear(at: now)
        case .stuck: return self.wentBack()
        case .idle, .staging, .trial, .keeping: return []
        }
    }

    /// The broker was told to read what was before, so that this was put back: all that is left is to write down what came of it.
    private mutating func wentBack() -> [Effect] {
        if case .stuck(let attempt, let until, _) = self.stage {
            self.stage = .stuck(attempt, until: until, isBack: true)
        }
        return []
    }

    private mutating func takeBack(
        _ state: DesiredState, _ scope: DesiredScope, _ why: String, at now: Timestamp
    ) -> [Effect] {
        self.goBack(self.attempt(.rolledBack, state, scope, DesiredProblem(why)), at: now)
    }

    private mutating func goBack(_ attempt: DesiredMemory.Attempt, at now: Timestamp) -> [Effect] {
        let back = self.memory.confirmed
        let until = now + self.confirmWithin
        self.memory.inForce = back
        self.leftOut = nil
        self.memory.last = attempt
        self.stage = .returning(until: until, isBack: false)
        // The way back comes first, all of it: where the disk takes nothing any more, the broker is to go it all the same.
        return [.switchTo(back.version), .follow(back), self.reload(), .wake(until), .note(attempt)]
            + self.tell(attempt)
    }

    /// Ends an attempt that came to nothing: nothing of it stays on the disk.
    private mutating func clear(at now: Timestamp) -> [Effect] {
        self.stage = .idle
        return [.clear] + self.next(at: now)
    }

    private mutating func failed(_ problem: DesiredProblem, at now: Timestamp) -> [Effect] {
        switch self.stage {
        case .staging(let state, let scope): return self.refuse(state, scope, problem) + self.clear(at: now)
        case .reloading(let state, let scope, _):
            // Whether it was switched before the disk failed is not known here: going back is right in both cases.
            return self.goBack(self.attempt(.refused, state, scope, problem), at: now)
        case .keeping(let trial): return self.takeBack(trial.state, trial.scope, "\(problem)", at: now)
        // What could not be written down is what was said already.
        case .idle: return [.say("\(problem)")]
        case .returning, .trial, .stuck:
            guard let last = self.memory.last else { return [.say("\(problem)")] }
            var isBack = false
            if case .returning(_, true) = self.stage { isBack = true }
            self.stage = .stuck(last, until: now + Self.retry, isBack: isBack)
            let what = isBack ? "" : "what was before cannot be put back, or "
            return [.say("\(what)what came of it cannot be written down: \(problem)"), .wake(now + Self.retry)]
        }
    }

    private mutating func timePassed(_ now: Timestamp) -> [Effect] {
        switch self.stage {
        case .idle: return self.next(at: now)
        case .staging, .keeping: return []
        case .reloading(let state, let scope, let until):
            guard now >= until else { return [.wake(until)] }
            return self.takeBack(state, scope, "the broker does not answer", at: now)
        case .trial(var trial):
            guard now >= trial.settled else { return [.wake(trial.settled)] }
            guard now < trial.end else {
                return self.takeBack(trial.state, trial.scope, self.whyNotConfirmed(trial), at: now)
            }
            var effects: [Effect] = [.wake(trial.end)]
            if !trial.isAsked { effects.append(.probe) }
            trial.isAsked = true
            self.stage = .trial(trial)
            return effects
        case .returning(let until, let isBack):
            guard now >= until else { return [.wake(until)] }
            guard !isBack else { return self.clear(at: now) }
            return [.say("the broker does not answer; it reads what was before when it begins")] + self.clear(at: now)
        case .stuck(let attempt, let until, let isBack):
            guard now >= until else { return [.wake(until)] }
            guard isBack else { return self.goBack(attempt, at: now) }
            // A disk that stays full has the broker read nothing anew.
            self.stage = .returning(until: now, isBack: true)
            return [.note(attempt)] + self.tell(attempt) + [.wake(now)]
        }
    }

    // MARK: What is told

    private static func report(of last: DesiredMemory.Attempt, inForce: UInt64) -> DesiredReport {
        let outcome: DesiredReport.Outcome =
            switch last.outcome {
            case .trial: .trial
            case .applied: .applied
            case .refused: .refused
            case .interrupted, .rolledBack: .rolledBack
            }
        return DesiredReport(
            outcome, version: last.version, inForce: inForce, scope: last.scope.isEmpty ? nil : last.scope,
            problem: last.problem)
    }

    /// While something is under way, the broker's answer to it says more.
    private mutating func brokerLeavesOut(_ problem: DesiredProblem?) -> [Effect] {
        guard self.stage == .idle, problem != self.leftOut else { return [] }
        let isTold = self.report.problem == self.leftOut
        self.leftOut = problem
        let words = problem.map { "\($0)" } ?? "the broker goes by all of it again"
        let say = Effect.say("version \(self.memory.inForce.version): \(words)")
        // What was wrong with the last that was wanted has the word.
        guard isTold else { return [say] }
        self.report.problem = problem
        return [say, .report(self.report)]
    }

    private mutating func tell(_ last: DesiredMemory.Attempt) -> [Effect] {
        self.report = Self.report(of: last, inForce: self.memory.inForce.version)
        self.report.problem = self.report.problem ?? self.leftOut
        let words = last.problem.map { ": \($0)" } ?? ""
        return [.say("version \(last.version) is \(self.report.outcome.rawValue)\(words)"), .report(self.report)]
    }
}

extension DesiredScope {
    fileprivate var isGroup: Bool { if case .group = self { true } else { false } }
}
