import Arbitration
import BrokerCore
import DaemonSupport
import Journal
import Motion

extension BrokerService {
    // MARK: What the journal knows

    /// Hands the verdicts of the epoch that a query is about to `then`, from the journal; none, if it does not know.
    func findStored(_ query: VerdictQuery, then: @escaping ([VerdictRecord]) -> Void) {
        let wanted: JournalQuery
        switch query.event {
        case .epoch(let epoch): return self.askJournal(epoch, then: then)
        case .last: wanted = JournalQuery(app: query.app?.id, limit: Self.newest)
        case .sequence(let sequence): wanted = JournalQuery(app: query.app?.id, sequence: sequence, limit: Self.newest)
        }
        self.askJournal(wanted) { [weak self] records in
            guard let self, let last = records.last(where: { query.concerns($0) }) else { return then([]) }
            self.askJournal(last.verdict.epoch, then: then)
        }
    }

    /// How many of the newest are looked through for one that the caller may see.
    private static let newest = 256

    private func askJournal(_ epoch: UInt64, then: @escaping ([VerdictRecord]) -> Void) {
        self.askJournal(JournalQuery(epoch: epoch), then: then)
    }

    private func askJournal(_ query: JournalQuery, then: @escaping ([VerdictRecord]) -> Void) {
        guard let link = self.storeLink else { return then([]) }
        link.store.ask(query) { result in
            switch result {
            case .failure(let failure):
                self.log.warning("the journal cannot be read: \(failure)")
                then([])
            case .success(let answer):
                then(answer.verdicts.map { VerdictRecord($0, ofThisRun: $0.started == link.started) })
            }
        }
    }
}

extension VerdictRecord {
    /// Registrations of other runs are nobody's any more.
    fileprivate init(_ stored: StoredVerdict, ofThisRun isOurs: Bool) {
        var verdict = stored.verdict
        if let end = stored.end { verdict.reason = end }
        self.init(
            verdict: verdict, user: stored.user, registration: isOurs ? stored.registration : 0,
            origin: Origin(wall: stored.wall, policyFiles: stored.policy.files))
    }
}
