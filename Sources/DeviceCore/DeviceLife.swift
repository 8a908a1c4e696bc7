package import Motion

/// What becomes of one sensor's device: it comes, is looked at, runs while it is wanted, fails, is tried again, goes.
///
/// A value: each input returns what the shell has to do. Nothing is tried again while nobody wants the sensor, so that a
/// broken device costs no wake-ups.
package struct DeviceLife: Sendable {
    package enum Phase: Hashable, Sendable {
        case absent
        /// There, and being looked at.
        case probing
        /// There and understood; nobody wants it.
        case idle
        case running
        case broken(String)
    }

    package enum Action: Hashable, Sendable {
        case none
        /// Look at the device and answer with `probed`.
        case probe
        /// Let the device run, and answer with `failed` if it does not.
        case start
        /// Let the device go. It may be gone already.
        case stop
    }

    /// A reading that fails is tried again this often before the device counts as broken.
    package static let patience = 3
    /// The time until a broken device is tried again: the first, doubled each time, and the longest.
    package static let firstRetry = TimeSpan.milliseconds(500)
    package static let longestRetry = TimeSpan.seconds(30)

    package private(set) var phase = Phase.absent
    package private(set) var isWanted = false
    /// When to call `retry`.
    package private(set) var nextRetry: Timestamp?
    /// What was wrong with the readings of a device that lets itself be started: only one that works is the end of it.
    private var problem: String?
    private var failures = 0
    private var attempts = 0
    /// It was tried at once because it answered, and no reading has worked since.
    private var isAnswerTried = false

    /// What is wrong with the device, as far as anybody knows.
    package var trouble: String? {
        switch self.phase {
        case .absent, .idle: nil
        case .probing, .running: self.problem
        case .broken(let problem): problem
        }
    }

    package init() {}

    /// The device is there, or something about it changed.
    package mutating func appeared() -> Action {
        switch self.phase {
        case .absent, .broken:
            self.attempts = 0
            self.isAnswerTried = false
            return self.probe()
        case .probing, .idle, .running:
            return .none
        }
    }

    /// A device answers that had been given up because it did not. It is tried at once, and where that leads to no reading, as any
    /// that is broken: one that answers each time, and too late, would be tried without end.
    package mutating func answered() -> Action {
        guard case .broken = self.phase, !self.isAnswerTried else { return .none }
        self.attempts = 0
        self.isAnswerTried = true
        return self.probe()
    }

    package mutating func vanished() -> Action {
        let before = self.phase
        self.phase = .absent
        self.nextRetry = nil
        self.problem = nil
        return before == .running ? .stop : .none
    }

    /// The answer to `.probe`: what is wrong with the device, or `nil`.
    package mutating func probed(_ problem: String?, at now: Timestamp) -> Action {
        switch self.phase {
        case .probing: break
        case .absent, .idle, .running, .broken: return .none
        }
        if let problem {
            self.breakDown(problem, at: now)
            return .none
        }
        self.failures = 0
        guard self.isWanted else {
            self.phase = .idle
            self.problem = nil
            return .none
        }
        self.phase = .running
        return .start
    }

    /// Somebody wants samples.
    package mutating func wanted() -> Action {
        self.isWanted = true
        switch self.phase {
        case .idle:
            self.phase = .running
            self.failures = 0
            return .start
        case .broken where self.nextRetry == nil:
            self.attempts = 0
            return self.probe()
        case .absent, .probing, .running, .broken:
            return .none
        }
    }

    /// Nobody wants samples any more.
    package mutating func unwanted() -> Action {
        self.isWanted = false
        self.nextRetry = nil
        self.isAnswerTried = false
        guard self.phase == .running else { return .none }
        self.phase = self.problem.map { .broken($0) } ?? .idle
        return .stop
    }

    /// A reading worked. Returns whether that is news: the device was broken until now.
    package mutating func succeeded() -> Bool {
        self.failures = 0
        self.attempts = 0
        self.isAnswerTried = false
        guard self.problem != nil else { return false }
        self.problem = nil
        return true
    }

    /// A reading did not work. `isFinal`: the device is gone or refuses, so that trying again at once is no use.
    package mutating func failed(_ problem: String, isFinal: Bool, at now: Timestamp) -> Action {
        guard self.phase == .running else { return .none }
        self.failures += 1
        guard isFinal || self.failures >= Self.patience else { return .none }
        if !isFinal { self.problem = problem }
        self.breakDown(problem, at: now)
        return .stop
    }

    /// `nextRetry` has come.
    package mutating func retry(at now: Timestamp) -> Action {
        guard let due = self.nextRetry, due <= now else { return .none }
        return self.probe()
    }

    private mutating func probe() -> Action {
        self.phase = .probing
        self.nextRetry = nil
        return .probe
    }

    private mutating func breakDown(_ problem: String, at now: Timestamp) {
        self.phase = .broken(problem)
        guard self.isWanted else { return }
        // The exponent is bounded: attempts go on for as long as the device stays broken.
        let wait = Self.firstRetry.microseconds << Int64(min(self.attempts, 10))
        self.nextRetry = now + min(TimeSpan(microseconds: wait), Self.longestRetry)
        self.attempts += 1
    }
}
