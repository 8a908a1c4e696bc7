package import Motion

/// Decides what a bridge sends, in which order, and how far it has come with it.
///
/// What is live comes from two sides: from the bus at once, and from the journal when it is written there. An event that came from
/// the bus is recognised by its name when its row is read, so that it is sent once. What is past comes from the journal alone.
package struct Courier: Sendable {
    /// What is told of, and how.
    package struct Settings: Sendable {
        package var topics: FleetTopics
        /// The bridge's own app.
        package var app: String
        package var window: Int
        package var expiry: UInt32
        /// Events are done with when the consumer says so, and not when the server has them.
        package var waitsForConsumer: Bool

        package init(topics: FleetTopics, app: String, window: Int, expiry: UInt32, waitsForConsumer: Bool) {
            self.topics = topics
            self.app = app
            self.window = window
            self.expiry = expiry
            self.waitsForConsumer = waitsForConsumer
        }
    }

    /// The number of a message on its way.
    package typealias Ticket = UInt64

    private let settings: Settings
    private var stream: String
    package private(set) var events: JournalTrack
    package private(set) var verdicts: JournalTrack
    private var window: SendWindow
    private var isConnected = false
    private var nextTicket: Ticket = 1
    private var onTheWay: [Ticket: Parcel] = [:]
    /// Whatever is neither an event nor a verdict.
    private var notices = NoticeLine()
    /// Events that came from the bus, and wait.
    private var fromBus: [EventMessage] = []
    /// Without a connection: what the bus brought last, and what it brought before and may not have come, in the order in which it did.
    private var recent: [Recent] = []
    private var own = OwnEvents()
    /// The newest of the bridge's own events whose row was read as live before the bus brought it.
    private var newestRead: EventName?
    /// Of the bridge's own events one is known that has to be sent from its row first.
    private var fence: Fence?
    private var unstored = UnstoredEvents()
    package private(set) var counters = BridgeCounters()

    /// So many events from the bus wait at most: the journal has those that do not.
    private static let mostFromBus = 1_024

    /// An event that the bus brought, and that is not remembered until it can be sent. Its row has not been read, and what the bus brings
    /// meanwhile waits for that, so that nothing overtakes it.
    private struct Fence: Sendable {
        var name: EventName
        /// The journal has its row by then, or never.
        var until: Timestamp
    }

    /// How long the broker may take to write a row down; without a journal nothing waits longer.
    private static let writing = TimeSpan.seconds(2)
    /// How long after a failure the journal is read again, when it does not grow before.
    private static let retryPause = TimeSpan.seconds(5)

    /// An event that the journal may not have yet.
    private struct Recent: Sendable {
        var event: EventMessage
        /// The journal has its row by then, or never.
        var until: Timestamp
    }

    /// What is on its way.
    private struct Parcel: Sendable {
        var table: JournalTable?
        var row: Int64?
        /// It tells that rows from this one on are gone.
        var goneFrom: Int64?
        var name: EventName?
        /// What came from the bus, and when at the latest its row is there.
        var recent: Recent?
        var isPast = false
        /// It says that it may have come before.
        var isCopy = false
        /// The server throws it away then; `nil`: never.
        var until: Timestamp?

        /// The rows that are done with it.
        var rows: ClosedRange<Int64>? { self.row.map { (self.goneFrom ?? $0)...$0 } }
    }

    package init(_ settings: Settings, from state: BridgeState) {
        self.settings = settings
        self.stream = state.stream
        self.events = JournalTrack(.event, from: state.events)
        self.verdicts = JournalTrack(.verdict, from: state.verdicts)
        self.window = SendWindow(settings.window)
    }

    // MARK: The connection

    /// A connection is there; the newest rows of both tables are known if they can be read now, and of an event it can be asked whether it
    /// is among these.
    ///
    /// What the bus brought a moment ago and the journal has not is live, and need not wait until the journal has it: that may be a second
    /// from now. What the journal has is past.
    package mutating func connected(
        at now: Timestamp, receiveMaximum: Int, newestEvent: Int64?, newestVerdict: Int64?,
        isWritten: (EventName) -> Bool
    ) {
        self.isConnected = true
        self.counters.connections += 1
        self.window.open(receiveMaximum: receiveMaximum)
        self.events.connect(newest: newestEvent)
        self.verdicts.connect(newest: newestVerdict)
        self.resume(at: now, isWritten)
    }

    private mutating func resume(at now: Timestamp, _ isWritten: (EventName) -> Bool) {
        // Events are written down in the order in which they come.
        var (low, high) = (0, self.recent.count)
        while low < high {
            let middle = (low + high) / 2
            if isWritten(self.recent[middle].event.name) { low = middle + 1 } else { high = middle }
        }
        if low > 0 { self.fence = nil }
        for one in self.recent[low...] where one.until > now { self.begin(one.event) }
        self.recent = []
    }

    /// The connection is gone, and with it what is known of what was on its way.
    package mutating func disconnected(at now: Timestamp) {
        self.isConnected = false
        // What the consumer has not stored it gets again with the next connection.
        let unstored = self.unstored.removeAll()
        if let last = unstored.last(where: { $0.row == nil }) {
            self.fence = Fence(name: last.name, until: now + Self.writing)
        }
        self.events.disconnect(
            unstored.compactMap(\.row) + self.onTheWay.values.compactMap { $0.table == .event ? $0.row : nil })
        self.verdicts.disconnect(self.onTheWay.values.compactMap { $0.table == .verdict ? $0.row : nil })
        self.own.disconnect()
        self.recent = self.onTheWay.sorted { $0.key < $1.key }.compactMap(\.value.recent)
        for event in self.fromBus { self.remember(event, at: now) }
        self.onTheWay = [:]
        self.notices = NoticeLine()
        self.fromBus = []
    }

    /// It is known how far the server's memory goes. What it acknowledged after that it may have forgotten: it is sent again.
    package mutating func remembers(events: RowLedger, verdicts: RowLedger) {
        if !self.settings.waitsForConsumer {
            self.events.rewind(to: events)
        }
        self.verdicts.rewind(to: verdicts)
        self.hasFoundOut()
    }

    /// The server remembers all that it acknowledged, or it does not matter.
    package mutating func hasFoundOut() {
        if !self.settings.waitsForConsumer { self.own.forgetDone() }
        self.events.isPastHeld = false
        self.verdicts.isPastHeld = false
    }

    /// The journal is another one, or was not followed: it goes on behind these rows.
    ///
    /// - Parameter newest: The newest rows, where it is not known what of those behind was sent.
    package mutating func begin(
        _ stream: String, events: Int64, verdicts: Int64, unknownThrough newest: (event: Int64, verdict: Int64)? = nil
    ) {
        self.stream = stream
        self.events.begin(at: events, unknownThrough: newest?.event)
        self.verdicts.begin(at: verdicts, unknownThrough: newest?.verdict)
        // What is on its way stands in rows of the journal before: here others have their numbers.
        self.onTheWay = self.onTheWay.mapValues { parcel in
            var parcel = parcel
            (parcel.row, parcel.goneFrom) = (nil, nil)
            return parcel
        }
        self.unstored.forgetRows()
        self.own.forgetRows()
    }

    /// It could not be written down what was sent: all up to these rows may have been, and what came from the bus just before the end.
    package mutating func mayHaveSent(through newest: (event: Int64, verdict: Int64)) {
        self.events.mayHaveSent(through: newest.event)
        self.verdicts.mayHaveSent(through: newest.verdict)
    }

    /// Whether there were newer rows than these once. Numbers never come again in a journal, so that this is another one.
    package func hasSeen(moreThanEvent event: Int64, verdict: Int64) -> Bool {
        event < self.events.newest || verdict < self.verdicts.newest
    }

    // MARK: In

    /// An event of the bridge's own came from the bus. Without a connection the journal has it, sooner or later.
    package mutating func arrived(_ event: EventMessage, at now: Timestamp) {
        guard self.isConnected else {
            if !self.own.contains(event.name) { self.remember(event, at: now) }
            return
        }
        guard self.fromBus.count < Self.mostFromBus else {
            if !self.own.contains(event.name) { self.fence = Fence(name: event.name, until: now + Self.writing) }
            return
        }
        self.begin(event)
    }

    /// An event of the bus goes out behind those that the bus brought before it.
    private mutating func begin(_ event: EventMessage) {
        switch self.own.begin(event.name) {
        case .new:
            // The journal has what is older than something that it has, and it stands before that there.
            if let newest = self.newestRead, event.name.isBefore(newest) { return self.own.drop(event.name) }
            self.fromBus.append(event)
        case .known: break
        case .read(let row):
            // As long as its row waits: what the bus brings from now on would overtake it there.
            guard self.events.withdrawLive(row) else { return }
            self.own.begin(event.name, in: row)
            self.fromBus.append(event)
        }
    }

    /// Remembers an event as long as the journal may not have it.
    private mutating func remember(_ event: EventMessage, at now: Timestamp) {
        guard !self.recent.contains(where: { $0.event.name == event.name }) else { return }
        self.recent.append(Recent(event: event, until: now + Self.writing))
        let old = self.recent.prefix { $0.until <= now }.count
        let many = max(old, self.recent.count - Self.mostFromBus)
        guard many > 0 else { return }
        if let last = self.recent[..<many].last, last.until > now {
            self.fence = Fence(name: last.event.name, until: last.until)
        }
        self.recent.removeFirst(many)
    }

    /// Until when something waits for the journal, for the journal to be tried again, or for a server that refused something; `nil`: nothing
    /// does.
    package func waitsUntil(at now: Timestamp) -> Timestamp? {
        guard self.isConnected else { return nil }
        let fence = self.fromBus.isEmpty ? nil : self.fence.flatMap { $0.until > now ? $0.until : nil }
        let pauses = [self.events.pausedUntil(at: now), self.verdicts.pausedUntil(at: now)]
        return ([fence, self.events.asideUntil, self.verdicts.asideUntil] + pauses).compactMap { $0 }.min()
    }

    /// The tables of the journal have grown.
    package mutating func grew(newestEvent: Int64, newestVerdict: Int64) {
        guard self.isConnected else { return }
        self.events.grow(to: newestEvent)
        self.verdicts.grow(to: newestVerdict)
    }

    /// Something else is to be said. It is forgotten when the connection goes.
    package mutating func say(_ notice: Outgoing) {
        if self.isConnected { self.notices.add(notice) }
    }

    // MARK: Reading

    /// What is to be read from the journal next.
    package mutating func nextRead() -> JournalRequest? {
        guard self.isConnected else { return nil }
        return self.events.request() ?? self.verdicts.request()
    }

    /// There is more to read, and room for what comes of it.
    package var canReadMore: Bool {
        guard self.isConnected, self.window.hasRoom else { return false }
        var (events, verdicts) = (self.events, self.verdicts)
        return events.request() != nil || verdicts.request() != nil
    }

    package mutating func take(_ stretch: JournalStretch, for request: JournalRequest) {
        var stretch = stretch
        if !stretch.gaps.isEmpty {
            // What is gone is done when the server knows it.
            stretch.rows += stretch.gaps.map {
                JournalRow(row: $0.upperBound, .gap(request.table, from: $0.lowerBound))
            }
            stretch.rows.sort { $0.row < $1.row }
        }
        switch request.table {
        case .verdict:
            let underWay = self.verdicts.isReadAgain(request) ? self.rowsOnTheWay(of: .verdict) : []
            self.verdicts.take(stretch, for: request, besides: underWay)
        case .event:
            // What the consumer has not stored yet is under way, too.
            let underWay =
                self.events.isReadAgain(request) ? self.rowsOnTheWay(of: .event).union(self.unstored.rows) : []
            self.events.take(self.withoutOwn(stretch, isPast: request.isPast), for: request, besides: underWay)
        }
    }

    private func rowsOnTheWay(of table: JournalTable) -> Set<Int64> {
        Set(self.onTheWay.values.compactMap { $0.table == table ? $0.row : nil })
    }

    /// Takes out what is on its way already, or done. The others stay in their order.
    private mutating func withoutOwn(_ stretch: JournalStretch, isPast: Bool) -> JournalStretch {
        var stretch = stretch
        stretch.rows = stretch.rows.filter { row in
            guard case .event(let event) = row.content, event.name.app == self.settings.app else { return true }
            if event.name == self.fence?.name { self.fence?.until = .zero }
            switch self.own.found(event.name, in: row.row) {
            case .unknown:
                if !isPast { self.newestRead = event.name }
                return true
            case .done: return false
            case .underWay(let ticket):
                if let ticket { self.onTheWay[ticket]?.row = row.row }
                self.events.hold(row.row)
                self.unstored.found(event.name, in: row.row)
                return true
            }
        }
        return stretch
    }

    /// A table could not be read: it is left aside for a while, and the other goes on.
    package mutating func readFailed(_ table: JournalTable, at now: Timestamp) {
        switch table {
        case .event: self.events.failed(until: now + Self.retryPause)
        case .verdict: self.verdicts.failed(until: now + Self.retryPause)
        }
    }

    /// Nothing of the journal could be read.
    package mutating func readFailed(at now: Timestamp) {
        for table in JournalTable.allCases { self.readFailed(table, at: now) }
    }

    /// Has what could not be read be asked for again when the time has come; false when nothing waits for that.
    package mutating func retry(at now: Timestamp) -> Bool {
        let (events, verdicts) = (self.events.retry(at: now), self.verdicts.retry(at: now))
        return events || verdicts
    }

    // MARK: Sending

    /// The next message, when there is one and room for it.
    package mutating func nextSend(at now: Timestamp) -> (ticket: Ticket, message: Outgoing)? {
        guard self.isConnected else { return nil }
        self.leaveLate(at: now)
        guard self.window.hasRoom else { return nil }
        if !self.notices.isFirst, let content = self.nextContent(at: now) {
            self.notices.letBy()
            return content
        }
        return self.notices.popFirst().map { self.send($0, Parcel(), at: now) }
    }

    /// The next event or verdict, when there is one and room for it.
    private mutating func nextContent(at now: Timestamp) -> (ticket: Ticket, message: Outgoing)? {
        if let fence, fence.until <= now, !self.events.hasLive { self.fence = nil }
        if self.fence == nil, !self.fromBus.isEmpty {
            let event = self.fromBus.removeFirst()
            let row = self.own.row(of: event.name)
            let sent = self.send(
                self.message(.event(event), row: row, self.expiry(of: .event(event), at: now)),
                Parcel(
                    table: .event, row: row, name: event.name,
                    recent: row == nil ? Recent(event: event, until: now + Self.writing) : nil), at: now)
            self.own.sent(event.name, sent.ticket)
            return sent
        }
        if let row = self.events.takeLive() {
            return self.send(row, of: .event, self.expiry(of: row.content, at: now), at: now)
        }
        if let row = self.verdicts.takeLive() {
            return self.send(row, of: .verdict, self.expiry(of: row.content, at: now), at: now)
        }
        guard self.window.hasRoomForPast, !self.unstored.isFull else { return nil }
        if let row = self.events.takePast(at: now) { return self.send(row, of: .event, nil, at: now) }
        if let row = self.verdicts.takePast(at: now) { return self.send(row, of: .verdict, nil, at: now) }
        return nil
    }

    /// Whoever waited so long for room that nobody should do anything because of it any more comes from its row, as one of before.
    private mutating func leaveLate(at now: Timestamp) {
        while let event = self.fromBus.first, self.timeLeft(of: .event(event), at: now) <= .zero {
            self.fromBus.removeFirst()
            let row = self.own.row(of: event.name)
            self.own.drop(event.name)
            if let row { self.events.putBack(row...row, mayHaveCome: false) }
        }
        while let row = self.events.firstLive, self.timeLeft(of: row.content, at: now) <= .zero {
            _ = self.events.takeLive()
            self.events.putBack(row.rows, mayHaveCome: false)
        }
    }

    /// - Parameter expiry: After how many seconds it is of no use; `nil`: it is of before.
    private mutating func send(
        _ row: JournalRow, of table: JournalTable, _ expiry: UInt32?, at now: Timestamp
    ) -> (ticket: Ticket, message: Outgoing) {
        var parcel = Parcel(table: table, row: row.row, isPast: expiry == nil)
        switch row.content {
        case .event(let event): parcel.name = event.name
        case .verdict: break
        case .gap(_, let first): parcel.goneFrom = first
        }
        return self.send(self.message(row.content, row: row.row, expiry), parcel, at: now)
    }

    /// For how long something may be done because of what is live.
    private func timeLeft(of content: JournalRow.Content, at now: Timestamp) -> TimeSpan {
        let all = TimeSpan.seconds(Int64(self.settings.expiry))
        // A verdict may be on what happened long before it.
        guard case .event(let event) = content else { return all }
        let age = max(.zero, now - Timestamp(microseconds: event.time))
        return TimeSpan(microseconds: all.microseconds - age.microseconds)
    }

    /// The same in seconds, the last of which counts as a whole one.
    private func expiry(of content: JournalRow.Content, at now: Timestamp) -> UInt32 {
        UInt32(clamping: (self.timeLeft(of: content, at: now).microseconds + 999_999) / 1_000_000)
    }

    private mutating func send(
        _ message: Outgoing, _ parcel: Parcel, at now: Timestamp
    ) -> (ticket: Ticket, message: Outgoing) {
        let ticket = self.nextTicket
        self.nextTicket += 1
        var parcel = parcel
        parcel.isCopy = message.properties.contains { $0.name == "again" }
        parcel.until = message.expiry.map { now + .seconds(Int64($0)) }
        self.onTheWay[ticket] = parcel
        self.window.send(isPast: parcel.isPast)
        if parcel.table != nil, parcel.goneFrom == nil {
            self.counters.sent += 1
            if parcel.isPast { self.counters.past += 1 }
            if parcel.isCopy { self.counters.again += 1 }
        }
        return (ticket, message)
    }

    private func message(_ content: JournalRow.Content, row: Int64?, _ expiry: UInt32?) -> Outgoing {
        let topics = self.settings.topics
        let isPast = expiry == nil
        var properties: [(name: String, value: String)] = []
        let message: (topic: String, value: DataValue)
        var isAgain = false
        switch content {
        case .event(let event):
            properties = [
                ("epoch", "\(event.name.epoch)"), ("sequence", "\(event.name.sequence)"), ("app", event.name.app),
            ]
            let isOwn = event.name.app == self.settings.app
            let live = isOwn ? topics.event(of: event.detector) : topics.event(of: event.detector, for: event.name.app)
            message = (isPast ? topics.pastEvents : live, event.value)
            isAgain = row.map { self.events.mayHaveBeenSent($0) } ?? false
            isAgain = isAgain || self.own.isUncertain(event.name)
        case .verdict(let verdict):
            properties = [("epoch", "\(verdict.epoch)"), ("app", verdict.app)]
            message = (isPast ? topics.pastVerdicts : topics.verdict(for: verdict.app), verdict.value)
            isAgain = row.map { self.verdicts.mayHaveBeenSent($0) } ?? false
        case .gap(let table, let first):
            return Outgoing(
                topics.gap,
                .fields([
                    "stream": .text(self.stream), "table": .text(table.rawValue), "first": .integer(first),
                    "last": .integer(row ?? first),
                ]))
        }
        if let row { properties += [("stream", self.stream), ("row", "\(row)")] }
        if isPast { properties.append(("past", "1")) }
        if isAgain { properties.append(("again", "1")) }
        return Outgoing(message.topic, message.value, expiry: expiry, properties: properties)
    }

    // MARK: Answers

    /// The server has a message, or will never take it: either way it is not sent again.
    ///
    /// - Parameter isHeard: Somebody is there to get it, as far as the server says.
    package mutating func acknowledged(_ ticket: Ticket, isHeard: Bool = true) {
        guard let parcel = self.onTheWay.removeValue(forKey: ticket) else { return }
        self.window.acknowledge(isPast: parcel.isPast)
        guard let table = parcel.table else { return }
        if parcel.goneFrom != nil { self.counters.gaps += 1 }
        if table == .event, self.settings.waitsForConsumer, let name = parcel.name {
            return self.unstored.add(
                UnstoredEvents.Event(
                    name: name, row: parcel.row, isCopy: parcel.isCopy, until: parcel.until, isHeard: isHeard))
        }
        self.finish(table, parcel.rows, parcel.name)
    }

    /// The server refuses a message for now. What the journal has of it comes again as one of before, after a pause that grows; what is
    /// neither an event nor a verdict is said anew when it changes.
    package mutating func refused(_ ticket: Ticket, at now: Timestamp, chance: UInt64) {
        guard let parcel = self.onTheWay.removeValue(forKey: ticket) else { return }
        self.window.acknowledge(isPast: parcel.isPast)
        guard let table = parcel.table else { return }
        if let name = parcel.name { self.own.refused(name) }
        switch table {
        case .event: Self.refused(parcel, of: &self.events, at: now, chance)
        case .verdict: Self.refused(parcel, of: &self.verdicts, at: now, chance)
        }
    }

    private static func refused(
        _ parcel: Parcel, of track: inout JournalTrack, at now: Timestamp, _ chance: UInt64
    ) {
        track.pause(at: now, chance: chance, isGap: parcel.goneFrom != nil)
        if let rows = parcel.rows { track.putBack(rows, mayHaveCome: true) }
    }

    private mutating func finish(_ table: JournalTable, _ rows: ClosedRange<Int64>?, _ name: EventName?) {
        switch table {
        case .verdict: if let rows { self.verdicts.finish(rows) }
        case .event:
            if let rows { self.events.finish(rows) }
            // Without its row, which may come yet.
            if let name, name.app == self.settings.app { self.own.finished(name, hasRow: rows != nil) }
        }
    }

    /// The consumer has stored an event, and all that it got before. What of that it may never have got comes from its row, as one of before.
    package mutating func stored(_ name: EventName, at now: Timestamp) {
        let (done, doubtful) = self.unstored.stored(name, at: now)
        for event in done { self.finish(.event, event.row.map { $0...$0 }, event.name) }
        for event in doubtful {
            self.own.refused(event.name)
            if let row = event.row { self.events.putBack(row...row, mayHaveCome: true) }
        }
    }

    /// Nothing waits and nothing is on its way.
    package var isIdle: Bool {
        self.onTheWay.isEmpty && self.fromBus.isEmpty && self.notices.isEmpty && self.events.isCaughtUp
            && self.verdicts.isCaughtUp && !self.events.hasLive && !self.verdicts.hasLive
    }

    /// All that was sent is done with: who goes on behind what is done sends nothing a second time.
    package var leavesNoDoubt: Bool {
        self.onTheWay.values.allSatisfy { $0.table == nil } && self.own.isEmpty && self.unstored.isEmpty
            && !self.events.hasDoubt && !self.verdicts.hasDoubt
    }

    /// How many messages are on their way.
    package var sentCount: Int { self.onTheWay.count }

    package var position: PositionMessage {
        PositionMessage(
            stream: self.stream, events: self.events.ledger, verdicts: self.verdicts.ledger)
    }
}
