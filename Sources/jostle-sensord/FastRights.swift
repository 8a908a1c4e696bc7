import Arbitration
import DBus
import DaemonSupport
import Motion
import PolicyFiles
import Protocol

/// Who may read samples faster than anybody may: the broker, and the apps that policy names.
///
/// Policy is read when somebody asks for such a rate, which is seldom: so it is never stale, and nothing is kept of it. What
/// one connection asks is answered in the order in which it asked.
final class FastRights {
    private let bus: Connection
    /// `nil`: the bus itself says who may claim anything.
    private let policy: PolicySource?
    private let log: Log
    /// What waits behind the first question of a connection.
    private var waiting: [String: [Question]] = [:]

    private struct Question {
        var rate: Double
        /// Called with what speaks against it.
        var answer: (BusError?) -> Void
    }

    init(on bus: Connection, _ policy: PolicySource?, log: Log) {
        self.bus = bus
        self.policy = policy
        self.log = log
    }

    /// Asks whether a connection may read at a rate; 0 only waits for its turn.
    func ask(_ rate: Double, of sender: String, _ answer: @escaping (BusError?) -> Void) {
        let question = Question(rate: rate, answer: answer)
        if self.waiting[sender] != nil {
            self.waiting[sender]?.append(question)
        } else if self.policy == nil || rate <= AppSettings.rateForAll {
            answer(nil)
        } else {
            self.waiting[sender] = [question]
            self.look(rate, sender)
        }
    }

    private func look(_ rate: Double, _ sender: String) {
        let policy = self.inForce()
        if let policy, policy.everyApp.fastestRate >= rate { return self.finish(sender, isAllowed: true) }
        let apps = policy?.apps.filter { $0.value.fastestRate >= rate }.keys.map(\.name) ?? []
        var left = apps.count + 1
        for name in [BusName.broker] + apps.sorted() {
            self.bus.callBus("GetNameOwner", name) { [weak self] result in
                left -= 1
                let owner = try? result.take().read(reply: String.self)
                guard let self, left >= 0 else { return }
                if owner == sender {
                    left = -1
                    self.finish(sender, isAllowed: true)
                } else if left == 0 {
                    self.finish(sender, isAllowed: false)
                }
            }
        }
    }

    private func inForce() -> Policy? {
        guard let (reading, _) = self.policy?.read() else { return nil }
        if let error = reading.errors.first { self.log.warning("policy is refused: \(error)") }
        return reading.inForce
    }

    /// Answers the first question of a connection, and takes up what waited behind it.
    private func finish(_ sender: String, isAllowed: Bool) {
        guard let questions = self.waiting.removeValue(forKey: sender), let first = questions.first else { return }
        first.answer(isAllowed ? nil : Self.refusal(of: first.rate))
        for question in questions.dropFirst() { self.ask(question.rate, of: sender, question.answer) }
    }

    private static func refusal(of rate: Double) -> BusError {
        .accessDenied(
            "claim: rate \(rate) Hz needs FastestRate in an [App] section of policy; anybody may have "
                + "\(AppSettings.rateForAll) Hz")
    }
}
