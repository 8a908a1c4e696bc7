import DBus
import Loop
import Motion
import SensorCore

/// Connections that hold something for which polkit has to say yes, or were refused it: the shell around `Admissions`, for one action.
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
    private var admissions = Admissions(places: PolkitRounds.mostRefused)
    private var timer: EventLoop.TimerID?
    /// Who was refused, and may leave.
    private var watches: [String: NameWatch.Token] = [:]
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
        polkit.listen { [unowned self] news in self.goOn { $0.take(news, at: $1) } }
    }

    /// What there is for all, and who has it.
    func usage(of part: LimitUsage.Part) -> [LimitUsage] {
        [
            LimitUsage("polkit-refusals", of: part, self.admissions.refusals),
            LimitUsage("polkit-rounds", of: part, self.admissions.shares),
        ]
    }

    /// Signals that pretended to come from polkit.
    var forgeries: UInt64 { self.polkit.forgeries }

    private var now: Int64 { Clock.monotonic.now() }

    // MARK: Who holds what

    /// Why what a connection holds rests; `nil`: it does not, or is not known.
    func resting(_ name: String) -> Resting? { self.admissions.resting(name) }

    /// A connection holds something, or more, by what was said to a question of then.
    func hold(_ name: String, of user: UInt32, asOf asked: ClaimRounds.Moment?) {
        self.goOn { admissions, now in
            admissions.hold(name, of: user, asOf: asked, at: now)
            return []
        }
    }

    /// A connection holds nothing any more.
    func letGo(_ name: String) { self.admissions.letGo(name) }

    // MARK: Who may

    /// Finds out whether a connection may that holds nothing yet. Whoever was refused is refused at once, as long as nothing changed.
    func admit(_ name: String, of user: UInt32, _ then: @escaping (Admission) -> Void) {
        if let resting = self.admissions.refusal(of: name) { return then(.no(resting, reason: nil)) }
        let asked = self.admissions.moment(at: self.now)
        self.polkit.ask(self.action, of: name, user) { [weak self] answer in
            guard let self else { return }
            self.goOn { $0.take(answer, admitting: name, of: user, asOf: asked, at: $1) }
            switch answer {
            case .yes: then(.yes(asOf: asked))
            case .no: then(.no(.inactive, reason: nil))
            case .unknown(let reason), .silent(let reason): then(.no(.unknown, reason: reason))
            }
        }
    }

    /// Remembers who is refused, because what it holds rests.
    func refuse(_ name: String, of user: UInt32) { self.goOn { $0.refuse(name, of: user, at: $1) } }

    // MARK: Rounds

    /// Takes in what happened, does what follows from it, and asks whom there is to ask about by now.
    private func goOn(_ input: (inout Admissions, _ now: Int64) -> [Admissions.Effect]) {
        for effect in input(&self.admissions, self.now) { self.perform(effect) }
        while let (name, user) = self.admissions.next(at: self.now) {
            self.polkit.ask(self.action, of: name, user) { [weak self] answer in
                self?.goOn { $0.answered(answer, about: name, at: $1) }
            }
        }
        self.setTimer()
    }

    private func perform(_ effect: Admissions.Effect) {
        switch effect {
        case .rest(let name, let resting): self.onRest(name, resting)
        case .goOn(let name): self.onRest(name, nil)
        case .allow(let name): self.onAllow(name)
        case .watch(let name):
            // With a rule of its own: what others do must not wake us.
            self.watches[name] = self.names.follow(name, ownRule: true) { [weak self] owner in
                if owner == nil { self?.goOn { admissions, _ in admissions.forget(name) } }
            }
        case .unwatch(let name):
            if let watch = self.watches.removeValue(forKey: name) { self.names.unfollow(watch) }
        }
    }

    private func setTimer() {
        self.loop.set(&self.timer, at: self.admissions.nextDeadline) { [unowned self] in
            self.goOn { $0.tick(at: $1) }
        }
    }
}
