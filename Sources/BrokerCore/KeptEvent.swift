package import Arbitration
import Motion

/// How an event of a queue came to its end.
package enum EventEnd: Equatable, Sendable, CaseIterable {
    /// It went out, and nobody has to acknowledge it: to an app that was to be launched for it, and came up by itself.
    case sent
    /// The app has it.
    case acknowledged
    /// Newer ones needed the room.
    case dropped
    /// It grew too old.
    case expired
    /// What it was for is gone: its detector, its app, or its turn.
    case removed
    /// The app could not be launched for it.
    case launchFailed
    /// Its app left, and its user had no room for more of what apps leave.
    case unkept

    package var reason: Reason {
        switch self {
        case .sent: .sent
        case .acknowledged: .acknowledged
        case .dropped: .queueFull
        case .expired: .expired
        case .removed: .removed
        case .launchFailed: .launchFailed
        case .unkept: .unkept
        }
    }
}

/// An event that waits to be sent, or to be acknowledged.
struct KeptEvent: Sendable {
    var event: Event
    /// How often it was sent.
    var attempts = 0
    /// It was handed over in a call that has no answer yet: it is neither sent meanwhile nor too old.
    var isCalled = false
    /// When it is sent again, should nobody acknowledge it.
    var due = Timestamp(microseconds: .max)

    init(_ event: Event) {
        self.event = event
    }

    /// Whether its app is to be launched for it.
    var isLaunching: Bool { self.event.terms.kind == .wake }
    var isDurable: Bool { self.event.terms.durability == .persistent }

    /// How long after the latest sending it is sent again: each time twice as long.
    var patience: TimeSpan {
        let doublings = min(max(0, self.attempts - 1), 6)
        return min(EventQueue.longestPatience, .milliseconds(1_000 << Int64(doublings)))
    }
}

/// Numbers of events that ended unsent and of which the app has not been told: runs without a break, in order.
struct LostNumbers: Sendable {
    private var runs: [Gap] = []

    var isEmpty: Bool { self.runs.isEmpty }

    /// Adds numbers that are not in here.
    mutating func insert(_ gap: Gap) {
        var index = self.runs.count
        while index > 0, self.runs[index - 1].first > gap.first { index -= 1 }
        let joinsNext = index < self.runs.count && gap.last &+ 1 == self.runs[index].first
        if index > 0, self.runs[index - 1].last &+ 1 == gap.first {
            self.runs[index - 1].last = gap.last
            self.runs[index - 1].losses += gap.losses
            guard joinsNext else { return }
            let next = self.runs.remove(at: index)
            self.runs[index - 1].last = next.last
            self.runs[index - 1].losses += next.losses
        } else if joinsNext {
            self.runs[index].first = gap.first
            self.runs[index].losses += gap.losses
        } else {
            self.runs.insert(gap, at: index)
        }
    }

    /// How many lie before a number.
    func count(before sequence: UInt64) -> UInt64 {
        self.runs.lazy.filter { $0.last < sequence }.reduce(0) { $0 &+ ($1.last &- $1.first &+ 1) }
    }

    /// Takes out the first run, if it lies before a number.
    mutating func takeFirst(before sequence: UInt64) -> Gap? {
        guard let first = self.runs.first, first.last < sequence else { return nil }
        return self.runs.removeFirst()
    }
}

/// The last events of a queue that came to their ends after they were sent, by number.
struct EndedLately: Sendable {
    private var events: [(sequence: UInt64, epoch: UInt64)] = []
    private var oldest = 0

    private static let most = 32

    mutating func add(_ event: Event) {
        let ended = (event.sequence, event.epoch)
        guard self.events.count == Self.most else { return self.events.append(ended) }
        self.events[self.oldest] = ended
        self.oldest = (self.oldest + 1) % Self.most
    }

    func epoch(of sequence: UInt64) -> UInt64? { self.events.first { $0.sequence == sequence }?.epoch }
}
