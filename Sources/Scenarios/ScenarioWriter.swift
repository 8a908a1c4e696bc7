import Arbitration
import Motion

extension Scenario: CustomStringConvertible {
    /// The scenario as a file. Reading it gives the same scenario.
    package var description: String {
        ([Self.header] + self.steps.map { "\(Self.text($0.time)) \(Self.text($0.event))" })
            .map { $0 + "\n" }.joined()
    }

    /// In whole microseconds where milliseconds would not do.
    static func text(_ span: TimeSpan) -> String {
        let (milliseconds, rest) = span.microseconds.quotientAndRemainder(dividingBy: 1_000)
        return rest == 0 ? "\(milliseconds)ms" : "\(span.microseconds)us"
    }

    private static func text(_ event: Event) -> String {
        switch event {
        case .app(let id, let state, let proof): return "app \(id) state=\(state.name) proof=\(proof.name)"
        case .detector(let id, let facts):
            var words = ["detector \(id) \(facts.name)"]
            if !facts.preset.isEmpty { words.append("preset=\(facts.preset)") }
            if let threshold = facts.threshold {
                words.append("threshold=\(threshold)\(facts.dimension.canonicalUnit)")
            }
            words.append("rest=\(self.text(facts.rest))")
            if facts.startsResting { words.append("starts-resting=yes") }
            return words.joined(separator: " ")
        case .removeDetector(let id, let name): return "remove \(id) \(name)"
        case .state(let id, let state): return "state \(id) \(state.name)"
        case .activity(let id, let mode, let isRunning):
            return "activity \(id) \(mode.name) \(isRunning ? "begin" : "end")"
        case .assertion(let id, let isHeld): return "assertion \(id) \(isHeld ? "begin" : "end")"
        case .locked(let isLocked): return "locked \(isLocked ? "yes" : "no")"
        case .power(.ac): return "power ac"
        case .power(.battery(.none)): return "power battery"
        case .power(.battery(.some(let charge))): return "power battery \(charge * 100)%"
        case .clock(let minute):
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][min(6, max(0, minute / 1_440))]
            return "clock \(day) \(two(minute % 1_440 / 60)):\(two(minute % 60))"
        case .hit(let id, let name, let peak, let lasting):
            return "hit \(id) \(name) \(peak)" + (lasting == .zero ? "" : " for=\(self.text(lasting))")
        case .answer(let id, let answer, let epoch):
            return "\(answer.rawValue) \(id)" + (epoch.map { " epoch=\($0)" } ?? "")
        case .leave(let id): return "leave \(id)"
        case .end: return "end"
        }
    }
}
