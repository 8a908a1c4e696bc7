import Motion
import SensorCore
import Testing

private let second: Int64 = 1_000_000

/// Who was refused is remembered, hears when that is over, and is forgotten.
@Suite struct AdmissionsTests {
    private var admissions = Admissions(places: UserShares(limit: 4, reserve: 0))

    private mutating func admit(
        _ name: String, _ answer: PolkitAnswer, of user: UInt32 = 1_000, at now: Int64 = 0
    ) -> [Admissions.Effect] {
        let asked = self.admissions.moment(at: now)
        return self.admissions.take(answer, admitting: name, of: user, asOf: asked, at: now)
    }

    private mutating func next(at now: Int64) -> String? { self.admissions.next(at: now)?.name }

    @Test mutating func whoIsRefusedIsKnown() {
        #expect(self.admit("a", .no) == [.watch("a")])
        #expect(self.admissions.refusal(of: "a") == .inactive && self.admissions.isRefused("a"))
        // Again is nothing new.
        #expect(self.admit("a", .unknown("odd")) == [])
        #expect(self.admissions.refusal(of: "a") == .unknown && self.admissions.refusals.taken == 1)
        #expect(self.admissions.forget("a") == [.unwatch("a")])
        #expect(self.admissions.refusal(of: "a") == nil && self.admissions.refusals.taken == 0)
        #expect(self.admissions.forget("a") == [])
    }

    @Test mutating func whoIsLetInIsForgotten() {
        #expect(self.admit("a", .yes) == [])
        _ = self.admit("a", .no)
        #expect(self.admit("a", .yes) == [.unwatch("a")])
        #expect(!self.admissions.isRefused("a"))
    }

    /// Of each user some are remembered: whoever is not is asked about again.
    @Test mutating func ofEachUserSomeAreRemembered() {
        #expect(self.admit("a", .no) == [.watch("a")])
        #expect(self.admit("b", .no) == [.watch("b")])
        #expect(self.admit("c", .no) == [])
        #expect(!self.admissions.isRefused("c") && self.admissions.refusal(of: "c") == nil)
        #expect(self.admit("d", .no, of: 1_001) == [.watch("d")])
        _ = self.admissions.forget("a")
        #expect(self.admit("c", .no) == [])
        _ = self.admissions.forget("d")
        #expect(self.admit("c", .no) == [.watch("c")])
    }

    @Test mutating func whoMayByNowIsToldAndForgotten() {
        _ = self.admit("a", .no)
        #expect(self.admissions.take(.changed(isSilent: false), at: second) == [])
        #expect(self.admissions.refusal(of: "a") == nil)
        #expect(self.next(at: second) == "a" && self.admissions.underWay == 1)
        #expect(self.admissions.shares.held(by: 1_000) == 1)
        #expect(self.admissions.answered(.yes, about: "a", at: second) == [.unwatch("a"), .allow("a")])
        #expect(!self.admissions.isRefused("a") && self.admissions.refusals.taken == 0)
        #expect(self.next(at: second) == nil && self.admissions.shares.taken == 0)
    }

    /// Who holds something and is refused more, because that rests, is told of both.
    @Test mutating func whatRestsGoesOn() {
        let asked = self.admissions.moment(at: 0)
        self.admissions.hold("a", of: 1_000, asOf: asked, at: 0)
        _ = self.admissions.take(.changed(isSilent: false), at: second)
        #expect(self.next(at: second) == "a")
        #expect(self.admissions.answered(.no, about: "a", at: second) == [.rest("a", .inactive)])
        #expect(self.admissions.resting("a") == .inactive)
        #expect(self.admissions.refuse("a", of: 1_000, at: second) == [.watch("a")])
        _ = self.admissions.take(.changed(isSilent: false), at: 2 * second)
        #expect(self.next(at: 2 * second) == "a")
        #expect(
            self.admissions.answered(.yes, about: "a", at: 2 * second) == [.goOn("a"), .unwatch("a"), .allow("a")])
        self.admissions.letGo("a")
        #expect(self.admissions.resting("a") == nil)
    }

    @Test mutating func whoWaitsForAWordOfASilentOneRests() {
        let asked = self.admissions.moment(at: 0)
        self.admissions.hold("a", of: 1_000, asOf: asked, at: 0)
        _ = self.admissions.take(.changed(isSilent: false), at: second)
        #expect(self.admissions.nextDeadline != nil)
        #expect(self.admissions.take(.silent, at: second) == [.rest("a", .unknown)])
        #expect(self.next(at: second) == nil)
        #expect(self.admissions.take(.mayAnswer, at: 2 * second) == [])
        #expect(self.next(at: 2 * second) == "a")
        #expect(self.admissions.answered(.yes, about: "a", at: 2 * second) == [.goOn("a")])
    }

    @Test mutating func whoIsNotConfirmedInTimeRests() {
        let asked = self.admissions.moment(at: 0)
        self.admissions.hold("a", of: 1_000, asOf: asked, at: 0)
        _ = self.admissions.take(.changed(isSilent: false), at: 0)
        _ = self.admissions.next(at: 0)
        #expect(self.admissions.tick(at: ClaimRounds.patience) == [.rest("a", .unknown)])
    }
}
