package import Motion

/// Which tables of the journal are told of.
package enum JournalTable: String, CaseIterable, Sendable {
    case event
    case verdict
}

/// A row of the journal, as far as it is told of.
package struct JournalRow: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case event(EventMessage)
        case verdict(VerdictMessage)
        /// The journal has nothing any more from this row on.
        case gap(JournalTable, from: Int64)
    }

    package var row: Int64
    package var content: Content

    package var isGap: Bool { if case .gap = self.content { true } else { false } }

    /// All rows that it tells of.
    package var rows: ClosedRange<Int64> {
        if case .gap(_, let first) = self.content { first...self.row } else { self.row...self.row }
    }

    package init(row: Int64, _ content: Content) {
        self.row = row
        self.content = content
    }
}

/// A stretch of a table that is to be read.
package struct JournalRequest: Equatable, Sendable {
    package var table: JournalTable
    package var isPast: Bool
    /// The first row, and the last; there may be fewer.
    package var first: Int64
    package var last: Int64
    package var limit: Int
}

/// What came of a request.
package struct JournalStretch: Equatable, Sendable {
    /// Those that are to be told of.
    package var rows: [JournalRow]
    /// Up to where it was read; 0: there was nothing.
    package var through: Int64
    /// Stretches in which the journal has nothing any more.
    package var gaps: [ClosedRange<Int64>]

    package init(rows: [JournalRow], through: Int64, gaps: [ClosedRange<Int64>]) {
        self.rows = rows
        self.through = through
        self.gaps = gaps
    }
}

/// One table of the journal on its way: what of it is read, as live or as past, and what is done.
package struct JournalTrack: Sendable {
    package let table: JournalTable
    package private(set) var ledger: RowLedger
    private var doubt: SentDoubt
    /// The newest row that is known.
    private(set) var newest: Int64
    /// What was read and waits.
    private var past: [JournalRow] = []
    private var live: [JournalRow] = []
    /// What is read next; `nil` past the boundary, or before there is one.
    private var nextPast: Int64 = 1
    private var nextLive: Int64 = 1
    /// Rows up to this one are past; `nil`: none could be read yet, and those that are there when one can be are.
    private var boundary: Int64? = 0
    /// Rows of before up to this one may have been read, since some were put back.
    private var knownThrough: Int64 = 0
    /// Rows that are on their way already, by another road.
    private var held: Set<Int64> = []
    /// Up to where rows were read to be sent, in this life.
    private var readThrough: Int64 = 0
    /// A request is out.
    private var isAsked = false
    /// It could not be read: nothing of it is asked for until then, or until there is more.
    package private(set) var asideUntil: Timestamp?
    /// The server has refused something of it for now. It may take what the other table has, and what is there where it lets nobody say
    /// what is gone.
    private var refusals = (rows: RefusalPause(), gaps: RefusalPause())
    /// What is past waits until it is known what the server remembers.
    package var isPastHeld = true

    package static let batch = 256

    package init(_ table: JournalTable, from state: BridgeState.Table) {
        self.table = table
        self.ledger = state.ledger
        self.doubt = SentDoubt(through: state.sentThrough)
        self.newest = state.ledger.cursor
    }

    // MARK: The connection

    /// From here on what is new is live, and what is there is past.
    ///
    /// - Parameter newest: `nil`: it cannot be read now.
    package mutating func connect(newest: Int64?) {
        self.newest = max(self.newest, newest ?? 0, self.ledger.cursor)
        self.boundary = nil
        self.nextPast = self.ledger.cursor + 1
        (self.past, self.live) = ([], [])
        (self.held, self.isAsked, self.asideUntil, self.knownThrough) = ([], false, nil, 0)
        self.isPastHeld = true
        (self.refusals.rows.until, self.refusals.gaps.until) = (.zero, .zero)
        if newest != nil { self.beginBehindNewest() }
    }

    private mutating func beginBehindNewest() {
        // What is not there yet cannot have been sent, but for what the last life had from the bus just before its end.
        if self.readThrough == 0 { self.doubt.through = min(self.doubt.through, self.newest + Self.unwritten) }
        self.boundary = self.newest
        self.nextLive = self.newest + 1
    }

    /// So many rows the broker may have had to write when a bridge ended that had sent them.
    private static let unwritten: Int64 = 256

    /// What was on its way may have come or not.
    package mutating func disconnect(_ rows: [Int64]) {
        for row in rows where !self.ledger.isDone(row) { self.doubt.add(row) }
        (self.past, self.live) = ([], [])
    }

    /// The server remembers no more than what was done then.
    package mutating func rewind(to earlier: RowLedger) {
        var ledger = self.ledger
        ledger.restore(earlier)
        guard ledger != self.ledger else { return }
        self.doubt.through = max(self.doubt.through, self.ledger.cursor, self.readThrough, self.boundary ?? 0)
        self.ledger = ledger
        // What was read as live by now, and is to be sent again, is past.
        self.boundary = self.boundary.map { max($0, self.nextLive - 1) }
        self.nextPast = self.ledger.cursor + 1
        self.past = []
    }

    /// The journal is another one, or it is not known how far it was followed.
    ///
    /// - Parameter newest: Where that is not known: all up to this row may have been sent, and a few that came from the bus.
    package mutating func begin(at row: Int64, unknownThrough newest: Int64? = nil) {
        self.ledger.begin(at: row)
        self.newest = max(row, newest ?? row)
        self.doubt = SentDoubt(through: newest == nil ? row : self.newest + Self.unwritten)
        self.readThrough = 0
        self.connect(newest: self.newest)
    }

    /// All up to a row may have been sent, and a few that were not written yet.
    package mutating func mayHaveSent(through row: Int64) {
        self.doubt.through = max(self.doubt.through, row + Self.unwritten)
    }

    /// Something was written. What could not be read may be readable with it.
    package mutating func grow(to newest: Int64) {
        guard newest > self.newest || self.boundary == nil else { return }
        self.newest = max(self.newest, newest)
        self.asideUntil = nil
        if self.boundary == nil { self.beginBehindNewest() }
    }

    // MARK: Reading

    /// What is to be read next: what is live goes first.
    package mutating func request() -> JournalRequest? {
        guard !self.isAsked, self.asideUntil == nil, let boundary else { return nil }
        if self.live.count < Self.batch / 2, self.nextLive <= self.newest {
            self.isAsked = true
            return JournalRequest(
                table: self.table, isPast: false, first: self.nextLive, last: self.newest, limit: Self.batch)
        }
        guard !self.isPastHeld, self.past.count < Self.batch / 2 else { return nil }
        self.nextPast = self.ledger.firstOpen(from: self.nextPast)
        guard self.nextPast <= boundary else { return nil }
        self.isAsked = true
        return JournalRequest(
            table: self.table, isPast: true, first: self.nextPast,
            last: min(boundary, self.ledger.lastOpen(from: self.nextPast)), limit: Self.batch)
    }

    /// Takes what was read. Rows that are not to be told of are done with.
    ///
    /// - Parameter underWay: Rows that are neither sent again nor done with, where some are read again.
    package mutating func take(_ stretch: JournalStretch, for request: JournalRequest, besides underWay: Set<Int64>) {
        self.isAsked = false
        let waiting = self.isReadAgain(request) ? Set(self.live.map(\.row)) : []
        let next = request.isPast ? self.nextPast : self.nextLive
        // It was asked for something else meanwhile.
        guard request.first == next else { return }
        // Nothing came: there is nothing there, whatever was thought.
        let through = max(stretch.through, stretch.rows.last?.row ?? 0)
        let end = through < request.first ? request.last : min(through, request.last)
        var from = request.first
        let cursor = self.ledger.cursor
        for row in stretch.rows where (from...end).contains(row.row) {
            if row.rows.lowerBound > from { self.ledger.finish(from...(row.rows.lowerBound - 1)) }
            from = row.row + 1
            guard self.held.remove(row.row) == nil else { continue }
            guard !underWay.contains(row.row), !waiting.contains(row.row) else { continue }
            guard !self.ledger.isDone(row.row) else { continue }
            if request.isPast { self.past.append(row) } else { self.live.append(row) }
        }
        if from <= end { self.ledger.finish(from...end) }
        if self.ledger.cursor > cursor { self.doubt.forget(through: self.ledger.cursor) }
        self.readThrough = max(self.readThrough, end)
        if request.isPast { self.nextPast = end + 1 } else { self.nextLive = end + 1 }
    }

    /// A row that is about to be taken is on its way already: it is neither sent nor done with.
    package mutating func hold(_ row: Int64) { self.held.insert(row) }

    /// It could not be read: it is asked for again then.
    package mutating func failed(until retry: Timestamp) { (self.isAsked, self.asideUntil) = (false, retry) }

    /// Has it asked for again when the time has come; false when nothing waits for that.
    package mutating func retry(at now: Timestamp) -> Bool {
        guard let asideUntil, asideUntil <= now else { return false }
        self.asideUntil = nil
        return true
    }

    // MARK: Sending

    package var hasLive: Bool { !self.live.isEmpty }
    package var firstLive: JournalRow? { self.live.first }
    package var hasPast: Bool { !self.past.isEmpty }
    /// All of before was read and is on its way or done.
    package var isCaughtUp: Bool {
        guard let boundary else { return false }
        return !self.isPastHeld && self.past.isEmpty && self.ledger.firstOpen(from: self.nextPast) > boundary
    }

    package mutating func takeLive() -> JournalRow? { self.live.isEmpty ? nil : self.live.removeFirst() }
    /// A live row that waits is sent by another road; false when it does not wait.
    package mutating func withdrawLive(_ row: Int64) -> Bool {
        guard let index = self.live.firstIndex(where: { $0.row == row }) else { return false }
        self.live.remove(at: index)
        return true
    }

    package mutating func takePast(at now: Timestamp) -> JournalRow? {
        let refusals = self.refusals
        let index = self.past.firstIndex { now >= ($0.isGap ? refusals.gaps : refusals.rows).until }
        return index.map { self.past.remove(at: $0) }
    }

    /// Whether a row may have been sent before.
    package func mayHaveBeenSent(_ row: Int64) -> Bool { self.doubt.contains(row) }

    /// Until when something of before is not sent; `nil`: nothing waits for that.
    package func pausedUntil(at now: Timestamp) -> Timestamp? {
        [self.refusals.rows.until, self.refusals.gaps.until].filter { $0 > now }.min()
    }

    /// The server has refused something for now: what is of before waits.
    package mutating func pause(at now: Timestamp, chance: UInt64, isGap: Bool) {
        if isGap {
            self.refusals.gaps.add(at: now, chance: chance)
        } else {
            self.refusals.rows.add(at: now, chance: chance)
        }
    }

    /// What was read comes again as of before.
    ///
    /// - Parameter mayHaveCome: It was sent, and whether somebody has it is not known.
    package mutating func putBack(_ rows: ClosedRange<Int64>, mayHaveCome: Bool) {
        let (first, last) = (rows.lowerBound, rows.upperBound)
        guard !self.ledger.isDone(last) else { return }
        if mayHaveCome { self.doubt.add(last) }
        self.boundary = self.boundary.map { max($0, last) }
        self.knownThrough = max(self.knownThrough, self.nextPast - 1, last)
        guard first < self.nextPast else { return }
        self.nextPast = min(first, self.past.first?.rows.lowerBound ?? first)
        self.past = []
    }

    /// Whether rows of a request may be under way already, because some were put back among them.
    package func isReadAgain(_ request: JournalRequest) -> Bool {
        request.isPast && request.first <= self.knownThrough
    }

    package mutating func finish(_ rows: ClosedRange<Int64>) {
        self.ledger.finish(rows)
        // Of several it is only told that they are gone: each is in doubt no more.
        self.doubt.remove(rows)
    }

    /// How many rows wait, as far as that is known.
    package var waiting: Int64 { max(0, self.newest - self.ledger.cursor) }

    // MARK: On the disk

    /// Something was sent, and whether it came is not known; or more is done than is kept.
    package var hasDoubt: Bool { self.doubt.hasRows || self.ledger.ahead.count > RowLedger.mostKept }

    /// So far ahead it is written down what may be sent.
    package static let reserve: Int64 = 4_096

    package func state(_ sentThrough: Int64) -> BridgeState.Table {
        BridgeState.Table(ledger: self.ledger, sentThrough: max(sentThrough, self.doubt.through))
    }

    /// Up to where it has to be written down that rows may have been sent, before any more is; `nil`: that is so.
    package func reservation(beyond sentThrough: Int64) -> Int64? {
        let needed = self.newest + Self.reserve / 4
        return needed > sentThrough ? self.newest + Self.reserve : nil
    }
}
