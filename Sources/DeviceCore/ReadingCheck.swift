package import Motion

/// Watches readings for those of a device that is no good any more.
///
/// It judges and never holds a sample back: a reading that looks odd may be true.
package struct ReadingCheck: Sendable {
    package enum Verdict: Hashable, Sendable {
        case good
        case stuck
        case saturated
    }

    /// At rest the same reading can come for long from a coarse device; away from gravity it cannot.
    package static let stuckAtRest = TimeSpan.seconds(60)
    package static let stuckElsewhere = TimeSpan.seconds(5)
    /// A blow reaches the end of the range for moments only.
    package static let saturatedFor = TimeSpan.seconds(1)

    private let kind: SensorKind
    /// The largest magnitude of a channel, if known.
    private let range: Double?
    private var last: [Double]
    private var unchangedSince: Timestamp?
    private var atEndSince: Timestamp?
    package private(set) var verdict = Verdict.good

    package init(_ kind: SensorKind, range: Double?) {
        self.kind = kind
        self.range = range
        self.last = [Double](repeating: .nan, count: kind.channels.count)
    }

    /// Takes note of a reading. Returns true when the verdict changed.
    package mutating func note(_ time: Timestamp, _ row: Span<Double>) -> Bool {
        guard self.kind.isNoisy, row.count == self.last.count else { return false }
        var isSame = true
        var isAtEnd = false
        for index in row.indices {
            if row[index] != self.last[index] {
                isSame = false
                self.last[index] = row[index]
            }
            if let range, row[index].magnitude >= range * 0.999 { isAtEnd = true }
        }
        self.unchangedSince = isSame ? self.unchangedSince ?? time : nil
        self.atEndSince = isAtEnd ? self.atEndSince ?? time : nil
        let before = self.verdict
        self.verdict = self.judge(at: time)
        return self.verdict != before
    }

    /// Nobody reads until the next reading: that time says nothing of the device. What was found before stays true until a reading
    /// is another.
    package mutating func breakOff() {
        guard self.verdict == .good else { return }
        (self.unchangedSince, self.atEndSince) = (nil, nil)
    }

    private func judge(at time: Timestamp) -> Verdict {
        if let since = self.atEndSince, time - since >= Self.saturatedFor { return .saturated }
        if let since = self.unchangedSince, time - since >= self.patience { return .stuck }
        return .good
    }

    private var patience: TimeSpan {
        switch self.kind {
        case .accelerometer:
            let square = self.last.reduce(0) { $0 + $1 * $1 }
            return (0.25...2.25).contains(square) ? Self.stuckAtRest : Self.stuckElsewhere
        case .gyroscope, .magnetometer, .light, .proximity, .location:
            return Self.stuckAtRest
        }
    }
}
