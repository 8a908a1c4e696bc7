import CDBus
import Loop
import Motion

/// The calls that come in by a connection, served so that nobody has to wait for what others ask.
///
/// While little is asked, a call is served as it arrives. Once that has taken its share of a round, calls wait, of each
/// sender apart, and are served in turns of the loop, after whatever else has come in: signals and replies are never
/// behind them. Who does not read his answers is not served, and the calls of who has left are forgotten.
///
/// Not `Sendable`: it belongs to the thread of its connection's loop.
final class IncomingCalls {
    private unowned let connection: Connection
    private let watch: NameWatch
    private let answers: PacedSender
    private(set) var queue = CallQueue<MethodCall>()
    /// Calls that are refused, until their callers are told. They have the same shares and turns: whoever floods us can neither
    /// delay that others are told, nor take their places.
    private(set) var refusals = CallQueue<Refusal>()
    let unknown: UnknownCallers
    private var given = GivenDescriptors()
    private var callers: [String: Caller] = [:]
    /// Callers whose user is to be asked for when a question under way has its answer; each is in `callers`.
    private var toAsk: [String] = []
    /// Questions for users that have no answer yet.
    private(set) var asking = 0
    private var job = Job.none
    private(set) lazy var tidying = Tidying(on: self.connection.loop) { [unowned self] in self.job != .none }
    /// `nil`: the bus had read nearly all when that was last looked at.
    private var blockade: Blockade?
    /// When somebody was last answered before others.
    private var lastUrgent = Int64.min / 2
    /// How long calls that waited have been served since there was a pause, in µs.
    private var served: Int64 = 0
    /// The round of the loop in which calls were last served as they arrived, and how long that took.
    private var round: (number: UInt64, spent: Int64) = (0, 0)

    /// A call that is not served: telling so must not keep us from reading what comes behind it.
    struct Refusal {
        let sender: String
        let serial: UInt32
        let reason: Reason

        enum Reason {
            case tooMuch
            case tooLarge
            case noDescriptors

            var error: BusError {
                switch self {
                case .tooMuch: IncomingCalls.tooMuch
                case .tooLarge: IncomingCalls.tooLarge
                case .noDescriptors: IncomingCalls.noDescriptors
                }
            }
        }
    }

    /// What is done about calls that wait.
    private enum Job {
        case none, serving
        /// They wait for the bus to read what was answered before.
        case parked
    }

    /// The bus does not read what was answered before.
    private struct Blockade {
        /// Since when, or since a call was last served nevertheless.
        var since: Int64
        /// So many bytes were on their way to it then.
        var level = Int.max
    }

    /// What is known of somebody who calls.
    private final class Caller {
        let peer: PacedSender.Peer
        var identity: CallerIdentity?
        var user: UInt32? { self.identity?.user }
        /// His user was asked for, or will be.
        var isUserAsked = false
        /// Tells when he leaves; followed only while much of his waits.
        var watch: NameWatch.Token?
        /// He asked for more before he had his answer, since he was last seen to read.
        var isEager = false
        /// How long he is held when he is eager and gives no sign of reading, in µs.
        var patience = IncomingCalls.patience.lowerBound
        /// When he was last answered before others.
        var lastUrgent = Int64.min / 2
        /// How often he was held.
        var holds: UInt64 = 0

        init(_ peer: PacedSender.Peer) { self.peer = peer }
    }

    /// How long calls of one round are served as they arrive, in µs.
    private static let share: Int64 = 1_000
    /// Answers wait while the bus has so many bytes of ours to read, and we look again after so many µs. A bus reads a little of
    /// everybody in turn (dbus-daemon 4 KiB), and under a flood each turn takes it 5 ms and more: what is urgent is behind all
    /// that we have answered.
    private static let room = 4 << 10
    private static let parkingTime: Int64 = 1_000
    /// After so many µs of that a call is served nevertheless, and then the next: what keeps the bus busy may be samples of ours
    /// that never end, and a claim would have no answer for as long. The next only when the bus has read as much as came since, or after
    /// the longer time: it takes a millisecond for an answer to who has not read 50 000, and what is urgent would be behind more and more.
    private static let longestBlock: Int64 = 50_000
    private static let longestStandstill: Int64 = 1_000_000
    /// However long one call took, others do not wait longer for it, in µs.
    private static let longestPause: Int64 = 5_000
    /// How much time is at least between two calls that are served before others, of one caller and of all, in µs.
    private static let urgentPause: Int64 = 5_000
    private static let urgentPauseOfAll: Int64 = 200
    /// How long one step may read what has come in, in µs. While more comes than can be read, next to nothing is served: what is
    /// urgent must not fall behind in the bus.
    private static let readingShare: Int64 = 4_000
    /// Whoever has so many calls waiting is watched, to forget them when he leaves.
    private static let watchedFrom = 4
    /// How long a caller is held who gives no sign of reading, in µs. It grows while there is none.
    private static let patience: ClosedRange<Int64> = 500_000...8_000_000
    /// As long as one is held who always has his answer before he asks on: programs that only ever wait for that hear no Ping.
    private static let serialPatience: Int64 = 50_000
    /// Callers that may be asked at a time whether they read.
    private static let pings = 32
    /// Callers whose user may be asked for at a time. A bus keeps only so many calls for a connection.
    static let questions = 32
    /// Callers that are remembered; beyond it the idle ones are forgotten.
    private static let callerLimit = 1_024

    init(on connection: Connection, _ watch: NameWatch) {
        self.connection = connection
        self.watch = watch
        self.answers = PacedSender(on: connection, pings: Self.pings)
        self.unknown = UnknownCallers(of: connection)
        // Each that is remembered keeps memory from being given back that others around it used.
        watch.onDeparture = { [weak self] sender in
            if self?.callers[sender] != nil { self?.left(sender) }
        }
    }

    /// What there is for all who call, and who has it.
    var usage: [LimitUsage] {
        let bytes = CallLimits.waitingBytes
        return [
            LimitUsage("waiting-call-bytes", bytes, heldBy: self.queue.waitingBytes),
            LimitUsage("waiting-refusal-bytes", bytes, heldBy: self.refusals.waitingBytes), self.unknown.usage,
            self.given.usage,
        ]
    }

    // MARK: Calls

    /// Serves a call, now or in its turn, or refuses it.
    func take(_ call: consuming MethodCall) {
        var call = call
        let isServed = !self.queue.isHeld(call.sender) && (self.isFree || self.isUrgent(call))
        if call.message.hasDescriptors {
            // libdbus stops reading for everybody while too many descriptors that it has read are held: such a call never waits.
            guard self.connection.objects.takesDescriptors(of: call) else {
                return self.refuse(call, .noDescriptors)
            }
            guard isServed else { return self.refuse(call) }
        }
        let sender = call.sender
        // Known before it is measured, which costs more.
        let outstanding = self.queue.outstanding(of: sender)
        guard outstanding < CallLimits.outstanding else { return self.refuse(call) }
        if outstanding > 0 { self.callers[sender]?.isEager = true }
        let bytes = call.message.size
        guard bytes <= CallLimits.callBytes else { return self.refuse(call, .tooLarge) }
        if isServed {
            guard self.queue.begin(sender) else { return self.refuse(call) }
            call.isCounted = true
            let start = Clock.monotonic.now()
            self.serve(&call)
            let end = Clock.monotonic.now()
            self.round.spent += end - start
            // Calls that never have to wait can be a flood, too.
            self.tidying.served(end - start, bytes: bytes, at: end)
            return
        }
        let caller = self.caller(sender)
        let refused = self.queue.offer(call, from: sender, of: caller.user, bytes: bytes)
        for refused in refused { self.refuse(refused) }
        if self.queue.waiting(of: sender) >= Self.watchedFrom { self.follow(sender) }
        self.learnUser(of: sender, caller)
        self.serveInTurns()
    }

    /// Whether somebody only asks if we live, which is not to depend on how fast the bus takes what others are answered.
    ///
    /// Whoever asks often waits like others.
    private func isUrgent(_ call: MethodCall) -> Bool {
        guard call.message.interface == Standard.peer, self.queue.outstanding(of: call.sender) == 0 else {
            return false
        }
        let now = Clock.monotonic.now()
        let caller = self.caller(call.sender)
        guard now - caller.lastUrgent >= Self.urgentPause, now - self.lastUrgent >= Self.urgentPauseOfAll else {
            return false
        }
        (caller.lastUrgent, self.lastUrgent) = (now, now)
        return true
    }

    /// Whether nobody waits, and this round has time left.
    private var isFree: Bool {
        guard self.queue.isIdle, self.refusals.isIdle, self.job != .parked, self.connection.underWay < Self.room else {
            return false
        }
        let number = self.connection.loop.rounds
        if self.round.number != number { self.round = (number, 0) }
        return self.round.spent < Self.share
    }

    private func serve(_ call: inout MethodCall) {
        if let rest = call.takeRest() { return rest() }
        self.connection.objects.dispatch(call)
        if !isKnownUniquelyReferenced(&call) { call.detach() }
    }

    private func refuse(_ call: MethodCall, _ reason: Refusal.Reason = .tooMuch) {
        let sender = call.sender
        if call.message.wantsReply {
            let refusal = Refusal(sender: sender, serial: call.message.serial, reason: reason)
            // What there is no room for is never told.
            _ = self.refusals.offer(refusal, from: sender, of: self.callers[sender]?.user, bytes: 0)
        }
        call.abandon()
        self.serveInTurns()
    }

    /// Tells one, whatever the bus has to read, and some more while it has read nearly all.
    private func tellRefusals() {
        for _ in 0..<Self.refusalsAtOnce {
            guard let refusal = self.refusals.next() else { return }
            self.refusals.ended(refusal.sender)
            let message = Message(error: refusal.reason.error, to: refusal.sender, answering: refusal.serial)
            let bytes = message.size
            self.connection.send(message)
            self.answered(refusal.sender, bytes: bytes)
            guard self.connection.underWay < Self.room else { return }
        }
    }

    private static let tooMuch = BusError.limitsExceeded(
        "calls-per-caller: at most \(CallLimits.outstanding) may have no answer yet, "
            + "and \(CallLimits.waitingBytes) bytes of all callers wait")
    private static let tooLarge = BusError.limitsExceeded("call-bytes: a call has at most \(CallLimits.callBytes)")
    private static let noDescriptors = BusError.invalidArguments("the call brings a file descriptor, and takes none")
    private static let takesNone = BusError.notSupported(
        "the answer brings a file descriptor, and your connection did not agree with the bus to take any")
    private static let refusalsAtOnce = 16

    // MARK: Turns

    private func serveInTurns() {
        guard self.job == .none, self.hasWork else { return }
        self.job = .serving
        self.connection.loop.turns.add { [weak self] in self?.serveNext() ?? false }
        self.tidying.later()
    }

    private var hasWork: Bool { !self.queue.isIdle || !self.refusals.isIdle }

    /// Takes in what has come meanwhile, and serves one call.
    private func serveNext() -> Bool {
        self.connection.readOn(for: Self.readingShare)
        let start = Clock.monotonic.now()
        guard self.mayAnswer(at: start) else {
            self.park()
            return false
        }
        if var call = self.queue.next() {
            call.isCounted = true
            self.serve(&call)
        }
        self.tellRefusals()
        self.job = self.hasWork ? .serving : .none
        self.served += Clock.monotonic.now() - start
        if self.job == .none { self.served = 0 }
        // Whoever always has something to do has to wait for the processor when something urgent comes.
        if self.served >= Turns.budget { self.park(for: min(self.served, Self.longestPause)) }
        return self.job == .serving
    }

    /// Whether the bus has read nearly all that is ours, or has not for so long that calls wait no longer for it.
    private func mayAnswer(at now: Int64) -> Bool {
        let underWay = self.connection.underWay
        guard underWay >= Self.room else {
            self.blockade = nil
            return true
        }
        let blockade = self.blockade ?? Blockade(since: now)
        let pause = underWay <= blockade.level ? Self.longestBlock : Self.longestStandstill
        let isOverdue = now - blockade.since >= pause
        self.blockade = isOverdue ? Blockade(since: now, level: underWay) : blockade
        return isOverdue
    }

    private func park(for time: Int64 = IncomingCalls.parkingTime) {
        self.served = 0
        self.job = .parked
        self.connection.loop.once(after: time) { [weak self] in
            self?.job = .none
            self?.serveInTurns()
        }
    }

    // MARK: Answers

    /// An answer of so many bytes went to a caller.
    func answered(_ sender: String, bytes: Int) {
        let caller = self.caller(sender)
        self.answers.count(bytes, to: caller.peer)
        if !self.queue.isHeld(sender), !self.answers.hasRoom(for: caller.peer) { self.hold(sender, caller) }
    }

    /// An answer with this serial brought a descriptor.
    func gave(_ serial: UInt32, answering call: borrowing Message, of sender: String) {
        let caller = self.caller(sender)
        self.given.add(serial, answering: call.serial, of: sender, caller.user)
        self.learnUser(of: sender, caller)
    }

    /// The bus has not delivered what has this serial. Who waits for a descriptor that cannot come is told that.
    func undelivered(_ serial: UInt32, _ error: BusError) {
        guard let answer = self.given.remove(serial), error.name == Self.takesNone.name else { return }
        let message = Message(error: Self.takesNone, to: answer.caller, answering: answer.call)
        let bytes = message.size
        self.connection.send(message)
        self.answered(answer.caller, bytes: bytes)
    }

    private func hold(_ sender: String, _ caller: Caller) {
        self.queue.hold(sender)
        // Who does not read would not read that he is refused either. He is told when he reads on.
        self.refusals.hold(sender)
        self.follow(sender)
        caller.holds += 1
        let (hold, isEager) = (caller.holds, caller.isEager)
        self.connection.loop.once(after: isEager ? caller.patience : Self.serialPatience) { [weak self, weak caller] in
            guard let self, let caller, caller.holds == hold, self.queue.isHeld(sender) else { return }
            // Only now he is seen not to wait for what he is answered.
            if caller.isEager, !isEager { return self.hold(sender, caller) }
            self.answers.trust(caller.peer)
            self.release(sender)
        }
        if isEager { caller.patience = min(2 * caller.patience, Self.patience.upperBound) }
    }

    private func release(_ sender: String) {
        self.queue.release(sender)
        self.refusals.release(sender)
        self.serveInTurns()
    }

    /// A call that was served has its answer, or needs none.
    func ended(_ sender: String) { self.queue.ended(sender) }

    private func caller(_ sender: String) -> Caller {
        if let known = self.callers[sender] { return known }
        if self.callers.count >= Self.callerLimit { self.forgetIdle() }
        let caller = Caller(self.answers.peer(sender))
        caller.peer.onRoom(for: caller) { [weak self, weak caller] _ in
            caller?.patience = Self.patience.lowerBound
            caller?.isEager = false
            self?.release(sender)
        }
        self.callers[sender] = caller
        return caller
    }

    private func forgetIdle() {
        for (sender, caller) in self.callers
        where caller.watch == nil && self.queue.outstanding(of: sender) == 0 && !self.queue.isHeld(sender) {
            self.callers[sender] = nil
        }
        self.toAsk.removeAll { self.callers[$0] == nil }
    }

    // MARK: Callers

    private func follow(_ sender: String) {
        let caller = self.caller(sender)
        guard caller.watch == nil else { return }
        caller.watch = self.watch.follow(sender, ownRule: true) { [weak self] owner in
            if owner == nil { self?.left(sender) }
        }
    }

    private func left(_ sender: String) {
        let waiting = self.queue.drop(sender)
        for call in waiting { call.abandon() }
        _ = self.refusals.drop(sender)
        for call in self.unknown.take(of: sender) { call.abandon() }
        self.given.forget(sender)
        self.toAsk.removeAll { $0 == sender }
        // Who never had to wait leaves nothing that is worth a wake-up.
        if !waiting.isEmpty { self.tidying.later() }
        guard let caller = self.callers.removeValue(forKey: sender) else { return }
        if let token = caller.watch { self.watch.unfollow(token) }
    }

    /// Who stands behind a caller's connection, if that is known.
    func knownIdentity(of sender: String) -> CallerIdentity? { self.callers[sender]?.identity }

    /// Tells who stands behind a caller's connection; at once, if that is known. A unique name never means another, and nobody leaves a
    /// sandbox. What could not be found out is asked anew the next time.
    func identity(of sender: String, then: @escaping (CallerAnswer) -> Void) {
        if let identity = self.callers[sender]?.identity { return then(.success(identity)) }
        self.unknown.ask(for: sender) { [weak self] answer in
            if let self, case .success(let identity) = answer, sender.hasPrefix(":") {
                self.caller(sender).identity = identity
                self.queue.setUser(identity.user, of: sender)
                self.refusals.setUser(identity.user, of: sender)
                self.given.setUser(identity.user, of: sender)
            }
            then(answer)
        }
    }

    /// Serves a call again once it is known whose it is.
    func identify(_ call: MethodCall) {
        let sender = call.sender
        let isFirst = !self.unknown.hasCalls(of: sender)
        for refused in self.unknown.add(call) { self.refuse(refused) }
        guard isFirst, self.unknown.hasCalls(of: sender) else { return }
        self.identity(of: sender) { [weak self] answer in
            guard let self else { return }
            let calls = self.unknown.take(of: sender)
            if case .failure(let error) = answer {
                for call in calls { call.fail(error) }
                return
            }
            self.putBack(calls.map { ($0, $0.message.size) }, of: sender)
        }
    }

    /// Goes on with calls that were kept when their sender has his turn: all that became ready together, at once, would be in front
    /// of whatever is urgent.
    func putBack(_ calls: [(call: MethodCall, bytes: Int)], of sender: String) {
        // The queue counts what waits.
        for (call, _) in calls { call.isCounted = false }
        for refused in self.queue.putBack(calls, of: sender) { self.refuse(refused) }
        self.serveInTurns()
    }

    /// Asks for the user of a sender whose call waits, or who was given a descriptor, so that he has no more than his user's share.
    /// Once: who cannot be asked for stands for himself.
    private func learnUser(of sender: String, _ caller: Caller) {
        guard caller.user == nil, !caller.isUserAsked, self.hasShare(sender) else { return }
        caller.isUserAsked = true
        self.toAsk.append(sender)
        self.askForUsers()
    }

    /// Something of a sender's counts in his user's share.
    private func hasShare(_ sender: String) -> Bool { self.queue.waiting(of: sender) > 0 || self.given.has(sender) }

    private func askForUsers() {
        while self.asking < Self.questions, !self.toAsk.isEmpty {
            let sender = self.toAsk.removeFirst()
            guard let caller = self.callers[sender], caller.user == nil else { continue }
            guard self.hasShare(sender) else {
                // Not worth a question until something of his counts again.
                caller.isUserAsked = false
                continue
            }
            self.asking += 1
            self.identity(of: sender) { [weak self] _ in
                self?.asking -= 1
                self?.askForUsers()
            }
        }
    }

    /// The connection ended, and nobody is there to be answered.
    func endAll() {
        _ = self.refusals.dropAll()
        self.given = GivenDescriptors()
        self.toAsk = []
        for call in self.queue.dropAll() + self.unknown.takeAll() { call.abandon() }
        for caller in self.callers.values {
            if let token = caller.watch { self.watch.unfollow(token) }
        }
        self.callers = [:]
    }
}
