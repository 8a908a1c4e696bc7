import DBus
import Loop
import Motion
import SensorCore

/// Connections that hold something for which polkit has to say yes, or were refused it: the shell around `ClaimRounds`, for one action.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class PolkitRounds {
    /// Whether a connection may have something that it does not have yet.
    enum Admission {
        /// By what was said to a question of then.
        case yes(asOf: ClaimRounds.Moment)
        case no(Resting, reason: String?)
    }

    private let polkit: Polkit
    private let action: String
    private let names: NameWatch
    private let loop: EventLoop
    private var rounds = ClaimRounds()
    private var timer: EventLoop.TimerID?
    /// Who was refused, of each user some.
    private var refused: [String: (user: UInt32, watch: NameWatch.Token)] = [:]
    private var refusedShares = PolkitRounds.mostRefused
    /// What a connection holds rests for this reason, or goes on.
    var onRest: (_ name: String, Resting?) -> Void = { _, _ in }
    /// A connection that was refused would not be by now.
    var onAllow: (_ name: String) -> Void = { _ in }

    private static let mostRefused = UserShares(limit: 256, reserve: 16)
    /// How much there is for all, as `Limits` shows it.
    static let limits = [
        "polkit-refusals": UInt64(mostRefused.limit), "polkit-refusals-per-user": UInt64(mostRefused.share),
        "polkit-rounds": UInt64(ClaimRounds.mostAsked.limit),
        "polkit-rounds-per-user": UInt64(ClaimRounds.mostAsked.share),
    ]

    init(_ polkit: Polkit, _ action: String, _ names: NameWatch, on loop: EventLoop) {
        self.polkit = polkit
        self.action = action
        self.names = names
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

    /// What there is for all, and who has it.
    func usage(of part: LimitUsage.Part) -> [LimitUsage] {
        [
            LimitUsage("polkit-refusals", of: part, self.refusedShares),
            LimitUsage("polkit-rounds", of: part, self.rounds.shares),
        ]
    }

    /// Signals that pretended to come from polkit.
    var forgeries: UInt64 { self.polkit.forgeries }

    private var now: Int64 { Clock.monotonic.now() }

    // MARK: Who holds what

    /// Why what a connection holds rests; `nil`: it does not, or is not known.
    func resting(_ name: String) -> Resting? { self.rounds.resting(name) }

    /// A connection holds something, or more, by what was said to a question of then.
    func hold(_ name: String, of user: UInt32, asOf asked: ClaimRounds.Moment?) {
        self.goOn { rounds, now in
            rounds.hold(name, of: user, asOf: asked, at: now)
            return []
        }
    }

    /// A connection holds nothing any more.
    func letGo(_ name: String) { self.rounds.letGo(name) }

    // MARK: Who may

    /// Finds out whether a connection may that holds nothing yet. Whoever was refused is refused at once, as long as nothing changed.
    func admit(_ name: String, of user: UInt32, _ then: @escaping (Admission) -> Void) {
        if let resting = self.rounds.refusal(of: name) { return then(.no(resting, reason: nil)) }
        let asked = self.rounds.moment(at: self.now)
        self.polkit.ask(self.action, of: name, user) { [weak self] answer in
            guard let self else { return }
            switch answer {
            case .yes:
                self.forget(name)
                then(.yes(asOf: asked))
            case .no:
                self.refuse(name, of: user, answer, asOf: asked)
                then(.no(.inactive, reason: nil))
            case .unknown(let reason), .silent(let reason):
                self.refuse(name, of: user, answer, asOf: asked)
                then(.no(.unknown, reason: reason))
            }
        }
    }

    /// Remembers who is refused, because what it holds rests.
    func refuse(_ name: String, of user: UInt32) {
        self.refuse(name, of: user, nil, asOf: self.rounds.moment(at: self.now))
    }

    private func refuse(
        _ name: String, of user: UInt32, _ answer: Polkit.Answer?, asOf asked: ClaimRounds.Moment
    ) {
        if self.refused[name] == nil, self.refusedShares.take(1, for: user) {
            // With a rule of its own: what others do must not wake us.
            let watch = self.names.follow(name, ownRule: true) { [weak self] in if $0 == nil { self?.forget(name) } }
            self.refused[name] = (user, watch)
        }
        guard self.refused[name] != nil else { return }
        self.goOn { rounds, now in
            rounds.refuse(name, of: user, answer?.forRounds, asOf: asked, at: now)
            return []
        }
    }

    private func forget(_ name: String) {
        guard let (user, watch) = self.refused.removeValue(forKey: name) else { return }
        self.refusedShares.giveBack(1, for: user)
        self.names.unfollow(watch)
        self.rounds.forget(name)
    }

    // MARK: Rounds

    /// Takes in what happened, does what follows from it, and asks whom there is to ask about by now.
    private func goOn(_ input: (inout ClaimRounds, _ now: Int64) -> [ClaimRounds.Effect]) {
        for effect in input(&self.rounds, self.now) {
            switch effect {
            case .rest(let name, let resting): self.onRest(name, resting)
            case .goOn(let name): self.onRest(name, nil)
            case .allow(let name):
                self.forget(name)
                self.onAllow(name)
            }
        }
        while let (name, user) = self.rounds.next(at: self.now) {
            self.polkit.ask(self.action, of: name, user) { [weak self] answer in
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
