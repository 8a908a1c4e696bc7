import Motion
import Testing

@testable import Arbitration
import Randomness

/// A life with its policy and its clocks: seconds for both, which are the same until the system sleeps.
private struct Living {
    var life = AppLife(at: .zero)
    var hour = HourlyCount()
    var settings = AppSettings()
    var clock = AwakeClock()
    /// The assertion in all lines of tests.
    static let one = AssertionID(1)

    init(grace: Int64 = 2, budget: Int64 = 31, isRenewable: Bool = false) {
        self.settings.grace = .seconds(grace)
        self.settings.assertionBudget = .seconds(budget)
        self.settings.allowsRenewal = isRenewable
        self.settings.grants = WordSet([.audio])
    }

    func at(_ seconds: Int64) -> Moment { self.clock.moment(at: .zero + .seconds(seconds)) }

    mutating func move(_ place: AppLife.Place, _ second: Int64 = 0) -> [LifeEffect] {
        self.life.move(to: place, .foreground, at: self.at(second), self.settings)
    }

    mutating func begin(_ id: UInt64 = 1, _ second: Int64 = 0) -> LifeRefusal? {
        self.life.begin(AssertionRequest(AssertionID(id), "a\(id)"), &self.hour, at: self.at(second), self.settings)
    }

    mutating func end(_ id: UInt64 = 1, _ second: Int64) -> [LifeEffect] {
        self.life.end(AssertionID(id), at: self.at(second), self.settings)
    }

    mutating func begin(_ mode: BackgroundMode, _ second: Int64 = 0) -> LifeRefusal? {
        self.life.begin(ActivityID(1), mode, at: self.at(second), self.settings)
    }

    mutating func endActivity(_ second: Int64) -> [LifeEffect] {
        self.life.end(ActivityID(1), at: self.at(second), self.settings)
    }

    mutating func pass(_ second: Int64) -> [LifeEffect] { self.life.pass(to: self.at(second), self.settings) }
    func remaining(_ second: Int64) -> TimeSpan? { self.life.remaining(at: self.at(second), self.settings) }
}

private func changed(_ from: AppState, _ to: AppState, _ cause: StateCause = .foreground) -> LifeEffect {
    .changed(StateChange(from: from, to: to, cause))
}

@Suite struct AppLifeTests {
    /// A life that is in a state as it comes about.
    private func living(_ state: AppLife.State) -> Living {
        var living = Living()
        switch state {
        case .dead: break
        case .foreground: _ = living.move(.foreground)
        case .inactive: _ = living.move(.behindLock)
        case .background(.grace): _ = living.move(.background)
        case .background(.working):
            _ = living.move(.foreground)
            _ = living.begin(.audio)
            _ = living.move(.background)
        case .background(.told): _ = living.move(.told(.background))
        case .suspended:
            _ = living.move(.background, -2)
            _ = living.pass(0)
        }
        #expect(living.life.state == state)
        return living
    }

    private static let grace = AppLife.State.background(.grace(until: .zero + .seconds(2)))
    private static let working = AppLife.State.background(.working)

    // MARK: Players

    @Test func aPlayerKeepsItsAppGoing() {
        var living = Living()
        func play(_ isPlaying: Bool, _ second: Int64) -> [LifeEffect] {
            living.life.play(isPlaying, at: living.at(second), living.settings)
        }
        _ = living.move(.background)
        #expect(play(true, 1).isEmpty && living.life.state == Self.working && living.life.isAtPlay)
        #expect(living.pass(100).isEmpty && living.remaining(100) == nil)
        #expect(living.life.modes == WordSet([.audio]))
        // When it stops there is the moment that everybody has.
        #expect(play(false, 100).isEmpty && living.remaining(100) == .seconds(2) && !living.life.isAtPlay)
        #expect(living.pass(102) == [changed(.background, .suspended, .grace)])
        // Who plays runs.
        #expect(play(true, 200) == [changed(.suspended, .background, .player)])
        #expect(play(true, 201).isEmpty)
        // Who cannot run does not play, but goes on when it can.
        #expect(living.move(.frozen, 202) == [changed(.background, .suspended)])
        #expect(living.life.modes == .none && !living.life.isAtPlay && living.pass(300).isEmpty)
        #expect(living.move(.background, 301) == [changed(.suspended, .background)])
        #expect(living.life.state == Self.working && living.life.isAtPlay)
        #expect(living.move(.gone, 302) == [changed(.background, .dead)] && !living.life.isAtPlay)
    }

    // MARK: From each state to each place

    @Test(
        arguments: [
            (AppLife.State.dead, AppLife.Place.foreground, [changed(.dead, .foreground)], AppLife.State.foreground),
            (.dead, .visible, [changed(.dead, .inactive)], .inactive),
            (.dead, .behindLock, [changed(.dead, .inactive)], .inactive),
            (.dead, .background, [changed(.dead, .background)], grace),
            (.dead, .frozen, [changed(.dead, .suspended)], .suspended),
            (.dead, .told(.foreground), [changed(.dead, .foreground)], .foreground),
            (.dead, .told(.inactive), [changed(.dead, .inactive)], .inactive),
            (.dead, .told(.background), [changed(.dead, .background)], .background(.told)),
            (.dead, .told(.suspended), [changed(.dead, .suspended)], .suspended),
            (.dead, .told(.dead), [], .dead),

            (.foreground, .gone, [changed(.foreground, .dead)], .dead),
            (.foreground, .visible, [changed(.foreground, .inactive)], .inactive),
            (.foreground, .behindLock, [changed(.foreground, .inactive)], .inactive),
            (.foreground, .background, [changed(.foreground, .background)], grace),
            (.foreground, .frozen, [changed(.foreground, .suspended)], .suspended),
            (.foreground, .told(.foreground), [], .foreground),
            (.foreground, .told(.inactive), [changed(.foreground, .inactive)], .inactive),
            (.foreground, .told(.background), [changed(.foreground, .background)], .background(.told)),
            (.foreground, .told(.suspended), [changed(.foreground, .suspended)], .suspended),
            (.foreground, .told(.dead), [changed(.foreground, .dead)], .dead),

            (.inactive, .gone, [changed(.inactive, .dead)], .dead),
            (.inactive, .foreground, [changed(.inactive, .foreground)], .foreground),
            (.inactive, .visible, [], .inactive),
            (.inactive, .background, [changed(.inactive, .background)], grace),
            (.inactive, .told(.foreground), [changed(.inactive, .foreground)], .foreground),
            (.inactive, .told(.inactive), [], .inactive),
            (.inactive, .told(.background), [changed(.inactive, .background)], .background(.told)),
            (.inactive, .told(.suspended), [changed(.inactive, .suspended)], .suspended),
            (.inactive, .told(.dead), [changed(.inactive, .dead)], .dead),

            (grace, .gone, [changed(.background, .dead)], .dead),
            (grace, .foreground, [changed(.background, .foreground)], .foreground),
            (grace, .visible, [changed(.background, .inactive)], .inactive),
            (grace, .behindLock, [changed(.background, .inactive)], .inactive),
            (grace, .told(.foreground), [changed(.background, .foreground)], .foreground),
            (grace, .told(.inactive), [changed(.background, .inactive)], .inactive),
            (grace, .told(.background), [], .background(.told)),
            (grace, .told(.suspended), [changed(.background, .suspended)], .suspended),
            (grace, .told(.dead), [changed(.background, .dead)], .dead),

            (working, .gone, [changed(.background, .dead), .activityEnded(ActivityID(1), .audio)], .dead),
            (working, .foreground, [changed(.background, .foreground)], .foreground),
            (working, .visible, [changed(.background, .inactive)], .inactive),
            (working, .behindLock, [changed(.background, .inactive)], .inactive),
            (working, .told(.foreground), [changed(.background, .foreground)], .foreground),
            (working, .told(.inactive), [changed(.background, .inactive)], .inactive),
            (working, .told(.background), [], .background(.told)),
            (
                working, .told(.suspended),
                [changed(.background, .suspended), .activityEnded(ActivityID(1), .audio)], .suspended
            ),
            (working, .told(.dead), [changed(.background, .dead), .activityEnded(ActivityID(1), .audio)], .dead),

            (.background(.told), .gone, [changed(.background, .dead)], .dead),
            (.background(.told), .foreground, [changed(.background, .foreground)], .foreground),
            (.background(.told), .behindLock, [changed(.background, .inactive)], .inactive),
            (.background(.told), .background, [], grace),
            (.background(.told), .told(.foreground), [changed(.background, .foreground)], .foreground),
            (.background(.told), .told(.inactive), [changed(.background, .inactive)], .inactive),
            (.background(.told), .told(.suspended), [changed(.background, .suspended)], .suspended),
            (.background(.told), .told(.dead), [changed(.background, .dead)], .dead),

            (.suspended, .gone, [changed(.suspended, .dead)], .dead),
            (.suspended, .foreground, [changed(.suspended, .foreground)], .foreground),
            (.suspended, .behindLock, [changed(.suspended, .inactive)], .inactive),
            (.suspended, .told(.foreground), [changed(.suspended, .foreground)], .foreground),
            (.suspended, .told(.inactive), [changed(.suspended, .inactive)], .inactive),
            (.suspended, .told(.background), [changed(.suspended, .background)], .background(.told)),
            (.suspended, .told(.suspended), [], .suspended),
            (.suspended, .told(.dead), [changed(.suspended, .dead)], .dead),
        ] as [(AppLife.State, AppLife.Place, [LifeEffect], AppLife.State)])
    func moves(_ from: AppLife.State, _ place: AppLife.Place, _ effects: [LifeEffect], _ to: AppLife.State) {
        var living = self.living(from)
        #expect(living.move(place) == effects)
        #expect(living.life.state == to)
        #expect(living.move(place) == [])
    }

    // MARK: From each state by what the app does

    @Test(
        arguments: [
            (AppLife.State.dead, LifeRefusal.away(.dead), AppLife.State.dead),
            (.foreground, nil, .foreground),
            (.inactive, nil, .inactive),
            (grace, nil, working),
            (working, nil, working),
            (.background(.told), nil, .background(.told)),
            (.suspended, .away(.suspended), .suspended),
        ] as [(AppLife.State, LifeRefusal?, AppLife.State)])
    func beginsAnAssertion(_ from: AppLife.State, _ refusal: LifeRefusal?, _ to: AppLife.State) {
        var living = self.living(from)
        #expect(living.begin(1) == refusal)
        #expect(living.life.state == to)
        #expect(living.life.hasAssertion == (refusal == nil))
    }

    @Test(
        arguments: [
            (AppLife.State.dead, LifeRefusal.away(.dead), AppLife.State.dead),
            (.foreground, nil, .foreground),
            (.inactive, nil, .inactive),
            (grace, nil, working),
            (working, .repeated, working),
            (.background(.told), nil, .background(.told)),
            (.suspended, .away(.suspended), .suspended),
        ] as [(AppLife.State, LifeRefusal?, AppLife.State)])
    func beginsAnActivity(_ from: AppLife.State, _ refusal: LifeRefusal?, _ to: AppLife.State) {
        var living = self.living(from)
        #expect(living.begin(.audio) == refusal)
        #expect(living.life.state == to)
    }

    /// What time alone does, with an assertion that is held where it can be.
    @Test(
        arguments: [
            (AppLife.State.dead, [], AppLife.State.dead), (.foreground, [], .foreground),
            (.inactive, [.assertionEnded(Living.one, name: "a1", .overrun)], .inactive),
            (
                grace,
                [.assertionEnded(Living.one, name: "a1", .overrun), changed(.background, .suspended, .overrun)],
                .suspended
            ),
            (working, [.assertionEnded(Living.one, name: "a1", .overrun)], working),
            (.background(.told), [.assertionEnded(Living.one, name: "a1", .overrun)], .background(.told)),
            (.suspended, [], .suspended),
        ] as [(AppLife.State, [LifeEffect], AppLife.State)])
    func passesTime(_ from: AppLife.State, _ effects: [LifeEffect], _ to: AppLife.State) {
        var living = self.living(from)
        _ = living.begin(1)
        #expect(living.pass(31) == effects)
        #expect(living.life.state == to)
        #expect(living.life.overruns == (effects.isEmpty ? 0 : 1))
        #expect(living.pass(1_000) == [])
    }

    // MARK: Grace

    @Test func withNothingToKeepItGoingAnAppIsSuspendedAfterItsGrace() {
        var living = Living()
        _ = living.move(.foreground)
        #expect(living.move(.background, 10) == [changed(.foreground, .background)])
        #expect(living.life.deadlines(living.settings).arrival == .zero + .seconds(12))
        #expect(living.pass(11) == [])
        #expect(living.remaining(11) == .seconds(1))
        #expect(living.pass(12) == [changed(.background, .suspended, .grace)])
        #expect(living.life.since == .zero + .seconds(12))
        #expect(living.remaining(12) == .zero)
    }

    @Test func withoutGraceItIsSuspendedAtOnce() {
        var living = Living(grace: 0)
        _ = living.move(.foreground)
        #expect(
            living.move(.background, 10)
                == [changed(.foreground, .background), changed(.background, .suspended, .grace)])
    }

    @Test func graceBeginsWhenTheLastThingEndsThatKeptItGoing() {
        var living = Living()
        _ = living.move(.background)
        _ = living.begin(.audio, 1)
        _ = living.begin(1, 2)
        #expect(living.pass(20) == [])
        #expect(living.endActivity(20) == [])
        #expect(living.end(1, 25) == [])
        #expect(living.pass(26) == [])
        #expect(living.pass(27) == [changed(.background, .suspended, .grace)])
    }

    @Test func aModeThatPolicyTakesBackKeepsNobodyGoing() {
        var living = self.living(Self.working)
        living.settings.grants = .none
        #expect(living.life.review(at: living.at(5), living.settings) == [])
        #expect(living.life.state == .background(.grace(until: .zero + .seconds(7))))
        #expect(
            living.pass(7) == [changed(.background, .suspended, .grace), .activityEnded(ActivityID(1), .audio)])
    }

    // MARK: Assertions

    @Test func anAssertionIsCountedFromEnteringTheBackground() {
        var living = Living()
        _ = living.move(.foreground)
        #expect(living.begin(1, 0) == nil)
        #expect(living.remaining(100) == nil)
        _ = living.move(.background, 100)
        #expect(living.remaining(100) == .seconds(31))
        #expect(living.remaining(120) == .seconds(11))
        #expect(living.pass(125) == [])
        #expect(living.pass(126) == [.expiring(Living.one, name: "a1", remaining: .seconds(5))])
        #expect(living.pass(127) == [])
        #expect(
            living.pass(131)
                == [.assertionEnded(Living.one, name: "a1", .overrun), changed(.background, .suspended, .overrun)])
    }

    @Test func oneThatIsEndedInTimeIsNoOverrun() {
        var living = Living()
        _ = living.move(.background)
        _ = living.begin(1, 1)
        #expect(living.pass(30) == [.expiring(Living.one, name: "a1", remaining: .seconds(1))])
        #expect(living.end(1, 30) == [])
        #expect(living.pass(32) == [changed(.background, .suspended, .grace)])
        #expect(living.life.overruns == 0)
    }

    @Test func comingBackToTheForegroundEndsIt() {
        var living = Living()
        _ = living.move(.foreground)
        _ = living.begin(1)
        _ = living.move(.background, 10)
        #expect(
            living.move(.foreground, 20)
                == [.assertionEnded(Living.one, name: "a1", .foreground), changed(.background, .foreground)])
        #expect(living.life.overruns == 0)
        #expect(living.begin(1, 21) == nil)
        _ = living.move(.background, 30)
        #expect(living.remaining(30) == .seconds(31))
    }

    @Test func anActivityBegunBeforeTheEndTakesOverWithoutASuspendedMoment() {
        var living = Living(grace: 0)
        _ = living.move(.foreground)
        _ = living.begin(1)
        _ = living.move(.background)
        #expect(living.pass(26) == [.expiring(Living.one, name: "a1", remaining: .seconds(5))])
        #expect(living.begin(.audio, 27) == nil)
        #expect(living.end(1, 28) == [])
        #expect(living.pass(1_000) == [])
        #expect(living.life.state == Self.working)
        #expect(living.remaining(1_000) == nil)
    }

    @Test func withoutRenewalAllAssertionsOfAStayShareOneBudget() {
        var living = Living()
        _ = living.move(.background)
        #expect(living.begin(1, 1) == nil)
        #expect(living.begin(2, 20) == nil)
        #expect(living.end(1, 20) == [])
        #expect(living.remaining(20) == .seconds(11))
        _ = living.begin(.audio, 30)
        #expect(living.pass(31) == [.assertionEnded(AssertionID(2), name: "a2", .overrun)])
        #expect(living.begin(3, 31) == .budget(.seconds(31)))
    }

    @Test func withRenewalEachHasItsOwn() {
        var living = Living(isRenewable: true)
        _ = living.move(.background)
        #expect(living.begin(1, 1) == nil)
        #expect(living.remaining(21) == .seconds(11))
        #expect(living.end(1, 21) == [])
        #expect(living.begin(2, 21) == nil)
        #expect(living.remaining(21) == .seconds(31))
    }

    @Test func soManyInAnHour() {
        var living = Living(isRenewable: true)
        living.settings.assertionsPerHour = 2
        _ = living.move(.foreground)
        #expect(living.begin(1, 0) == nil)
        #expect(living.begin(2, 600) == nil)
        #expect(living.begin(3, 601) == .hourly(limit: 2, next: .zero + .seconds(3_600)))
        #expect(living.begin(3, 3_599) == .hourly(limit: 2, next: .zero + .seconds(3_600)))
        #expect(living.begin(3, 3_600) == nil)
        #expect(living.begin(4, 3_601) == .hourly(limit: 2, next: .zero + .seconds(4_200)))
        living.settings.assertionsPerHour = 0
        #expect(living.begin(4, 9_999) == .hourly(limit: 0, next: Timestamp(microseconds: .max)))
    }

    @Test func soManyAtATime() {
        var living = Living()
        _ = living.move(.foreground)
        for id in 1...UInt64(AppLife.mostHeld) { #expect(living.begin(id) == nil) }
        #expect(living.begin(1_000) == .tooMany(limit: AppLife.mostHeld))
        #expect(living.begin(.push) == .ungranted(.push))
    }

    /// Locked, an app is as good as away: an assertion must not last as long as the screen is dark.
    @Test func lockingUsesUpTheBudget() {
        var living = Living()
        _ = living.move(.foreground)
        _ = living.begin(1)
        _ = living.move(.behindLock, 10)
        _ = living.move(.background, 20)
        #expect(living.remaining(20) == .seconds(21))
        #expect(living.move(.behindLock, 30) == [changed(.background, .inactive)])
        #expect(living.pass(41) == [.assertionEnded(Living.one, name: "a1", .overrun)])
        #expect(living.life.state == .inactive)
    }

    /// Seen beside another it is in use: the time away does not begin there, and one that has begun goes on.
    @Test func beingSeenGivesNothingBackAndTakesNothing() {
        var living = Living()
        _ = living.move(.foreground)
        _ = living.begin(1)
        #expect(living.move(.visible, 10) == [changed(.foreground, .inactive)])
        #expect(living.remaining(1_000) == nil && living.pass(1_000) == [])
        _ = living.move(.background, 1_000)
        #expect(living.remaining(1_010) == .seconds(21))
        #expect(living.move(.visible, 1_010) == [changed(.background, .inactive)])
        #expect(living.pass(1_031) == [.assertionEnded(Living.one, name: "a1", .overrun)])
        #expect(living.life.state == .inactive)
        #expect(living.move(.foreground, 1_040) == [changed(.inactive, .foreground)])
        // Behind the lock it is away.
        #expect(living.begin(2, 1_050) == nil)
        _ = living.move(.visible, 1_060)
        _ = living.move(.behindLock, 1_070)
        #expect(living.remaining(1_080) == .seconds(21))
    }

    @Test func moreBudgetIsAnnouncedAnew() {
        var living = Living()
        _ = living.move(.background)
        _ = living.begin(1)
        #expect(living.pass(26) == [.expiring(Living.one, name: "a1", remaining: .seconds(5))])
        living.settings.assertionBudget = .seconds(60)
        #expect(living.pass(31) == [])
        #expect(living.pass(56) == [.expiring(Living.one, name: "a1", remaining: .seconds(4))])
    }

    // MARK: Sleep

    @Test func theSleepOfTheSystemIsFree() {
        var living = Living()
        _ = living.move(.background)
        _ = living.begin(1, 1)
        let sleeps = [10, 11].map { living.clock.sleep(true, at: .zero + .seconds($0)) }
        #expect(sleeps == [true, false])
        #expect(living.remaining(1_000) == .seconds(21))
        #expect(living.pass(1_000) == [])
        let wakes = [1_010, 1_011].map { living.clock.sleep(false, at: .zero + .seconds($0)) }
        #expect(wakes == [true, false])
        #expect(living.remaining(1_010) == .seconds(21))
        #expect(living.life.deadlines(living.settings).awake.flatMap(living.clock.arrival) == .zero + .seconds(1_026))
        #expect(living.pass(1_026) == [.expiring(Living.one, name: "a1", remaining: .seconds(5))])
    }

    // MARK: Deadlines of many

    @Test func theHeapGivesTheEarliestOfEach() {
        var generator = SeededRandom(seed: 7)
        var heap = DeadlineHeap()
        var reference: [AppHandle: Timestamp] = [:]
        for _ in 0..<5_000 {
            let app = AppHandle(.random(in: 0..<40, using: &generator))
            let time = Bool.random(using: &generator) ? ms(.random(in: 0..<60, using: &generator)) : nil
            heap.set(app, UInt64(app.index), to: time)
            reference[app] = time
            let earliest = reference.min { a, b in (a.value, a.key) < (b.value, b.key) }
            #expect(heap.first?.app == earliest?.key)
            #expect(heap.first?.time == earliest?.value)
            #expect(heap.count == reference.count)
        }
    }
}
