import Motion
import SensorCore
import Testing

private let second: Int64 = 1_000_000

/// Which questions polkit is asked, what their replies mean, and when it is left alone.
@Suite struct PolkitLineTests {
    private typealias Asked = PolkitLine<String>.Asked
    private var line = PolkitLine<String>()

    private mutating func ask(_ question: String, of user: UInt32 = 1_000) throws -> Asked {
        #expect(self.line.add(question, of: user) == nil)
        let asked = self.line.next()
        return try #require(asked)
    }

    /// Whose question is asked next.
    private mutating func nextUser() -> UInt32? { self.line.next().map(\.user) }

    @Test mutating func aQuestionHasAnAnswer() throws {
        let (a, b, c) = try (self.ask("a"), self.ask("b"), self.ask("c"))
        #expect(a.question == "a" && a.user == 1_000 && self.line.places.held(by: 1_000) == 3)
        #expect(self.line.take(.verdict(isAllowed: true), to: a, at: 0).answer == .yes)
        #expect(self.line.take(.verdict(isAllowed: false), to: b, at: 0).answer == .no)
        let last = self.line.take(.failure("odd"), to: c, at: 0)
        #expect(last.answer == .unknown("odd") && last.news == nil && last.left == [])
        #expect(self.line.places.taken == 0 && self.line.nextTry == nil)
    }

    /// Users have turns, and each his share of what is under way.
    @Test mutating func usersHaveTurns() {
        let share = PolkitLimits.questions.share
        for number in 0..<share + 5 { _ = self.line.add("a\(number)", of: 1_000) }
        _ = self.line.add("b", of: 1_001)
        var asked: [Asked] = []
        while let next = self.line.next() { asked.append(next) }
        #expect(asked.prefix(3).map(\.question) == ["a0", "b", "a1"])
        #expect(asked.count { $0.user == 1_000 } < share)
        _ = self.line.take(.verdict(isAllowed: true), to: asked[0], at: 0)
        #expect(self.nextUser() == 1_000)
        #expect(self.nextUser() == nil)
    }

    @Test mutating func withoutAnAnswerItIsLeftAlone() throws {
        let share = PolkitLimits.questions.share
        let first = try self.ask("first")
        let second = try self.ask("second")
        for number in 0..<share { _ = self.line.add("\(number)", of: 1_000) }
        while self.line.next() != nil {}
        let outcome = self.line.take(.silence("nobody is there"), to: first, at: 0)
        #expect(outcome.answer == .silent("nobody is there") && outcome.news == .silent && outcome.isFirstSilence)
        #expect(outcome.left == ["\(share - 2)", "\(share - 1)"])
        #expect(self.line.add("later", of: 1_000) == "nobody is there")
        #expect(self.nextUser() == nil)
        // What was asked before it was silent tells nothing more.
        let other = self.line.take(.silence("nor now"), to: second, at: 0)
        #expect(other.answer == .silent("nor now") && other.news == nil)
        #expect(self.line.nextTry == 1_000_000)
    }

    /// Each time for longer, until it says anything.
    @Test mutating func itIsTriedAgainLessAndLessOften() throws {
        var now: Int64 = 0
        for pause in [1, 2, 4, 8, 8] as [Int64] {
            let asked = try self.ask("a")
            let outcome = self.line.take(.silence("no"), to: asked, at: now)
            #expect(outcome.news == .silent && outcome.isFirstSilence == (pause == 1))
            #expect(self.line.nextTry == now + pause * second)
            #expect(self.line.tick(at: now + pause * second - 1) == nil)
            now += pause * second
            // It may have changed its mind of everybody.
            #expect(self.line.tick(at: now) == .changed(isSilent: false))
            #expect(self.line.tick(at: now) == nil && self.line.nextTry == nil)
        }
        let asked = try self.ask("a")
        _ = self.line.take(.verdict(isAllowed: true), to: asked, at: now)
        let next = try self.ask("a")
        _ = self.line.take(.silence("no"), to: next, at: now)
        #expect(self.line.nextTry == now + second)
    }

    /// Whoever says anything is not silent.
    @Test mutating func anAnswerEndsASilence() throws {
        let (a, b, c) = try (self.ask("a"), self.ask("b"), self.ask("c"))
        _ = self.line.take(.silence("no"), to: a, at: 0)
        #expect(self.line.take(.failure("odd"), to: b, at: 0).news == .mayAnswer)
        #expect(self.line.add("d", of: 1_000) == nil && self.line.nextTry == nil)
        // Others had answers since it was asked: it is this one that has none.
        let outcome = self.line.take(.silence("late"), to: c, at: 0)
        #expect(outcome.answer == .unknown("late") && outcome.news == nil && self.line.silence == nil)
    }

    /// A question of before the last try says nothing of whether it is silent now.
    @Test mutating func anOldQuestionMakesNoSilence() throws {
        let (a, b) = try (self.ask("a"), self.ask("b"))
        _ = self.line.take(.silence("no"), to: a, at: 0)
        _ = self.line.tick(at: second)
        let outcome = self.line.take(.silence("no"), to: b, at: second)
        #expect(outcome.answer == .silent("no") && outcome.news == nil && self.line.silence == nil)
    }

    @Test mutating func whoComesAnewIsAsked() throws {
        let asked = try self.ask("a")
        #expect(self.line.ownerChanged(isThere: false) == .changed(isSilent: false))
        _ = self.line.take(.silence("no"), to: asked, at: 0)
        #expect(self.line.ownerChanged(isThere: false) == .changed(isSilent: true))
        #expect(self.line.ownerChanged(isThere: true) == .changed(isSilent: false))
        #expect(self.line.add("b", of: 1_000) == nil)
    }

    @Test mutating func whatItSaysOfItselfEndsASilence() throws {
        let asked = try self.ask("a")
        _ = self.line.take(.silence("no"), to: asked, at: 0)
        #expect(self.line.changed() == .changed(isSilent: false) && self.line.silence == nil)
    }
}
