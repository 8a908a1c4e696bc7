package import Motion

/// The bridge's own events that came from the bus before they were read in the journal.
///
/// Each is remembered until its row is read, which tells that the row is done, or on its way.
package struct OwnEvents: Sendable {
    package enum Found: Equatable, Sendable {
        /// It did not come from the bus, or is not remembered.
        case unknown
        case done
        /// It waits, or was sent by this ticket.
        case underWay(UInt64?)
    }

    /// What becomes of one that the bus brings.
    package enum Begun: Equatable, Sendable {
        case new
        /// It came before.
        case known
        /// Its row was read before the bus brought it.
        case read(row: Int64)
    }

    private struct Entry: Sendable {
        var ticket: UInt64?
        var row: Int64?
        var isDone = false
        /// The connection that it was done by.
        var connection: UInt64
    }

    private var connection: UInt64 = 0
    private var entries: [EventName: Entry] = [:]
    /// In the order in which they came, those that are gone among them.
    private var order: [EventName] = []
    /// Those that were on their way when a connection ended.
    private var uncertain: Set<EventName> = []

    /// Those that were read in the journal before the bus brought them, as it may on a busy machine, and their rows: the newest, in their order.
    private var readFirst: [EventName: Int64] = [:]
    private var readOrder: [EventName] = []

    /// Without a journal none is ever found.
    private static let most = 8_192
    /// The bus is behind the journal by a moment, if at all.
    private static let mostReadFirst = 1_024

    package init() {}

    /// One came.
    package mutating func begin(_ name: EventName) -> Begun {
        guard self.entries[name] == nil else { return .known }
        if let row = self.readFirst.removeValue(forKey: name) { return .read(row: row) }
        self.add(name)
        return .new
    }

    /// One that came is not sent as such.
    package mutating func drop(_ name: EventName) { self.entries[name] = nil }

    /// One that was sent and refused comes from its row, and may be a copy.
    package mutating func refused(_ name: EventName) {
        guard self.entries.removeValue(forKey: name) != nil else { return }
        self.uncertain.insert(name)
    }

    /// One whose row was read first goes the way of those that the bus brings.
    package mutating func begin(_ name: EventName, in row: Int64) {
        self.add(name)
        self.entries[name]?.row = row
    }

    private mutating func add(_ name: EventName) {
        self.entries[name] = Entry(connection: self.connection)
        self.order.append(name)
        if self.order.count > Self.most {
            for name in self.order.prefix(Self.most / 2) {
                self.entries[name] = nil
                self.uncertain.remove(name)
            }
            self.order.removeFirst(Self.most / 2)
        }
    }

    package func contains(_ name: EventName) -> Bool { self.entries[name] != nil }

    package mutating func sent(_ name: EventName, _ ticket: UInt64) { self.entries[name]?.ticket = ticket }

    package func row(of name: EventName) -> Int64? { self.entries[name]?.row }

    /// Its row was read.
    package mutating func found(_ name: EventName, in row: Int64) -> Found {
        guard let entry = self.entries[name] else {
            self.noteReadFirst(name, row)
            return .unknown
        }
        if entry.isDone {
            self.entries[name] = nil
            return .done
        }
        self.entries[name]?.row = row
        return .underWay(entry.ticket)
    }

    private mutating func noteReadFirst(_ name: EventName, _ row: Int64) {
        guard self.readFirst.updateValue(row, forKey: name) == nil else { return }
        self.readOrder.append(name)
        guard self.readOrder.count > Self.mostReadFirst else { return }
        for old in self.readOrder.prefix(Self.mostReadFirst / 2) { self.readFirst[old] = nil }
        self.readOrder.removeFirst(Self.mostReadFirst / 2)
    }

    /// It is done; where its row was read nothing is to be remembered.
    package mutating func finished(_ name: EventName, hasRow: Bool) {
        self.uncertain.remove(name)
        if hasRow { self.entries[name] = nil } else { self.entries[name]?.isDone = true }
    }

    /// The connection is gone: those that are not done come from the journal.
    package mutating func disconnect() {
        self.connection += 1
        for (name, entry) in self.entries where !entry.isDone {
            if entry.ticket != nil { self.uncertain.insert(name) }
            self.entries[name] = nil
        }
        self.order.removeAll { self.entries[$0] == nil }
    }

    /// Those that were done by an earlier connection, and whose rows were not read, may be forgotten: they come from the journal.
    package mutating func forgetDone() {
        for (name, entry) in self.entries where entry.isDone && entry.connection != self.connection {
            self.uncertain.insert(name)
            self.entries[name] = nil
        }
        self.order.removeAll { self.entries[$0] == nil }
    }

    /// Of none that came it is still to be found out in which row it stands, or whether the server has it.
    package var isEmpty: Bool { self.entries.isEmpty && self.uncertain.isEmpty }

    package func isUncertain(_ name: EventName) -> Bool { self.uncertain.contains(name) }

    /// The journal is another one: what was read of the one before stands in no row.
    package mutating func forgetRows() {
        self.entries = self.entries.mapValues { entry in
            var entry = entry
            entry.row = nil
            return entry
        }
        // That it was read is still so.
        self.readFirst = self.readFirst.mapValues { _ in 0 }
    }
}

/// Events that the server has and of which the consumer has not said that it stored them, in the order in which they were sent.
///
/// The consumer names one and means all that it got before. What it says of one that may have been sent before can be of the first
/// copy, behind which others may have been lost since; so that is of this one alone. And what the server kept for some time only it has not
/// got if it was away for longer.
package struct UnstoredEvents: Sendable {
    package struct Event: Equatable, Sendable {
        package var name: EventName
        package var row: Int64?
        /// It may have been sent before.
        package var isCopy = false
        /// The server gives it to whoever comes until then; `nil`: at any time.
        package var until: Timestamp?
        /// The server had somebody to give it to, as far as it says.
        package var isHeard = true
    }

    private var events: [Event] = []
    /// What stands before it is gone.
    private var start = 0

    /// With so many nothing of before is sent: a consumer that says nothing has had enough.
    package static let most = 65_536

    package init() {}

    package var isFull: Bool { self.events.count - self.start >= Self.most }
    package var isEmpty: Bool { self.events.count == self.start }
    /// The rows that they stand in, as far as those were read.
    package var rows: [Int64] { self.events[self.start...].compactMap(\.row) }

    package mutating func add(_ event: Event) {
        // What is live goes on: of those the oldest is forgotten, and sent again when the connection is another one.
        if self.isFull { self.start += 1 }
        self.events.append(event)
        self.tidy()
    }

    private mutating func tidy() {
        guard self.start > 1_024, self.start > self.events.count / 2 else { return }
        self.events.removeFirst(self.start)
        self.start = 0
    }

    /// The row of one was read.
    package mutating func found(_ name: EventName, in row: Int64) {
        guard let index = self.events[self.start...].lastIndex(where: { $0.name == name }) else { return }
        self.events[index].row = row
    }

    /// One was stored, and with it all before, unless it is a copy.
    ///
    /// - Returns: What is done now, and what of that before may never have come to the consumer: it is forgotten here.
    package mutating func stored(_ name: EventName, at now: Timestamp) -> (done: [Event], doubtful: [Event]) {
        // Who is far behind says mostly what is of the oldest.
        guard let index = self.events[self.start...].firstIndex(where: { $0.name == name }) else { return ([], []) }
        defer { self.tidy() }
        if self.events[index].isCopy, index > self.start { return ([self.events.remove(at: index)], []) }
        // Who has what the server had nobody to give to gets all by another road, as by a rule in the server: there it says nothing.
        let isOfServer = self.events[index].isHeard
        var (done, doubtful): ([Event], [Event]) = ([], [])
        for event in self.events[self.start..<index] {
            let isOver = event.until.map { $0 <= now } ?? false
            if isOver || (isOfServer && !event.isHeard) { doubtful.append(event) } else { done.append(event) }
        }
        done.append(self.events[index])
        self.start = index + 1
        return (done, doubtful)
    }

    /// The journal is another one.
    package mutating func forgetRows() {
        for index in self.events.indices { self.events[index].row = nil }
    }

    package mutating func removeAll() -> [Event] {
        defer { (self.events, self.start) = ([], 0) }
        return Array(self.events[self.start...])
    }
}

/// What a bridge counts since it began.
package struct BridgeCounters: Equatable, Sendable {
    package var sent: UInt64 = 0
    package var past: UInt64 = 0
    package var again: UInt64 = 0
    package var gaps: UInt64 = 0
    package var connections: UInt64 = 0

    package init() {}
}
