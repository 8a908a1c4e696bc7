/// What a bridge keeps of how far it came.
package struct BridgeState: Equatable, Sendable {
    /// One table of the journal.
    package struct Table: Equatable, Sendable {
        package var ledger: RowLedger
        /// All up to this row may have been sent, whatever is known of it.
        package var sentThrough: Int64

        package init(ledger: RowLedger, sentThrough: Int64) {
            self.ledger = ledger
            self.sentThrough = sentThrough
        }
    }

    /// Which journal: its rows count anew when it is another.
    package var stream: String
    /// The highest epoch of that journal that was seen: what another one has begins behind it.
    package var epoch: UInt64
    /// The event at the cursor: where another stands, the journal is another one.
    package var last: EventName?
    /// The same of verdicts, which have no numbers of their own.
    package var lastVerdict: EventName?
    package var events: Table
    package var verdicts: Table
    /// A mark was left at the server.
    package var isMarked: Bool

    package init(
        stream: String, epoch: UInt64, last: EventName?, lastVerdict: EventName? = nil, events: Table, verdicts: Table,
        isMarked: Bool
    ) {
        self.stream = stream
        self.epoch = epoch
        (self.last, self.lastVerdict) = (last, lastVerdict)
        self.events = events
        self.verdicts = verdicts
        self.isMarked = isMarked
    }

    /// Notes how far we came.
    ///
    /// Another journal is known by what stands at the cursor. While that cannot be read, what was noted before it stands, and only
    /// costs that more is sent again.
    ///
    /// - Parameter find: Finds what stands in a row, if anything still does; `nil`: the journal cannot be read now.
    package mutating func note(
        events: Table, verdicts: Table, _ find: (JournalTable, _ row: Int64) -> [EventName]?
    ) {
        func found(_ table: JournalTable, _ old: Table, _ new: Table, _ last: EventName?) -> [EventName]? {
            let cursor = new.ledger.cursor
            guard cursor > 0, cursor != old.ledger.cursor || last == nil else { return last.map { [$0] } ?? [] }
            return find(table, cursor)
        }
        guard let event = found(.event, self.events, events, self.last),
            let verdict = found(.verdict, self.verdicts, verdicts, self.lastVerdict)
        else { return }
        (self.last, self.lastVerdict) = (event.first, verdict.first)
        self.epoch = max(self.epoch, event.first?.epoch ?? 0, verdict.first?.epoch ?? 0)
        (self.events, self.verdicts) = (events, verdicts)
    }

    /// Some were sent that will have their rows behind the newest that there is.
    package mutating func sentSoon(behind newest: Int64) {
        self.events.sentThrough = max(self.events.sentThrough, newest + JournalTrack.reserve)
    }

    // MARK: On the disk

    package var bytes: [UInt8] {
        JSONCoding.bytes(
            .fields([
                "version": .integer(1), "stream": .text(self.stream), "epoch": .count(self.epoch),
                "last": self.last.map { Self.value($0) }, "last_verdict": self.lastVerdict.map { Self.value($0) },
                "events": Self.value(self.events), "verdicts": Self.value(self.verdicts),
                "marked": .bool(self.isMarked),
            ])) + [0x0A]
    }

    private static func value(_ name: EventName) -> DataValue {
        .fields(["app": .text(name.app), "epoch": .count(name.epoch), "sequence": .count(name.sequence)])
    }

    private static func value(_ table: Table) -> DataValue {
        .fields([
            "cursor": .integer(table.ledger.cursor), "sent_through": .integer(table.sentThrough),
            "ahead": table.ledger.value,
        ])
    }

    /// `nil` for what is none.
    package init?(bytes: [UInt8]) {
        guard let value = try? JSONCoding.read(bytes), value["version"]?.integer == 1,
            let stream = value["stream"]?.text,
            let epoch = value["epoch"]?.count, let marked = value["marked"]?.bool,
            let events = Self.table(value["events"]), let verdicts = Self.table(value["verdicts"])
        else { return nil }
        self.init(
            stream: stream, epoch: epoch, last: value["last"].flatMap { AcknowledgementMessage($0)?.name },
            lastVerdict: value["last_verdict"].flatMap { AcknowledgementMessage($0)?.name },
            events: events, verdicts: verdicts, isMarked: marked)
    }

    private static func table(_ value: DataValue?) -> Table? {
        guard let value, let ledger = RowLedger(cursor: value["cursor"]?.integer, value["ahead"]),
            let sent = value["sent_through"]?.integer, sent < RowLedger.mostRows
        else { return nil }
        return Table(ledger: ledger, sentThrough: sent)
    }
}
