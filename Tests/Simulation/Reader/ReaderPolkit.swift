import Motion
import SensorCore

/// What the reader knows of polkit: what the shells of `Polkit` and `PolkitRounds` do around the core.
final class ReaderPolkit {
    /// What polkit itself does.
    enum Mood: Int {
        case well
        /// It takes questions, and answers none.
        case silent
        /// Nobody has its name.
        case absent
        /// It fails at each question.
        case failing
    }

    private struct Question {
        let name: String
        /// Which it is, in the order in which they came.
        let number: Int
        let then: (PolkitAnswer) -> Void
    }

    private typealias Asked = PolkitLine<Question>.Asked

    private unowned let process: ReaderProcess
    private var scene: ReaderScene { self.process.scene }
    private var line = PolkitLine<Question>()
    /// Questions under way, and when they were asked.
    private var sent: [(asked: Asked, time: Int64)] = []
    private var timer: Int64?
    private var admissions = Admissions(places: UserShares(limit: 10, reserve: 1))
    private var roundsTimer: Int64?

    // What is seen.
    private var lastNumber = 0
    /// Questions of each user that wait, the last that was asked, and how many of others went before while he had room.
    private var waiting: [UInt32: Int] = [:]
    private var lastSent: [UInt32: Int] = [:]
    private var passed: [UInt32: Int] = [:]
    /// Who was refused, is remembered, and was not told otherwise since.
    private var owed: Set<String> = []
    /// Questions of the rounds that have no answer.
    private var open: [UInt32: Int] = [:]

    private static let patience: Int64 = 5_000_000

    init(in process: ReaderProcess) { self.process = process }

    private var now: Int64 { self.scene.awake }

    func resting(_ name: String) -> Resting? { self.admissions.resting(name) }

    // MARK: Rounds

    func hold(_ name: String, of user: UInt32, asOf asked: ClaimRounds.Moment?) {
        self.goOn { admissions, now in
            admissions.hold(name, of: user, asOf: asked, at: now)
            return []
        }
    }

    func letGo(_ name: String) { self.admissions.letGo(name) }

    /// Finds out whether a connection may that holds nothing yet: then by which question.
    func admit(_ name: String, of user: UInt32, _ then: @escaping (ClaimRounds.Moment?) -> Void) {
        if self.admissions.refusal(of: name) != nil { return then(nil) }
        let asked = self.admissions.moment(at: self.now)
        self.ask(name, user) { [unowned self] answer in
            if answer == .yes { self.owed.remove(name) }
            self.goOn { $0.take(answer, admitting: name, of: user, asOf: asked, at: $1) }
            then(answer == .yes ? asked : nil)
        }
    }

    func refuse(_ name: String, of user: UInt32) { self.goOn { $0.refuse(name, of: user, at: $1) } }

    func forget(_ name: String) {
        self.owed.remove(name)
        self.goOn { admissions, _ in admissions.forget(name) }
    }

    private func goOn(_ input: (inout Admissions, _ now: Int64) -> [Admissions.Effect]) {
        for effect in input(&self.admissions, self.now) { self.perform(effect) }
        while let (name, user) = self.admissions.next(at: self.now) {
            if !self.process.holds(name), !self.admissions.isRefused(name) {
                self.scene.find("polkit is asked about \(name), who holds nothing and was refused nothing")
            }
            self.open[user, default: 0] += 1
            self.scene.counts.questions += 1
            self.ask(name, user) { [unowned self] answer in
                self.open[user] = self.open[user] == 1 ? nil : (self.open[user] ?? 0) - 1
                self.goOn { $0.answered(answer, about: name, at: $1) }
            }
        }
        self.roundsTimer = self.admissions.nextDeadline
    }

    private func perform(_ effect: Admissions.Effect) {
        switch effect {
        case .rest(let name, let resting): self.process.rest(name, resting)
        case .goOn(let name): self.process.rest(name, nil)
        case .allow(let name):
            self.owed.remove(name)
            self.scene.announce(to: name)
        case .watch(let name):
            self.owed.insert(name)
            // Whoever is gone by now is found to be.
            if self.scene.watch.isGone(name) { self.process.afterRound { [unowned self] in self.forget(name) } }
        case .unwatch: break
        }
    }

    // MARK: Questions

    private func ask(_ name: String, _ user: UInt32, _ then: @escaping (PolkitAnswer) -> Void) {
        let question = Question(name: name, number: self.lastNumber + 1, then: then)
        if let silence = self.line.add(question, of: user) {
            return self.process.afterRound { then(.silent(silence)) }
        }
        self.lastNumber += 1
        self.waiting[user, default: 0] += 1
        self.askNext()
    }

    private func askNext() {
        while let asked = self.line.next() {
            self.seeTurn(of: asked)
            self.send(asked)
        }
        for (user, count) in self.waiting where count > 0 && self.line.places.room(for: user) > 0 {
            self.scene.find("\(count) questions of user \(user) wait, who has room")
        }
    }

    /// Users have turns, and what each asks keeps its order.
    private func seeTurn(of asked: Asked) {
        let (question, user) = (asked.question, asked.user)
        self.waiting[user, default: 0] -= 1
        if let last = self.lastSent[user], last > question.number {
            self.scene.find("question \(question.number) of user \(user) comes after \(last)")
        }
        self.lastSent[user] = question.number
        self.passed[user] = 0
        for (other, count) in self.waiting where other != user && count > 0 && self.line.places.room(for: other) > 0 {
            self.passed[other, default: 0] += 1
            if self.passed[other] ?? 0 > ReaderSetup.seats.count {
                self.scene.find("questions of user \(other) wait for those of others again and again")
            }
        }
    }

    private func send(_ asked: Asked) {
        if self.scene.polkit == .absent {
            return self.process.afterRound { [unowned self] in self.take(.silence("nobody is there"), asked) }
        }
        self.sent.append((asked, self.now))
    }

    private func take(_ reply: PolkitReply, _ asked: Asked) {
        let outcome = self.line.take(reply, to: asked, at: self.now)
        self.follow(outcome)
        asked.question.then(outcome.answer)
        self.askNext()
    }

    private func follow(_ outcome: PolkitLine<Question>.Outcome) {
        guard let news = outcome.news else { return }
        if news == .silent { self.waiting = [:] }
        self.timer = self.line.nextTry
        if let silence = self.line.silence, !outcome.left.isEmpty {
            self.process.afterRound { for question in outcome.left { question.then(.silent(silence)) } }
        }
        self.tell(news)
    }

    private func tell(_ news: PolkitNews) { self.goOn { $0.take(news, at: $1) } }

    // MARK: What polkit does

    /// It answers so many questions, by who is in front now.
    func answer(_ count: Int) {
        for _ in 0..<max(0, count) {
            guard self.isAnswering, !self.sent.isEmpty else { return }
            let asked = self.sent.removeFirst().asked
            let isAllowed = self.scene.front.contains(asked.user)
            self.take(self.scene.polkit == .well ? .verdict(isAllowed: isAllowed) : .failure("it fails"), asked)
        }
    }

    /// It says that something changed.
    func changed() { self.tell(self.line.changed()) }

    /// Its name has another owner, or none.
    func ownerChanged(isThere: Bool) {
        if !isThere {
            // The bus answers for whoever is gone.
            let sent = self.sent
            self.sent = []
            for (asked, _) in sent {
                self.process.afterRound { [unowned self] in self.take(.silence("it is gone"), asked) }
            }
        }
        self.tell(self.line.ownerChanged(isThere: isThere))
    }

    // MARK: Time

    var nextTimer: Timestamp? {
        let next = [self.timer, self.roundsTimer, self.sent.first.map { $0.time + self.delay }]
        return next.compactMap { $0 }.min().map { Timestamp(microseconds: $0 + self.scene.slept) }
    }

    private var isAnswering: Bool { self.scene.polkit == .well || self.scene.polkit == .failing }
    /// When a question has its answer, or none.
    private var delay: Int64 { self.isAnswering ? 50_000 : Self.patience }

    func fire() {
        while self.isAnswering, let first = self.sent.first, first.time + self.delay <= self.now { self.answer(1) }
        while let (asked, time) = self.sent.first, time + Self.patience <= self.now {
            self.sent.removeFirst()
            self.take(.silence("it does not answer"), asked)
        }
        if let timer, timer <= self.now {
            self.timer = nil
            if let news = self.line.tick(at: self.now) { self.tell(news) }
        }
        if let next = self.line.nextTry, next <= self.now {
            self.scene.find("polkit was to be tried again at \(next), and was not by \(self.now)")
        }
        if let roundsTimer, roundsTimer <= self.now { self.goOn { $0.tick(at: $1) } }
    }

    // MARK: What must hold

    func check() -> String? {
        if self.open != self.admissions.shares.holdings {
            return "\(self.open) questions of rounds are open, and \(self.admissions.shares.holdings) are counted"
        }
        if self.admissions.underWay != self.open.values.reduce(0, +) {
            return "\(self.admissions.underWay) questions are under way"
        }
        if let name = self.owed.first(where: { !self.admissions.isRefused($0) }) {
            return "\(name) was refused, may claim by now, and is not told"
        }
        return nil
    }

    /// It has nothing to do, and nobody to ask.
    var isAtRest: Bool {
        self.sent.isEmpty && self.open.isEmpty && self.admissions.refusals.taken == 0 && self.line.places.taken == 0
    }
}
