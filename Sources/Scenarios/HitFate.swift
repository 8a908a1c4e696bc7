package import Arbitration
package import Motion

/// What became of one hit.
package struct HitFate: Sendable {
    package var app: AppID
    package var detector: String
    /// The time of its sample.
    package var time: Timestamp
    /// Whether an event went out for it, or is kept for the app.
    package var isDelivered = false
    /// Why it came to nothing when its app had its verdict already.
    var repeated: Reason?
    /// The verdict that its app came to in its motion; `nil` when there is none by the end.
    package var verdict: Verdict?

    /// The reason for what became of it; `nil` while it is not decided.
    package var reason: Reason? { self.repeated ?? self.verdict?.reason }

    init(app: AppID, detector: String, time: Timestamp) {
        self.app = app
        self.detector = detector
        self.time = time
    }

    /// As its verdict tells it.
    init(_ past: PastVerdict) {
        self.init(app: past.verdict.id, detector: past.verdict.detector, time: .zero + past.hit)
        self.isDelivered = past.verdict.isDelivered
        self.verdict = past.verdict
    }

    /// Whether it ended the same way under other rules.
    package func isLike(_ other: HitFate) -> Bool {
        // Whether a launch that failed was tried, its verdict does not say.
        self.reason == other.reason && (self.isDelivered == other.isDelivered || self.reason == .launchFailed)
    }
}

/// Finds out what becomes of hits from what the arbiter does.
struct HitFates {
    private struct Entry {
        var fate: HitFate
        var app: AppHandle
        /// The names of those that it can come to.
        var groups: [String]
        var epoch: UInt64?
    }

    private struct Key: Hashable {
        var detector: DetectorID
        var time: Timestamp
    }

    private struct Part: Hashable {
        var app: AppHandle
        var epoch: UInt64
    }

    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    /// Hits of which nothing has been heard.
    private var open: [AppHandle: [Int]] = [:]
    private var verdicts: [Part: Verdict] = [:]

    /// In the order of the hits.
    var all: [HitFate] {
        self.entries.map { entry in
            var fate = entry.fate
            fate.verdict = entry.epoch.flatMap { self.verdicts[Part(app: entry.app, epoch: $0)] }
            return fate
        }
    }

    /// - Parameter groups: The names of those that it can come to.
    mutating func begin(_ hit: Hit, of app: AppHandle, _ id: AppID, detector: String, groups: [String]) {
        self.indices[Key(detector: hit.detector, time: hit.time)] = self.entries.count
        self.open[app, default: []].append(self.entries.count)
        let fate = HitFate(app: id, detector: detector, time: hit.time)
        self.entries.append(Entry(fate: fate, app: app, groups: groups))
    }

    mutating func note(_ action: ArbiterAction) {
        switch action {
        case .deliver(let delivery):
            guard let index = self.indices[Key(detector: delivery.hit.detector, time: delivery.hit.time)] else {
                return
            }
            self.entries[index].fate.isDelivered = true
            self.settle(index, epoch: delivery.epoch)
        case .repeated(_, let hit, let epoch, let reason):
            guard let index = self.indices[Key(detector: hit.detector, time: hit.time)] else { return }
            self.entries[index].fate.repeated = reason
            self.settle(index, epoch: epoch)
        case .verdict(let verdict):
            self.verdicts[Part(app: verdict.app, epoch: verdict.epoch)] = verdict
            for index in self.open[verdict.app] ?? [] where self.belongs(self.entries[index], to: verdict) {
                self.settle(index, epoch: verdict.epoch)
            }
        case .life, .assertion, .activity, .session, .launch: break
        }
    }

    /// Whether a hit is the one of a verdict, or came with it to the same decision.
    private func belongs(_ entry: Entry, to verdict: Verdict) -> Bool {
        let fate = entry.fate
        if fate.time == verdict.time, fate.detector == verdict.detector { return true }
        // What another group decides about the same app meanwhile is none of its.
        guard let group = verdict.rule?.group, entry.groups.contains(group), fate.time >= verdict.time else {
            return false
        }
        if let contest = verdict.contest { return contest.mode.compares && fate.time <= contest.decided }
        return verdict.reason == .gone
    }

    private mutating func settle(_ index: Int, epoch: UInt64) {
        self.entries[index].epoch = epoch
        self.open[self.entries[index].app]?.removeAll { $0 == index }
    }
}
