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
    /// How often of that under another number.
    var earlierAttempts = 0
    /// Where it stands among all that went out.
    private(set) var course = Course()
    private var sentSince = 0
    /// It was handed over in a call that has no answer yet: it is neither sent meanwhile nor too old.
    var isCalled = false
    /// Of what need not be acknowledged: it was to be put on the disk.
    var isStored = false
    /// When it is sent again, should nobody acknowledge it.
    var due = Timestamp(microseconds: .max)

    /// Where an event stands among all that an app was sent, which tells what an acknowledgement covers.
    struct Course: Sendable {
        /// Which sending it was, the first on the connection of its app; `nil`: it was not sent on that.
        var order: UInt64?
        /// It was handed over in a call, which perhaps nobody had.
        var wasCalled = false
        /// Another broker may have sent it.
        var isRestored = false

        /// Whether an app that has another event has this one, too.
        func isCovered(by other: Course) -> Bool {
            // An answer to what another broker sent says nothing of what this one has sent since.
            if other.isRestored, !self.isRestored { return false }
            if let order = other.order { return self.order.map { $0 <= order } ?? false }
            // The other was sent before this connection, and so was this one, as far as the order of numbers says.
            return self.order == nil && (!self.wasCalled || other.wasCalled)
        }
    }

    init(_ event: Event) {
        self.event = event
    }

    /// Whether that names it: a number alone may have been another event's.
    func isNamed(_ name: EventName) -> Bool { self.event.sequence == name.sequence && self.event.epoch == name.epoch }
    /// Whether its app is to be launched for it.
    var isLaunching: Bool { self.event.terms.kind == .wake }
    /// Whether its app may know its number.
    var isSeen: Bool { self.attempts > self.earlierAttempts }
    var isDurable: Bool { self.event.terms.durability == .persistent }

    // MARK: On its way

    /// It was kept by another broker, which may have sent it.
    mutating func isRestored(isRenumbered: Bool) {
        self.attempts = 1
        self.earlierAttempts = isRenumbered ? 1 : 0
        self.course.isRestored = true
        self.isStored = true
    }

    /// It goes out, as the sending of this number.
    mutating func goes(as order: UInt64) {
        self.attempts += 1
        self.sentSince += 1
        self.course.order = self.course.order ?? order
    }

    /// It was on its way out, need not be acknowledged, and is over with that.
    func isGone(_ end: EventEnd, _ actions: inout [QueueAction]) {
        if self.isStored { actions.append(.forget(self.event)) }
        if self.isLaunching { actions.append(.ended(self.event, end)) }
    }

    /// It came back.
    mutating func comesBack() {
        self.attempts = max(0, self.attempts - 1)
        self.sentSince -= 1
        if self.sentSince <= 0 { self.course.order = nil }
        self.event.isRedelivered = self.attempts > 0
    }

    /// Its app left: what it was sent it may not have.
    mutating func isAsUnsent() {
        self.sentSince = 0
        self.course.order = nil
    }

    /// It is handed over in a call.
    mutating func isHandedOver() {
        self.event.isRedelivered = self.attempts > 0
        self.attempts += 1
        self.isCalled = true
        self.course.wasCalled = true
        self.due = Timestamp(microseconds: .max)
    }

    /// The call in which it was handed over came to nothing.
    ///
    /// - Parameter isUnseen: Nobody was there who could have it.
    mutating func callFailed(isUnseen: Bool) {
        self.isCalled = false
        guard isUnseen else { return }
        self.attempts -= 1
        // It may have got another number meanwhile.
        self.earlierAttempts = min(self.earlierAttempts, self.attempts)
    }

    /// How long after the latest sending it is sent again: each time twice as long.
    var patience: TimeSpan {
        let doublings = min(max(0, self.attempts - 1), 6)
        return min(EventQueue.longestPatience, .milliseconds(1_000 << Int64(doublings)))
    }
}

/// Numbers of events that ended unsent and of which the app has not been told: runs without a break, in order.
struct LostNumbers: Equatable, Sendable {
    /// A slice, of which the first is taken without moving the others: there may be very many.
    private var runs: ArraySlice<Gap> = []

    var isEmpty: Bool { self.runs.isEmpty }

    /// Adds numbers that are not in here.
    mutating func insert(_ gap: Gap) {
        var index = self.runs.endIndex
        while index > self.runs.startIndex, self.runs[index - 1].first > gap.first { index -= 1 }
        let joinsNext = index < self.runs.endIndex && gap.last &+ 1 == self.runs[index].first
        if index > self.runs.startIndex, self.runs[index - 1].last &+ 1 == gap.first {
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
        self.runs.removeFirst()
        // Its memory goes with the last of them.
        if self.runs.isEmpty { self.runs = [] }
        return first
    }
}

/// The last events of a queue that came to their ends after they were sent, by number.
struct EndedLately: Sendable {
    private var events: [Ended] = []
    private var oldest = 0

    private struct Ended {
        let sequence: UInt64
        let epoch: UInt64
        let course: KeptEvent.Course
        /// How often it was sent under this number, besides in a call, and has not come back.
        var sendings: Int
    }

    private static let most = 32

    mutating func add(_ kept: KeptEvent) {
        let ended = Ended(
            sequence: kept.event.sequence, epoch: kept.event.epoch, course: kept.course,
            sendings: kept.attempts - kept.earlierAttempts - (kept.isCalled ? 1 : 0))
        guard self.events.count == Self.most else { return self.events.append(ended) }
        self.events[self.oldest] = ended
        self.oldest = (self.oldest + 1) % Self.most
    }

    /// A sending came back. Returns true if it was the only one under this number, so that the app has not seen that.
    mutating func comesBack(_ sequence: UInt64) -> Bool {
        guard let index = self.events.firstIndex(where: { $0.sequence == sequence }) else { return false }
        self.events[index].sendings -= 1
        return self.events[index].sendings == 0
    }

    /// What is known of an event with this number.
    func event(_ sequence: UInt64) -> (epoch: UInt64, course: KeptEvent.Course)? {
        self.events.first { $0.sequence == sequence }.map { ($0.epoch, $0.course) }
    }
}

/// What is known of what went out.
struct Outgoing: Sendable {
    /// Counts what was sent and is to be acknowledged.
    private var count: UInt64 = 0
    /// On its way out, after it was on the disk, its app was to be launched for it or it was handed over in a call: it has gone, or comes
    /// back.
    private var going = WaitingLine<KeptEvent>()
    /// Acknowledged or given up lately, so that an acknowledgement of them is known to be late and not wrong.
    var ended = EndedLately()
    /// The last that went out, need not be acknowledged and may be left to the next one: an answer is for those before it, too.
    private var offers: [EventName] = []
    /// The epochs of those that the last answer was for besides.
    private(set) var covered: [UInt64] = []

    private static let mostOffers = 32

    /// Which sending the next one is.
    mutating func next() -> UInt64 {
        self.count &+= 1
        return self.count
    }

    mutating func add(_ kept: KeptEvent) { self.going.insert(kept) }

    /// It has gone, or comes back. Returns what is known of it, if something waits for that.
    mutating func take(_ sequence: UInt64) -> KeptEvent? { self.going.takeFirst(at: sequence) }

    /// Nobody is there any more to whom any of it could go, or who could answer.
    mutating func takeAll() -> [KeptEvent] {
        defer { (self.going, self.offers) = (WaitingLine(), []) }
        return Array(self.going.all)
    }

    // MARK: What may be answered without being kept

    /// It goes out for the first time.
    mutating func offer(_ event: Event) {
        guard event.answerBy != nil, !event.wantsAck else { return }
        if self.offers.count == Self.mostOffers { self.offers.removeFirst() }
        self.offers.append(EventName(sequence: event.sequence, epoch: event.epoch))
    }

    /// It comes back: the app does not have it.
    mutating func takeOffer(_ sequence: UInt64) { self.offers.removeAll { $0.sequence == sequence } }

    /// The app answers an event, and with that all that it was sent before.
    ///
    /// - Parameter isKept: It is one that is to be acknowledged, and was sent to this connection.
    mutating func answered(_ name: EventName, isKept: Bool) {
        self.covered = []
        // Of another event with this number, or of one that was sent to nobody here, nothing follows.
        guard isKept || self.offers.contains(name) else { return }
        self.covered = self.offers.filter { $0.sequence < name.sequence }.map(\.epoch)
        self.offers.removeAll { $0.sequence <= name.sequence }
    }
}

/// What is known of calls that launch the app.
struct CallBook: Sendable {
    /// The number of the last event in the one that is out, which tells how many before it are lost; 0: none is.
    var last: UInt64 = 0
    /// Ended while they were handed over, and never sent otherwise: lost, should nobody have been called.
    var ended: [Gap] = []
    /// Nobody has been called with what is out, as far as is known: it is still being found out whom to call, or nobody is there.
    var isWaiting = false
    /// The app could not be launched, the last time that was tried.
    var hasFailed = false

    /// The call that was out is not any more.
    mutating func isOver() { (self.last, self.ended, self.isWaiting) = (0, [], false) }
}
