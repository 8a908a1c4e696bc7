package import Motion

/// The outcome for one app in one episode: what each stage saw, and what decided.
///
/// Everything `explain` shows is in here, as it was when it was decided.
package struct Verdict: Equatable, Sendable {
    package var epoch: UInt64
    package var app: AppHandle
    package var id: AppID
    /// Which of the app's detectors fired first, when, and how strongly.
    package var detector: String
    package var preset: String
    package var time: Timestamp
    package var intensity: Double
    package var dimension: Dimension
    /// The constant that the detector's quantity must pass; `nil` when there is not one.
    package var threshold: Double?
    package var reason: Reason
    /// The policy that decided, counted from 1 at the start of the broker.
    package var generation: UInt64
    package var facts: AppFacts
    package var surroundings: Surroundings
    /// The rule that decided; `nil` when none matches.
    package var rule: Rule?
    /// What S3 saw; `nil` when it was not reached.
    package var limits: LimitsSeen?
    /// The rule that would have allowed it with the fewest conditions more; only for what S1 and S2 refuse.
    package var nearest: NearMiss?
    /// The group's decision; `nil` when it was not reached.
    package var contest: Contest?
    /// How the app stood in it.
    package var rank: Rank?
    /// What separates the app from the winner, or the winner from the next.
    package var decidedBy: Rank.Key?
    /// How the app's class stood to those of others; `nil` outside of mixable groups, and where nobody was in the way.
    package var mixing: Mixing?
    /// Who consumed the event before this app's turn came.
    package var takenBy: AppID?
    /// The epoch of the group's episode at the time, when the app was refused before the group had its say.
    package var alongside: UInt64?

    package var device: DeviceFacts { self.surroundings.device }
    package var testimony: FocusTestimony? { self.surroundings.testimony }
    package var isDelivered: Bool { self.reason.isDelivered }
    package var isReceived: Bool { self.reason.isReceived }
    /// Whether the app had to be started or resumed for the event.
    package var isLaunching: Bool { self.rule?.terms.kind == .wake && !self.facts.state.canReceive }

    /// The verdict as its app may see it: which other apps are there is none of its business.
    package var withoutOthers: Verdict { self.naming { $0 == self.id } }

    /// The verdict with the names of those other apps that may be told.
    ///
    /// - Parameter isFrontKnown: Whether that holds for every app that was in front: it need not be one of ours.
    package func naming(isFrontKnown: Bool = false, _ isKnown: (AppID) -> Bool) -> Verdict {
        var copy = self
        copy.contest = self.contest?.naming { $0 == self.id || isKnown($0) }
        copy.mixing = self.mixing?.naming { $0 == self.id || isKnown($0) }
        copy.takenBy = self.takenBy.map { $0 == self.id || isKnown($0) ? $0 : .anotherApp }
        guard !isFrontKnown else { return copy }
        copy.surroundings.testimony = self.testimony?.naming { $0 == self.id || isKnown($0) }
        return copy
    }
}

extension AppID {
    /// Stands for an app whose name is not to be told. No bus name has a space in it.
    static let anotherApp = AppID("another app")
}

/// What was the case around an app.
package struct Surroundings: Equatable, Sendable {
    package var device: DeviceFacts
    /// Who said what is in front, when that is why the app was not, or that it cannot run.
    package var testimony: FocusTestimony?
}

/// What the quota and the cooldowns looked like when a hit came to them.
package struct LimitsSeen: Equatable, Sendable {
    /// Tokens that were left; `nil` without a quota.
    package var tokens: Int?
    package var burst: Int
    /// When it would have been let through; `nil` if it was.
    package var until: Timestamp?

    package init(tokens: Int? = nil, burst: Int = 0, until: Timestamp? = nil) {
        self.tokens = tokens
        self.burst = burst
        self.until = until
    }

    /// Takes in until when one more thing is against it.
    mutating func wait(until time: Timestamp) { self.until = max(self.until ?? time, time) }
}

/// A rule that would have allowed a hit if more of its conditions had held.
package struct NearMiss: Equatable, Sendable {
    package var rule: Rule
    package var unmet: Conditions.Keys

    package init(rule: Rule, unmet: Conditions.Keys) {
        self.rule = rule
        self.unmet = unmet
    }
}

/// What a group decided, shared by the verdicts of its candidates. Immutable.
package final class Contest: Sendable {
    package let group: String
    package let mode: GroupMode
    package let select: [SelectKey]
    package let candidates: Int
    /// The sample time at which it was decided.
    package let decided: Timestamp
    /// True when waiting could not change the answer any more.
    package let isEager: Bool
    /// Who is first: in `broadcast` nobody is.
    package let winner: AppID?
    package let winnerRank: Rank?
    /// The best of the others, in `exclusive`.
    package let next: AppID?
    package let nextRank: Rank?
    /// The epoch that a dead owner leaves to this one.
    package let inherits: UInt64?

    init(
        group: String, mode: GroupMode, select: [SelectKey], candidates: Int, decided: Timestamp, isEager: Bool,
        winner: (AppID, Rank)? = nil, next: (AppID, Rank)? = nil, inherits: UInt64? = nil
    ) {
        self.group = group
        self.mode = mode
        self.select = select
        self.candidates = candidates
        self.decided = decided
        self.isEager = isEager
        self.winner = winner?.0
        self.winnerRank = winner?.1
        self.next = next?.0
        self.nextRank = next?.1
        self.inherits = inherits
    }

    func naming(_ isKnown: (AppID) -> Bool) -> Contest {
        func shown(_ name: AppID?, _ rank: Rank?) -> (AppID, Rank)? {
            guard let name, let rank else { return nil }
            return (isKnown(name) ? name : .anotherApp, rank)
        }
        return Contest(
            group: self.group, mode: self.mode, select: self.select, candidates: self.candidates,
            decided: self.decided, isEager: self.isEager, winner: shown(self.winner, self.winnerRank),
            next: shown(self.next, self.nextRank), inherits: self.inherits)
    }
}

extension Contest: Equatable {
    package static func == (a: Contest, b: Contest) -> Bool {
        a === b
            || (a.group == b.group && a.mode == b.mode && a.select == b.select && a.candidates == b.candidates
                && a.decided == b.decided && a.isEager == b.isEager && a.winner == b.winner
                && a.winnerRank == b.winnerRank && a.next == b.next && a.nextRank == b.nextRank
                && a.inherits == b.inherits)
    }
}
