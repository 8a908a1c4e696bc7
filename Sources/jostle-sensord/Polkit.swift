import DBus
import DaemonSupport
import Loop
import Motion
import SensorCore

/// polkit, asked what a connection may do; one line of questions for all who want to know, in which users have turns.
///
/// No question waits for a person. So many are under way at a time. When one has no answer, and nobody has had one since it was asked,
/// polkit is silent: no question has an answer for a while, which is longer each time, or until polkit is there anew or says anything.
/// When it is tried again is decided here and nowhere else. Only the owner of polkit's name answers, and says that something changed.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class Polkit {
    enum Answer: Equatable {
        case yes
        case no
        /// It does not say it of this one, for this reason.
        case unknown(String)
        /// It answers nobody, for this reason.
        case silent(String)
    }

    enum News {
        /// What was answered before may not hold any more.
        case changed(isSilent: Bool)
        /// It answers nobody from now on.
        case silent
        /// It may answer by now.
        case mayAnswer
    }

    /// Signals that pretended to come from polkit.
    private(set) var forgeries: UInt64 = 0

    private struct Question {
        let action: String
        let sender: String
        let user: UInt32
        let then: (Answer) -> Void
    }
    /// What was known when a question was asked.
    private struct Attempt: Equatable {
        /// The times that polkit was tried again: questions of before say nothing of now.
        var tries: UInt64 = 0
        /// What it answered, whatever that was: then it is not silent.
        var answers: UInt64 = 0
    }

    private let bus: Connection
    private let log: Log
    private var listeners: [(News) -> Void] = []
    private var owner: String?
    private var line = UserTurns<Question>()
    /// Places for questions that are under way.
    private var places = Polkit.shares
    /// Why nobody is asked at present.
    private var silence: String?
    /// How long that lasts, in µs; 0 while polkit answers.
    private var pause: Int64 = 0
    private var timer: EventLoop.TimerID?
    private var attempt = Attempt()

    private static let name = "org.freedesktop.PolicyKit1"
    private static let path = ObjectPath(literal: "/org/freedesktop/PolicyKit1/Authority")
    private static let interface: StaticString = "org.freedesktop.PolicyKit1.Authority"
    /// Questions under way. A bus keeps only so many calls for a connection.
    private static let most = 2 * ClaimRounds.most + 4
    private static let shares = UserShares(limit: most, reserve: 0)
    /// How many there may be, as `Limits` shows it.
    static let limits = ["polkit-questions": UInt64(shares.limit), "polkit-questions-per-user": UInt64(shares.share)]
    /// How long an answer may take, in ms: the bus may have to start polkit first.
    private static let patience: Int32 = 5_000
    /// How long nobody is asked after a question had no answer, in µs.
    private static let pauses: ClosedRange<Int64> = 1_000_000...8_000_000

    init(on bus: Connection, _ names: NameWatch, log: Log) {
        self.bus = bus
        self.log = log
        bus.onSignal(Self.interface, "Changed") { [unowned self] message in
            guard let owner = self.owner, message.isFrom(owner) else { return self.forgeries &+= 1 }
            self.heard()
            self.tell(.changed(isSilent: false))
        }
        bus.addMatch(
            "type='signal',sender='\(Self.name)',path='\(Self.path.text)',interface='\(Self.interface)',member='Changed'"
        )
        _ = names.follow(Self.name, ownRule: true) { [unowned self] in self.ownerChanged($0) }
    }

    /// What the last one said has nobody any more who would take it back; a new one may say something else.
    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        if owner != nil { _ = self.endSilence() }
        self.tell(.changed(isSilent: self.silence != nil))
    }

    /// Who has the places of questions.
    var usage: LimitUsage { LimitUsage("polkit-questions", self.places) }

    /// Has `body` told what is new, for good.
    func listen(_ body: @escaping (News) -> Void) { self.listeners.append(body) }

    private func tell(_ news: News) {
        for listener in self.listeners { listener(news) }
    }

    /// Asks whether a connection of a user may do something, if that takes no password. Never answers before this returns.
    func ask(_ action: String, of sender: String, _ user: UInt32, _ then: @escaping (Answer) -> Void) {
        if let silence { return self.bus.afterRound { then(.silent(silence)) } }
        self.line.add(Question(action: action, sender: sender, user: user, then: then), of: user)
        self.askNext()
    }

    private func askNext() {
        while let (question, user) = self.line.next(where: { self.places.room(for: $0) > 0 }) {
            let isTaken = self.places.take(1, for: user)
            invariant(isTaken, "a question that is asked has a place")
            self.send(question)
        }
    }

    private func send(_ question: Question) {
        let attempt = self.attempt
        let target = CallTarget(Self.name, Self.path, Self.interface.description)
        let subject = Structure("system-bus-name", ["name": Value.string(question.sender)])
        self.bus.call(
            target, "CheckAuthorization", subject, question.action, [String: String](), UInt32(0), "",
            timeout: Self.patience
        ) { [weak self] result in
            guard let self else { return }
            self.places.giveBack(1, for: question.user)
            question.then(self.answer(result, attempt))
            self.askNext()
        }
    }

    private func answer(_ result: consuming CallResult, _ attempt: Attempt) -> Answer {
        do throws(BusError) {
            let verdict = try result.take().read(reply: Structure<Bool, Bool, [String: String]>.self)
            let (isAllowed, _, _) = verdict.fields
            self.answered()
            return isAllowed ? .yes : .no
        } catch {
            guard Self.isSilence(error) else {
                self.answered()
                return .unknown(error.message)
            }
            // Others had answers meanwhile: it is this one.
            if attempt.answers != self.attempt.answers { return .unknown(error.message) }
            if attempt == self.attempt { self.fallSilent(error.message) }
            return .silent(error.message)
        }
    }

    /// Whether nobody answered at all, and would to another question.
    private static func isSilence(_ error: BusError) -> Bool {
        let silences = ["NoReply", "ServiceUnknown", "Disconnected", "TimedOut", "Timeout"]
        let prefix = "org.freedesktop.DBus.Error."
        return error.name.hasPrefix(prefix + "Spawn.") || silences.contains { error.name == prefix + $0 }
    }

    /// It said something. Returns whether that ends a silence.
    @discardableResult
    private func heard() -> Bool {
        self.attempt.answers += 1
        self.pause = 0
        return self.endSilence()
    }

    private func answered() {
        if self.heard() { self.tell(.mayAnswer) }
    }

    private func fallSilent(_ reason: String) {
        guard self.silence == nil else { return }
        if self.pause == 0 { self.log.warning("polkit does not answer: \(reason)") }
        self.pause = min(Self.pauses.upperBound, max(Self.pauses.lowerBound, 2 * self.pause))
        self.silence = reason
        if let timer {
            self.bus.loop.reschedule(timer, after: self.pause)
        } else {
            self.timer = self.bus.loop.schedule(after: self.pause) { [unowned self] in self.tryAgain() }
        }
        let questions = self.line.takeAll()
        self.bus.afterRound { for question in questions { question.then(.silent(reason)) } }
        self.tell(.silent)
    }

    /// Asks again. What changed while it was silent it may not have said, so that it has to say yes anew of everybody.
    private func tryAgain() {
        if self.endSilence() { self.tell(.changed(isSilent: false)) }
    }

    private func endSilence() -> Bool {
        guard self.silence != nil else { return false }
        self.silence = nil
        self.attempt.tries += 1
        return true
    }
}

extension Polkit.Answer {
    var forRounds: ClaimRounds.Answer {
        switch self {
        case .yes: .yes
        case .no: .no
        case .unknown: .unknown
        case .silent: .silent
        }
    }
}
