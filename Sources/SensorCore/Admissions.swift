package import Motion

/// Who holds something for which polkit has to say yes, and who was refused that and is to hear when it says so: `ClaimRounds`, with
/// those who were refused. Of each user some are remembered, as long as they are there.
///
/// A value; times are µs of one clock that only goes forward.
package struct Admissions: Sendable {
    package enum Effect: Equatable, Sendable {
        /// What a connection holds rests, for this reason.
        case rest(String, Resting)
        /// It goes on.
        case goOn(String)
        /// A connection that was refused would not be by now.
        case allow(String)
        /// See whether a connection leaves, and say `forget` then.
        case watch(String)
        /// That need not be seen any more.
        case unwatch(String)
    }

    private var rounds = ClaimRounds()
    private var refused: [String: UInt32] = [:]
    /// What each user has of the places of those who were refused.
    package private(set) var refusals: UserShares

    /// - Parameter places: How many who were refused are remembered.
    package init(places: UserShares) { self.refusals = places }

    // MARK: What there is to see

    /// What each user has of the places of questions.
    package var shares: UserShares { self.rounds.shares }
    /// Questions under way.
    package var underWay: Int { self.rounds.underWay }

    /// Why what a connection holds rests; `nil`: it does not, or is not known.
    package func resting(_ name: String) -> Resting? { self.rounds.resting(name) }

    /// Why a connection is refused that was refused before, as long as nothing changed since; `nil`: that has to be asked.
    package func refusal(of name: String) -> Resting? { self.rounds.refusal(of: name) }

    /// Whether a connection that was refused is remembered.
    package func isRefused(_ name: String) -> Bool { self.refused[name] != nil }

    /// What a question that is asked now can know.
    package mutating func moment(at now: Int64) -> ClaimRounds.Moment { self.rounds.moment(at: now) }

    // MARK: Who holds what

    /// A connection holds something, or more, by what was said to a question of then.
    package mutating func hold(_ name: String, of user: UInt32, asOf asked: ClaimRounds.Moment?, at now: Int64) {
        self.rounds.hold(name, of: user, asOf: asked, at: now)
    }

    /// A connection holds nothing any more.
    package mutating func letGo(_ name: String) { self.rounds.letGo(name) }

    // MARK: Who may

    /// polkit was asked about a connection that holds nothing yet, and this is what it said.
    package mutating func take(
        _ answer: PolkitAnswer, admitting name: String, of user: UInt32, asOf asked: ClaimRounds.Moment, at now: Int64
    ) -> [Effect] {
        answer == .yes ? self.forget(name) : self.refuse(name, of: user, answer.forRounds, asOf: asked, at: now)
    }

    /// A connection is refused because what it holds rests.
    package mutating func refuse(_ name: String, of user: UInt32, at now: Int64) -> [Effect] {
        self.refuse(name, of: user, nil, asOf: self.moment(at: now), at: now)
    }

    private mutating func refuse(
        _ name: String, of user: UInt32, _ answer: ClaimRounds.Answer?, asOf asked: ClaimRounds.Moment, at now: Int64
    ) -> [Effect] {
        let isNew = self.refused[name] == nil
        if isNew {
            guard self.refusals.take(1, for: user) else { return [] }
            self.refused[name] = user
        }
        self.rounds.refuse(name, of: user, answer, asOf: asked, at: now)
        return isNew ? [.watch(name)] : []
    }

    /// A connection is not to be remembered as refused any more.
    package mutating func forget(_ name: String) -> [Effect] {
        guard let user = self.refused.removeValue(forKey: name) else { return [] }
        self.refusals.giveBack(1, for: user)
        self.rounds.forget(name)
        return [.unwatch(name)]
    }

    // MARK: Rounds

    /// Something is new of polkit.
    package mutating func take(_ news: PolkitNews, at now: Int64) -> [Effect] {
        switch news {
        case .changed(let isSilent): return self.follow(self.rounds.changed(isSilent: isSilent, at: now))
        case .silent: return self.follow(self.rounds.fellSilent(at: now))
        case .mayAnswer:
            self.rounds.mayAnswer()
            return []
        }
    }

    /// Whom to ask about now, if anybody, and whose it is. To be called until it says nobody, and again after every input.
    package mutating func next(at now: Int64) -> (name: String, user: UInt32)? { self.rounds.next(at: now) }

    /// polkit was asked about a connection because `next` said so, and this is what it said.
    package mutating func answered(_ answer: PolkitAnswer, about name: String, at now: Int64) -> [Effect] {
        self.follow(self.rounds.answered(answer.forRounds, about: name, at: now))
    }

    /// When to call `tick`; `nil`: there is nothing to wait for.
    package var nextDeadline: Int64? { self.rounds.nextDeadline }

    package mutating func tick(at now: Int64) -> [Effect] { self.follow(self.rounds.tick(at: now)) }

    private mutating func follow(_ effects: [ClaimRounds.Effect]) -> [Effect] {
        effects.flatMap { effect -> [Effect] in
            switch effect {
            case .rest(let name, let resting): [.rest(name, resting)]
            case .goOn(let name): [.goOn(name)]
            case .allow(let name): self.forget(name) + [.allow(name)]
            }
        }
    }
}
