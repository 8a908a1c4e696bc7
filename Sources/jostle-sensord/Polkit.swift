import DBus
import DaemonSupport
import Loop
import Motion
import SensorCore

/// polkit, asked what a connection may do: the shell around `PolkitLine`, which says what is asked when, and whether polkit is silent.
///
/// No question waits for a person. Only the owner of polkit's name answers, and says that something changed.
///
/// It is asked by a connection of its own. What anybody may call can be flooded, and the bus then drops what polkit answers, too: it would count
/// as silent, and all claims rest for as long as a stranger likes. To this one, by its name, nobody may send anything that was not asked for.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class Polkit {
    /// Signals that pretended to come from polkit, and what pretended to be its answers, or the bus's word.
    var forgeries: UInt64 { self.forgedChanges &+ self.names.forgeries &+ self.bus.refusedReplies }

    private struct Question {
        let action: String
        let sender: String
        let then: (PolkitAnswer) -> Void
    }

    private let bus: Connection
    private let names: NameWatch
    private let log: Log
    private var forgedChanges: UInt64 = 0
    private var listeners: [(PolkitNews) -> Void] = []
    private var owner: String?
    private var line = PolkitLine<Question>()
    private var timer: EventLoop.TimerID?
    /// Questions wait for our bus, and not for ever.
    private var isAwaited = false

    /// By this name `dbus/org.jostle.conf` knows our connection, and keeps everybody from it.
    private static let ownName = "org.jostle.Sensors1.Polkit"
    private static let name = "org.freedesktop.PolicyKit1"
    private static let path = ObjectPath(literal: "/org/freedesktop/PolicyKit1/Authority")
    private static let interface: StaticString = "org.freedesktop.PolicyKit1.Authority"
    /// How many questions there may be, as `Limits` shows it.
    static let limits = [
        "polkit-questions": UInt64(PolkitLimits.questions.limit),
        "polkit-questions-per-user": UInt64(PolkitLimits.questions.share),
    ]
    /// How long an answer may take, in ms: the bus may have to start polkit first.
    private static let patience: Int32 = 5_000

    /// - Parameter main: the connection that serves, to the same bus.
    init(besides main: Connection, log: Log) {
        let bus = Connection(to: main.address, on: main.loop, retry: .upTo(microseconds: Daemon.longestRetry))
        self.bus = bus
        self.names = NameWatch(on: bus)
        self.log = log
        bus.ownIfFree(Self.ownName) { log.warning("\($0.message); asking polkit without it") }
        bus.onReady = { [unowned self] in
            self.names.refresh()
            self.askNext()
        }
        bus.onLost = { [unowned self] in self.names.forgetAll() }
        bus.onSignal(Self.interface, "Changed") { [unowned self] message in
            guard let owner = self.owner, message.isFrom(owner) else { return self.forgedChanges &+= 1 }
            self.tell(self.line.changed())
        }
        // It may have said that something changed. While it is silent, everybody is to be asked about anyway. Where the bus did not give
        // us our name, we can be flooded like the other one.
        for connection in [bus, main] {
            connection.whenInDoubt { [unowned self] _ in
                if self.line.silence == nil { self.tell(.changed(isSilent: false)) }
            }
        }
        bus.addMatch(
            "type='signal',sender='\(Self.name)',path='\(Self.path.text)',interface='\(Self.interface)',member='Changed'"
        )
        _ = self.names.follow(Self.name, ownRule: true) { [unowned self] owner in
            self.owner = owner
            self.tell(self.line.ownerChanged(isThere: owner != nil))
        }
    }

    /// Connects; to be called before anybody can claim.
    func open() { _ = self.bus.openOrRetry() }

    /// Who has the places of questions.
    var usage: LimitUsage { LimitUsage("polkit-questions", self.line.places) }

    /// Has `body` told what is new, for good.
    func listen(_ body: @escaping (PolkitNews) -> Void) { self.listeners.append(body) }

    private func tell(_ news: PolkitNews) {
        for listener in self.listeners { listener(news) }
    }

    /// Asks whether a connection of a user may do something, if that takes no password. Never answers before this returns.
    func ask(_ action: String, of sender: String, _ user: UInt32, _ then: @escaping (PolkitAnswer) -> Void) {
        if let silence = self.line.add(Question(action: action, sender: sender, then: then), of: user) {
            return self.bus.afterRound { then(.silent(silence)) }
        }
        self.askNext()
    }

    private func askNext() { self.bus.isReady ? self.sendAll() : self.awaitBus() }

    private func sendAll() {
        while let asked = self.line.next() { self.send(asked) }
    }

    /// Has questions wait until the bus has greeted us: before it is not known who may answer. That takes a moment, or as long as the bus has no
    /// room for us; then they have no answer.
    private func awaitBus() {
        guard !self.isAwaited else { return }
        self.isAwaited = true
        self.bus.loop.once(after: Int64(Self.patience) * 1_000) { [weak self] in
            self?.isAwaited = false
            self?.sendAll()
        }
    }

    private func send(_ asked: PolkitLine<Question>.Asked) {
        let target = CallTarget(Self.name, Self.path, Self.interface.description)
        let subject = Structure("system-bus-name", ["name": Value.string(asked.question.sender)])
        self.bus.call(
            target, "CheckAuthorization", subject, asked.question.action, [String: String](), UInt32(0), "",
            timeout: Self.patience
        ) { [weak self] result in
            guard let self else { return }
            let outcome = self.line.take(Self.reply(result), to: asked, at: Clock.monotonic.now())
            self.follow(outcome)
            asked.question.then(outcome.answer)
            self.askNext()
        }
    }

    private static func reply(_ result: consuming CallResult) -> PolkitReply {
        do throws(BusError) {
            let verdict = try result.take().read(reply: Structure<Bool, Bool, [String: String]>.self)
            let (isAllowed, _, _) = verdict.fields
            return .verdict(isAllowed: isAllowed)
        } catch {
            return Self.isSilence(error) ? .silence(error.message) : .failure(error.message)
        }
    }

    /// Whether nobody answered at all, and would to another question.
    private static func isSilence(_ error: BusError) -> Bool {
        let silences = ["NoReply", "ServiceUnknown", "Disconnected", "TimedOut", "Timeout"]
        let prefix = "org.freedesktop.DBus.Error."
        return error.name.hasPrefix(prefix + "Spawn.") || silences.contains { error.name == prefix + $0 }
    }

    private func follow(_ outcome: PolkitLine<Question>.Outcome) {
        guard let news = outcome.news else { return }
        if outcome.isFirstSilence { self.log.warning("polkit does not answer: \(self.line.silence ?? "")") }
        self.setTimer()
        if let silence = self.line.silence, !outcome.left.isEmpty {
            self.bus.afterRound { for question in outcome.left { question.then(.silent(silence)) } }
        }
        self.tell(news)
    }

    private func setTimer() {
        guard let next = self.line.nextTry else { return }
        self.bus.loop.set(&self.timer, at: next) { [unowned self] in
            if let news = self.line.tick(at: Clock.monotonic.now()) { self.tell(news) }
        }
    }
}
