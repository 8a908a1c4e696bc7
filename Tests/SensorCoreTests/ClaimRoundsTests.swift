import Motion
import Randomness
import SensorCore
import Testing

private let second: Int64 = 1_000_000

/// Whoever polkit is asked about: in which order, how often, and what comes of it.
@Suite struct ClaimRoundsTests {
    private var rounds = ClaimRounds()

    /// Everybody whom there is to ask about now.
    private mutating func ask(at now: Int64) -> [String] {
        var names: [String] = []
        while let (name, _) = self.rounds.next(at: now) { names.append(name) }
        return names
    }

    private mutating func hold(_ names: String..., of user: UInt32 = 1_000, at now: Int64 = 0) {
        for name in names { self.rounds.hold(name, of: user, asOf: self.rounds.moment(at: now), at: now) }
    }

    private mutating func refuse(
        _ name: String, of user: UInt32 = 1_001, _ answer: ClaimRounds.Answer, at now: Int64 = 0
    ) {
        self.rounds.refuse(name, of: user, answer, asOf: self.rounds.moment(at: now), at: now)
    }

    @Test mutating func whoIsAwakeIsAskedAboutFirst() {
        for number in 0..<50 as Range<UInt32> { self.refuse("refused \(number)", of: 2_000 + number, .no) }
        for (name, user) in [("a", 1), ("b", 2), ("c", 3)] as [(String, UInt32)] { self.hold(name, of: user) }
        #expect(self.ask(at: 0) == [])
        #expect(self.rounds.changed(isSilent: false, at: second) == [])
        let asked = self.ask(at: second)
        #expect(Set(asked.prefix(3)) == ["a", "b", "c"])
        #expect(asked.count == 3 + ClaimRounds.mostBehind)
        // Those behind have no answer: who is awake has room all the same, after the next change.
        for name in ["a", "b", "c"] { #expect(self.rounds.answered(.yes, about: name, at: second) == []) }
        #expect(self.ask(at: second) == [])
        _ = self.rounds.changed(isSilent: false, at: 2 * second)
        #expect(Set(self.ask(at: 2 * second)) == ["a", "b", "c"])
        #expect(self.rounds.answered(.no, about: "b", at: 2 * second) == [.rest("b", .inactive)])
    }

    /// Neither whom is asked about nor who rests comes in the order of a table, which is another in each process.
    @Test mutating func whoWaitsTheLongestComesFirst() {
        let names = (0..<8).map { "connection \(9 - $0)" }
        for (time, name) in names.enumerated() {
            self.rounds.hold(name, of: 1_000 + UInt32(time), asOf: nil, at: Int64(time))
        }
        #expect(self.ask(at: second) == names)
        #expect(self.rounds.tick(at: second + ClaimRounds.patience) == names.map { .rest($0, .unknown) })
    }

    @Test mutating func whoIsNotConfirmedInTimeRests() {
        self.hold("a", "b")
        _ = self.rounds.changed(isSilent: false, at: second)
        #expect(Set(self.ask(at: second)) == ["a", "b"])
        #expect(self.rounds.answered(.yes, about: "b", at: second) == [])
        #expect(self.rounds.nextDeadline == second + ClaimRounds.patience)
        #expect(self.rounds.tick(at: second + ClaimRounds.patience - 1) == [])
        #expect(self.rounds.tick(at: second + ClaimRounds.patience) == [.rest("a", .unknown)])
        #expect(self.rounds.answered(.yes, about: "a", at: 7 * second) == [.goOn("a")])
        #expect(self.ask(at: 7 * second) == [] && self.rounds.nextDeadline == nil)
    }

    /// What is said to a question of before a change says nothing of after it.
    @Test mutating func anOldYesIsNoConfirmation() {
        self.hold("a", "b")
        _ = self.rounds.changed(isSilent: false, at: second)
        _ = self.ask(at: second)
        _ = self.rounds.answered(.no, about: "b", at: second)
        _ = self.rounds.changed(isSilent: false, at: second + 1)
        #expect(self.ask(at: second + 1) == ["b"])
        _ = self.rounds.changed(isSilent: false, at: 2 * second)
        // It lets who is awake go on for as long as the change is young, and nobody go on who rests.
        #expect(self.rounds.answered(.yes, about: "a", at: 3 * second) == [])
        #expect(self.rounds.answered(.yes, about: "b", at: 3 * second) == [])
        #expect(self.ask(at: 3 * second) == ["a", "b"])
        #expect(self.rounds.tick(at: second + ClaimRounds.patience) == [])
        #expect(self.rounds.tick(at: second + 1 + ClaimRounds.patience) == [.rest("a", .unknown)])
        #expect(self.rounds.answered(.yes, about: "b", at: 8 * second) == [.goOn("b")])
    }

    /// Who was let in before a change and holds a claim after it is asked about.
    @Test mutating func whoCameWhileSomethingChangedIsAskedAbout() {
        let before = self.rounds.moment(at: second)
        _ = self.rounds.changed(isSilent: false, at: 2 * second)
        self.rounds.hold("a", of: 1_000, asOf: before, at: 3 * second)
        self.hold("b", at: 3 * second)
        #expect(self.ask(at: 3 * second) == ["a"])
        #expect(self.rounds.tick(at: second + ClaimRounds.patience) == [.rest("a", .unknown)])
    }

    /// It is asked about again, ever less often, and nobody else is.
    @Test mutating func whatIsNotSaidOfOneConcernsNobodyElse() throws {
        self.hold("a")
        self.refuse("c", .unknown)
        var waits: [Int64] = []
        var now: Int64 = 0
        for _ in 0..<8 {
            let next = try #require(self.rounds.nextDeadline)
            waits.append((next - now) / second)
            now = next
            #expect(self.rounds.tick(at: now) == [])
            #expect(self.ask(at: now) == ["c"])
            #expect(self.rounds.answered(.unknown, about: "c", at: now) == [])
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
        _ = self.rounds.changed(isSilent: false, at: now)
        for name in self.ask(at: now + second) {
            #expect(
                self.rounds.answered(name == "a" ? .unknown : .yes, about: name, at: now + second)
                    == [name == "a" ? .rest("a", .unknown) : .allow("c")])
        }
        #expect(self.rounds.nextDeadline == now + 2 * second)
        #expect(self.rounds.resting("c") == nil)
    }

    /// Only those rest whom a change has left without a word, and nobody is asked about until polkit is tried again.
    @Test mutating func aSilentPolkitMakesNobodyRestOfWhomNothingChanged() {
        self.hold("a", "b")
        self.refuse("c", .silent)
        #expect(self.rounds.fellSilent(at: 0) == [])
        #expect(self.ask(at: 10 * second) == [] && self.rounds.nextDeadline == nil)
        self.rounds.mayAnswer()
        #expect(self.ask(at: 10 * second) == ["c"])
        #expect(self.rounds.answered(.silent, about: "c", at: 15 * second) == [])
        #expect(self.rounds.fellSilent(at: 15 * second) == [])
        self.rounds.mayAnswer()
        #expect(self.ask(at: 16 * second) == ["c"])
        #expect(self.rounds.answered(.no, about: "c", at: 16 * second) == [])
        #expect(self.rounds.nextDeadline == nil)

        _ = self.rounds.changed(isSilent: false, at: 20 * second)
        #expect(Set(self.ask(at: 20 * second)) == ["a", "b", "c"])
        #expect(self.rounds.answered(.yes, about: "b", at: 20 * second) == [])
        #expect(self.rounds.fellSilent(at: 21 * second) == [.rest("a", .unknown)])
        #expect(self.rounds.changed(isSilent: true, at: 22 * second) == [.rest("b", .unknown)])
    }

    /// Whoever is refused need not be asked about again for being refused again.
    @Test mutating func whatWasSaidIsKnownUntilSomethingChanges() {
        self.refuse("a", .no)
        self.refuse("b", .unknown)
        self.refuse("c", .silent)
        #expect(self.rounds.refusal(of: "a") == .inactive && self.rounds.refusal(of: "b") == .unknown)
        #expect(self.rounds.refusal(of: "c") == nil && self.rounds.refusal(of: "d") == nil)
        _ = self.rounds.changed(isSilent: false, at: second)
        for name in ["a", "b", "c"] { #expect(self.rounds.refusal(of: name) == nil) }
        // Asked by itself it is known again, and the answer of the round that was asked before says no more.
        #expect(Set(self.ask(at: second)) == ["a", "b", "c"])
        self.refuse("a", .no, at: second)
        #expect(self.rounds.refusal(of: "a") == .inactive)
        #expect(self.rounds.answered(.unknown, about: "a", at: second) == [])
        #expect(self.rounds.refusal(of: "a") == .inactive)
        #expect(self.rounds.answered(.no, about: "b", at: second) == [])
        #expect(self.rounds.refusal(of: "b") == .inactive)
        #expect(self.rounds.answered(.yes, about: "c", at: second) == [.allow("c")])
        #expect(self.rounds.refusal(of: "c") == nil)
        // What rests says nothing of whoever holds nothing.
        self.rounds.letGo("a")
        self.rounds.forget("a")
        #expect(self.rounds.refusal(of: "a") == nil)
    }

    /// However many connections a user has, and however long nobody answers about them.
    @Test mutating func nobodyWaitsForWhatIsAskedAboutOthers() {
        for number in 0..<200 { self.hold("many \(number)", of: 1) }
        for number in 0..<200 { self.refuse("refused \(number)", of: 1, .no) }
        self.hold("a", of: 2)
        self.refuse("b", of: 3, .no)
        _ = self.rounds.changed(isSilent: false, at: second)
        let asked = self.ask(at: second)
        #expect((1...ClaimRounds.most / 2).contains(asked.count { $0.hasPrefix("many ") }))
        #expect(asked.contains("a") && asked.contains("b"))
        // Of two who have many each has his turn.
        for number in 0..<200 { self.hold("more \(number)", of: 4) }
        for name in asked { _ = self.rounds.answered(.yes, about: name, at: 2 * second) }
        _ = self.rounds.changed(isSilent: false, at: 2 * second)
        var now = 2 * second
        var next: [String] = []
        while next.count < 100 {
            now += second
            for name in self.ask(at: now) {
                next.append(name)
                _ = self.rounds.answered(.yes, about: name, at: now)
            }
        }
        #expect(next.contains { $0.hasPrefix("many ") } && next.contains { $0.hasPrefix("more ") })
    }

    /// A connection lets go, and is let in anew: what is said to a question of before does not make it rest.
    @Test mutating func anOldAnswerSaysNothingOfWhoWasLetInSince() {
        self.hold("a")
        _ = self.rounds.changed(isSilent: false, at: second)
        #expect(self.ask(at: second) == ["a"])
        self.rounds.letGo("a")
        self.hold("a", at: 2 * second)
        #expect(self.rounds.answered(.no, about: "a", at: 3 * second) == [])
        #expect(self.rounds.resting("a") == nil && self.rounds.underWay == 0)
        #expect(self.ask(at: 3 * second) == [] && self.rounds.tick(at: 7 * second) == [])
        #expect(self.ask(at: 7 * second) == [] && self.rounds.nextDeadline == nil)
        // One that was let in by what was asked before the change is still asked about, once the old question is over.
        _ = self.rounds.changed(isSilent: false, at: 8 * second)
        #expect(self.ask(at: 8 * second) == ["a"])
        self.rounds.letGo("a")
        let before = self.rounds.moment(at: 8 * second)
        _ = self.rounds.changed(isSilent: false, at: 9 * second)
        self.rounds.hold("a", of: 1_000, asOf: before, at: 9 * second)
        #expect(self.ask(at: 9 * second) == [])
        #expect(self.rounds.answered(.no, about: "a", at: 10 * second) == [])
        #expect(self.ask(at: 10 * second) == ["a"])
    }

    /// However often something changes.
    @Test mutating func roundsKeepTheirDistance() {
        self.hold("a")
        for number in 0..<100 { self.refuse("refused \(number)", .no) }
        var asked: [String: Int] = [:]
        for step in 0..<2_000 as Range<Int64> {
            _ = self.rounds.changed(isSilent: false, at: step * 1_000)
            for name in self.ask(at: step * 1_000) {
                asked[name, default: 0] += 1
                _ = self.rounds.answered(name == "a" ? .yes : .no, about: name, at: step * 1_000)
            }
        }
        #expect(asked["a"] == 10)
        #expect(asked.values.max() == 10 && asked.count == 101)
    }

    // MARK: Random lives

    @Test(arguments: someSeeds(1...200 as ClosedRange<UInt64>)) func randomLives(_ seed: UInt64) throws {
        var world = World(seed: seed)
        for _ in 0..<400 { try world.step() }
        try world.settle()
    }
}

/// polkit, people who come and go, and time: what must hold is looked at after each step.
private struct World {
    private struct Question {
        let name: String
        let changes: Int
        let answer: ClaimRounds.Answer
        let due: Int64
    }
    private struct Holder {
        /// How much had changed when the last question was asked that had a yes.
        var confirmed: Int
        /// A no came, to a question after so many changes.
        var denied: Int?
        var resting: Resting?
    }

    private let seed: UInt64
    private var random: SeededRandom
    private var rounds = ClaimRounds()
    private var now: Int64 = 0
    private var changes: [Int64] = []
    private var allowed: Set<String> = []
    private var holders: [String: Holder] = [:]
    private var refused: Set<String> = []
    /// Who was let in and holds nothing yet.
    private var coming: [(name: String, moment: ClaimRounds.Moment, changes: Int)] = []
    private var questions: [Question] = []
    private var isSilent = false
    /// How long answers take at most, and how many of them say nothing.
    private var delay: Int64 = 100_000
    private var failures = 0.0
    private var asked = 0

    init(seed: UInt64) {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
    }

    private var names: [String] { (0..<24).map { "c\($0)" } }

    /// Whose a connection is.
    private func user(of name: String) -> UInt32 { UInt32(name.utf8.last ?? 0) % 4 + 1_000 }

    mutating func step() throws {
        let name = self.names.randomElement(using: &self.random) ?? ""
        switch Int.random(in: 0..<20, using: &self.random) {
        case 0..<3: self.change()
        case 3..<7: self.claim(name)
        case 7..<9: self.hold()
        case 9: self.letGo(name)
        case 10:
            self.refused.remove(name)
            self.rounds.forget(name)
        case 11: self.delay = [0, 10_000, 1_000_000, 20_000_000].randomElement(using: &self.random) ?? 0
        case 12: self.failures = [0, 0, 0.3, 1].randomElement(using: &self.random) ?? 0
        case 13: self.setSilent(!self.isSilent)
        default:
            try self.pass(
                to: self.now
                    + Int64.random(in: 0...(self.random.chance(0.2) ? 8_000_000 : 300_000), using: &self.random))
        }
        try self.goOn()
    }

    private mutating func change() {
        for name in self.names where self.random.chance(0.3) {
            if self.allowed.remove(name) == nil { self.allowed.insert(name) }
        }
        self.changes.append(self.now)
        self.take(self.rounds.changed(isSilent: self.isSilent, at: self.now))
    }

    private mutating func setSilent(_ isSilent: Bool) {
        self.isSilent = isSilent
        if isSilent { self.take(self.rounds.fellSilent(at: self.now)) } else { self.rounds.mayAnswer() }
    }

    private mutating func claim(_ name: String) {
        guard !self.coming.contains(where: { $0.name == name }) else { return }
        let moment = self.rounds.moment(at: self.now)
        if let holder = self.holders[name] {
            guard holder.resting != nil else { return }
            self.refused.insert(name)
            self.rounds.refuse(name, of: self.user(of: name), nil, asOf: moment, at: self.now)
        } else if let refusal = self.rounds.refusal(of: name) {
            #expect(self.refused.contains(name), "seed \(self.seed): \(name)")
            if refusal == .inactive { #expect(!self.allowed.contains(name), "seed \(self.seed): \(name)") }
        } else if self.isSilent {
            self.refused.insert(name)
            self.rounds.refuse(name, of: self.user(of: name), .silent, asOf: moment, at: self.now)
        } else if self.allowed.contains(name) {
            self.refused.remove(name)
            self.rounds.forget(name)
            self.coming.append((name, moment, self.changes.count))
        } else {
            self.refused.insert(name)
            let answer: ClaimRounds.Answer = self.random.chance(0.8) ? .no : .unknown
            self.rounds.refuse(name, of: self.user(of: name), answer, asOf: moment, at: self.now)
        }
    }

    private mutating func hold() {
        guard !self.coming.isEmpty else { return }
        let (name, moment, changes) = self.coming.removeFirst()
        self.rounds.hold(name, of: self.user(of: name), asOf: moment, at: self.now)
        self.holders[name] = Holder(confirmed: changes)
        self.take(self.rounds.tick(at: self.now))
    }

    private mutating func letGo(_ name: String) {
        guard self.holders.removeValue(forKey: name) != nil else { return }
        self.rounds.letGo(name)
    }

    /// Takes in effects, and nothing else, as the shell does.
    private mutating func take(_ effects: [ClaimRounds.Effect]) {
        for effect in effects {
            switch effect {
            case .rest(let name, let resting): self.holders[name]?.resting = resting
            case .goOn(let name): self.holders[name]?.resting = nil
            case .allow(let name): self.refused.remove(name)
            }
        }
    }

    private mutating func pass(to time: Int64) throws {
        while true {
            let next = min(self.rounds.nextDeadline ?? .max, self.questions.map(\.due).min() ?? .max, time)
            self.now = max(self.now, next)
            while let index = self.questions.firstIndex(where: { $0.due <= self.now }) {
                self.deliver(self.questions.remove(at: index))
            }
            self.take(self.rounds.tick(at: self.now))
            try self.goOn()
            guard self.now < time else { return }
        }
    }

    private mutating func deliver(_ question: Question) {
        let answer = self.isSilent ? .silent : question.answer
        let isNew = question.changes == self.changes.count
        if answer == .yes { self.holders[question.name]?.confirmed.raise(to: question.changes) }
        if answer == .yes, isNew { self.holders[question.name]?.denied = nil }
        if answer == .no, isNew { self.holders[question.name]?.denied = question.changes }
        let before = self.holders[question.name]?.resting
        self.take(self.rounds.answered(answer, about: question.name, at: self.now))
        if before != nil, !isNew {
            #expect(
                self.holders[question.name]?.resting != nil, "seed \(self.seed): \(question.name) goes on by an old yes"
            )
        }
    }

    /// Asks whom there is to ask about, and looks at what must hold.
    private mutating func goOn() throws {
        while let (name, user) = self.rounds.next(at: self.now) {
            #expect(user == self.user(of: name), "seed \(self.seed): \(name)")
            #expect(!self.isSilent && !self.questions.contains { $0.name == name }, "seed \(self.seed): \(name)")
            #expect(self.holders[name] != nil || self.refused.contains(name), "seed \(self.seed): \(name)")
            self.asked += 1
            let answer: ClaimRounds.Answer
            if self.random.chance(self.failures) {
                answer = .unknown
            } else {
                answer = self.allowed.contains(name) ? .yes : .no
            }
            let delay = Int64.random(in: 0...self.delay, using: &self.random)
            self.questions.append(
                Question(name: name, changes: self.changes.count, answer: answer, due: self.now + delay))
        }
        #expect(
            self.rounds.underWay == self.questions.count && self.questions.count <= ClaimRounds.most,
            "seed \(self.seed)")
        // Nothing that is overdue waits for a timer, or it would go off without end.
        #expect(self.rounds.nextDeadline.map { $0 > self.now } ?? true, "seed \(self.seed), at \(self.now)")
        for (name, holder) in self.holders {
            #expect(holder.resting == self.rounds.resting(name), "seed \(self.seed), at \(self.now): \(name)")
            guard holder.resting == nil else { continue }
            #expect(
                holder.denied != self.changes.count, "seed \(self.seed), at \(self.now): \(name) is awake after a no")
            guard holder.confirmed < self.changes.count else { continue }
            let awake = self.now - self.changes[holder.confirmed]
            try #require(
                awake < 5_000_000, "seed \(self.seed), at \(self.now): \(name) is awake for \(awake) without a yes")
        }
    }

    /// Nothing changes any more, and polkit answers: everybody comes to be known about, and nobody is asked about any more.
    mutating func settle() throws {
        while !self.coming.isEmpty { self.hold() }
        self.change()
        (self.delay, self.failures) = (1_000, 0)
        self.setSilent(false)
        try self.goOn()
        self.asked = 0
        try self.pass(to: self.now + 60_000_000)
        #expect(self.asked <= 2 * self.names.count, "seed \(self.seed): \(self.asked) questions")
        for (name, holder) in self.holders {
            #expect(holder.resting == (self.allowed.contains(name) ? nil : .inactive), "seed \(self.seed): \(name)")
        }
        #expect(self.refused.isDisjoint(with: self.allowed), "seed \(self.seed)")
        self.asked = 0
        try self.pass(to: self.now + 3_600_000_000)
        #expect(self.asked == 0 && self.rounds.nextDeadline == nil && self.rounds.underWay == 0, "seed \(self.seed)")
    }
}

extension Int {
    fileprivate mutating func raise(to other: Int) { self = Swift.max(self, other) }
}
