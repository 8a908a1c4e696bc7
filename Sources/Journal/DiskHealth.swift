/// What people are told of a disk that fails now and then: when it begins, and when it is over for good.
///
/// It is over when it went well for a while. The while is twice as long each time that trouble comes back soon, so that
/// a disk that is just too slow does not say so again and again. Times are those of `Clock.monotonic`.
package struct DiskHealth: Sendable {
    /// How long it must go well the first time, and how long at most.
    private let calm: (first: Int64, longest: Int64)
    /// How long nobody has any trouble until the while is short again.
    private static let forgetful: Int64 = 10

    private enum State {
        case well(since: Int64)
        case failing
        /// It goes well, and is to do so until then.
        case calming(until: Int64)
    }

    private var state: State
    private var wait: Int64

    package init(calm first: Int64, longest: Int64, at now: Int64) {
        self.calm = (first, max(first, longest))
        self.wait = first
        self.state = .well(since: now &- Self.forgetful &* self.calm.longest)
    }

    package var isWell: Bool { if case .well = self.state { true } else { false } }

    /// When to ask again whether it goes well; `nil` when nobody waits for that.
    package var deadline: Int64? { if case .calming(let until) = self.state { until } else { nil } }

    /// Something failed. True when people are to be told.
    package mutating func fail(at now: Int64) -> Bool {
        switch self.state {
        case .well(let since):
            let isBack = now - since < Self.forgetful * self.calm.longest
            self.wait = isBack ? min(self.wait * 2, self.calm.longest) : self.calm.first
            self.state = .failing
            return true
        case .failing, .calming:
            self.state = .failing
            return false
        }
    }

    /// Everything goes well. True when people are to be told that it is over.
    package mutating func succeed(at now: Int64) -> Bool {
        switch self.state {
        case .well: return false
        case .failing:
            self.state = .calming(until: now + self.wait)
            return false
        case .calming(let until):
            guard now >= until else { return false }
            self.state = .well(since: now)
            return true
        }
    }
}
