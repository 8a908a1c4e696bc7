import BrokerCore
import EventLoop
import Motion

/// What is left to do when many clients have gone, in turns: nothing that happens waits for it.
extension BrokerService {
    /// How long it may take until memory is given back, in µs: whoever leaves is followed by others as a rule.
    private static let shrinkingPause: Int64 = 1_000_000

    /// Begins what has become due with the last input.
    func cleanLater(_ due: BrokerCore.Due) {
        if due.isCleaning, !self.isCleaning {
            self.isCleaning = true
            self.loop.turns.add { [weak self] in self?.clean() ?? false }
        }
        if due.isShrinking, !self.isShrinking {
            self.isShrinking = true
            self.loop.once(after: Self.shrinkingPause) { [weak self] in
                self?.loop.turns.add { [weak self] in self?.shrink() ?? false }
            }
        }
    }

    private func clean() -> Bool {
        let isMore = try? self.input { (core, _, actions) throws(Refusal) in
            core.clean(&actions)
            return core.due().isCleaning
        }
        self.isCleaning = isMore ?? false
        return self.isCleaning
    }

    private func shrink() -> Bool {
        self.isShrinking = false
        self.shrinkTables()
        FreeMemory.giveBack()
        return false
    }
}
