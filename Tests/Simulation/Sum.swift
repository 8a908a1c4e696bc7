extension Simulator {
    /// What was seen in lives that went well, added up.
    package struct Sum: Equatable, Sendable {
        package enum Count: Int, CaseIterable, Sendable {
            case lives, steps, verdicts, sent, again, gaps, acknowledged, otherEnds, committed, restored
            case launches, launched, launchesFailed, handedOver, submitted, runs, done, runEnds, tasksRestored
            // Of the reader: claims, those that were refused or rested, and samples.
            case claims, refused, rests, questions, samples, read, lost, holes, failures
            // Verdicts by the stage that decided.
            case identity, alive, rule, limits, group, delivery
        }

        private var counts = [Int](repeating: 0, count: Count.allCases.count)

        package init() {}

        init(of life: Life, _ world: World) {
            let events = world.events.counts
            self[.lives] = 1
            self[.steps] = life.steps.count
            self[.verdicts] = world.verdicts.count
            self[.sent] = events.sent
            self[.again] = events.again
            self[.gaps] = events.gaps
            self[.acknowledged] = events.acknowledged
            self[.otherEnds] = events.otherEnds
            self[.committed] = events.committed
            self[.restored] = events.restored
            self[.launches] = world.launches.counts.begun
            self[.launched] = world.launches.counts.done
            self[.launchesFailed] = world.launches.counts.failed
            self[.handedOver] = events.handedOver
            let tasks = world.tasks.counts
            self[.submitted] = tasks.submitted
            self[.runs] = tasks.run
            self[.done] = tasks.done
            self[.runEnds] = tasks.ended
            self[.tasksRestored] = tasks.restored
            let reader = world.reader.counts
            self[.claims] = reader.claims
            self[.refused] = reader.refused
            self[.rests] = reader.rests
            self[.questions] = reader.questions
            self[.samples] = reader.samples
            self[.read] = reader.read
            self[.lost] = reader.lost
            self[.holes] = reader.gaps
            self[.failures] = reader.failures
            for (stage, count) in world.verdicts.stages.enumerated() {
                self.counts[Count.identity.rawValue + stage] = count
            }
        }

        package private(set) subscript(count: Count) -> Int {
            get { self.counts[count.rawValue] }
            set { self.counts[count.rawValue] = newValue }
        }

        package static func += (a: inout Sum, b: Sum) {
            for index in a.counts.indices { a.counts[index] += b.counts[index] }
        }

        // MARK: As text

        /// The numbers in one line.
        package var text: String { self.counts.map { "\($0)" }.joined(separator: " ") }

        /// Reads such a line.
        package init?(_ text: some StringProtocol) {
            let numbers = text.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == self.counts.count else { return nil }
            self.counts = numbers
        }

        /// The same for people.
        package var words: String {
            Count.allCases.map { "\($0) \(self[$0])" }.joined(separator: ", ")
        }
    }
}
