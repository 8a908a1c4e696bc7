import Arbitration
import BrokerCore
import Loop
import Motion
import PolicyFiles

/// Has done what the core says is due after an input: a tick in time, cleaning in turns, memory given back, the recording.
///
/// Nothing that happens waits for the cleaning when many clients have gone.
final class DueWork {
    private unowned let service: BrokerService
    private let loop: EventLoop
    /// Where what happens is written down, while somebody asked for it.
    private let record: BrokerRecord
    private var timer: EventLoop.TimerID?
    /// When the timer runs, while it does.
    private var timerSet: Timestamp?
    /// Turns of cleaning are under way, or memory is about to be given back.
    private var isCleaning = false
    private var isShrinking = false

    /// How long it may take until memory is given back, in µs: whoever leaves is followed by others as a rule.
    private static let shrinkingPause: Int64 = 1_000_000

    init(_ service: BrokerService, record: BrokerRecord) {
        self.service = service
        self.loop = service.loop
        self.record = record
    }

    /// Begins what has become due with the last input.
    func begin(_ due: DueAfterInput) {
        self.setTimer(due.tick)
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

    /// Writes down what was given and what was decided.
    func record(_ steps: [ArbiterStep]) { self.record.write(steps) }

    /// What the policy that is about to be in force was read from, for who records it.
    func recordFiles(_ files: [PolicyFile]) { self.record.follow(files) }

    /// A timer only while something waits for time alone; it is let run and set anew rather than moved with every sample,
    /// unless something falls due before it.
    private func setTimer(_ tick: Timestamp?) {
        guard let tick else { return }
        if let timerSet, timerSet <= tick { return }
        self.timerSet = tick
        self.loop.set(&self.timer, at: tick.microseconds, on: .boottime) { [unowned self] in
            self.timerSet = nil
            self.service.happened(.tick)
        }
    }

    private func clean() -> Bool {
        let isMore = try? self.service.input { (core, now, actions) throws(Refusal) in
            try core.apply(.clean, at: now, &actions)
            return core.due().isCleaning
        }
        self.isCleaning = isMore ?? false
        return self.isCleaning
    }

    private func shrink() -> Bool {
        self.isShrinking = false
        self.service.shrink()
        FreeMemory.giveBack()
        return false
    }
}
