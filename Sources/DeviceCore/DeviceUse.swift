package import Motion

/// How a sensor uses its device: what is done with the one behind it, in which order, and what the sensor is told of that.
///
/// A value around `DeviceLife`. Each input returns steps, which the shell takes one after the other. A step may bring about another
/// input, as when new rates lead to another claim; that one's steps are taken before the next of these, and what depends on what
/// came of it is asked only when it is due (`goOn`).
package struct DeviceUse: Sendable {
    package enum Step: Hashable, Sendable {
        /// Look at the device, and say `probed` or `probeFailed`.
        case probe
        /// Let the device run at `pace`, at which it may be running already, and say `started` or `failed`.
        case start
        case stop
        /// Nothing comes of the device any more: let it go.
        case letGo
        /// Take the device that has come, and say `taken`.
        case take
        /// Tell the sensor that what comes next does not follow on from what came before.
        case tellGap
        /// Tell the sensor at which pace the device runs.
        case tellPace(SensorPace)
        /// Tell the sensor that its description or state may be another.
        case tellChange
        /// Ask `goOn` what is left to do.
        case goOn
    }

    private let kind: SensorKind
    private var life = DeviceLife()
    private var check: ReadingCheck
    private var hasDevice = false
    /// What is wanted of the device; `nil`: nothing.
    package private(set) var pace: SensorPace?
    /// What it made of that; `nil` while it does not run.
    private var real: SensorPace?

    package init(_ kind: SensorKind) {
        self.kind = kind
        self.check = ReadingCheck(kind, range: nil)
    }

    package var isRunning: Bool { self.life.phase == .running }
    /// When to call `retry`; `nil`: there is nothing to wait for.
    package var nextRetry: Timestamp? { self.life.nextRetry }

    /// What is wrong with the sensor; `nil`: nothing, as far as anybody knows.
    package var trouble: SensorState? {
        if let problem = self.life.trouble { return .broken(problem) }
        switch self.life.phase {
        case .absent: return .absent
        case .broken, .probing, .idle: return nil
        case .running:
            switch self.check.verdict {
            case .good: return nil
            case .stuck: return .stuck
            case .saturated: return .saturated
            }
        }
    }

    private mutating func steps(_ action: DeviceLife.Action) -> [Step] {
        switch action {
        case .none: return []
        case .probe: return [.probe]
        case .start: return [.start]
        case .stop:
            self.real = nil
            return [.stop]
        }
    }

    // MARK: The device comes and goes

    /// A device has come, for the first time, again, or in place of another.
    package mutating func attached() -> [Step] { (self.hasDevice ? self.detached() : []) + [.take] }

    /// It has been taken.
    package mutating func taken() -> [Step] {
        self.hasDevice = true
        return self.steps(self.life.appeared())
    }

    /// Something about it changed: what did not work may now.
    package mutating func refreshed() -> [Step] { self.steps(self.life.appeared()) }

    /// It answers, and had been given up because it did not.
    package mutating func answered() -> [Step] { self.steps(self.life.answered()) }

    /// It is gone.
    package mutating func detached() -> [Step] {
        let wasRunning = self.isRunning
        self.hasDevice = false
        return self.steps(self.life.vanished()) + [.letGo] + (wasRunning ? [.tellGap] : []) + [.tellChange]
    }

    // MARK: It is wanted

    /// Somebody wants it to run at a pace.
    package mutating func wanted(at pace: SensorPace) -> [Step] {
        self.pace = pace
        let action = self.life.wanted()
        return self.steps(self.isRunning ? .start : action)
    }

    /// The pace in force for what was wanted. A device that is not there yet will run as it is asked to, as far as anybody knows.
    package func inForce(_ pace: SensorPace) -> SensorPace { self.real ?? SensorPace(rate: pace.rate) }

    package mutating func unwanted() -> [Step] {
        self.pace = nil
        self.check.breakOff()
        return self.steps(self.life.unwanted())
    }

    // MARK: What came of a step

    /// It was looked at, and is understood.
    ///
    /// - Parameter range: The largest magnitude of a channel, if known.
    package mutating func probed(range: Double?, at now: Timestamp) -> [Step] {
        self.check = ReadingCheck(self.kind, range: range)
        return self.looked(nil, at: now)
    }

    package mutating func probeFailed(_ problem: String, at now: Timestamp) -> [Step] { self.looked(problem, at: now) }

    private mutating func looked(_ problem: String?, at now: Timestamp) -> [Step] {
        _ = self.life.probed(problem, at: now)
        // Another choice of rates may let it run at once, at the right one.
        return [.tellChange, .goOn]
    }

    package mutating func goOn() -> [Step] { self.isRunning && self.real == nil ? [.start] : [] }

    /// It runs, at this pace.
    package mutating func started(at real: SensorPace) -> [Step] {
        self.real = real
        return [.tellPace(real), .tellChange]
    }

    /// It runs at another pace from now on.
    package mutating func paceChanged(_ real: SensorPace) -> [Step] {
        self.real = real
        return [.tellPace(real)]
    }

    /// A reading did not work, or it could not be started: then only the wait for a retry leads on.
    ///
    /// - Parameter isFinal: It is gone or refuses, so that trying again at once is no use.
    package mutating func failed(_ problem: String, isFinal: Bool, at now: Timestamp) -> [Step] {
        let action = self.life.failed(problem, isFinal: isFinal, at: now)
        return action == .none ? [] : self.steps(action) + [.tellGap, .tellChange]
    }

    /// `nextRetry` has come.
    package mutating func retry(at now: Timestamp) -> [Step] { self.steps(self.life.retry(at: now)) }

    // MARK: Readings

    /// A reading worked. Returns whether that changes how the sensor does.
    package mutating func succeeded() -> Bool { self.life.succeeded() }

    /// Takes note of what was read. Returns whether that changes how the sensor does.
    package mutating func note(_ time: Timestamp, _ row: Span<Double>) -> Bool { self.check.note(time, row) }
}
