import Arbitration
import Motion

/// The last verdicts, for whoever asks why, and which of an app's events belongs to which.
///
/// Bounded by number and by bytes; the oldest go first.
struct RecentVerdicts {
    private var records = Ring<VerdictRecord>()
    /// By the low bits of an epoch and an app: the number of the newest record with such bits, of all that were ever kept, from
    /// 1. So many events of one sample, or of one epoch, may come to nothing that nobody could look through all records for each.
    private var newest = [UInt64](repeating: 0, count: Self.places)
    /// The same of the one before each record, in step with them; 0: there was none.
    private var before = Ring<UInt64>()
    /// Records that are gone.
    private var gone: UInt64 = 0
    private var events = Ring<Sent>()
    private var bytes = 0
    private let limits: BrokerLimits

    /// An event that went out, by the app's own number.
    private struct Sent {
        var app: AppID
        var user: UInt32
        var registration: UInt64
        var sequence: UInt64
        var epoch: UInt64
    }

    private static let places = 1 << 13

    private static func place(of epoch: UInt64, _ app: AppID) -> Int {
        (Int(truncatingIfNeeded: epoch) ^ app.hashValue) & (Self.places - 1)
    }

    init(_ limits: BrokerLimits) {
        self.limits = limits
    }

    mutating func keep(_ record: consuming VerdictRecord) {
        let place = Self.place(of: record.verdict.epoch, record.verdict.id)
        self.bytes += record.bytes
        self.records.append(record)
        self.before.append(self.newest[place])
        self.newest[place] = self.gone &+ UInt64(self.records.count)
        while self.records.count > self.limits.verdicts || self.bytes > self.limits.verdictBytes {
            guard let oldest = self.records.removeFirst() else { break }
            self.before.removeFirst()
            self.gone &+= 1
            self.bytes -= oldest.bytes
        }
    }

    /// An event that was kept for an app came to its end. Of several in one decision the last says it.
    mutating func end(_ event: Event, of app: AppID, _ user: UInt32, _ reason: Reason, at now: Timestamp) {
        // Not by registration: an app that is started for an event registers before it is done with it.
        guard let index = self.newestIndex(event.epoch, of: app, user) else { return }
        self.records.update(index) { record in
            guard record.verdict.reason.isOpen else { return }
            record.verdict.reason = reason
            record.aftermath.after = max(.zero, now - event.time)
        }
    }

    /// An app could not be launched for an event that is kept for it.
    mutating func fail(_ event: Event, of app: AppID, _ user: UInt32, _ failure: LaunchFailure) {
        guard let index = self.newestIndex(event.epoch, of: app, user) else { return }
        self.records.update(index) { $0.aftermath.failed(failure) }
    }

    private func newestIndex(_ epoch: UInt64, of app: AppID, _ user: UInt32) -> Int? {
        var number = self.newest[Self.place(of: epoch, app)]
        while number > self.gone {
            let index = Int(number - self.gone) - 1
            // Others may have the same place.
            let isMeant = self.records.has(index) {
                $0.verdict.epoch == epoch && $0.verdict.id == app && $0.user == user
            }
            if isMeant { return index }
            number = self.before[index] ?? 0
        }
        return nil
    }

    mutating func keep(_ event: Event, of app: AppID, _ user: UInt32, _ registration: UInt64) {
        self.events.append(
            Sent(app: app, user: user, registration: registration, sequence: event.sequence, epoch: event.epoch))
        if self.events.count > self.limits.verdicts { self.events.removeFirst() }
    }

    /// All that is asked for; they are of one epoch.
    func find(_ query: VerdictQuery) -> [VerdictRecord] {
        guard let epoch = self.epoch(of: query) else { return [] }
        return self.records.all { $0.verdict.epoch == epoch && query.concerns($0) }
    }

    func find(_ app: AppReference, epoch: UInt64) -> VerdictRecord? {
        self.records.newest { $0.verdict.epoch == epoch && app.isMeant(by: $0) }
    }

    /// The epoch that is asked for; `nil` when that cannot be told any more.
    func epoch(of query: VerdictQuery) -> UInt64? {
        switch query.event {
        case .last: return self.records.newest { query.concerns($0) }?.verdict.epoch
        case .epoch(let epoch): return epoch
        case .sequence(let sequence):
            guard let app = query.app else { return nil }
            return self.events.newest {
                $0.sequence == sequence && app.isMeant($0.app, $0.user, $0.registration)
            }?.epoch
        }
    }

    /// The oldest epoch of which there is a verdict.
    var oldest: UInt64? { self.records[0]?.verdict.epoch }

    /// The oldest epoch of which there is a verdict that somebody may see.
    func oldest(for viewer: Viewer) -> UInt64? { self.records.oldest { $0.isVisible(to: viewer) }?.verdict.epoch }

    /// Whether an event of an epoch went to an app that somebody may see.
    func hasEvent(of epoch: UInt64, for viewer: Viewer) -> Bool {
        self.events.newest { $0.epoch == epoch && viewer.sees($0.app, of: $0.user, $0.registration) } != nil
    }
}
