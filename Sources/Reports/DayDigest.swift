/// What a journal says of a time, counted up: rows go in as they stand there, in their order; what a page shows comes out.
///
/// However many rows there are, it takes little memory: what is to be drawn is counted in equal parts of the time.
package struct DayDigest: Sendable {
    /// An app of a user.
    package struct App: Hashable, Comparable, Sendable {
        package let name: String
        package let user: Int64

        package init(_ name: String, _ user: Int64) {
            self.name = name
            self.user = user
        }

        package static func < (a: App, b: App) -> Bool { (Bytes(a.name), a.user) < (Bytes(b.name), b.user) }
    }

    /// What a verdict says, without its details.
    package struct Glance: Sendable {
        package var wall: Int64
        package var epoch: Int64
        package var app: App
        package var reason: String
        package var isDelivered: Bool
        package var rule: String
        package var place: String

        package init(
            wall: Int64, epoch: Int64, app: App, reason: String, isDelivered: Bool, rule: String, place: String
        ) {
            self.wall = wall
            self.epoch = epoch
            self.app = app
            self.reason = reason
            self.isDelivered = isDelivered
            self.rule = rule
            self.place = place
        }
    }

    /// What was decided for an app.
    package struct Tally: Sendable {
        package var verdicts = 0
        package var delivered = 0
        package var refused: Int { self.verdicts - self.delivered }
        /// Why it got no event, and how often.
        package var reasons: [String: Int] = [:]
        /// In equal parts of the time.
        package var events: [Int32] = []
        /// By the digit of the stage.
        package var refusals: [[Int32]] = []
    }

    /// A reason, and the rule that it is by.
    package struct Cause: Hashable, Sendable {
        package var reason: String
        package var rule: String
        package var place: String
        package var isDelivered: Bool
    }

    /// What was decided in a longer part of the time.
    package struct Part: Sendable {
        package var verdicts = 0
        package var delivered = 0
        package var firstEpoch: Int64 = 0
        package var lastEpoch: Int64 = 0
    }

    /// In µs of the wall clock: from the first on, and before the second.
    package let since: Int64
    package let until: Int64
    package private(set) var verdicts = 0
    package private(set) var delivered = 0
    package private(set) var sent: [String: (sent: Int, unsent: Int)] = [:]
    package private(set) var apps: [App: Tally] = [:]
    package private(set) var causes: [Cause: Int] = [:]
    package private(set) var parts: [Part]
    package private(set) var history: HistoryDigest
    /// Of more apps, or reasons, than this the others are left out: a page of them would be read by nobody.
    private static let most = 4_096
    package private(set) var leftOut = 0

    /// In how many parts the time is cut for what is drawn, and for the table.
    package static let (bins, partCount) = (192, 24)
    private static let stages = 6

    package init(since: Int64, until: Int64) {
        self.since = since
        self.until = max(until, since + 1)
        self.parts = Array(repeating: Part(), count: Self.partCount)
        self.history = HistoryDigest(since: since, until: self.until)
    }

    /// Which of so many equal parts of the time a moment is in.
    private func part(_ wall: Int64, of count: Int) -> Int {
        Self.part(wall, of: count, from: self.since, to: self.until)
    }

    static func part(_ wall: Int64, of count: Int, from since: Int64, to until: Int64) -> Int {
        let share = Double(wall - since) / Double(until - since)
        return min(count - 1, max(0, Int(share * Double(count))))
    }

    package mutating func add(_ glance: Glance) {
        self.verdicts += 1
        if glance.isDelivered { self.delivered += 1 }
        let part = self.part(glance.wall, of: Self.partCount)
        if self.parts[part].verdicts == 0 { self.parts[part].firstEpoch = glance.epoch }
        self.parts[part].firstEpoch = min(self.parts[part].firstEpoch, glance.epoch)
        self.parts[part].verdicts += 1
        self.parts[part].delivered += glance.isDelivered ? 1 : 0
        self.parts[part].lastEpoch = max(self.parts[part].lastEpoch, glance.epoch)
        let cause = Cause(
            reason: glance.reason, rule: glance.rule, place: glance.place, isDelivered: glance.isDelivered)
        if let index = self.causes.index(forKey: cause) {
            self.causes.values[index] += 1
        } else if self.causes.count < Self.most {
            self.causes[cause] = 1
        } else {
            self.leftOut += 1
        }
        if self.apps.count >= Self.most, self.apps[glance.app] == nil { return self.leftOut += 1 }
        let bin = self.part(glance.wall, of: Self.bins)
        self.apps[glance.app, default: Tally()].add(glance, bin)
    }

    package mutating func addEvent(of app: String, isSent: Bool) {
        if self.sent.count >= Self.most, self.sent[app] == nil { return self.leftOut += 1 }
        if isSent { self.sent[app, default: (0, 0)].sent += 1 } else { self.sent[app, default: (0, 0)].unsent += 1 }
    }

    package mutating func add(_ change: HistoryDigest.Change) { self.history.add(change) }

    /// There is no more.
    ///
    /// - Parameter isInUse: A broker may still be at work on the journal, and nothing has changed since the last that it noted.
    package mutating func finish(isInUse: Bool) { self.history.finish(isInUse: isInUse) }
}

extension DayDigest.Tally {
    fileprivate mutating func add(_ glance: DayDigest.Glance, _ bin: Int) {
        self.verdicts += 1
        if glance.isDelivered {
            self.delivered += 1
            if self.events.isEmpty { self.events = Array(repeating: 0, count: DayDigest.bins) }
            self.events[bin] &+= 1
            return
        }
        self.reasons[glance.reason, default: 0] += 1
        let stage = DayDigest.stage(of: glance.reason)
        if self.refusals.isEmpty { self.refusals = Array(repeating: [], count: 6) }
        if self.refusals[stage].isEmpty { self.refusals[stage] = Array(repeating: 0, count: DayDigest.bins) }
        self.refusals[stage][bin] &+= 1
    }
}

extension DayDigest {
    /// The digit of a reason's stage; the last one for what is none of ours.
    static func stage(of reason: String) -> Int {
        let digit = reason.utf8.dropFirst().first.map { Int($0) - Int(UInt8(ascii: "0")) } ?? 5
        return (0..<Self.stages).contains(digit) ? digit : Self.stages - 1
    }
}

/// Text in the order of its bytes, as SQLite has it.
package struct Bytes: Comparable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package static func < (a: Bytes, b: Bytes) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
    package static func == (a: Bytes, b: Bytes) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
}
