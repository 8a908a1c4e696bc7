package import Motion

/// What polkit says of somebody.
package enum PolkitAnswer: Equatable, Sendable {
    case yes
    case no
    /// It does not say it of this one, for this reason.
    case unknown(String)
    /// It answers nobody, for this reason.
    case silent(String)

    var forRounds: ClaimRounds.Answer {
        switch self {
        case .yes: .yes
        case .no: .no
        case .unknown: .unknown
        case .silent: .silent
        }
    }
}

/// What came back for one question.
package enum PolkitReply: Equatable, Sendable {
    case verdict(isAllowed: Bool)
    /// It answered, and does not know.
    case failure(String)
    /// Nobody answered.
    case silence(String)
}

/// What is new of polkit for all who asked.
package enum PolkitNews: Equatable, Sendable {
    /// What was answered before may not hold any more.
    case changed(isSilent: Bool)
    /// It answers nobody from now on.
    case silent
    /// It may answer by now.
    case mayAnswer
}

/// What there is of places for questions, and how long polkit is left alone.
package enum PolkitLimits {
    /// Questions under way. A bus keeps only so many calls for a connection.
    package static let questions = UserShares(limit: 2 * ClaimRounds.most + 4, reserve: 0)
    /// How long nobody is asked after a question had no answer, in µs.
    package static let pauses: ClosedRange<Int64> = 1_000_000...8_000_000
}

/// One line of questions to polkit, in which users have turns. So many are under way at a time.
///
/// When one has no answer, and nobody has had one since it was asked, polkit is silent: no question has an answer for a while, which is
/// longer each time, or until polkit is there anew or says anything. When it is tried again is decided here and nowhere else.
///
/// A value; times are µs of one clock that only goes forward.
package struct PolkitLine<Question> {
    /// A question that is under way.
    package struct Asked {
        package let question: Question
        package let user: UInt32
        let attempt: PolkitAttempt
    }

    /// What follows from a reply.
    package struct Outcome {
        package let answer: PolkitAnswer
        package var news: PolkitNews?
        /// Questions that are not asked any more, because it is silent.
        package var left: [Question] = []
        /// It has answered until now.
        package var isFirstSilence = false
    }

    private var line = UserTurns<Question>()
    /// Who has the places of questions that are under way.
    package private(set) var places = PolkitLimits.questions
    /// Why nobody is asked at present.
    package private(set) var silence: String?
    /// When to call `tick`; `nil`: there is nothing to wait for.
    package private(set) var nextTry: Int64?
    /// How long it is left alone; 0 while it answers.
    private var pause: Int64 = 0
    private var attempt = PolkitAttempt()

    package init() {}

    // MARK: Questions

    /// Puts a question in the line, to be asked when `next` says so. Returns why it is not, if polkit is silent.
    package mutating func add(_ question: Question, of user: UInt32) -> String? {
        if let silence { return silence }
        self.line.add(question, of: user)
        return nil
    }

    /// Takes what is to be asked now, if anything is. To be called until that is nothing, and again after each reply.
    package mutating func next() -> Asked? {
        let places = self.places
        guard let (question, user) = self.line.next(where: { places.room(for: $0) > 0 }) else { return nil }
        let isTaken = self.places.take(1, for: user)
        precondition(isTaken, "a question that is asked has a place")
        return Asked(question: question, user: user, attempt: self.attempt)
    }

    /// A question has its reply.
    package mutating func take(_ reply: PolkitReply, to asked: Asked, at now: Int64) -> Outcome {
        self.places.giveBack(1, for: asked.user)
        switch reply {
        case .verdict(let isAllowed): return Outcome(answer: isAllowed ? .yes : .no, news: self.answered())
        case .failure(let reason): return Outcome(answer: .unknown(reason), news: self.answered())
        case .silence(let reason):
            // Others had answers meanwhile: it is this one.
            if asked.attempt.answers != self.attempt.answers { return Outcome(answer: .unknown(reason)) }
            var outcome = Outcome(answer: .silent(reason))
            if asked.attempt == self.attempt, self.silence == nil { self.fallSilent(reason, at: now, &outcome) }
            return outcome
        }
    }

    private mutating func answered() -> PolkitNews? { self.heard() ? .mayAnswer : nil }

    private mutating func fallSilent(_ reason: String, at now: Int64, _ outcome: inout Outcome) {
        outcome.isFirstSilence = self.pause == 0
        let pauses = PolkitLimits.pauses
        self.pause = min(pauses.upperBound, max(pauses.lowerBound, 2 * self.pause))
        self.silence = reason
        self.nextTry = now + self.pause
        outcome.left = self.line.takeAll()
        outcome.news = .silent
    }

    // MARK: What polkit does

    /// It said something. Returns whether that ends a silence.
    private mutating func heard() -> Bool {
        self.attempt.answers += 1
        self.pause = 0
        return self.endSilence()
    }

    /// It says that something changed.
    package mutating func changed() -> PolkitNews {
        _ = self.heard()
        return .changed(isSilent: false)
    }

    /// It has come, or gone. What the last one said has nobody any more who would take it back; a new one may say something else.
    package mutating func ownerChanged(isThere: Bool) -> PolkitNews {
        if isThere { _ = self.endSilence() }
        return .changed(isSilent: self.silence != nil)
    }

    /// Time has passed: it may be asked again. What changed while it was silent it may not have said, so that it has to say yes anew of
    /// everybody.
    package mutating func tick(at now: Int64) -> PolkitNews? {
        guard let nextTry, nextTry <= now, self.endSilence() else { return nil }
        return .changed(isSilent: false)
    }

    private mutating func endSilence() -> Bool {
        guard self.silence != nil else { return false }
        self.silence = nil
        self.nextTry = nil
        self.attempt.tries += 1
        return true
    }
}

/// What was known when a question was asked.
struct PolkitAttempt: Equatable {
    /// The times that polkit was tried again: questions of before say nothing of now.
    var tries: UInt64 = 0
    /// What it answered, whatever that was: then it is not silent.
    var answers: UInt64 = 0
}
