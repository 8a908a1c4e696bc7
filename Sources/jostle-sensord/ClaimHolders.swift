import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import Protocol
import SensorCore

/// Connections that hold claims, or were refused any, and whether polkit lets each of them claim.
///
/// It authorises a user at a place, and not a program: as a rule whoever's session is in front. When something changed there, all of
/// them are asked about again: claims of those who may not any more rest, and go on when they may again, and
/// whoever was refused is told. Root, our own user and the broker are not asked about, and on other buses than the system's nobody is.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class ClaimHolders {
    private struct Holder {
        let user: UInt32
        var claims: [(service: SensorService, client: SensorClient)] = []
    }

    private let names: NameWatch
    /// What polkit says; `nil`: nobody is asked about.
    private let rounds: PolkitRounds?
    private let log: Log
    private var holders: [String: Holder] = [:]
    /// Who was refused, of each user some.
    private var refused: [String: (user: UInt32, watch: NameWatch.Token)] = [:]
    private var refusedShares = UserShares(limit: 256, reserve: 16)
    /// Whoever was refused may claim by now.
    var onAllowed: (String) -> Void = { _ in }

    init(on bus: Connection, _ names: NameWatch, _ polkit: Polkit?, log: Log) {
        self.names = names
        self.rounds = polkit.map { PolkitRounds($0, PolkitAction.claim, on: bus.loop) }
        self.log = log
        self.rounds?.onRest = { [unowned self] in self.rest($0, $1) }
        self.rounds?.onAllow = { [unowned self] name in
            self.forget(name)
            self.onAllowed(name)
        }
    }

    var forgeries: UInt64 { self.rounds?.forgeries ?? 0 }

    private func isAsked(_ user: UInt32) -> Bool { self.rounds != nil && user != UserShares.root && user != getuid() }

    // MARK: What is held

    /// The user of a connection that holds something.
    func user(of name: String) -> UInt32? { self.holders[name]?.user }

    /// Whether a connection holds something that does not rest: then it may claim more.
    func isAwake(_ name: String) -> Bool { self.holders[name] != nil && self.rounds?.resting(name) == nil }

    /// A connection holds one thing more.
    func hold(_ client: SensorClient, of service: SensorService, _ caller: ClaimRights.Caller) {
        guard let user = caller.user else { return }
        self.holders[caller.name, default: Holder(user: user)].claims.append((service, client))
        if self.isAsked(user) { self.rounds?.hold(caller.name, asOf: caller.asked) }
    }

    /// It holds one thing less.
    func letGo(_ client: SensorClient, _ caller: ClaimRights.Caller) {
        guard caller.user != nil, var holder = self.holders.removeValue(forKey: caller.name) else { return }
        holder.claims.removeAll { $0.client === client }
        if holder.claims.isEmpty { self.rounds?.letGo(caller.name) } else { self.holders[caller.name] = holder }
    }

    // MARK: Questions

    /// Finds out whether somebody may claim, who is told so, or why not.
    func admit(
        _ caller: ClaimRights.Caller, _ then: @escaping (Result<ClaimRights.Caller, BusError>) -> Void
    ) {
        guard let user = caller.user, self.isAsked(user), let rounds else { return then(.success(caller)) }
        if self.holders[caller.name] != nil {
            guard let resting = self.rounds?.resting(caller.name) else { return then(.success(caller)) }
            return then(.failure(self.refusal(of: caller, user, resting)))
        }
        var caller = caller
        caller.asked = rounds.moment
        rounds.ask(caller.name) { [weak self] answer in
            guard let self else { return }
            switch answer {
            case .yes:
                self.forget(caller.name)
                then(.success(caller))
            case .no: then(.failure(self.refusal(of: caller, user, .inactive, .no)))
            case .unknown(let reason), .silent(let reason):
                then(.failure(self.refusal(of: caller, user, .unknown, answer, reason)))
            }
        }
    }

    /// Looks whether somebody who was let in has come to rest meanwhile: then what he asked for would begin awake.
    func confirm(_ caller: ClaimRights.Caller) throws(BusError) {
        guard let user = caller.user, self.holders[caller.name] != nil, let resting = self.rounds?.resting(caller.name)
        else { return }
        throw self.refusal(of: caller, user, resting)
    }

    /// Remembers who is refused, to tell it when it may.
    ///
    /// - Parameter answer: What polkit said; `nil`: its claims rest.
    private func refusal(
        of caller: ClaimRights.Caller, _ user: UInt32, _ resting: Resting, _ answer: Polkit.Answer? = nil,
        _ reason: String? = nil
    ) -> BusError {
        let name = caller.name
        if self.refused[name] == nil, self.refusedShares.take(1, for: user) {
            let watch = self.names.follow(name) { [weak self] in if $0 == nil { self?.forget(name) } }
            self.refused[name] = (user, watch)
        }
        if self.refused[name] != nil { self.rounds?.refuse(name, answer, asOf: caller.asked) }
        switch resting {
        case .inactive:
            return .accessDenied(
                "claim: polkit lets the user claim sensors whose session is in front (\(PolkitAction.claim)), and that is not yours: "
                    + "you get no samples now, and SensorChanged when you may claim")
        case .unknown:
            return .accessDenied(
                "claim: nobody says whether you may claim sensors (\(PolkitAction.claim)), polkit does not answer"
                    + (reason.map { ": \($0)" } ?? "") + ". You get SensorChanged when you may")
        }
    }

    private func forget(_ name: String) {
        guard let (user, watch) = self.refused.removeValue(forKey: name) else { return }
        self.refusedShares.giveBack(1, for: user)
        self.names.unfollow(watch)
        self.rounds?.forget(name)
    }

    /// Lets all claims of a connection rest, or go on.
    private func rest(_ name: String, _ resting: Resting?) {
        guard let holder = self.holders[name] else { return }
        let what = resting.map { "rest (\($0.rawValue))" } ?? "go on"
        self.log.info("the claims of \(name), user \(holder.user), \(what)")
        for (service, client) in holder.claims where client.resting != resting { service.rest(client, resting) }
    }
}
