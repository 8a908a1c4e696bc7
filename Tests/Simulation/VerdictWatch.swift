import Arbitration
import BrokerCore
import Motion

/// Knows what was decided: each hit has one verdict for its app, made in time, within the quota, and with one winner.
struct VerdictWatch {
    private struct Name: Hashable {
        let epoch: UInt64
        let app: AppHandle
        let registration: UInt64
    }

    // Of this broker.
    private var seen: Set<Name> = []
    private var winners: [UInt64: AppID] = [:]
    private var apps: [DetectorID: AppHandle] = [:]
    /// Who had a hit that is not decided, and when.
    private var pending: [AppHandle: Timestamp] = [:]
    /// To which sample time motion had come without a sample.
    private var motion = Timestamp(microseconds: .min)
    /// When the app with a quota had its events.
    private var spent: [Timestamp] = []
    private var lastEpoch: UInt64 = 0

    /// What is wrong, first of all.
    private(set) var finding: String?
    private(set) var count = 0
    /// Verdicts by the stage that decided.
    private(set) var stages = [Int](repeating: 0, count: Reason.Stage.allCases.count)

    private mutating func find(_ what: String) { self.finding = self.finding ?? what }

    mutating func brokerEnds() {
        let (finding, count, stages) = (self.finding, self.count, self.stages)
        self = VerdictWatch()
        (self.finding, self.count, self.stages) = (finding, count, stages)
    }

    // MARK: What is decided

    mutating func take(_ steps: [ArbiterStep]) {
        for step in steps {
            self.take(step.input, at: step.arrival)
            for decision in step.decisions { self.take(decision) }
            switch step.input {
            case .leave(let app): self.pending[app] = nil
            case .removeDetector(let detector):
                if let app = self.apps.removeValue(forKey: detector) { self.pending[app] = nil }
            default: break
            }
        }
    }

    private mutating func take(_ input: ArbiterInput, at arrival: Timestamp) {
        switch input {
        case .detector(let detector, let app, _): self.apps[detector] = app
        case .hits(let hits):
            for hit in hits {
                guard let app = self.apps[hit.detector] else { continue }
                self.pending[app] = self.pending[app] ?? arrival
            }
        case .motion(let time): self.motion = max(self.motion, time)
        default: break
        }
    }

    private mutating func take(_ decision: ArbiterAction) {
        switch decision {
        case .verdict(let verdict): self.pending[verdict.app] = nil
        case .repeated(let app, _, _, _): self.pending[app] = nil
        case .deliver(let delivery):
            // Who owns a motion gets all its hits.
            self.pending[delivery.app] = nil
            if delivery.id == Setup.apps[0] { self.spend(delivery) }
        case .life, .assertion, .activity, .session, .launch: break
        }
    }

    /// However one looks at a stretch of time, no more went than the quota gives. What comes of an older motion comes after the
    /// last event all the same.
    private mutating func spend(_ delivery: Delivery) {
        let (quota, time) = (Setup.quota, max(delivery.hit.time, self.spent.last ?? delivery.hit.time))
        self.spent.append(time)
        for (index, first) in self.spent.enumerated() {
            let surplus = Int64(self.spent.count - index - quota.burst)
            guard surplus > 0 else { break }
            if surplus * quota.period.microseconds > Int64(quota.count) * (time - first).microseconds {
                self.find(
                    "\(delivery.id): \(self.spent.count - index) events from \(first) to \(time), beyond its quota")
            }
        }
        if self.spent.count > 64 { self.spent.removeFirst() }
    }

    // MARK: What is kept

    mutating func keep(_ record: VerdictRecord) {
        let verdict = record.verdict
        self.count += 1
        self.stages[Int(verdict.reason.stage.rawValue)] += 1
        let name = Name(epoch: verdict.epoch, app: verdict.app, registration: record.registration)
        if !self.seen.insert(name).inserted { self.find("\(verdict.id) has two verdicts in epoch \(verdict.epoch)") }
        if let contest = verdict.contest { self.check(contest, of: verdict) }
        // Each costs as much as some steps.
        guard self.count % 8 == 0 else { return }
        let explanation = Explanation(verdict)
        if explanation.reason != verdict.reason || explanation.epoch != verdict.epoch || explanation.app != verdict.id
            || explanation.steps.map(\.stage) != Reason.Stage.allCases
        {
            self.find("\(verdict.id): epoch \(verdict.epoch) is explained as another")
        }
        let last = explanation.steps.last { $0.result != .skipped }
        if last?.stage != verdict.reason.stage || (last?.result == .no) == verdict.isDelivered {
            self.find("\(verdict.id): \(verdict.reason.name) is explained by stage \(last?.stage.name ?? "none")")
        }
    }

    private mutating func check(_ contest: Contest, of verdict: Verdict) {
        if contest.mode == .exclusive, verdict.isDelivered {
            let winner = self.winners[verdict.epoch]
            if let winner, winner != verdict.id {
                self.find("\(winner) and \(verdict.id) both have epoch \(verdict.epoch)")
            }
            self.winners[verdict.epoch] = verdict.id
        }
        // Whose turn came because another left was decided anew.
        guard contest.mode == .exclusive, contest.inherits == nil, verdict.reason != .late else { return }
        // Of samples that come when nobody waited for them any more the window is over already.
        if contest.decided > max(verdict.time + Setup.window, self.motion) {
            self.find(
                "\(verdict.id): the window of epoch \(verdict.epoch) was closed at \(contest.decided), too late for \(verdict.time)"
            )
        }
    }

    // MARK: In the end

    /// All windows have closed.
    mutating func end() {
        if let app = self.pending.keys.min() { self.find("a hit of app \(app.index) was never decided") }
    }
}
