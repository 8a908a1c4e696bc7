package import Arbitration
import Detection
package import Motion

extension BrokerCore {
    // MARK: Explain

    /// The verdicts that are asked for, as far as they are kept here. What is older may be kept elsewhere.
    package func find(_ query: VerdictQuery) -> [VerdictRecord] { self.recent.find(query) }

    /// Whether all there is for a query is kept here, and nothing of it can be elsewhere.
    package func hasAll(of query: VerdictQuery) -> Bool {
        // Of the oldest epoch that is left some may be gone.
        guard let oldest = self.recent.oldest, let epoch = self.recent.epoch(of: query) else { return false }
        return epoch > oldest
    }

    /// Verdicts of one epoch as whoever asks may see them, those who got the event first.
    ///
    /// - Parameter records: All of that epoch, as far as they are known; those that are not asked for are not shown.
    package func show(_ records: [VerdictRecord], for query: VerdictQuery) -> [VerdictRecord] {
        let visible = records.filter { query.concerns($0) }
        let (served, others) = (
            visible.filter { $0.verdict.isDelivered }, visible.filter { !$0.verdict.isDelivered }
        )
        return (served + others).prefix(self.limits.answerRows).map { record in
            var shown = record
            shown.verdict = self.show(record, to: query.viewer, among: records)
            return shown
        }
    }

    /// A verdict with the names of those other apps that its reader may know.
    private func show(
        _ record: VerdictRecord, to viewer: Viewer, among records: [VerdictRecord] = []
    ) -> Verdict {
        switch viewer {
        case .app: return record.verdict.withoutOthers
        case .user(0): return record.verdict
        case .user(let user):
            return record.verdict.naming { id in
                if records.contains(where: { $0.verdict.id == id && $0.user == user }) { return true }
                if self.recent.find(AppReference(id, user: user), epoch: record.verdict.epoch) != nil { return true }
                // In an order that is not through it has no verdict yet.
                return self.apps.first { $0.user == user && $0.id == id } != nil
            }
        }
    }

    /// Why there is nothing to tell, for people.
    package func absence(of query: VerdictQuery) -> String {
        switch query.event {
        case .last: return "nothing has been decided yet" + (query.app == nil ? "" : " for this app")
        case .sequence(let sequence):
            return "the event with the app's own number \(sequence) was not sent, or is not kept any more"
        case .epoch(let epoch):
            if epoch > self.arbiter.lastEpoch { return "there was no epoch \(epoch) yet" }
            if self.arbiter.isOpen(epoch) { return "epoch \(epoch) is not decided yet" }
            guard let oldest = self.recent.oldest else { return "epoch \(epoch) is not kept any more" }
            if epoch < oldest { return "epoch \(epoch) is not kept any more; the oldest is \(oldest)" }
            return "epoch \(epoch) has no verdict" + (query.app == nil ? " that you may see" : " for this app")
        }
    }

    // MARK: Why not

    /// What would happen to an app's detectors now, and what became of it lately.
    ///
    /// - Parameters:
    ///   - detector: Only this one.
    ///   - peak: How strong the motion would be; `nil`: just enough for each detector.
    package func whyNot(
        _ client: AppHandle, detector: String? = nil, peak: Double? = nil, for viewer: Viewer, at now: Timestamp
    ) -> WhyNot? {
        guard let app = self.app(client), let facts = self.facts(client) else { return nil }
        let chosen = detector.map { name in app.detectors[name].map { [$0] } ?? [] }
        let shown = chosen ?? app.detectors.values.first(self.limits.answerRows) { $0.request.name < $1.request.name }
        let outlooks = shown.map { installed in
            DetectorOutlook(
                name: installed.request.name, preset: installed.effective.preset ?? "",
                threshold: installed.effective.threshold, dimension: installed.effective.dimension,
                obstacle: (self.sensing[installed.sensor]?.standing ?? .absent).obstacle(installed.sensor),
                sensor: installed.sensor,
                prospect: self.prospect(installed, app, peak, viewer, at: now))
        }
        return WhyNot(
            app: app, dropped: self.mailboxes[client]?.dropped ?? 0, facts: facts, now: now,
            mutedUntil: self.sensing.mutedUntil, detectors: outlooks,
            detectorCount: chosen?.count ?? app.detectors.count)
    }

    private func prospect(
        _ installed: InstalledDetector, _ app: App, _ peak: Double?, _ viewer: Viewer, at now: Timestamp
    ) -> DetectorOutlook.Prospect {
        let memory = self.sensing.memory
        let prospect = self.arbiter.rehearse(
            installed.id, peak: peak ?? installed.effective.threshold?.nextUp ?? 0, at: now,
            lastTrue: { memory.lastTrue($0) })
        let own = app.reference
        switch prospect {
        case nil: return .unknown
        case .verdict(let verdict):
            return .verdict(
                self.show(VerdictRecord(verdict: verdict, user: app.user, registration: app.registration), to: viewer))
        case .more(let epoch): return .more(epoch: epoch)
        case .counted(let epoch, let reason):
            return .counted(
                epoch: epoch, reason, self.recent.find(own, epoch: epoch).map { self.show($0, to: viewer) })
        }
    }
}

extension App {
    package var reference: AppReference { AppReference(self.id, user: self.user, registration: self.registration) }
}
