import Arbitration
import Motion

/// Compares each decision that was taken early with the one that waiting would have given.
///
/// Both go on from the moment before the motion began, with the same inputs. What comes after may differ, because a lease and
/// the time to answer count from the decision.
struct EagerCommit {
    /// Decisions taken before the window closed, by mode.
    private(set) var early: [GroupMode: Int] = [:]
    private(set) var differences: [String] = []

    mutating func play(seed: UInt64) {
        var rivals = Rivals(seed: seed)
        var moments: [(before: Rivals, lastEpoch: UInt64)] = []
        for step in rivals.script {
            rivals.approach(step)
            moments.append((rivals, rivals.arbiter.lastEpoch))
            rivals.fire(step)
        }
        if let last = rivals.script.last { rivals.pass(to: last.time + Rivals.aftermath) }
        for (epoch, outcome) in rivals.outcomes.sorted(by: { $0.key < $1.key }) {
            guard let contest = outcome.contest, contest.isEager else { continue }
            guard let start = moments.lastIndex(where: { $0.lastEpoch < epoch }) else { continue }
            var patient = moments[start].before
            // Another policy has every open motion looked at anew, others, too.
            guard patient.arbiter.openGroups.isEmpty else { continue }
            self.early[contest.mode, default: 0] += 1
            let steps = rivals.script[start...]
            patient.becomePatient(contest.group, at: steps[start].time)
            let end = steps[start].time + Rivals.aftermath
            for (index, step) in zip(steps.indices, steps) where step.time <= end {
                if index > start { patient.approach(step) }
                patient.fire(step)
            }
            patient.pass(to: end)
            self.compare(outcome, patient.outcomes[epoch], "seed \(seed), epoch \(epoch)")
        }
    }

    /// Compares two whole lives, one that decides early and one that waits, where nothing hangs on when a decision is taken.
    mutating func playWhole(seed: UInt64) {
        var (eager, patient) = (Rivals(seed: seed, isPrompt: true), Rivals(seed: seed, isPrompt: true))
        patient.becomePatient(at: .zero)
        eager.play()
        patient.play()
        let epochs = Set(eager.outcomes.keys).union(patient.outcomes.keys)
        for epoch in epochs.sorted() {
            guard let early = eager.outcomes[epoch], let late = patient.outcomes[epoch],
                early.contest?.winner == late.contest?.winner, early.order == late.order
            else {
                self.differences.append("seed \(seed), epoch \(epoch)")
                return
            }
            guard let (a, b) = early.contest.flatMap({ early in late.contest.map { (early, $0) } }) else { continue }
            if a.decided > b.decided { self.differences.append("seed \(seed), epoch \(epoch): late") }
            if a.isEager { self.early[a.mode, default: 0] += 1 }
        }
    }

    private mutating func compare(_ early: Rivals.Outcome, _ late: Rivals.Outcome?, _ place: String) {
        guard let late, let contest = late.contest, !contest.isEager else {
            self.differences.append("\(place): nothing came of waiting")
            return
        }
        if early.contest?.winner != contest.winner || contest.mode == .ordered && early.order != late.order {
            self.differences.append("\(place): \(contest.mode.name) \(early.order), and late \(late.order)")
        }
    }
}
