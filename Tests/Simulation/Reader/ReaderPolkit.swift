import Motion
import SensorCore

/// What the reader knows of polkit: what `Polkit` and `PolkitRounds` do around the core.
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
        let user: UInt32
        /// Which it is, in the order in which they came.
        let number: Int
        let then: (ClaimRounds.Answer) -> Void
    }

    private struct Attempt: Equatable {
        var tries: UInt64 = 0
        var answers: UInt64 = 0
    }

    private enum Reply {
        case verdict(Bool)
        case silence
        case failure
    }

    private unowned let process: ReaderProcess
    private var scene: ReaderScene { self.process.scene }
    private var line = UserTurns<Question>()
    private static let shares = UserShares(limit: 2 * ClaimRounds.most + 4, reserve: 0)
    private var places = ReaderPolkit.shares
    /// Questions under way, and when they were asked.
    private var sent: [(question: Question, attempt: Attempt, time: Int64)] = []
    private var isSilent = false
    private var pause: Int64 = 0
    private var timer: Int64?
    private var attempt = Attempt()
    private var rounds = ClaimRounds()
    private var roundsTimer: Int64?
    private var refused: [String: UInt32] = [:]
    private var refusedShares = UserShares(limit: 10, reserve: 1)

    // What is seen.
    private var lastNumber = 0
    /// Questions of each user that wait, the last that was asked, and how many of others went before while he had room.
    private var waiting: [UInt32: Int] = [:]
    private var lastSent: [UInt32: Int] = [:]
    private var passed: [UInt32: Int] = [:]
    /// Questions of the rounds that have no answer.
    private var open: [UInt32: Int] = [:]

    private static let patience: Int64 = 5_000_000
    private static let pauses: ClosedRange<Int64> = 1_000_000...8_000_000

    init(in process: ReaderProcess) { self.process = process }

    private var now: Int64 { self.scene.awake }

    func resting(_ name: String) -> Resting? { self.rounds.resting(name) }

    // MARK: Rounds

    func hold(_ name: String, of user: UInt32, asOf asked: ClaimRounds.Moment?) {
        self.goOn { rounds, now in
            rounds.hold(name, of: user, asOf: asked, at: now)
            return []
        }
    }

    func letGo(_ name: String) { self.rounds.letGo(name) }

    /// Finds out whether a connection may that holds nothing yet: then by which question.
    func admit(_ name: String, of user: UInt32, _ then: @escaping (ClaimRounds.Moment?) -> Void) {
        if self.rounds.refusal(of: name) != nil { return then(nil) }
        let asked = self.rounds.moment(at: self.now)
        self.ask(name, user) { [unowned self] answer in
            if answer == .yes {
                self.forget(name)
                then(asked)
            } else {
                self.refuse(name, of: user, answer, asOf: asked)
                then(nil)
            }
        }
    }

    func refuse(_ name: String, of user: UInt32) {
        self.refuse(name, of: user, nil, asOf: self.rounds.moment(at: self.now))
    }

    private func refuse(_ name: String, of user: UInt32, _ answer: ClaimRounds.Answer?, asOf asked: ClaimRounds.Moment)
    {
        if self.refused[name] == nil, self.refusedShares.take(1, for: user) {
            self.refused[name] = user
            // Whoever is gone by now is found to be.
            if self.scene.watch.isGone(name) { self.process.afterRound { [unowned self] in self.forget(name) } }
        }
        guard self.refused[name] != nil else { return }
        self.goOn { rounds, now in
            rounds.refuse(name, of: user, answer, asOf: asked, at: now)
            return []
        }
    }

    func forget(_ name: String) {
        guard let user = self.refused.removeValue(forKey: name) else { return }
        self.refusedShares.giveBack(1, for: user)
        self.rounds.forget(name)
    }

    private func goOn(_ input: (inout ClaimRounds, _ now: Int64) -> [ClaimRounds.Effect]) {
        for effect in input(&self.rounds, self.now) {
            switch effect {
            case .rest(let name, let resting): self.process.rest(name, resting)
            case .goOn(let name): self.process.rest(name, nil)
            case .allow(let name):
                self.forget(name)
                self.scene.announce(to: name)
            }
        }
        while let (name, user) = self.rounds.next(at: self.now) {
            if !self.process.holds(name), self.refused[name] == nil {
                self.scene.find("polkit is asked about \(name), who holds nothing and was refused nothing")
            }
            self.open[user, default: 0] += 1
            self.scene.counts.questions += 1
            self.ask(name, user) { [unowned self] answer in
                self.open[user] = self.open[user] == 1 ? nil : (self.open[user] ?? 0) - 1
                self.goOn { $0.answered(answer, about: name, at: $1) }
            }
        }
        self.roundsTimer = self.rounds.nextDeadline
    }

    // MARK: Questions

    private func ask(_ name: String, _ user: UInt32, _ then: @escaping (ClaimRounds.Answer) -> Void) {
        if self.isSilent { return self.process.afterRound { then(.silent) } }
        self.lastNumber += 1
        self.line.add(Question(name: name, user: user, number: self.lastNumber, then: then), of: user)
        self.waiting[user, default: 0] += 1
        self.askNext()
    }

    private func askNext() {
        while let (question, user) = self.line.next(where: { self.places.room(for: $0) > 0 }) {
            if !self.places.take(1, for: user) { self.scene.find("a question is asked that has no place") }
            self.seeTurn(of: question)
            self.send(question)
        }
        for (user, count) in self.waiting where count > 0 && self.places.room(for: user) > 0 {
            self.scene.find("\(count) questions of user \(user) wait, who has room")
        }
    }

    /// Users have turns, and what each asks keeps its order.
    private func seeTurn(of question: Question) {
        let user = question.user
        self.waiting[user, default: 0] -= 1
        if let last = self.lastSent[user], last > question.number {
            self.scene.find("question \(question.number) of user \(user) comes after \(last)")
        }
        self.lastSent[user] = question.number
        self.passed[user] = 0
        for (other, count) in self.waiting where other != user && count > 0 && self.places.room(for: other) > 0 {
            self.passed[other, default: 0] += 1
            if self.passed[other] ?? 0 > ReaderSetup.seats.count {
                self.scene.find("questions of user \(other) wait for those of others again and again")
            }
        }
    }

    private func send(_ question: Question) {
        let attempt = self.attempt
        if self.scene.polkit == .absent {
            return self.process.afterRound { [unowned self] in self.take(.silence, question, attempt) }
        }
        self.sent.append((question, attempt, self.now))
    }

    private func take(_ reply: Reply, _ question: Question, _ attempt: Attempt) {
        self.places.giveBack(1, for: question.user)
        question.then(self.answer(reply, attempt))
        self.askNext()
    }

    private func answer(_ reply: Reply, _ attempt: Attempt) -> ClaimRounds.Answer {
        switch reply {
        case .verdict(let isAllowed):
            self.answered()
            return isAllowed ? .yes : .no
        case .failure:
            self.answered()
            return .unknown
        case .silence:
            if attempt.answers != self.attempt.answers { return .unknown }
            if attempt == self.attempt { self.fallSilent() }
            return .silent
        }
    }

    private func heard() -> Bool {
        self.attempt.answers += 1
        self.pause = 0
        return self.endSilence()
    }

    private func answered() {
        guard self.heard() else { return }
        self.goOn { rounds, _ in
            rounds.mayAnswer()
            return []
        }
    }

    private func fallSilent() {
        guard !self.isSilent else { return }
        self.pause = min(Self.pauses.upperBound, max(Self.pauses.lowerBound, 2 * self.pause))
        self.isSilent = true
        self.timer = self.now + self.pause
        let questions = self.line.takeAll()
        self.waiting = [:]
        self.process.afterRound { for question in questions { question.then(.silent) } }
        self.goOn { $0.fellSilent(at: $1) }
    }

    private func endSilence() -> Bool {
        guard self.isSilent else { return false }
        self.isSilent = false
        self.attempt.tries += 1
        return true
    }

    // MARK: What polkit does

    /// It answers so many questions, by who is in front now.
    func answer(_ count: Int) {
        for _ in 0..<max(0, count) {
            guard self.isAnswering, !self.sent.isEmpty else { return }
            let (question, attempt, _) = self.sent.removeFirst()
            let isAllowed = self.scene.front.contains(question.user)
            self.take(self.scene.polkit == .well ? .verdict(isAllowed) : .failure, question, attempt)
        }
    }

    /// It says that something changed.
    func changed() {
        _ = self.heard()
        self.goOn { $0.changed(isSilent: false, at: $1) }
    }

    /// Its name has another owner, or none.
    func ownerChanged(isThere: Bool) {
        if isThere {
            _ = self.endSilence()
        } else {
            // The bus answers for whoever is gone.
            let sent = self.sent
            self.sent = []
            for (question, attempt, _) in sent {
                self.process.afterRound { [unowned self] in self.take(.silence, question, attempt) }
            }
        }
        let isSilent = self.isSilent
        self.goOn { $0.changed(isSilent: isSilent, at: $1) }
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
        while let (question, attempt, time) = self.sent.first, time + Self.patience <= self.now {
            self.sent.removeFirst()
            self.take(.silence, question, attempt)
        }
        if let timer, timer <= self.now {
            self.timer = nil
            if self.endSilence() { self.goOn { $0.changed(isSilent: false, at: $1) } }
        }
        if let roundsTimer, roundsTimer <= self.now { self.goOn { $0.tick(at: $1) } }
    }

    // MARK: What must hold

    func check() -> String? {
        if self.open != self.rounds.shares.holdings {
            return "\(self.open) questions of rounds are open, and \(self.rounds.shares.holdings) are counted"
        }
        if self.rounds.underWay != self.open.values.reduce(0, +) {
            return "\(self.rounds.underWay) questions are under way"
        }
        return nil
    }

    /// It has nothing to do, and nobody to ask.
    var isAtRest: Bool { self.sent.isEmpty && self.open.isEmpty && self.refused.isEmpty && self.places.taken == 0 }
}
