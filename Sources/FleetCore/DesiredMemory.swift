/// What of the wanted state is on the disk, and so is still known after the end of the bridge.
package struct DesiredMemory: Equatable, Sendable {
    /// What the last attempt came to.
    package struct Attempt: Equatable, Sendable {
        package enum Outcome: String, CaseIterable, Sendable {
            /// Noted before anything changes: whoever finds it was interrupted.
            case trial
            /// It was interrupted, and may be tried again.
            case interrupted
            case applied
            case refused
            case rolledBack = "rolled-back"
        }

        package var version: UInt64
        package var outcome: Outcome
        /// How often it was begun.
        package var count: Int
        package var scope: String
        package var problem: DesiredProblem?
        /// The key by which it had to be signed; `nil`: by none. Versions of another one are counted anew.
        package var signer: String?
        /// Whoever wrote it down did not say which key that was.
        package var isSignerUnknown = false

        package init(
            version: UInt64, outcome: Outcome, count: Int, scope: String, problem: DesiredProblem? = nil,
            signer: String? = nil
        ) {
            self.version = version
            self.outcome = outcome
            self.count = count
            self.scope = scope
            self.problem = problem
            self.signer = signer
        }
    }

    /// What the broker reads.
    package var inForce: DesiredState
    /// What was in force and confirmed last: what is gone back to.
    package var confirmed: DesiredState
    package var last: Attempt?

    package init(
        inForce: DesiredState = .none, confirmed: DesiredState = .none, last: Attempt? = nil
    ) {
        self.inForce = inForce
        self.confirmed = confirmed
        self.last = last
    }
}

extension DesiredMemory.Attempt {
    package var value: DataValue {
        .fields([
            "version": .count(self.version), "outcome": .text(self.outcome.rawValue), "count": .count(self.count),
            "for": .text(self.scope), "problem": self.problem?.value,
            "signer": self.signerValue,
        ])
    }

    /// That there was no key is written down, too: so it is told from what an earlier version did not write down.
    private var signerValue: DataValue? {
        guard !self.isSignerUnknown else { return nil }
        return self.signer.map { DataValue.text($0) } ?? DataValue.null
    }

    package init?(_ value: DataValue) {
        guard let version = value["version"]?.count, let outcome = value["outcome"]?.text.flatMap(Outcome.init),
            let count = value["count"]?.integer, let scope = value["for"]?.text
        else { return nil }
        // One is added to the count, however it came to be what it is.
        self.init(
            version: version, outcome: outcome, count: Int(UInt16(clamping: count)), scope: scope,
            problem: value["problem"].flatMap { DesiredProblem($0) }, signer: value["signer"]?.text)
        self.isSignerUnknown = value["signer"] == nil
    }
}
