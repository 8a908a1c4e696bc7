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

    /// What polkit says; `nil`: nobody is asked about.
    private let rounds: PolkitRounds?
    private let log: Log
    private var holders: [String: Holder] = [:]
    /// Whoever was refused may claim by now.
    var onAllowed: (String) -> Void = { _ in }

    init(on bus: Connection, _ names: NameWatch, _ polkit: Polkit?, log: Log) {
        self.rounds = polkit.map { PolkitRounds($0, PolkitAction.claim, names, on: bus.loop) }
        self.log = log
        self.rounds?.onRest = { [unowned self] in self.rest($0, $1) }
        self.rounds?.onAllow = { [unowned self] in self.onAllowed($0) }
    }

    /// What there is for all who are asked about, and who has it.
    func usage(of part: LimitUsage.Part) -> [LimitUsage] { self.rounds?.usage(of: part) ?? [] }

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
        if self.isAsked(user) { self.rounds?.hold(caller.name, of: user, asOf: caller.asked) }
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
            do throws(BusError) {
                try self.confirm(caller)
                then(.success(caller))
            } catch {
                then(.failure(error))
            }
            return
        }
        rounds.admit(caller.name, of: user) { admission in
            switch admission {
            case .yes(let asked):
                var caller = caller
                caller.asked = asked
                then(.success(caller))
            case .no(let resting, let reason): then(.failure(Self.refusal(resting, reason)))
            }
        }
    }

    /// Looks whether somebody who was let in has come to rest meanwhile: then what he asked for would begin awake.
    func confirm(_ caller: ClaimRights.Caller) throws(BusError) {
        guard let user = caller.user, self.holders[caller.name] != nil, let resting = self.rounds?.resting(caller.name)
        else { return }
        self.rounds?.refuse(caller.name, of: user)
        throw Self.refusal(resting)
    }

    private static func refusal(_ resting: Resting, _ reason: String? = nil) -> BusError {
        switch resting {
        case .inactive:
            .accessDenied(
                "claim: polkit lets the user claim sensors whose session is in front (\(PolkitAction.claim)), and that is not yours: "
                    + "you get no samples now, and SensorChanged when you may claim")
        case .unknown:
            .accessDenied(
                "claim: nobody says whether you may claim sensors (\(PolkitAction.claim)), polkit does not answer"
                    + (reason.map { ": \($0)" } ?? "") + ". You get SensorChanged when you may")
        }
    }

    /// Lets all claims of a connection rest, or go on.
    private func rest(_ name: String, _ resting: Resting?) {
        guard let holder = self.holders[name] else { return }
        let what = resting.map { "rest (\($0.rawValue))" } ?? "go on"
        self.log.info("the claims of \(name), user \(holder.user), \(what)")
        for (service, client) in holder.claims where client.resting != resting { service.rest(client, resting) }
    }
}
