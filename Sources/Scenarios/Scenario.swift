package import Arbitration
package import Motion

/// What happens, when: a text file of timed inputs that runs through the real core in virtual time.
package struct Scenario: Equatable, Sendable {
    package struct Step: Equatable, Sendable {
        /// Since the scenario began. Never decreases.
        package var time: TimeSpan
        package var event: Event

        package init(_ time: TimeSpan, _ event: Event) {
            self.time = time
            self.event = event
        }
    }

    package enum Event: Equatable, Sendable {
        /// An app comes. What it is granted is policy's to say.
        case app(AppID, state: AppState, proof: IdentityProof)
        case detector(AppID, DetectorFacts)
        case removeDetector(AppID, String)
        case state(AppID, AppState)
        case activity(AppID, BackgroundMode, isRunning: Bool)
        case assertion(AppID, isHeld: Bool)
        case locked(Bool)
        case power(Power)
        /// The wall clock, in minutes of the week.
        case clock(Int)
        /// A detector fires. Its condition stays true for `lasting`.
        case hit(AppID, String, peak: Double, lasting: TimeSpan)
        /// An app answers an event; without an epoch the last one it got.
        case answer(AppID, Answer, epoch: UInt64?)
        /// An app leaves the bus and is forgotten.
        case leave(AppID)
        /// Nothing happens, but time passes until here.
        case end
    }

    package var steps: [Step]

    package init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// The first line of every scenario.
    static let header = "# jostle scenario 1"
    /// Longer than any scenario, and far from where times overflow.
    static let longest = TimeSpan.seconds(86_400 * 366)
}

/// What is wrong with a scenario, and where.
package struct ScenarioProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var message: String

    package var description: String { "\(self.line):\(self.column): \(self.message)" }
}
