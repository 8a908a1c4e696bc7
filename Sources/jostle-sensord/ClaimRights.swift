import Arbitration
import DBus
import DaemonSupport
import Loop
import Motion
import PolicyFiles
import Protocol
import SensorCore

/// Who may claim what: whose a claim is, how fast it may be, and how many streams there may be.
///
/// On the system bus polkit says who may claim at all (`ClaimHolders`). Faster than anybody may read the broker, and the apps that
/// policy names, on every bus. Policy is looked at when somebody asks for such a
/// rate: its files are read again only if they do not look as they did, or a stranger who asks again and again would keep us
/// from reading sensors. Who asks while they are being read is told what that reading finds; what was granted before stays.
/// What one connection asks is answered in the order in which it asked.
final class ClaimRights {
    /// Somebody who claims something.
    struct Caller {
        /// Its unique name.
        let name: String
        /// The user in whose share it counts; `nil` for the broker, whose place is kept.
        let user: UInt32?
        /// The fastest rate it may have, as far as that was asked; `nil`: the one it asked for.
        var fastest: Double?
        /// When polkit was asked about it; `nil`: it was not.
        var asked: ClaimRounds.Moment?
    }

    private let bus: Connection
    private let policy: PolicySource
    private let log: Log
    let holders: ClaimHolders
    /// The connection that owns the broker's name.
    private var broker: String?
    /// What waits behind the first question of a connection.
    private var waiting = WaitingLines<Question>()
    private(set) var streams: UserShares

    /// What policy says of rates.
    private struct Rates: Sendable {
        var forAll = SensorLimits.rateForAll
        /// Who may read faster than all: the fastest first.
        var faster: [(app: AppID, rate: Double)] = []
        /// What the files were that say so.
        let state: PolicyFilesState
        /// Why the files say nothing; `nil`: they do.
        let refusal: Finding?

        /// Reads them; the rest of what the files say is of no use here.
        init(_ source: PolicySource) {
            let loading = source.load()
            loading.run()
            let reading = loading.finish().reading
            self.state = loading.state
            self.refusal = reading.errors.first
            guard let policy = reading.inForce else { return }
            let forAll = policy.everyApp.sensing.fastestRate
            let faster = policy.apps.filter { $0.value.sensing.fastestRate > forAll }
            self.forAll = forAll
            self.faster = faster.map { ($0.key, $0.value.sensing.fastestRate) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
        }
    }
    /// As they were read last.
    private var rates: Rates?
    private let errands: Errands
    /// Who waits for what is being read: no longer than this, in µs.
    private var readers: [(Rates?) -> Void] = []
    private static let patience: Int64 = 2_000_000
    /// What is being read has not been for that long.
    private var isOverdue = false

    private enum Question {
        case claim(rate: Double, orSlower: Bool, (Result<Caller, BusError>) -> Void)
        /// Only what was asked before must be answered.
        case turn(MethodCall, () -> Void)

        /// Says that there is no room for it.
        func refuse() {
            switch self {
            case .claim(_, _, let answer): answer(.failure(.tooManyWait))
            case .turn(let call, _): call.fail(.tooManyWait)
            }
        }
    }

    init(on bus: Connection, _ names: NameWatch, _ policy: PolicySource, _ polkit: Polkit?, log: Log) {
        self.bus = bus
        self.policy = policy
        self.holders = ClaimHolders(on: bus, names, polkit, log: log)
        self.log = log
        self.errands = Errands(on: bus.loop)
        // Each is a descriptor, and others need some.
        let streams = min(SensorLimits.allStreams, descriptorLimit() / 2)
        self.streams = UserShares(limit: streams, reserve: streams / 16)
        _ = names.follow(BusName.broker, ownRule: true) { [unowned self] in self.broker = $0 }
    }

    /// What there is for all who claim, whichever sensor, and who has it.
    var usage: [LimitUsage] {
        let part = LimitUsage.Part.interface(InterfaceName.sensor.description)
        return [LimitUsage("all-streams", self.streams), LimitUsage("all-waiting", of: part, self.waiting.shares)]
            + self.holders.usage(of: part)
    }

    // MARK: Questions

    /// Asks who a connection is and whether it may claim, and read at a rate.
    ///
    /// - Parameter orSlower: It takes less, too: then it is told how much it may have.
    func ask(
        _ rate: Double, orSlower: Bool, of sender: String, _ answer: @escaping (Result<Caller, BusError>) -> Void
    ) {
        if self.waiting.isOpen(sender) {
            let question = Question.claim(rate: rate, orSlower: orSlower, answer)
            if !self.waiting.add(question, of: sender) { answer(.failure(.tooManyWait)) }
        } else if let caller = self.known(sender),
            caller.user == nil || self.isForAll(rate) && self.holders.isAwake(sender)
        {
            answer(.success(caller))
        } else {
            self.waiting.open(sender, of: nil)
            self.identify(sender) { [weak self] identified in
                guard let self else { return }
                guard case .success(let caller) = identified else { return self.finish(sender) { answer(identified) } }
                for question in self.waiting.setUser(caller.user ?? UserShares.root, of: sender) { question.refuse() }
                self.holders.admit(caller) { [weak self] admission in
                    guard case .success(let caller) = admission else {
                        return self?.finish(sender) { answer(admission) } ?? ()
                    }
                    self?.look(rate, orSlower: orSlower, caller) { result in
                        self?.finish(sender) { answer(self?.confirmed(result) ?? result) }
                    }
                }
            }
        }
    }

    /// What was found out of a caller, if that is so still: meanwhile files may have been read.
    private func confirmed(_ result: Result<Caller, BusError>) -> Result<Caller, BusError> {
        guard case .success(let caller) = result else { return result }
        do throws(BusError) {
            try self.holders.confirm(caller)
            return result
        } catch {
            return .failure(error)
        }
    }

    /// Answers a call once all that its connection asked before is answered.
    func afterAnswers(_ call: MethodCall, _ body: @escaping () -> Void) {
        // What waited may be of a bus that is gone.
        guard call.isCurrent else { return }
        guard self.waiting.isOpen(call.sender) else { return body() }
        if !self.waiting.add(.turn(call, body), of: call.sender) { call.fail(.tooManyWait) }
    }

    /// Answers the first question of a connection, and takes up what waited behind it.
    private func finish(_ sender: String, _ answer: () -> Void) {
        let questions = self.waiting.close(sender)
        answer()
        for question in questions {
            switch question {
            case .claim(let rate, let orSlower, let answer): self.ask(rate, orSlower: orSlower, of: sender, answer)
            // A claim before it may have to ask anew.
            case .turn(let call, let body): self.afterAnswers(call, body)
            }
        }
    }

    private func known(_ sender: String) -> Caller? {
        if sender == self.broker { return Caller(name: sender, user: nil) }
        return self.holders.user(of: sender).map { Caller(name: sender, user: $0) }
    }

    private func identify(_ sender: String, _ then: @escaping (Result<Caller, BusError>) -> Void) {
        if let caller = self.known(sender) { return then(.success(caller)) }
        self.bus.user(of: sender) { user in then(user.map { Caller(name: sender, user: $0) }) }
    }

    // MARK: Rates

    private func isForAll(_ rate: Double) -> Bool { rate <= SensorLimits.rateForAll }

    /// Finds the fastest rate that a caller may have by its names, as far as that is needed.
    private func look(
        _ rate: Double, orSlower: Bool, _ caller: Caller, _ then: @escaping (Result<Caller, BusError>) -> Void
    ) {
        if caller.user == nil || self.isForAll(rate) { return then(.success(caller)) }
        self.read { [weak self] rates in
            guard let rates else {
                guard orSlower else { return then(.failure(Self.unread)) }
                var caller = caller
                caller.fastest = SensorLimits.rateForAll
                return then(.success(caller))
            }
            self?.findApp(of: caller, among: rates.faster) { found in
                let own: Double?
                switch found {
                case .success(let rate): own = rate
                // Who takes less has what everybody may.
                case .failure(let error):
                    guard orSlower else { return then(.failure(error)) }
                    own = nil
                }
                let fastest = own ?? rates.forAll
                var caller = caller
                if fastest >= rate { return then(.success(caller)) }
                guard orSlower else { return then(.failure(Self.refusal(of: rate, fastest))) }
                caller.fastest = fastest
                then(.success(caller))
            }
        }
    }

    /// Finds the fastest rate among those of the names that a caller has; `nil`: it has none of them.
    private func findApp(
        of caller: Caller, among apps: [(app: AppID, rate: Double)],
        _ then: @escaping (Result<Double?, BusError>) -> Void
    ) {
        guard !apps.isEmpty else { return then(.success(nil)) }
        // Policy may name thousands, of which few are here.
        self.bus.callBus("ListNames") { [weak self] result in
            let names: [String]? = try? result.take().read(reply: [String].self)
            let here = names.map(Set.init).map { names in apps.filter { names.contains($0.app.name) } } ?? apps
            self?.askOwner(of: here[...], for: caller, then)
        }
    }

    /// Asks for one owner after the other, so that nobody's claim holds up what others ask of the bus.
    private func askOwner(
        of apps: ArraySlice<(app: AppID, rate: Double)>, for caller: Caller,
        _ then: @escaping (Result<Double?, BusError>) -> Void
    ) {
        guard let (app, rate) = apps.first else { return then(.success(nil)) }
        self.bus.callBus("GetNameOwner", app.name) { [weak self] result in
            do throws(BusError) {
                if try result.take().read(reply: String.self) == caller.name { return then(.success(rate)) }
            } catch {
                // Whatever else the bus answers, it has not said that the name is another's.
                guard error.isNameFree else { return then(.failure(.untoldCaller(error))) }
            }
            self?.askOwner(of: apps.dropFirst(), for: caller, then)
        }
    }

    /// Hands over what policy says now; what must be read for that is read on a thread, once for all who ask meanwhile. Nothing is
    /// handed over where a file system does not answer.
    private func read(_ then: @escaping (Rates?) -> Void) {
        guard !self.isOverdue else { return then(nil) }
        self.readers.append(then)
        guard self.readers.count == 1 else { return }
        let (source, known) = (self.policy, self.rates)
        self.errands.run(
            { () -> (rates: Rates, isNew: Bool) in
                if let known, known.state.isUnchanged { return (known, false) }
                return (Rates(source), true)
            }, patience: Self.patience,
            overdue: { [weak self] in
                guard let self else { return }
                self.log.warning(Self.problem)
                self.isOverdue = true
                self.answerReaders(nil)
            }
        ) { [weak self] read in
            guard let self else { return }
            if read.isNew, let refusal = read.rates.refusal {
                self.log.warning("policy is refused: \(refusal)", as: .policyRefused, about: [.reason: "\(refusal)"])
            }
            self.isOverdue = false
            self.rates = read.rates
            self.answerReaders(read.rates)
        }
    }

    private func answerReaders(_ rates: Rates?) {
        let readers = self.readers
        self.readers = []
        for then in readers { then(rates) }
    }

    private static let problem =
        "policy cannot be read for now: the file system of its files has not answered for \(patience / 1_000_000) s"
    private static var unread: BusError { .failed("claim: \(Self.problem)") }

    private static func refusal(of rate: Double, _ fastest: Double) -> BusError {
        .accessDenied(
            "claim: rate \(rate) Hz needs FastestRate in an [App] section of policy; you may have \(fastest) Hz")
    }

    // MARK: Streams

    /// Takes a stream's place in the share of its user.
    func takeStream(for caller: Caller) throws(BusError) {
        guard let user = caller.user, !self.streams.take(1, for: user) else { return }
        let (held, limit) = (self.streams.held(by: user), self.streams.limit)
        throw .limitsExceeded("all-streams: your user has \(held) of \(limit), as much as the others leave")
    }

    func giveBackStream(of caller: Caller) {
        if let user = caller.user { self.streams.giveBack(1, for: user) }
    }
}

extension BusError {
    /// What is told whoever asks more than may wait.
    static var tooManyWait: BusError {
        .limitsExceeded(
            "waiting-per-caller, all-waiting: \(SensorLimits.waiting) of your calls wait already for what may be claimed, "
                + "or those of your user are as many as the others leave")
    }
}
