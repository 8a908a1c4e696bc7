/// Where the packets of a stream go.
package protocol StreamEnd: AnyObject {
    /// Nobody reads any more.
    var hasEnded: Bool { get }
    /// Says that numbers do not come. Returns false when there is no room.
    func put(_ gap: StreamLedger.Gap) -> Bool
    /// Takes rows, whose first has this number. Returns false when there is no room.
    func put(first: UInt64, times: Span<Int64>, values: Span<Double>) -> Bool
    /// Says that all has come that was there, up to this number. Returns false when there is no room.
    func put(caughtUpTo next: UInt64) -> Bool
}

/// What one stream still has to say: samples that its reader does not take fast enough, what is missing before them, and the
/// word that all has come.
///
/// What the other end cannot take waits here, the newest of it; what gives way is told as a gap.
package struct StreamQueue: Sendable {
    private let channels: Int
    /// Most rows of one packet.
    private let rows: Int
    private var ledger = StreamLedger()
    private var backlog: SampleBacklog

    /// - Parameter bytes: what may wait, as `SampleBacklog` counts.
    package init(channels: Int, rows: Int, bytes: Int) {
        self.channels = channels
        self.rows = rows
        self.backlog = SampleBacklog(channels: channels, bytes: bytes)
    }

    /// Something waits or is owed: whoever has room for it is to call `settle`.
    package var isBehind: Bool { !self.backlog.isEmpty || self.ledger.owesWord }

    /// Sends a block, or lets it wait. Returns how many samples went out, and how many of the oldest that waited are lost;
    /// `nil` when nobody reads any more, who could miss any.
    package mutating func send(
        first: UInt64, times: Span<Int64>, values: Span<Double>, to end: some StreamEnd
    ) -> (sent: Int, lost: Int)? {
        var sent = 0
        while self.backlog.isEmpty, sent < times.count {
            let rows = sent..<min(times.count, sent + self.rows)
            let columns = rows.lowerBound * self.channels..<rows.upperBound * self.channels
            let (times, values) = (times.extracting(rows), values.extracting(columns))
            guard Self.put(first: first + UInt64(sent), times, values, &self.ledger, to: end) else { break }
            sent = rows.upperBound
        }
        if end.hasEnded { return nil }
        guard sent < times.count else { return (sent, 0) }
        let lost = self.backlog.append(
            first: first + UInt64(sent), times: times.extracting(sent..<times.count),
            values: values.extracting(sent * self.channels..<values.count))
        return (sent, lost)
    }

    /// Sends rows in one packet, and before it what is missing. False when there is no room.
    private static func put(
        first: UInt64, _ times: Span<Int64>, _ values: Span<Double>, _ ledger: inout StreamLedger,
        to end: some StreamEnd
    ) -> Bool {
        if let gap = ledger.gap(before: first) {
            guard end.put(gap) else { return false }
            ledger.told(before: gap.first + gap.count)
        }
        guard end.put(first: first, times: times, values: values) else { return false }
        ledger.told(before: first + UInt64(times.count))
        return true
    }

    /// What waits here is not to be had any more. The numbers tell the reader that it is missing.
    package mutating func forget() { self.backlog.removeFirst(self.backlog.count) }

    /// The reader wants to be told when all that waits has come.
    package mutating func asked() { self.ledger.asked() }

    /// Sends what waits and tells what is owed, as far as there is room. Returns how many samples went out.
    package mutating func settle(to end: some StreamEnd) -> Int {
        // The rows are lent meanwhile, of which it is a part.
        var ledger = self.ledger
        var sent = 0
        while let went = self.backlog.withFirst(
            self.rows,
            { first, times, values in
                Self.put(first: first, times, values, &ledger, to: end) ? times.count : 0
            }), went > 0
        {
            self.backlog.removeFirst(went)
            sent += went
        }
        if self.backlog.isEmpty, ledger.owesWord, end.put(caughtUpTo: ledger.next) { ledger.gaveWord() }
        self.ledger = ledger
        return sent
    }
}
