import Arbitration
import Motion
import Testing

/// Sessions of several apps: who sounds, who waits, and what each is told.
@Suite struct SessionTests {
    private static let place = Place(file: "test.conf", line: 1)

    private static func made(_ name: String, _ set: (inout SessionClass) -> Void = { _ in }) -> SessionClass {
        var one = SessionClass(name: name, place: self.place)
        set(&one)
        return one
    }

    private static func cell(_ holder: String, _ requester: String, _ action: InteractionAction) -> Interaction {
        var cell = Interaction(holder: holder, requester: requester, place: self.place)
        cell.action = action
        return cell
    }

    /// Music gives way to everybody, voices make it soft, a call cannot be interrupted, and an alarm waits for it.
    private static let matrix = InteractionMatrix(
        [
            made("music"), made("voice"), made("game") { $0.isMixable = true },
            made("call") { $0.isUninterruptible = true }, made("alarm"),
            made("memo") { $0.interrupts = ["music", "game"] },
            made("old") { $0.whenLocked = .silence },
        ],
        [cell("music", "voice", .duck), cell("call", "alarm", .delay), cell("alarm", "game", .reject)])

    private func lab() -> Lab {
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        var lab = Lab(
            Policy(groups: [group(.mixable)], rules: [rule("all")], matrix: Self.matrix, everyApp: settings))
        for name in ["A", "B", "C", "D"] { lab.add(name) }
        return lab
    }

    @Test(arguments: [
        ("music", "music", "interrupt"), ("music", "voice", "duck"), ("voice", "music", "interrupt"),
        ("game", "music", "concurrent"), ("music", "game", "concurrent"), ("alarm", "game", "reject"),
        ("call", "music", "reject"), ("call", "alarm", "delay"), ("call", "game", "concurrent"),
        ("music", "memo", "interrupt"), ("game", "memo", "interrupt"), ("voice", "memo", "reject"),
        ("gone", "music", "concurrent"), ("music", "gone", "concurrent"),
    ])
    func eachPairHasItsOutcome(_ holder: String, _ requester: String, _ outcome: String) {
        let cell = Self.matrix.cell(holder: SessionRequest(holder), requester: SessionRequest(requester))
        #expect(cell.outcome.name == outcome)
        #expect((cell.place != nil) == ["duck", "delay"].contains(outcome) || cell.name == "alarm/game")
    }

    @Test(arguments: [
        ("music", false, "music", true, "concurrent"), ("music", true, "music", false, "concurrent"),
        ("call", false, "music", true, "concurrent"), ("music", true, "memo", false, "interrupt"),
        ("alarm", false, "game", true, "reject"),
    ])
    func whoMixesIsMixable(
        _ holder: String, _ holderMixes: Bool, _ requester: String, _ requesterMixes: Bool, _ outcome: String
    ) {
        let cell = Self.matrix.cell(
            holder: SessionRequest(holder, mixes: holderMixes),
            requester: SessionRequest(requester, mixes: requesterMixes))
        #expect(cell.outcome.name == outcome)
    }

    @Test func theLatestSoundsAndTheOneBeforeItComesBack() {
        var lab = self.lab()
        for app in ["A", "B", "C"] { lab.begin(app, "music") }
        #expect(
            lab.takeSessions() == ["A began", "A interrupted B", "B began", "B interrupted C", "C began"])
        lab.end("C")
        #expect(lab.takeSessions() == ["B resumed"])
        lab.end("B")
        #expect(lab.takeSessions() == ["A resumed"])
    }

    @Test func whoIsInTheMiddleLeavesWithoutASound() {
        var lab = self.lab()
        for app in ["A", "B", "C"] { lab.begin(app, "music") }
        _ = lab.takeSessions()
        lab.end("B")
        #expect(lab.takeSessions() == [])
        lab.end("C")
        #expect(lab.takeSessions() == ["A resumed"])
    }

    @Test func aVoiceMakesMusicSoftUntilItIsDone() {
        var lab = self.lab()
        lab.begin("A", "music")
        lab.begin("B", "voice")
        #expect(lab.standing("A")?.share == 0.1)
        lab.begin("C", "voice")
        lab.end("B")
        #expect(lab.standing("A")?.share == 0.1)
        lab.end("C")
        #expect(lab.standing("A")?.share == 1)
        #expect(
            lab.takeSessions() == [
                "A began", "A ducked B", "B began", "B interrupted C", "C began", "A restored",
            ])
    }

    @Test func anAlarmWaitsForTheCallAndThenInterrupts() {
        var lab = self.lab()
        lab.begin("A", "music")
        lab.begin("B", "call")
        lab.begin("C", "alarm")
        #expect(lab.takeSessions() == ["A began", "A interrupted B", "B began", "C waits B"])
        lab.end("B")
        // The music does not come up in between.
        #expect(lab.takeSessions() == ["C began"])
        lab.end("C")
        #expect(lab.takeSessions() == ["A resumed"])
    }

    @Test func whoWaitsMayGiveUp() {
        var lab = self.lab()
        lab.begin("B", "call")
        lab.begin("C", "alarm")
        lab.end("C")
        lab.end("B")
        #expect(lab.takeSessions() == ["B began", "C waits B"])
        #expect(lab.arbiter.sessions.isEmpty)
    }

    @Test func aCallRejectsMusic() {
        var lab = self.lab()
        lab.begin("A", "call")
        lab.begin("B", "music")
        let cell = Self.matrix.cell(holder: SessionRequest("call"), requester: SessionRequest("music"))
        #expect(lab.refusals == [nil, .rejected(SessionMeeting(AppID("A"), cell))])
        #expect(lab.standing("B") == nil)
        #expect(lab.apps["B"].flatMap { lab.arbiter.life(of: $0)?.activities.isEmpty } == true)
    }

    @Test func theHarshestWordCounts() {
        var lab = self.lab()
        lab.begin("A", "game")
        lab.begin("B", "call")
        lab.begin("C", "alarm")
        #expect(lab.standing("C")?.isPlaying == false)
        lab.end("B")
        #expect(lab.standing("C")?.isPlaying == true)
        lab.begin("D", "game")
        #expect(lab.refusals.last?.map(\.name) == "rejected")
    }

    @Test func sessionsOfOneAppDoNotMeet() {
        var lab = self.lab()
        for number in 1...3 { lab.begin("A", "music", number: UInt64(number)) }
        #expect(lab.takeSessions() == ["A began", "A began", "A began"])
    }

    @Test(arguments: [AppState.suspended, .dead])
    func whoIsAwayPlaysNothing(_ state: AppState) {
        var lab = self.lab()
        lab.begin("A", "music")
        lab.begin("B", "music")
        lab.tell("B", state)
        #expect(lab.takeSessions() == ["A began", "A interrupted B", "B began", "A resumed"])
    }

    @Test func whoLeavesPlaysNothing() throws {
        var lab = self.lab()
        lab.begin("A", "music")
        lab.begin("B", "music")
        lab.take(.leave(try #require(lab.apps["B"])))
        #expect(lab.takeSessions() == ["A began", "A interrupted B", "B began", "A resumed"])
    }

    @Test func withoutBeingHeardThereIsNoHintToResume() throws {
        var sessions = Sessions()
        let (a, b) = (SessionKey(AppHandle(0), ActivityID(1)), SessionKey(AppHandle(1), ActivityID(1)))
        _ = sessions.begin(a, AppID("A"), SessionRequest("old"), Self.matrix)
        _ = sessions.begin(b, AppID("B"), SessionRequest("music"), Self.matrix)
        _ = sessions.lock(true, Self.matrix)
        let effects = sessions.end(b.app, except: [], Self.matrix)
        #expect(effects.map(\.change) == [.resumed(hint: false)])
    }

    @Test func anotherPolicyDecidesAtOnce() {
        var lab = self.lab()
        lab.begin("A", "music")
        lab.begin("B", "call")
        lab.begin("C", "alarm")
        _ = lab.takeSessions()
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        lab.take(.policy(Policy(rules: [rule("all", group: nil)], everyApp: settings)))
        #expect(lab.takeSessions() == ["A resumed", "C began"])
    }

    /// Who names no class has the default one only with what that requires.
    @Test func theDefaultClassRequiresItsGrantToo() {
        let call = Self.made("call") {
            $0.isDefault = true
            $0.requiredGrants = WordSet([.voip])
        }
        func refusals(_ grants: [BackgroundMode]) -> [LifeRefusal?] {
            var settings = AppSettings()
            settings.grants = WordSet(grants)
            var lab = Lab(
                Policy(rules: [rule("all", group: nil)], matrix: InteractionMatrix([call]), everyApp: settings))
            lab.add("A")
            lab.begin("A", nil)
            return lab.refusals
        }
        #expect(refusals([.audio]) == [.ungranted(.voip)])
        #expect(refusals([.audio, .voip]) == [nil])
    }

    @Test func theNumberOfSessionsIsLimited() {
        var lab = self.lab()
        for app in ["A", "B", "C"] {
            for number in 1...64 { lab.begin(app, "game", number: UInt64(number)) }
        }
        #expect(lab.refusals.count { $0 == nil } == Sessions.most)
        #expect(lab.refusals.last == .some(.tooMany(limit: Sessions.most)))
    }
}

/// What a mixable group makes of hits.
@Suite struct MixableTests {
    private static func policy(_ action: InteractionAction, rate: Quota? = nil, name: String? = nil) -> Policy {
        let place = Place(file: "test.conf", line: 1)
        var cell = Interaction(holder: "a", requester: "b", place: place)
        cell.action = action
        cell.ducking.events = rate
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        let classes = ["a", "b"].map { SessionClass(name: $0, place: place) }
        return Policy(
            groups: [group(.mixable)], rules: [rule("all", sessionClass: name)],
            matrix: InteractionMatrix(classes, [cell]), everyApp: settings)
    }

    private func lab(_ policy: Policy) -> Lab {
        var lab = Lab(policy)
        for name in ["A", "B"] { lab.add(name) }
        return lab
    }

    @Test func withoutSessionsEverybodyHears() {
        var lab = self.lab(Self.policy(.reject))
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 deliver B b", "1 B S5.sent"])
    }

    @Test func whoIsInterruptedHearsNothing() {
        var lab = self.lab(Self.policy(.reject))
        lab.begin("B", "b")
        lab.begin("A", "a")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 B S4.interrupted"])
        lab.end("A")
        lab.hit(["b"], at: 5_000)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent"])
    }

    @Test func whoWaitsHearsNothing() {
        var lab = self.lab(Self.policy(.delay))
        lab.begin("A", "a")
        lab.begin("B", "b")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 B S4.delayed"])
    }

    @Test func whoIsDuckedHearsLess() {
        var lab = self.lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        lab.begin("A", "a")
        lab.begin("B", "b")
        for time in [0, 500, 1_900, 2_000, 2_100] { lab.hit(["a"], at: Int64(time)) }
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "1 again A S4.ducked", "2 A S4.ducked", "3 deliver A a", "3 A S5.sent",
                "3 again A S4.ducked",
            ])
        lab.end("B")
        lab.hit(["a"], at: 9_000)
        #expect(lab.take() == ["4 deliver A a", "4 A S5.sent"])
    }

    /// A motion that begins with a refusal, and goes on: hits come as often as the cell says all the same.
    @Test func aRefusalHoldsForNoWholeMotion() {
        var lab = self.lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        lab.begin("A", "a")
        lab.begin("B", "b")
        lab.hit(["a"], at: 0)
        for time in stride(from: Int64(1_500), through: 9_500, by: 800) { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(2_300), ms(4_700), ms(7_100), ms(9_500)])
        #expect(lab.verdicts.map(\.reason) == [.sent, .ducked, .sent])
        #expect(lab.deliveries.map(\.epoch) == [1, 3, 3, 3, 3])
    }

    @Test func whoIsHeardAgainHearsTheRestOfTheMotion() {
        var lab = self.lab(Self.policy(.reject))
        lab.begin("B", "b")
        lab.begin("A", "a")
        lab.hit(["b"], at: 0)
        lab.end("A")
        for time: Int64 in [500, 900] { lab.hit(["b"], at: time) }
        lab.begin("A", "a", number: 2)
        lab.hit(["b"], at: 1_300)
        #expect(
            lab.take() == [
                "1 B S4.interrupted", "2 deliver B b", "2 B S5.sent", "2 deliver B b", "2 again B S4.interrupted",
            ])
    }

    @Test func whoIsDuckedHearsNoMoreWithTwoSessions() {
        var lab = self.lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        for number: UInt64 in [1, 2] { lab.begin("A", "a", number: number) }
        lab.begin("B", "b")
        for time: Int64 in [0, 100, 4_000, 4_100] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(4_000)])
    }

    @Test func whoIsDuckedHearsNoMoreByANewSession() {
        var lab = self.lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        lab.begin("A", "a")
        lab.begin("B", "b")
        lab.hit(["a"], at: 0)
        lab.end("A")
        lab.begin("A", "a", number: 2)
        lab.end("B")
        lab.begin("B", "b", number: 2)
        for time: Int64 in [1_000, 4_000] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(4_000)])
    }

    /// Made soft by one that leaves little, and then by another that leaves more.
    @Test func whoIsDuckedByAnotherHearsAsOftenAsThatSays() {
        let place = Place(file: "test.conf", line: 1)
        let cells = [("b", TimeSpan.seconds(3_600)), ("c", TimeSpan.seconds(2))].map { requester, period in
            var cell = Interaction(holder: "a", requester: requester, place: place)
            cell.action = .duck
            cell.ducking.events = Quota(count: 1, period: period, burst: 1)
            return cell
        }
        let classes = ["a", "b", "c"].map { SessionClass(name: $0, place: place) }
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        var lab = self.lab(
            Policy(
                groups: [group(.mixable)], rules: [rule("all")], matrix: InteractionMatrix(classes, cells),
                everyApp: settings))
        lab.begin("A", "a")
        lab.begin("B", "b")
        for time: Int64 in [0, 1_000] { lab.hit(["a"], at: time) }
        lab.end("B")
        lab.begin("B", "c", number: 2)
        for time: Int64 in [1_900, 4_000, 5_000, 6_000] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(4_000), ms(6_000)])
        lab.end("B", number: 2)
        lab.begin("B", "b", number: 3)
        for time: Int64 in [7_000, 9_000, 11_000] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(4_000), ms(6_000), ms(9_000)])
    }

    @Test func anotherPolicysDuckingCountsAtOnce() {
        func policy(_ period: TimeSpan) -> Policy {
            Self.policy(.duck, rate: Quota(count: 1, period: period, burst: 1))
        }
        var lab = self.lab(policy(.seconds(3_600)))
        lab.begin("A", "a")
        lab.begin("B", "b")
        lab.hit(["a"], at: 0)
        lab.pass(to: 5_000)
        lab.take(.policy(policy(.seconds(10))))
        for time: Int64 in [6_000, 10_000, 15_000] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(0), ms(10_000)])
    }

    @Test(arguments: [7, 8] as [UInt32]) func whatADuckedSessionHeardIsNotAnotherUsers(_ user: UInt32) throws {
        var lab = Lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        lab.add("A", AppEntrance(user: 7))
        lab.add("B")
        lab.begin("A", "a")
        lab.begin("B", "b")
        lab.hit(["a"], at: 0)
        let app = try #require(lab.apps["A"])
        lab.take(.away(app))
        lab.take(.back(app, AppEntrance(user: user)))
        lab.begin("A", "a", number: 2)
        lab.end("B")
        lab.begin("B", "b", number: 2)
        lab.hit(["a"], at: 1_000)
        #expect(lab.deliveries.map(\.hit.time) == (user == 7 ? [ms(0)] : [ms(0), ms(1_000)]))
    }

    /// A trace ran ahead of the clock, and ended.
    @Test func whatADuckedSessionHeardComesBackFromNowOn() throws {
        var lab = self.lab(Self.policy(.duck, rate: Quota(count: 1, period: .seconds(2), burst: 1)))
        lab.begin("A", "a")
        lab.begin("B", "b")
        let detector = try #require(lab.detectors["a"])
        lab.take(.hits([Hit(detector: detector, time: ms(3_600_000), peak: 2)]))
        lab.take(.rewind(.zero))
        for time: Int64 in [100, 4_000] { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == [ms(3_600_000), ms(4_000)])
    }

    /// What an app stands for that has no session: the class of the rule.
    @Test(arguments: [
        (InteractionAction.concurrent, Reason.sent), (.duck, .sent), (.delay, .delayed), (.reject, .rejected),
    ])
    func theRuleSpeaksForWhoHasNoSession(_ action: InteractionAction, _ reason: Reason) {
        var lab = self.lab(Self.policy(action, name: "b"))
        lab.begin("A", "a")
        lab.hit(["b"], at: 0)
        #expect(lab.verdicts.map(\.reason) == [reason])
        #expect(lab.verdicts.first?.mixing?.isSession == false)
        #expect(lab.verdicts.first?.mixing?.meeting?.other == AppID("A"))
        // Its own session counts more than what the rule says.
        lab.begin("B", "a")
        lab.hit(["b"], at: 5_000)
        #expect(lab.verdicts.last?.reason == .sent && lab.verdicts.last?.mixing?.requester == "a")
    }

    @Test func aHitInterruptsNobody() {
        var lab = self.lab(Self.policy(.concurrent, name: "a"))
        lab.begin("A", "a")
        _ = lab.takeSessions()
        lab.hit(["b"], at: 0)
        #expect(lab.verdicts.map(\.reason) == [.sent])
        #expect(lab.takeSessions() == [] && lab.standing("A")?.isPlaying == true)
    }

    @Test func whoIsToldSeesNoOthers() {
        var lab = self.lab(Self.policy(.reject))
        lab.begin("B", "b")
        lab.begin("A", "a")
        lab.hit(["b"], at: 0)
        let verdict = lab.verdicts[0]
        #expect(Explanation(verdict).description.contains("A, holder b, requester a: interrupt"))
        #expect(
            Explanation(verdict.withoutOthers).description.contains("another app, holder b, requester a: interrupt"))
    }
}
