import DBus
import Loop
import Motion
import SensorCore

/// Connections that hold something for which polkit has to say yes, or were refused it: the shell around `ClaimRounds`, for one action.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class PolkitRounds {
    private let polkit: Polkit
    private let action: String
    private let loop: EventLoop
    private var rounds = ClaimRounds()
    private var timer: EventLoop.TimerID?
    /// What a connection holds rests for this reason, or goes on.
    var onRest: (_ name: String, Resting?) -> Void = { _, _ in }
    /// A connection that was refused would not be by now, and is not remembered any more.
    var onAllow: (_ name: String) -> Void = { _ in }

    init(_ polkit: Polkit, _ action: String, on loop: EventLoop) {
        self.polkit = polkit
        self.action = action
        self.loop = loop
        polkit.listen { [unowned self] news in
            self.goOn { rounds, now in
                switch news {
                case .changed(let isSilent): return rounds.changed(isSilent: isSilent, at: now)
                case .silent: return rounds.fellSilent(at: now)
                case .mayAnswer:
                    rounds.mayAnswer()
                    return []
                }
            }
        }
    }

    /// Signals that pretended to come from polkit.
    var forgeries: UInt64 { self.polkit.forgeries }

    private var now: Int64 { Clock.monotonic.now() }

    // MARK: Who holds what

    /// Why what a connection holds rests; `nil`: it does not, or is not known.
    func resting(_ name: String) -> Resting? { self.rounds.resting(name) }

    /// What a question that is asked now can know.
    var moment: ClaimRounds.Moment { self.rounds.moment(at: self.now) }

    /// Asks about a connection that holds nothing yet.
    func ask(_ name: String, _ then: @escaping (Polkit.Answer) -> Void) { self.polkit.ask(self.action, of: name, then) }

    /// A connection holds something, or more, by what was said to a question of then.
    func hold(_ name: String, asOf asked: ClaimRounds.Moment?) {
        self.goOn { rounds, now in
            rounds.hold(name, asOf: asked, at: now)
            return []
        }
    }

    /// A connection holds nothing any more.
    func letGo(_ name: String) { self.rounds.letGo(name) }

    /// A connection was refused, and is told when it is not any more.
    ///
    /// - Parameter answer: What polkit said; `nil`: what it holds rests.
    func refuse(_ name: String, _ answer: Polkit.Answer?, asOf asked: ClaimRounds.Moment?) {
        self.goOn { rounds, now in
            rounds.refuse(name, answer?.forRounds, asOf: asked ?? rounds.moment(at: now), at: now)
            return []
        }
    }

    /// A connection that was refused is not to be told.
    func forget(_ name: String) { self.rounds.forget(name) }

    // MARK: Rounds

    /// Takes in what happened, does what follows from it, and asks whom there is to ask about by now.
    private func goOn(_ input: (inout ClaimRounds, _ now: Int64) -> [ClaimRounds.Effect]) {
        for effect in input(&self.rounds, self.now) {
            switch effect {
            case .rest(let name, let resting): self.onRest(name, resting)
            case .goOn(let name): self.onRest(name, nil)
            case .allow(let name): self.onAllow(name)
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
