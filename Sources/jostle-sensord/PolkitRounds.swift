import DBus
import Loop
import SensorCore

/// Connections that hold something for which polkit has to say yes: the shell around `ClaimRounds`, for one action.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class PolkitRounds {
    private let polkit: Polkit
    private let action: String
    private let loop: EventLoop
    private var rounds = ClaimRounds()
    private var timer: EventLoop.TimerID?
    /// What a connection holds rests, or goes on.
    var onRest: (_ name: String, _ isResting: Bool) -> Void = { _, _ in }

    init(_ polkit: Polkit, _ action: String, on loop: EventLoop) {
        self.polkit = polkit
        self.action = action
        self.loop = loop
        // Others hear of it, too.
        let (othersChange, othersSilence) = (polkit.onChange, polkit.onSilence)
        polkit.onChange = { [unowned self] in
            othersChange()
            self.goOn { $0.changed(at: $1) }
        }
        polkit.onSilence = { [unowned self] isSilent in
            othersSilence(isSilent)
            self.goOn { rounds, now in
                if isSilent { return rounds.fellSilent(at: now) }
                rounds.mayAnswer()
                return []
            }
        }
    }

    private var now: Int64 { Clock.monotonic.now() }

    /// Whether what a connection holds rests.
    func isResting(_ name: String) -> Bool { self.rounds.resting(name) != nil }

    /// Asks about a connection that holds nothing yet.
    ///
    /// - Parameter then: tells whether it holds something now.
    func ask(_ name: String, _ then: @escaping (Polkit.Answer) -> Bool) {
        let asked = self.rounds.moment(at: self.now)
        self.polkit.ask(self.action, of: name) { [weak self] answer in
            guard then(answer), let self else { return }
            self.goOn { rounds, now in
                rounds.hold(name, asOf: asked, at: now)
                return []
            }
        }
    }

    /// A connection holds nothing any more.
    func letGo(_ name: String) { self.rounds.letGo(name) }

    /// Takes in what happened, does what follows from it, and asks whom there is to ask about by now.
    private func goOn(_ input: (inout ClaimRounds, _ now: Int64) -> [ClaimRounds.Effect]) {
        for effect in input(&self.rounds, self.now) {
            switch effect {
            case .rest(let name, _): self.onRest(name, true)
            case .goOn(let name): self.onRest(name, false)
            case .allow: break
            }
        }
        while let name = self.rounds.next(at: self.now) {
            self.polkit.ask(self.action, of: name) { [weak self] answer in
                self?.goOn { $0.answered(answer.forRounds, about: name, at: $1) }
            }
        }
        self.setTimer()
    }

    private func setTimer() {
        guard let deadline = self.rounds.nextDeadline else {
            if let timer { self.loop.cancel(timer) }
            return self.timer = nil
        }
        if let timer { return self.loop.reschedule(timer, at: deadline) }
        self.timer = self.loop.schedule(at: deadline) { [unowned self] in self.goOn { $0.tick(at: $1) } }
    }
}
