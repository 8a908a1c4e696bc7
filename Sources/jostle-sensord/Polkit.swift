import DBus
import DaemonSupport
import Loop
import Motion
import SensorCore

/// polkit, asked what a connection may do: the shell around `PolkitLine`, which says what is asked when, and whether polkit is silent.
///
/// No question waits for a person. Only the owner of polkit's name answers, and says that something changed.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class Polkit {
    /// Signals that pretended to come from polkit.
    private(set) var forgeries: UInt64 = 0

    private struct Question {
        let action: String
        let sender: String
        let then: (PolkitAnswer) -> Void
    }

    private let bus: Connection
    private let log: Log
    private var listeners: [(PolkitNews) -> Void] = []
    private var owner: String?
    private var line = PolkitLine<Question>()
    private var timer: EventLoop.TimerID?

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

    init(on bus: Connection, _ names: NameWatch, log: Log) {
        self.bus = bus
        self.log = log
        bus.onSignal(Self.interface, "Changed") { [unowned self] message in
            guard let owner = self.owner, message.isFrom(owner) else { return self.forgeries &+= 1 }
            self.tell(self.line.changed())
        }
        // It may have said that something changed. While it is silent, everybody is to be asked about anyway.
        bus.whenInDoubt { [unowned self] _ in
            if self.line.silence == nil { self.tell(.changed(isSilent: false)) }
        }
        bus.addMatch(
            "type='signal',sender='\(Self.name)',path='\(Self.path.text)',interface='\(Self.interface)',member='Changed'"
        )
        _ = names.follow(Self.name, ownRule: true) { [unowned self] owner in
            self.owner = owner
            self.tell(self.line.ownerChanged(isThere: owner != nil))
        }
    }

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

    private func askNext() {
        while let asked = self.line.next() { self.send(asked) }
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
