package import Arbitration
import Motion

/// Keeps what was decided lately and what became of it, and shows it to those who may see it.
package struct Records {
    private let limits: BrokerLimits
    private var verdicts: RecentVerdicts
    /// Ends of events that came before the verdicts on them, while what was decided is performed.
    private var earlyEnds: [AppHandle: [Ended]] = [:]

    typealias Ended = (event: StoredEvent, end: EventEnd)

    init(_ limits: BrokerLimits) {
        self.limits = limits
        self.verdicts = RecentVerdicts(limits)
    }

    // MARK: What is decided

    mutating func keep(_ record: consuming VerdictRecord) { self.verdicts.keep(record) }

    /// Remembers an event, so that it can be asked for by its number.
    mutating func keep(_ event: Event, of app: AppID, _ user: UInt32, _ registration: UInt64) {
        self.verdicts.keep(event, of: app, user, registration)
    }

    /// An event that was kept for an app came to its end.
    ///
    /// - Parameter reader: Who may read about it.
    mutating func end(_ stored: StoredEvent, of reader: UInt32, _ end: EventEnd, at now: Timestamp) {
        self.verdicts.end(stored.event, of: stored.app, reader, end.reason, at: now)
    }

    /// An app could not be launched for an event that is kept for it.
    mutating func fail(_ stored: StoredEvent, of reader: UInt32, _ failure: LaunchFailure) {
        self.verdicts.fail(stored.event, of: stored.app, reader, failure)
    }

    /// An event came to its end whose verdict is still to come.
    mutating func endEarly(_ stored: StoredEvent, _ end: EventEnd, of app: AppHandle) {
        self.earlyEnds[app, default: []].append((stored, end))
    }

    /// Takes what ended early: of an app that has its verdict now, or of all.
    mutating func takeEarlyEnds(of app: AppHandle? = nil) -> [Ended] {
        guard !self.earlyEnds.isEmpty else { return [] }
        return (app.map { [$0] } ?? self.earlyEnds.keys.sorted()).flatMap {
            self.earlyEnds.removeValue(forKey: $0) ?? []
        }
    }

    // MARK: What is asked for

    /// The verdicts that are asked for, as far as they are kept here.
    package func find(_ query: VerdictQuery) -> [VerdictRecord] { self.verdicts.find(query) }

    func find(_ app: AppReference, epoch: UInt64) -> VerdictRecord? { self.verdicts.find(app, epoch: epoch) }

    /// Whether all there is for a query is kept here, and nothing of it can be elsewhere.
    package func hasAll(of query: VerdictQuery) -> Bool {
        // Of the oldest epoch that is left some may be gone.
        guard let oldest = self.verdicts.oldest, let epoch = self.verdicts.epoch(of: query) else { return false }
        return epoch > oldest
    }

    /// Verdicts of one epoch as whoever asks may see them, those who got the event first.
    ///
    /// - Parameters:
    ///   - records: All of that epoch, as far as they are known; those that are not asked for are not shown.
    ///   - registry: Whoever is here and has no verdict yet.
    package func show(_ records: [VerdictRecord], for query: VerdictQuery, among registry: Registry) -> [VerdictRecord]
    {
        let visible = records.filter { query.concerns($0) }
        let served = visible.filter { $0.verdict.isDelivered }
        let others = visible.filter { !$0.verdict.isDelivered }
        var shown: [VerdictRecord] = []
        for var record in (served + others).prefix(self.limits.answerRows) {
            record.verdict = self.show(record, to: query.viewer, among: records, registry)
            shown.append(record)
        }
        return shown
    }

    /// A verdict with the names of those other apps that its reader may know.
    func show(
        _ record: VerdictRecord, to viewer: Viewer, among records: [VerdictRecord] = [], _ registry: Registry
    ) -> Verdict {
        switch viewer {
        case .app: return record.verdict.withoutOthers
        case .user(0): return record.verdict
        case .user(let user):
            // The broker's own user may know what is in front.
            return record.verdict.naming(isFrontKnown: registry.isKeeper(user)) { id in
                if records.contains(where: { $0.verdict.id == id && $0.user == user }) { return true }
                if self.find(AppReference(id, user: user), epoch: record.verdict.epoch) != nil { return true }
                // In an order that is not through it has no verdict yet.
                return registry.app(named: id, of: user) != nil
            }
        }
    }

    /// Why there is nothing to tell, for people. Root is told what there is; all others only what follows from what they
    /// may see, so that nobody learns from it what others' apps did.
    package func absence(of query: VerdictQuery, _ arbiter: Arbiter) -> String {
        switch query.event {
        case .last: return "nothing has been decided yet" + (query.app == nil ? "" : " for this app")
        case .sequence(let sequence):
            return "the event with the app's own number \(sequence) was not sent, or is not kept any more"
        case .epoch(let epoch):
            let isAll = query.viewer.seesAll
            if isAll, epoch > arbiter.lastEpoch { return "there was no epoch \(epoch) yet" }
            if isAll || self.verdicts.hasEvent(of: epoch, for: query.viewer), arbiter.isOpen(epoch) {
                return "epoch \(epoch) is not decided yet"
            }
            let oldest = self.verdicts.oldest(for: query.viewer)
            if isAll, oldest == nil { return "epoch \(epoch) is not kept any more" }
            if let oldest, epoch < oldest { return "epoch \(epoch) is not kept any more; the oldest is \(oldest)" }
            return "epoch \(epoch) has no verdict" + (query.app == nil ? " that you may see" : " for this app")
        }
    }
}
