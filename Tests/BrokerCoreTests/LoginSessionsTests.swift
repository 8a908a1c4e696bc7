import BrokerCore
import Motion
import Testing

/// Which of logind's answers count, and when it is known what they come to.
@Suite struct LoginSessionsTests {
    private static let (one, two) = ("/session/c1", "/session/c2")

    /// Sessions of which a list came, and each of which answered that it is locked or not.
    private func sessions(_ locked: [String: Bool]) throws -> LoginSessions {
        var sessions = LoginSessions()
        let round = try self.begin(locked.keys.sorted(), &sessions)
        for (session, isLocked) in locked {
            #expect(!sessions.isKnown)
            sessions.answered(session, in: round, .init(isLocked: isLocked, isIdle: isLocked), at: .zero)
        }
        #expect(sessions.isKnown)
        return sessions
    }

    private func begin(_ list: [String], _ sessions: inout LoginSessions) throws -> UInt64 {
        let question = sessions.ask()
        let round = sessions.listed(list, asked: question, at: .zero)
        return try #require(round)
    }

    @Test func allAreLockedWhenEachIs() throws {
        #expect(!LoginSessions().isLocked && LoginSessions().isIdle)
        #expect(try self.sessions([Self.one: true, Self.two: true]).isLocked)
        var sessions = try self.sessions([Self.one: true, Self.two: false])
        #expect(!sessions.isLocked && !sessions.isIdle)
        sessions.changed(Self.two, .init(isLocked: true, isIdle: nil))
        #expect(sessions.isKnown && sessions.isLocked && !sessions.isIdle)
        sessions.changed("/session/c3", .init(isLocked: false, isIdle: nil))
        #expect(sessions.isLocked && !sessions.contains("/session/c3"))
        // The one that is not locked leaves.
        sessions.changed(Self.two, .init(isLocked: false, isIdle: nil))
        let round = try self.begin([Self.one], &sessions)
        #expect(!sessions.isKnown && !sessions.contains(Self.two))
        sessions.answered(Self.one, in: round, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(sessions.isKnown && sessions.isLocked && sessions.isIdle)
        sessions.forget()
        #expect(!sessions.isLocked && !sessions.contains(Self.one))
    }

    /// It stays on the list for as long as something that was started in it runs, and says for ever what it said last.
    @Test func aSessionThatHasEndedLocksAndUnlocksNothing() throws {
        var sessions = LoginSessions()
        let round = try self.begin([Self.one, Self.two], &sessions)
        sessions.answered(Self.one, in: round, .init(isLocked: false, isIdle: false, isUsed: false), at: .zero)
        sessions.answered(Self.two, in: round, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(sessions.isLocked && sessions.isIdle)
        sessions.changed(Self.two, .init(isLocked: false, isIdle: false))
        sessions.changed(Self.one, .init(isLocked: true, isIdle: true))
        #expect(!sessions.isLocked && !sessions.isIdle)
        // One that does not answer is as it was.
        let next = try self.begin([Self.one], &sessions)
        sessions.failed(Self.one, in: next, at: .zero)
        #expect(!sessions.isLocked && sessions.isIdle)
        // Only asked anew it can be another one.
        let last = try self.begin([Self.one], &sessions)
        sessions.answered(Self.one, in: last, .init(isLocked: true, isIdle: false), at: .zero)
        #expect(sessions.isLocked && !sessions.isIdle)
    }

    /// A terminal that somebody left logged in is behind the screen that is locked.
    @Test func whatIsSeenIsLockedOrNot() throws {
        var sessions = LoginSessions()
        let round = try self.begin([Self.one, Self.two], &sessions)
        sessions.answered(Self.one, in: round, .init(isLocked: true, isIdle: true, isSeen: true), at: .zero)
        sessions.answered(Self.two, in: round, .init(isLocked: false, isIdle: false, isSeen: false), at: .zero)
        #expect(sessions.isLocked && !sessions.isIdle)
        // Somebody else's is in front: of ours one is open.
        sessions.changed(Self.one, .init(isSeen: false))
        #expect(!sessions.isLocked)
        sessions.changed(Self.two, .init(isSeen: true))
        #expect(!sessions.isLocked)
        sessions.changed(Self.two, .init(isLocked: true))
        #expect(sessions.isLocked)
        // At two seats both are seen.
        sessions.changed(Self.one, .init(isLocked: false, isSeen: true))
        #expect(!sessions.isLocked)
    }

    @Test func anotherListReplacesARound() throws {
        var sessions = LoginSessions()
        let first = try self.begin([Self.one, Self.two], &sessions)
        sessions.answered(Self.one, in: first, .init(isLocked: true, isIdle: true), at: .zero)
        let question = sessions.ask()
        // It is known of nobody yet whether he counts.
        sessions.answered(Self.two, in: first, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(!sessions.isKnown)
        let round = sessions.listed([Self.one], asked: question, at: .zero)
        let second = try #require(round)
        sessions.answered(Self.two, in: first, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(!sessions.isKnown && !sessions.contains(Self.two))
        sessions.answered(Self.one, in: second, .init(isLocked: false, isIdle: nil), at: .zero)
        #expect(sessions.isKnown && !sessions.isLocked)
    }

    /// Before or behind the answers of the round that is under way.
    @Test(arguments: [false, true]) func aListThatDoesNotComeLeavesTheRoundAsItWas(isEarly: Bool) throws {
        var sessions = LoginSessions()
        let round = try self.begin([Self.one, Self.two], &sessions)
        sessions.answered(Self.one, in: round, .init(isLocked: true, isIdle: true), at: .zero)
        let question = sessions.ask()
        func fail() { #expect(sessions.listed(nil, asked: question, at: .zero) == nil) }
        if isEarly { fail() }
        #expect(!sessions.isKnown)
        sessions.answered(Self.two, in: round, .init(isLocked: true, isIdle: false), at: .zero)
        if !isEarly { fail() }
        #expect(sessions.isKnown && sessions.isLocked && !sessions.isIdle)
        #expect(sessions.nextTry == Timestamp.zero + TimeSpan.seconds(1))
        sessions.changed(Self.two, .init(isLocked: false, isIdle: true))
        #expect(sessions.isKnown && !sessions.isLocked && sessions.isIdle)
    }

    /// Also the first one, without which nothing is known of any session: after a second, and less and less often.
    @Test func aListThatDoesNotComeIsAskedForAgain() throws {
        var sessions = LoginSessions()
        var now = Timestamp.zero
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            let question = sessions.ask()
            #expect(sessions.nextTry == nil)
            #expect(sessions.listed(nil, asked: question, at: now) == nil)
            now = now + TimeSpan.seconds(Int64(wait))
            #expect(sessions.nextTry == now)
        }
        // One that comes ends it, and the next failure is made up for soon.
        let round = try self.begin([Self.one], &sessions)
        sessions.answered(Self.one, in: round, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(sessions.nextTry == nil && sessions.isLocked)
        let (old, new) = (sessions.ask(), sessions.ask())
        for question in [old, new] { #expect(sessions.listed(nil, asked: question, at: now) == nil) }
        #expect(sessions.nextTry == now + TimeSpan.seconds(1))
        // Nobody is asked who is gone.
        sessions.forget()
        #expect(sessions.nextTry == nil)
    }

    /// What it said before counts until it answers; it is asked again after a second, and less and less often.
    @Test func aSessionThatDoesNotAnswerIsAskedAgain() throws {
        var sessions = try self.sessions([Self.one: true])
        var now = Timestamp.zero
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            let round = try self.begin([Self.one, Self.two, "/session/c3"], &sessions)
            sessions.failed(Self.one, in: round &- 1, at: now)
            sessions.answered(Self.two, in: round, .init(isLocked: true, isIdle: true), at: now)
            sessions.failed(Self.one, in: round, at: now)
            // While another may still answer nobody is asked again.
            #expect(!sessions.isKnown && sessions.nextTry == nil)
            sessions.failed("/session/c3", in: round, at: now)
            now = now + TimeSpan.seconds(Int64(wait))
            #expect(sessions.isKnown && sessions.nextTry == now)
            // Of the third nothing was ever heard.
            #expect(!sessions.isLocked && !sessions.isIdle)
        }
        var round = try self.begin([Self.one, Self.two], &sessions)
        sessions.failed(Self.one, in: round, at: now)
        sessions.answered(Self.two, in: round, .init(isLocked: true, isIdle: true), at: .zero)
        #expect(sessions.isKnown && sessions.isLocked && sessions.isIdle && sessions.nextTry != nil)
        // A round in which all answer ends it, and the next failure is made up for soon.
        round = try self.begin([Self.one, Self.two], &sessions)
        for session in [Self.one, Self.two] {
            sessions.answered(session, in: round, .init(isLocked: false, isIdle: false), at: .zero)
        }
        #expect(sessions.isKnown && !sessions.isLocked && sessions.nextTry == nil)
        round = try self.begin([Self.one], &sessions)
        sessions.failed(Self.one, in: round, at: now)
        #expect(sessions.nextTry == now + TimeSpan.seconds(1))
        // Nor is the list asked for again that is asked for anyway, nor sooner than it would be.
        round = try self.begin([Self.one], &sessions)
        let question = sessions.ask()
        sessions.failed(Self.one, in: round, at: now)
        #expect(sessions.nextTry == nil)
        #expect(sessions.listed(nil, asked: question, at: now) == nil)
        #expect(sessions.nextTry == now + TimeSpan.seconds(2))
        // A list of none ends it, too.
        _ = try self.begin([], &sessions)
        #expect(sessions.isKnown && sessions.nextTry == nil)
    }

    @Test func onlyTheLastQuestionIsAnswered() throws {
        var sessions = try self.sessions([Self.one: true])
        let old = sessions.ask()
        let new = sessions.ask()
        #expect(sessions.listed([Self.two], asked: old, at: .zero) == nil)
        #expect(sessions.isKnown && sessions.contains(Self.one))
        sessions.forget()
        #expect(sessions.listed([Self.two], asked: new, at: .zero) == nil)
        #expect(sessions.isKnown && !sessions.contains(Self.one))
    }
}
