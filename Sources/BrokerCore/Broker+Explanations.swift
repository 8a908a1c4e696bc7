package import Arbitration
import Detection
package import Motion

extension Broker {
    // MARK: Explain

    /// The verdicts that are asked for, as far as they are kept here. What is older may be kept elsewhere.
    package func find(_ query: VerdictQuery) -> [VerdictRecord] { self.records.find(query) }

    /// Whether all there is for a query is kept here, and nothing of it can be elsewhere.
    package func hasAll(of query: VerdictQuery) -> Bool { self.records.hasAll(of: query) }

    /// Verdicts of one epoch as whoever asks may see them, those who got the event first.
    ///
    /// - Parameter records: All of that epoch, as far as they are known; those that are not asked for are not shown.
    package func show(_ records: [VerdictRecord], for query: VerdictQuery) -> [VerdictRecord] {
        self.records.show(records, for: query, among: self.registry)
    }

    /// Why there is nothing to tell, for people.
    package func absence(of query: VerdictQuery) -> String { self.records.absence(of: query, self.decisions.arbiter) }

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
        let prospect = self.decisions.arbiter.rehearse(
            installed.id, peak: peak ?? installed.effective.threshold?.nextUp ?? 0, at: now,
            lastTrue: { memory.lastTrue($0) })
        let own = app.reference
        switch prospect {
        case nil: return .unknown
        case .verdict(let verdict):
            let record = VerdictRecord(verdict: verdict, user: app.user, registration: app.registration)
            return .verdict(self.records.show(record, to: viewer, self.registry))
        case .more(let epoch): return .more(epoch: epoch)
        case .counted(let epoch, let reason):
            return .counted(
                epoch: epoch, reason,
                self.records.find(own, epoch: epoch).map { self.records.show($0, to: viewer, self.registry) })
        }
    }
}

extension App {
    package var reference: AppReference { AppReference(self.id, user: self.user, registration: self.registration) }
}
