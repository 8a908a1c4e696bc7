package import Motion

/// About whom polkit is asked, and when; and whose claims rest by what it says.
///
/// With each change all that was said before is old. Those whose claims go on are asked about first, and rest unless somebody says
/// yes of them in time. A round asks about each of one kind of whom an answer is missing, once, and the next round of that kind keeps
/// a distance from it, however often something changes. An awake connection of whom nothing changed is never asked about.
///
/// Connections are asked about and not users: polkit answers by the session that a connection's process is in, and only polkit
/// knows that. One user may sit in front and be logged in from afar besides. Users have turns, and each has a share of the questions
/// under way: nobody waits for what is asked about others. What was said of whoever is refused is known until something changes.
///
/// A value; times are µs of one clock that only goes forward.
package struct ClaimRounds: Sendable {
    package enum Answer: Sendable {
        case yes
        case no
        /// polkit does not say it of this one.
        case unknown
        /// polkit answers nobody.
        case silent
    }

    package enum Effect: Equatable, Sendable {
        /// All claims of a connection rest, for this reason.
        case rest(String, Resting)
        /// They go on.
        case goOn(String)
        /// A connection that was refused may claim by now, and is not remembered any more.
        case allow(String)
    }

    /// When a question was asked, and what had changed by then.
    package struct Moment: Equatable, Sendable {
        fileprivate let changes: UInt64
        fileprivate let time: Int64
        /// Rises with each question.
        fileprivate let number: UInt64
    }

    /// So long claims go on after a change without a yes.
    package static let patience: Int64 = 5_000_000
    /// Questions under way: fewer than polkit is asked at a time, for whoever claims anew does not wait for a round.
    package static let most = 12
    /// What of them each user may have.
    package static let mostAsked = UserShares(limit: most, reserve: 0)
    /// How many of them are about those behind: when they have no answer for long, there is room for those who are awake.
    package static let mostBehind = 8
    /// From the end of a round to the next of its kind: at least, and for each who was asked about.
    package static let pause: Int64 = 200_000
    package static let pauseForEach: Int64 = 2_000
    /// When one is asked about again of whom polkit did not say it: at first soon, then ever less often.
    package static let waits: ClosedRange<Int64> = 1_000_000...60_000_000

    private enum Kind: Int, CaseIterable {
        /// Those whose claims go on.
        case awake
        /// Those whose claims rest, or who were refused.
        case behind
    }

    private struct Subject {
        let user: UInt32
        /// `nil`: it is awake.
        var resting: Resting?
        /// The latest question about it that was answered. What is said to one of before is old.
        var answered: UInt64
        var isHolder = false
        var isRefused = false
        /// Since when an answer is missing: the first change after the last question that had one.
        var since: Int64?
        /// When it is asked about again although nothing changes, and how long that was put off.
        var again: Int64?
        var wait: Int64 = 0
        /// The latest round that it was in: nobody is in one twice.
        var round: UInt64 = 0

        var kind: Kind { self.resting == nil ? .awake : .behind }
    }

    private struct Question {
        let kind: Kind
        let user: UInt32
        let number: UInt64
        /// The first change since it was asked: then the answer is old.
        var missed: Int64?
    }

    private struct Line {
        /// Whom this round has not asked about yet.
        var names = UserTurns<String>()
        /// How many it is about.
        var count = 0
        /// When the next may begin.
        var notBefore = Int64.min
        /// Which round this is.
        var round: UInt64 = 0
        /// Of somebody of its kind an answer may be missing who is not in this round.
        var isWanted = false
        /// Among them may be some who were not in it yet, and come in: or all would wait until a long one is over.
        var hasNews = false

        mutating func want() { (self.isWanted, self.hasNews) = (true, true) }

        mutating func end(at now: Int64) {
            self.names = UserTurns()
            self.notBefore = now + max(ClaimRounds.pause, Int64(self.count) * ClaimRounds.pauseForEach)
        }
    }

    private var subjects: [String: Subject] = [:]
    private var questions: [String: Question] = [:]
    private var places = Self.mostAsked
    private var lastQuestion: UInt64 = 0
    private var lastRound: UInt64 = 0
    private var lines = [Line(), Line()]
    private var changes: UInt64 = 0
    private var isSilent = false
    /// Nobody awake lapses before this, and nobody is asked about again before that.
    private var nextLapse: Int64?
    private var nextAgain: Int64?

    package init() {}

    /// What each user has of the places of questions.
    package var shares: UserShares { self.places }

    /// Questions under way.
    package var underWay: Int { self.questions.count }

    /// Why a connection's claims rest; `nil` when they do not, or it is not known.
    package func resting(_ name: String) -> Resting? { self.subjects[name]?.resting }

    /// Why a connection is refused that was refused before, as long as nothing changed since; `nil`: that has to be asked.
    package func refusal(of name: String) -> Resting? {
        guard let subject = self.subjects[name], subject.isRefused, !subject.isHolder, subject.since == nil else {
            return nil
        }
        return subject.resting
    }

    /// What a question that is asked now can know.
    package mutating func moment(at now: Int64) -> Moment {
        Moment(changes: self.changes, time: now, number: self.nextQuestion())
    }

    private mutating func nextQuestion() -> UInt64 {
        self.lastQuestion += 1
        return self.lastQuestion
    }

    // MARK: Who is there

    /// A connection holds a claim.
    ///
    /// - Parameter asked: when the question was asked to which polkit said yes, if it holds none yet.
    package mutating func hold(_ name: String, of user: UInt32, asOf asked: Moment?, at now: Int64) {
        if self.subjects[name] == nil {
            var subject = Subject(user: user, answered: asked?.number ?? self.lastQuestion)
            if asked?.changes != self.changes { subject.since = asked?.time ?? now }
            self.put(subject, name)
        }
        self.subjects[name]?.isHolder = true
    }

    /// A connection holds no claim any more.
    package mutating func letGo(_ name: String) {
        self.subjects[name]?.isHolder = false
        self.tidy(name)
    }

    /// A connection is refused, and remembered until it may claim.
    ///
    /// - Parameter answer: why; `nil`: because its claims rest.
    package mutating func refuse(
        _ name: String, of user: UInt32, _ answer: Answer?, asOf asked: Moment, at now: Int64
    ) {
        var subject =
            self.subjects[name] ?? Subject(user: user, resting: .unknown, answered: 0, since: asked.time)
        subject.isRefused = true
        if let answer, answer != .silent, !subject.isHolder, asked.number > subject.answered {
            subject.answered = asked.number
            subject.resting = answer == .no ? .inactive : .unknown
            subject.again = nil
            if asked.changes == self.changes {
                subject.since = nil
                if answer == .unknown { self.putOff(&subject, at: now) }
            }
        }
        self.put(subject, name)
    }

    /// A connection that was refused is not to be remembered any more.
    package mutating func forget(_ name: String) {
        self.subjects[name]?.isRefused = false
        self.tidy(name)
    }

    private mutating func tidy(_ name: String) {
        guard let subject = self.subjects[name], !subject.isHolder, !subject.isRefused else { return }
        self.subjects[name] = nil
    }

    /// Takes in what is known of a connection by now, and sees to it that what is missing is asked.
    private mutating func put(_ subject: Subject, _ name: String) {
        self.subjects[name] = subject
        guard let since = subject.since else { return }
        self.lines[subject.kind.rawValue].want()
        if subject.resting == nil { self.nextLapse = min(self.nextLapse ?? .max, since + Self.patience) }
    }

    private mutating func putOff(_ subject: inout Subject, at now: Int64) {
        subject.wait = min(Self.waits.upperBound, max(Self.waits.lowerBound, 2 * subject.wait))
        subject.again = now + subject.wait
        self.nextAgain = min(self.nextAgain ?? .max, now + subject.wait)
    }

    // MARK: Who is asked about

    /// Whom to ask about now, if anybody, and whose it is. To be called until it says nobody, and again after every input.
    package mutating func next(at now: Int64) -> (name: String, user: UInt32)? {
        guard !self.isSilent else { return nil }
        for kind in Kind.allCases where self.hasRoom(for: kind) {
            guard let (name, user) = self.next(kind, at: now) else { continue }
            let isTaken = self.places.take(1, for: user)
            precondition(isTaken, "a user is asked about who has room")
            self.questions[name] = Question(kind: kind, user: user, number: self.nextQuestion())
            return (name, user)
        }
        return nil
    }

    private func hasRoom(for kind: Kind) -> Bool {
        guard self.questions.count < Self.most else { return false }
        return kind == .awake || self.questions.values.count { $0.kind == .behind } < Self.mostBehind
    }

    private mutating func next(_ kind: Kind, at now: Int64) -> (name: String, user: UInt32)? {
        if self.lines[kind.rawValue].names.isEmpty {
            self.begin(kind, at: now)
        } else if self.lines[kind.rawValue].hasNews {
            self.join(kind)
        }
        let places = self.places
        while let (name, user) = self.lines[kind.rawValue].names.next(where: { places.room(for: $0) > 0 }) {
            if self.lines[kind.rawValue].names.isEmpty { self.lines[kind.rawValue].end(at: now) }
            // It may have gone meanwhile, or had an answer.
            if self.subjects[name].map({ self.isMissing($0, name) }) ?? false { return (name, user) }
        }
        return nil
    }

    private func isMissing(_ subject: Subject, _ name: String) -> Bool {
        subject.since != nil && self.questions[name] == nil
    }

    /// Begins a round, if it is time for one and there is somebody to ask about.
    private mutating func begin(_ kind: Kind, at now: Int64) {
        guard self.lines[kind.rawValue].isWanted, now >= self.lines[kind.rawValue].notBefore else { return }
        self.lastRound += 1
        self.lines[kind.rawValue].round = self.lastRound
        self.lines[kind.rawValue].count = 0
        self.lines[kind.rawValue].isWanted = false
        self.join(kind)
    }

    /// Takes those into a round who were not in it yet.
    private mutating func join(_ kind: Kind) {
        let round = self.lines[kind.rawValue].round
        self.lines[kind.rawValue].hasNews = false
        for (_, name, subject) in self.waiting(where: { $0.kind == kind && $0.round != round })
        where self.isMissing(subject, name) {
            self.subjects[name]?.round = round
            self.lines[kind.rawValue].names.add(name, of: subject.user)
            self.lines[kind.rawValue].count += 1
        }
    }

    /// Those of whom an answer is missing: first who waits the longest, and never in the order of a table, which is another in each process.
    private func waiting(where isMeant: (Subject) -> Bool) -> [(since: Int64, name: String, subject: Subject)] {
        let waiting = self.subjects.compactMap { name, subject in
            isMeant(subject) ? subject.since.map { (since: $0, name: name, subject: subject) } : nil
        }
        return waiting.sorted { ($0.since, $0.name) < ($1.since, $1.name) }
    }

    /// When to call `tick`, should nothing else come before; `nil`: there is nothing to wait for.
    package var nextDeadline: Int64? {
        var next = [self.nextLapse, self.nextAgain].compactMap(\.self)
        if !self.isSilent {
            for kind in Kind.allCases where self.hasRoom(for: kind) {
                let line = self.lines[kind.rawValue]
                if line.isWanted, line.names.isEmpty { next.append(line.notBefore) }
            }
        }
        return next.min()
    }

    // MARK: What happens

    /// What polkit said before may not hold any more.
    ///
    /// - Parameter isSilent: it answers nobody, as far as is known.
    package mutating func changed(isSilent: Bool, at now: Int64) -> [Effect] {
        self.isSilent = isSilent
        self.changes += 1
        for index in self.questions.values.indices where self.questions.values[index].missed == nil {
            self.questions.values[index].missed = now
        }
        for index in self.subjects.values.indices {
            self.subjects.values[index].again = nil
            guard self.subjects.values[index].since == nil else { continue }
            self.subjects.values[index].since = now
            if self.subjects.values[index].resting == nil {
                self.nextLapse = min(self.nextLapse ?? .max, now + Self.patience)
            }
        }
        self.nextAgain = nil
        self.wantRounds()
        // There is nobody who could say yes in time.
        return self.isSilent ? self.lapse(before: .max) : []
    }

    private mutating func wantRounds() {
        for kind in Kind.allCases { self.lines[kind.rawValue].want() }
    }

    /// polkit answers nobody any more: whoever waits for its word rests, and nobody is asked about.
    package mutating func fellSilent(at now: Int64) -> [Effect] {
        self.isSilent = true
        for kind in Kind.allCases where !self.lines[kind.rawValue].names.isEmpty {
            self.lines[kind.rawValue].end(at: now)
        }
        return self.lapse(before: .max)
    }

    /// polkit may answer by now.
    package mutating func mayAnswer() {
        self.isSilent = false
        self.wantRounds()
    }

    /// polkit answered, or did not.
    package mutating func answered(_ answer: Answer, about name: String, at now: Int64) -> [Effect] {
        guard let question = self.questions.removeValue(forKey: name) else { return [] }
        self.places.giveBack(1, for: question.user)
        guard var subject = self.subjects[name] else { return [] }
        guard question.number > subject.answered else {
            // It has been let in, or refused, by what was asked since. Now it can be asked about again.
            self.put(subject, name)
            return []
        }
        var effects: [Effect] = []
        if answer != .silent {
            subject.answered = question.number
            subject.since = question.missed
            subject.again = nil
        }
        switch answer {
        case .silent: break
        case .yes:
            subject.wait = 0
            // An old yes ends nothing: what changed since may be that it is none any more.
            if question.missed == nil { effects = self.allow(&subject, name) }
        case .no:
            subject.wait = 0
            effects = self.rest(&subject, name, .inactive)
        case .unknown:
            if question.missed == nil { self.putOff(&subject, at: now) }
            effects = self.rest(&subject, name, .unknown)
        }
        self.put(subject, name)
        self.tidy(name)
        return effects
    }

    private func allow(_ subject: inout Subject, _ name: String) -> [Effect] {
        var effects: [Effect] = []
        if subject.isHolder, subject.resting != nil { effects.append(.goOn(name)) }
        if subject.isRefused { effects.append(.allow(name)) }
        (subject.resting, subject.isRefused) = (nil, false)
        return effects
    }

    private func rest(_ subject: inout Subject, _ name: String, _ resting: Resting) -> [Effect] {
        guard subject.resting != resting else { return [] }
        subject.resting = resting
        return subject.isHolder ? [.rest(name, resting)] : []
    }

    /// Does what is due.
    package mutating func tick(at now: Int64) -> [Effect] {
        if let next = self.nextAgain, next <= now { self.askAgain(at: now) }
        guard let next = self.nextLapse, next <= now else { return [] }
        return self.lapse(before: now - Self.patience)
    }

    /// Lets those rest of whom an answer is missing since then or longer.
    private mutating func lapse(before time: Int64) -> [Effect] {
        var effects: [Effect] = []
        self.nextLapse = nil
        for (since, name, subject) in self.waiting(where: { $0.resting == nil }) {
            var subject = subject
            if since <= time { effects += self.rest(&subject, name, .unknown) }
            self.put(subject, name)
        }
        return effects
    }

    private mutating func askAgain(at now: Int64) {
        self.nextAgain = nil
        for (name, subject) in self.subjects {
            guard let again = subject.again else { continue }
            guard again <= now else {
                self.nextAgain = min(self.nextAgain ?? .max, again)
                continue
            }
            var subject = subject
            (subject.since, subject.again) = (subject.since ?? now, nil)
            self.put(subject, name)
        }
    }
}
