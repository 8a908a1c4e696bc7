package import Motion

/// The number of an assertion of one app. Whoever begins it chooses one that is free.
package struct AssertionID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// The number of an activity of one app. Whoever begins it chooses one that is free.
package struct ActivityID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A time-limited right to keep going in the background, as the app asks for it.
package struct AssertionRequest: Equatable, Sendable {
    package var id: AssertionID
    /// The app's own name for it.
    package var name: String
    /// How long before its end the app wants to be told.
    package var warning: TimeSpan

    package static let standardWarning = TimeSpan.seconds(5)

    package init(_ id: AssertionID, _ name: String, warning: TimeSpan = standardWarning) {
        self.id = id
        self.name = name
        self.warning = warning
    }
}

/// An assertion that is held.
package struct Assertion: Equatable, Sendable {
    package let request: AssertionRequest
    package let begun: AwakeTime
    /// The end that the app was told of.
    var announced: AwakeTime?

    package var id: AssertionID { self.request.id }
    package var name: String { self.request.name }

    init(_ request: AssertionRequest, begun: AwakeTime) {
        self.request = request
        self.begun = begun
    }

    /// When its budget is used up; `nil` while the app is not away and nothing of it is used.
    func ends(awaySince: AwakeTime?, _ settings: AppSettings) -> AwakeTime? {
        guard let awaySince else { return nil }
        return (settings.allowsRenewal ? max(self.begun, awaySince) : awaySince) + settings.assertionBudget
    }
}

/// A running use of a mode.
package struct Activity: Equatable, Sendable {
    package let id: ActivityID
    package let mode: BackgroundMode
}

/// What was begun in the last hour, to keep to a limit.
package struct HourlyCount: Sendable {
    private var times: [Timestamp] = []
    private static let hour = TimeSpan.seconds(3_600)

    package init() {}

    /// When another one may begin; `nil`: now.
    package func next(within limit: Int?, at now: Timestamp) -> Timestamp? {
        guard let limit else { return nil }
        guard limit > 0 else { return Timestamp(microseconds: .max) }
        let recent = self.times.count - self.firstRecent(at: now)
        return recent < limit ? nil : self.times[self.times.count - limit] + Self.hour
    }

    package mutating func add(at now: Timestamp, within limit: Int?) {
        self.times.removeFirst(self.firstRecent(at: now))
        if limit != nil { self.times.append(now) }
    }

    /// Whether it says no more than an empty one.
    package func isSpent(at now: Timestamp) -> Bool { self.firstRecent(at: now) == self.times.count }

    private func firstRecent(at now: Timestamp) -> Int {
        self.times.firstIndex { now - $0 < Self.hour } ?? self.times.count
    }
}
