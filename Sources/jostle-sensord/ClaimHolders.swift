import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import Protocol

/// Connections that hold claims, or were refused any, and whether polkit lets each of them claim.
///
/// It authorises a user at a place, and not a program: as a rule whoever's session is in front. When something changed there, all of
/// them are asked about again, one round at a time: claims of those who may not any more rest, and go on when they may again, and
/// whoever was refused is told. Root, our own user and the broker are not asked about, and on other buses than the system's nobody is.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class ClaimHolders {
    private struct Holder {
        let user: UInt32
        var claims: [(service: SensorService, client: SensorClient)] = []
        var resting: Resting?
    }

    private let bus: Connection
    private let names: NameWatch
    /// `nil`: nobody is asked.
    private let polkit: Polkit?
    private let log: Log
    private var holders: [String: Holder] = [:]
    /// Who was refused, of each user some.
    private var refused: [String: (user: UInt32, watch: NameWatch.Token)] = [:]
    private var refusedShares = UserShares(limit: 256, reserve: 16)
    /// Whoever was refused may claim by now.
    var onAllowed: (String) -> Void = { _ in }

    /// Counts what polkit said had changed: an answer to a question of before may be old.
    private var changes: UInt64 = 0
    /// Something changed since the round began.
    private var isStale = false
    /// Answers that the round waits for.
    private var awaited = 0
    /// When the next round may begin.
    private var notBefore = Int64.min
    private var timer: EventLoop.TimerID?
    /// Some in this round are not known about.
    private var isIncomplete = false
    /// How long it takes until they are asked about again, in µs; 0 while all are known about.
    private var wait: Int64 = 0
    private var isWaiting = false

    /// From the end of a round to the next, in µs: at least, and for each who was asked about, however often something changes.
    private static let pause: Int64 = 200_000
    private static let pauseForEach: Int64 = 2_000
    /// When those are asked about again of whom nobody said anything, in µs: at first soon, then ever less often.
    private static let waits: ClosedRange<Int64> = 1_000_000...60_000_000

    init(on bus: Connection, _ names: NameWatch, _ polkit: Polkit?, log: Log) {
        self.bus = bus
        self.names = names
        self.polkit = polkit
        self.log = log
        polkit?.onChange = { [unowned self] in self.changed() }
    }

    var forgeries: UInt64 { self.polkit?.forgeries ?? 0 }

    private func isAsked(_ user: UInt32) -> Bool { self.polkit != nil && user != UserShares.root && user != getuid() }

    // MARK: What is held

    /// The user of a connection that holds something.
    func user(of name: String) -> UInt32? { self.holders[name]?.user }

    /// Whether a connection holds something that does not rest: then it may claim more.
    func isAwake(_ name: String) -> Bool { self.holders[name].map { $0.resting == nil } ?? false }

    /// A connection holds one thing more.
    func hold(_ client: SensorClient, of service: SensorService, _ caller: ClaimRights.Caller) {
        guard let user = caller.user else { return }
        self.holders[caller.name, default: Holder(user: user)].claims.append((service, client))
        self.checkAge(of: caller)
    }

    /// Somebody who was asked about before something changed is asked about again.
    private func checkAge(of caller: ClaimRights.Caller) {
        guard let changes = caller.changes, changes != self.changes else { return }
        self.isStale = true
        self.beginRound()
    }

    /// It holds one thing less.
    func letGo(_ client: SensorClient, _ caller: ClaimRights.Caller) {
        guard caller.user != nil, var holder = self.holders.removeValue(forKey: caller.name) else { return }
        holder.claims.removeAll { $0.client === client }
        if !holder.claims.isEmpty { self.holders[caller.name] = holder }
    }

    // MARK: Questions

    /// Finds out whether somebody may claim, who is told so, or why not.
    func admit(
        _ caller: ClaimRights.Caller, _ then: @escaping (Result<ClaimRights.Caller, BusError>) -> Void
    ) {
        guard let user = caller.user, self.isAsked(user), let polkit else { return then(.success(caller)) }
        var caller = caller
        caller.changes = self.changes
        if let holder = self.holders[caller.name] {
            guard let resting = holder.resting else { return then(.success(caller)) }
            return then(.failure(self.refusal(of: caller, user, resting, nil)))
        }
        polkit.ask(PolkitAction.claim, of: caller.name) { [weak self] answer in
            guard let self else { return }
            switch answer {
            case .yes:
                self.forget(caller.name)
                then(.success(caller))
            case .no: then(.failure(self.refusal(of: caller, user, .inactive, nil)))
            case .none(let reason):
                self.askAgainLater()
                then(.failure(self.refusal(of: caller, user, .unknown, reason)))
            }
        }
    }

    /// Looks whether somebody who was let in has come to rest meanwhile: then what he asked for would begin awake.
    func confirm(_ caller: ClaimRights.Caller) throws(BusError) {
        guard let user = caller.user, let resting = self.holders[caller.name]?.resting else { return }
        throw self.refusal(of: caller, user, resting, nil)
    }

    /// Remembers who is refused, to tell it when it may.
    private func refusal(
        of caller: ClaimRights.Caller, _ user: UInt32, _ resting: Resting, _ reason: String?
    ) -> BusError {
        let name = caller.name
        if self.refused[name] == nil, self.refusedShares.take(1, for: user) {
            let watch = self.names.follow(name) { [weak self] in if $0 == nil { self?.forget(name) } }
            self.refused[name] = (user, watch)
        }
        self.checkAge(of: caller)
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
    }

    // MARK: Rounds

    private func changed() {
        self.changes += 1
        self.isStale = true
        self.beginRound()
    }

    private func beginRound() {
        guard self.isStale, self.awaited == 0, let polkit else { return }
        let now = Clock.monotonic.now()
        guard now >= self.notBefore else { return self.beginRoundLater() }
        (self.isStale, self.isIncomplete) = (false, false)
        let holders = self.holders.lazy.filter { self.isAsked($0.value.user) }.map(\.key)
        let names = Set(holders).union(self.refused.keys)
        self.awaited = names.count
        for name in names {
            polkit.ask(PolkitAction.claim, of: name) { [weak self] answer in
                self?.take(answer, of: name)
                self?.answered(of: names.count)
            }
        }
    }

    private func beginRoundLater() {
        if let timer { return self.bus.loop.reschedule(timer, at: self.notBefore) }
        self.timer = self.bus.loop.schedule(at: self.notBefore) { [weak self] in self?.beginRound() }
    }

    private func answered(of count: Int) {
        self.awaited -= 1
        guard self.awaited == 0 else { return }
        self.notBefore = Clock.monotonic.now() + max(Self.pause, Int64(count) * Self.pauseForEach)
        if self.isIncomplete { self.askAgainLater() } else { self.wait = 0 }
        self.beginRound()
    }

    /// Asks about all again after a while, because some are not known about.
    private func askAgainLater() {
        guard !self.isWaiting else { return }
        self.isWaiting = true
        self.wait = min(Self.waits.upperBound, max(Self.waits.lowerBound, 2 * self.wait))
        self.bus.loop.once(after: self.wait) { [weak self] in
            guard let self else { return }
            self.isWaiting = false
            self.isStale = true
            self.beginRound()
        }
    }

    private func take(_ answer: Polkit.Answer, of name: String) {
        if answer == .yes, self.refused[name] != nil {
            self.forget(name)
            self.rest(name, nil)
            return self.onAllowed(name)
        }
        switch answer {
        case .yes: self.rest(name, nil)
        case .no: self.rest(name, .inactive)
        case .none:
            // Who has left meanwhile is of no interest.
            if self.holders[name] != nil || self.refused[name] != nil { self.isIncomplete = true }
            self.rest(name, .unknown)
        }
    }

    /// Lets all claims of a connection rest, or go on, also those that it was given while others of it rested.
    private func rest(_ name: String, _ resting: Resting?) {
        guard let holder = self.holders[name] else { return }
        if holder.resting != resting {
            self.holders[name]?.resting = resting
            let what = resting.map { "rest (\($0.rawValue))" } ?? "go on"
            self.log.info("the claims of \(name), user \(holder.user), \(what)")
        }
        for (service, client) in holder.claims where client.resting != resting { service.rest(client, resting) }
    }
}
