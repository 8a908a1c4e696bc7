package import Motion

/// A point on a clock that stands still while the system sleeps, as CLOCK_MONOTONIC does.
package struct AwakeTime: Hashable, Comparable, Sendable {
    package var microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package static func < (a: Self, b: Self) -> Bool { a.microseconds < b.microseconds }
    package static func + (a: Self, b: TimeSpan) -> Self {
        Self(microseconds: (Timestamp(microseconds: a.microseconds) + b).microseconds)
    }
    package static func - (a: Self, b: TimeSpan) -> Self {
        Self(microseconds: (Timestamp(microseconds: a.microseconds) - b).microseconds)
    }
    package static func - (a: Self, b: Self) -> TimeSpan {
        Timestamp(microseconds: a.microseconds) - Timestamp(microseconds: b.microseconds)
    }
}

/// Both times of one moment: when an input arrived, and how long the system had been awake by then.
package struct Moment: Equatable, Sendable {
    package var arrival: Timestamp
    package var awake: AwakeTime

    package init(arrival: Timestamp, awake: AwakeTime) {
        self.arrival = arrival
        self.awake = awake
    }
}

/// Leaves the sleep of the system out of arrival time.
package struct AwakeClock: Sendable {
    private enum State {
        case awake
        case asleep(since: Timestamp)
    }

    private var state = State.awake
    /// All sleep that is over.
    package private(set) var slept = TimeSpan.zero

    package init() {}

    package var isAsleep: Bool {
        switch self.state {
        case .awake: false
        case .asleep: true
        }
    }

    /// Takes in that the system goes to sleep or is back. The same again changes nothing.
    ///
    /// - Returns: Whether anything changed.
    package mutating func sleep(_ begins: Bool, at arrival: Timestamp) -> Bool {
        switch (self.state, begins) {
        case (.awake, true):
            self.state = .asleep(since: arrival)
            return true
        case (.asleep(let since), false):
            self.slept = self.slept + max(.zero, arrival - since)
            self.state = .awake
            return true
        case (.awake, false), (.asleep, true): return false
        }
    }

    package func moment(at arrival: Timestamp) -> Moment {
        switch self.state {
        case .awake: Moment(arrival: arrival, awake: self.awake(arrival))
        case .asleep(let since): Moment(arrival: arrival, awake: self.awake(min(arrival, since)))
        }
    }

    private func awake(_ arrival: Timestamp) -> AwakeTime {
        AwakeTime(microseconds: (arrival - (Timestamp.zero + self.slept)).microseconds)
    }

    /// When a point on this clock comes, if the system stays awake; `nil` while it sleeps, unless it has come.
    package func arrival(of time: AwakeTime) -> Timestamp? {
        let arrival = Timestamp(microseconds: time.microseconds) + self.slept
        switch self.state {
        case .awake: return arrival
        case .asleep(let since): return arrival <= since ? arrival : nil
        }
    }
}
