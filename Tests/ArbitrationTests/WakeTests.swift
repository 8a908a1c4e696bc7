import Motion
import Testing

@testable import Arbitration

/// Whom the arbiter has launched for what, and what that does to the app.
@Suite struct WakeTests {
    private static let waking = Policy(rules: [rule("wake", group: nil, terms: terms(.wake))])

    private func lab(_ state: AppState?, _ policy: Policy = Self.waking) -> Lab {
        var lab = Lab(policy)
        lab.add("A")
        if let state { lab.tell("A", state) }
        _ = lab.take()
        return lab
    }

    private func launch(_ lab: Lab, _ app: String = "A") -> UInt64 {
        lab.arbiter.launches.launch(of: AppID(app))?.number ?? 0
    }

    @Test(arguments: [(AppState.dead, "start A shake"), (.suspended, "resume A shake")])
    func onlyWhoCannotReceiveIsLaunched(_ state: AppState, _ expected: String) {
        var lab = self.lab(state)
        lab.hit(["a"], at: 10)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken"])
        #expect(lab.takeLaunches() == [expected])
        lab.tell("A", nil)
        lab.hit(["a"], at: 20)
        #expect(lab.take() == ["2 deliver A a", "2 A S5.sent"])
        #expect(lab.takeLaunches() == [])
    }

    @Test(arguments: [DeliveryKind.live, .store])
    func nobodyIsLaunchedWithoutARule(_ kind: DeliveryKind) {
        var lab = self.lab(.dead, Policy(rules: [rule("other", group: nil, terms: terms(kind))]))
        lab.hit(["a"], at: 10)
        #expect(lab.takeLaunches() == [])
        #expect(lab.arbiter.nextArrivalDeadline == nil)
    }

    @Test func whoHasNoNameIsNotLaunched() {
        var lab = self.lab(.foreground)
        let handle = AppHandle(1)
        lab.apps["-1"] = handle
        lab.take(.app(handle, .anonymous(1), AppEntrance(told: .suspended)))
        lab.addDetector("-1", to: "-1")
        _ = lab.take()
        lab.hit(["-1"], at: 10)
        #expect(lab.take() == ["1 deliver -1 -1 store", "1 -1 S5.stored"])
        #expect(lab.takeLaunches() == [])
    }

    /// One shake, five dead apps: the strongest are first, though the weakest are found first.
    @Test func theStrongestOfOneSampleGoFirst() {
        let names = ["A", "B", "C", "D", "E"]
        let rules = names.enumerated().map { rule(for: $1, strength: $0, terms: terms(.wake)) }
        var lab = Lab(Policy(groups: [group(.broadcast)], rules: rules))
        for name in names {
            lab.add(name)
            lab.tell(name, .dead)
        }
        lab.hit(names.map { $0.lowercased() }, at: 10)
        #expect(lab.takeLaunches() == ["start E shake", "start D shake"])
        lab.take(.launched(AppID("E"), self.launch(lab, "E"), .done))
        #expect(lab.takeLaunches() == ["done E shake", "start C shake"])
    }

    /// The reason is the kind of motion.
    @Test(arguments: [
        ("shake.planar", "accelerometer", "shake"), ("system.shake", "accelerometer", "shake"),
        ("tilt", "accelerometer", "tilt"), ("location.adaptive", "location", "location"), ("", "location", "location"),
        ("", "accelerometer", "motion"),
    ])
    func anAppIsToldWhy(_ preset: String, _ sensor: String, _ expected: String) {
        #expect(DetectorFacts(name: "d", preset: preset, sensor: sensor).kind == expected)
    }

    // MARK: Who cannot be launched

    /// Apps that compete: those in lower strength run, the first ones do not. Strongest first.
    private func rivals(
        _ mode: GroupMode = .exclusive, dead: [String], alive: [String], lifespan: TimeSpan = .seconds(3),
        quota: Quota? = nil, window: TimeSpan? = nil
    ) -> Lab {
        var terms = terms(.wake)
        terms.lifespan = lifespan
        let names = dead + alive
        let rules = names.enumerated().map { rule(for: $1, strength: names.count - $0, terms: terms) }
        var settings = AppSettings()
        settings.wakeQuota = quota
        let group = group(mode) { if let window { $0.commitWindow = window } }
        var lab = Lab(Policy(groups: [group], rules: rules, everyApp: settings))
        for name in names {
            lab.add(name)
            if dead.contains(name) { lab.tell(name, .dead) }
        }
        return lab
    }

    private func fail(_ lab: inout Lab, _ app: String, _ failure: LaunchFailure = .notStarted, at now: Int64) {
        lab.now = now
        lab.take(.launched(AppID(app), self.launch(lab, app), .failed(failure)))
    }

    @Test(arguments: LaunchFailure.allCases)
    func whatItsWinnerCannotBeLaunchedForIsTheNextOnes(_ failure: LaunchFailure) {
        var lab = self.rivals(dead: ["A"], alive: ["B", "C"])
        lab.hit(["a", "b", "c"], at: 0)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken", "1 B S4.outranked", "1 C S4.outranked"])
        self.fail(&lab, "A", failure, at: 200)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent", "2 C S4.outranked"])
        #expect(lab.verdicts.last?.contest?.inherits == 1)
        // It is B's now, whatever becomes of A.
        self.fail(&lab, "A", failure, at: 1_300)
        #expect(lab.take() == [])
    }

    /// From one to the next, until somebody is there.
    @Test func itIsHandedOnAsOftenAsNeedBe() {
        var lab = self.rivals(dead: ["A", "B"], alive: ["C"])
        lab.hit(["a", "b", "c"], at: 0)
        _ = lab.take()
        self.fail(&lab, "A", at: 100)
        #expect(lab.take() == ["2 deliver B b wake", "2 B S5.woken", "2 C S4.outranked"])
        self.fail(&lab, "B", at: 200)
        #expect(lab.take() == ["3 deliver C c", "3 C S5.sent"])
    }

    /// The motion may be over by then; what is too old, or was followed by another motion, is not handed on.
    @Test(arguments: [(2_000 as Int64, true, false), (3_000, false, false), (2_000, false, true)])
    func itIsHandedOnWhileItIsFresh(_ time: Int64, _ isExpected: Bool, _ hasNewer: Bool) {
        var lab = self.rivals(dead: ["A"], alive: ["B"])
        lab.hit(["a", "b"], at: 0)
        lab.pass(to: 1_500)
        if hasNewer { lab.hit(["b"], at: 1_600) }
        _ = lab.take()
        self.fail(&lab, "A", at: time)
        #expect(lab.take() == (isExpected ? ["2 deliver B b", "2 B S5.sent"] : []))
        // The motion that was handed on is over at once.
        lab.pass(to: 4_000)
        lab.hit(["b"], at: 4_000)
        #expect(lab.take().last == (isExpected || hasNewer ? "3 B S5.sent" : "2 B S5.sent"))
    }

    /// Who leaves while it is launched loses what it was to have, whether the motion is over or not.
    @Test(arguments: [500 as Int64, 1_500]) func whatWhoLeavesIsLaunchedForIsTheNextOnes(_ time: Int64) {
        var lab = self.rivals(dead: ["A"], alive: ["B"])
        lab.hit(["a", "b"], at: 0)
        lab.pass(to: time)
        _ = lab.take()
        lab.take(.leave(AppHandle(0)))
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent"])
        // Its number is another's, who has nothing to lose by that launch.
        lab.take(.app(AppHandle(0), AppID("C"), AppEntrance()))
        self.fail(&lab, "A", at: time + 100)
        #expect(lab.take() == [])
    }

    /// What an app cannot be launched for takes from it nothing that is kept for it, which counts for as much as it does by itself.
    @Test(arguments: [
        (1, ["1 deliver B b", "1 A S4.outranked", "1 B S5.sent"]),
        (3, ["1 deliver A a2 store", "1 A S5.stored", "1 B S4.outranked"]),
    ])
    func whatIsKeptIsNotLostWithALaunch(_ strength: Int, _ expected: [String]) {
        var wake = terms(.wake)
        wake.lifespan = .seconds(1)
        let rules = [
            rule("wake", line: 1, strength: 4, terms: wake) { $0.presets.any = [NamePattern("shake")] },
            rule("store", line: 2, strength: strength, terms: terms(.store)) {
                $0.presets.any = [NamePattern("tilt")]
            }, rule("tap", line: 3, strength: 2) { $0.presets.any = [NamePattern("tap")] },
        ]
        var lab = Lab(Policy(groups: [group(.exclusive)], rules: rules))
        lab.add("A")
        lab.addDetector("a2", to: "A", preset: "tilt")
        lab.add("B", preset: "tap")
        lab.tell("A", .dead)
        // It could not be launched twice, and is left alone until 3 200.
        lab.take(.launch(LaunchRequest(AppID("A"), .push, ends: ms(60_000))))
        self.fail(&lab, "A", at: 100)
        lab.pass(to: 1_100)
        self.fail(&lab, "A", at: 1_200)
        _ = lab.take()
        lab.hit(["a", "a2", "b"], at: 1_300)
        #expect(lab.take() == expected)
    }

    /// The same in an order, in which its turn comes later.
    @Test func whatIsKeptIsNotLostWithALaunchInAnOrder() {
        var wake = terms(.wake)
        wake.lifespan = .seconds(1)
        let rules = [
            rule("wake", line: 1, strength: 1, terms: wake) { $0.presets.any = [NamePattern("shake")] },
            rule("store", line: 2, strength: 1, terms: terms(.store)) { $0.presets.any = [NamePattern("tilt")] },
            rule("tap", line: 3, strength: 2) { $0.presets.any = [NamePattern("tap")] },
        ]
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        lab.add("A")
        lab.addDetector("a2", to: "A", preset: "tilt")
        lab.add("B", preset: "tap")
        lab.tell("A", .dead)
        lab.take(.launch(LaunchRequest(AppID("A"), .push, ends: ms(60_000))))
        self.fail(&lab, "A", at: 100)
        lab.pass(to: 1_100)
        self.fail(&lab, "A", at: 1_200)
        _ = lab.take()
        lab.hit(["a", "a2", "b"], at: 1_300)
        #expect(lab.take() == ["1 deliver B b"])
        lab.answer("B", 1, .pass)
        #expect(lab.take() == ["1 B S5.passed", "1 deliver A a2 store"])
    }

    @Test func whatWasAnsweredIsNotHandedOn() {
        var lab = self.rivals(dead: ["A"], alive: ["B"])
        lab.hit(["a", "b"], at: 0)
        lab.pass(to: 1_500)
        lab.answer("A", 1, .consume)
        lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done))
        lab.take(.launch(LaunchRequest(AppID("A"), .push, ends: ms(9_000))))
        _ = lab.take()
        self.fail(&lab, "A", at: 2_000)
        #expect(lab.take() == [])
    }

    /// Epochs are small numbers: anybody can name that of an event that is another's.
    @Test func whoeverElseAnswersTakesItFromNobody() {
        var lab = self.rivals(dead: ["A"], alive: ["B", "C"])
        lab.hit(["a", "b", "c"], at: 0)
        lab.pass(to: 1_500)
        lab.answer("C", 1, .consume)
        #expect(lab.arbiter.staleAnswers == 1)
        _ = lab.take()
        self.fail(&lab, "A", at: 2_000)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent", "2 C S4.outranked"])
    }

    /// Who came up gets it live, though it did not answer.
    @Test func whoIsThereKeepsIt() {
        var lab = self.rivals(dead: ["A"], alive: ["B"])
        lab.hit(["a", "b"], at: 0)
        lab.tell("A", nil)
        _ = lab.take()
        self.fail(&lab, "A", .refused, at: 100)
        #expect(lab.take() == [])
    }

    @Test func withNobodyNextItIsTriedAgain() {
        var lab = self.rivals(dead: ["A"], alive: [])
        lab.hit(["a"], at: 0)
        _ = (lab.take(), lab.takeLaunches())
        self.fail(&lab, "A", at: 100)
        lab.pass(to: 1_100)
        #expect(lab.take() == [])
        #expect(lab.takeLaunches() == ["not-started A again 1100", "start A shake"])
    }

    @Test func inOrderTheNextOneIsAskedAtOnce() {
        var lab = self.rivals(.ordered, dead: ["A"], alive: ["B"])
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a wake"])
        self.fail(&lab, "A", at: 50)
        #expect(lab.take() == ["1 A S5.launch-failed", "1 deliver B b"])
        lab.answer("B", 1, .consume)
        #expect(lab.take() == ["1 B S5.taken"])
    }

    /// Who rests after a failure for longer than the event is of use does not get it, and keeps it from nobody.
    @Test(arguments: [GroupMode.exclusive, .ordered])
    func whoIsKnownNotToComeIsPassedOverAtOnce(_ mode: GroupMode) {
        var lab = self.rivals(mode, dead: ["A"], alive: ["B"], lifespan: .milliseconds(300))
        lab.hit(["a"], at: 0)
        lab.pass(to: 1_100)
        // Until 2200 it is left alone.
        self.fail(&lab, "A", at: 1_200)
        _ = (lab.take(), lab.takeLaunches())
        lab.hit(["a", "b"], at: 1_500)
        let said =
            mode == .exclusive
            ? ["2 A S5.launch-failed", "2 B S4.outranked", "3 deliver B b", "3 B S5.sent"]
            : ["2 A S5.launch-failed", "2 deliver B b"]
        #expect(lab.take() == said)
        #expect(lab.takeLaunches() == [])
    }

    /// However many rest, each has one verdict, and what they do not get is one other's.
    @Test(arguments: [["Z"], []])
    func allWhoAreKnownNotToComeArePassedOverTogether(_ alive: [String]) {
        let dead = (100..<164).map { "A\($0)" }
        var lab = self.rivals(dead: dead, alive: alive, lifespan: .milliseconds(300), window: .milliseconds(100))
        for name in dead {
            lab.take(.launch(LaunchRequest(AppID(name), .push, ends: ms(300))))
            // Until 1000 it is left alone.
            self.fail(&lab, name, at: 0)
        }
        lab.pass(to: 350)
        _ = (lab.take(), lab.takeLaunches())
        lab.hit((dead + alive).map { $0.lowercased() }, at: 400)
        lab.pass(to: 500)
        let passedOver = dead.map { "1 \($0) S5.launch-failed" }
        let handedOn = alive.isEmpty ? [] : ["1 Z S4.outranked", "2 deliver Z z", "2 Z S5.sent"]
        #expect(lab.take() == passedOver + handedOn)
        #expect(lab.takeLaunches() == [])
        let explained = lab.verdicts.first { $0.id.name == dead[1] }.map { Explanation($0).description } ?? ""
        #expect(explained.contains("\(dead[0]), who is first, could not be launched either"))
    }

    /// What a launch failed for stays with its app where nobody could be launched in its place.
    @Test func whoIsKnownNotToComeIsNotNext() {
        var lab = self.rivals(dead: ["A", "B"], alive: [], lifespan: .milliseconds(1_500))
        lab.take(.launch(LaunchRequest(AppID("B"), .push, ends: ms(5_000))))
        self.fail(&lab, "B", at: 100)
        lab.pass(to: 1_100)
        // Until 3100 it is left alone.
        self.fail(&lab, "B", at: 1_100)
        _ = (lab.take(), lab.takeLaunches())
        lab.hit(["a", "b"], at: 1_200)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken", "1 B S4.outranked"])
        self.fail(&lab, "A", at: 1_300)
        lab.pass(to: 2_300)
        #expect(lab.take() == [])
        #expect(lab.takeLaunches() == ["start A shake", "not-started A again 2300", "start A shake"])
    }

    /// While the window is open its rest may end.
    @Test func aGroupDoesNotDecideEarlyWhileTheBestOneRests() {
        var terms = terms(.wake)
        terms.lifespan = .milliseconds(300)
        let rules = [rule(for: "A", strength: 2, terms: terms), rule(for: "B", strength: 1)]
        var lab = Lab(Policy(groups: [group(.exclusive) { $0.commitWindow = .milliseconds(600) }], rules: rules))
        for name in ["A", "B"] { lab.add(name, rest: .seconds(1)) }
        lab.tell("A", .dead)
        lab.take(.launch(LaunchRequest(AppID("A"), .push, ends: ms(300))))
        // Until 1100 it is left alone.
        self.fail(&lab, "A", at: 100)
        lab.hit(["a", "b"], at: 600)
        #expect(lab.take() == [])
        lab.pass(to: 1_200)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken", "1 B S4.outranked"])
    }

    @Test func whoIsKnownNotToComeHasItsVerdictAtOnceWithoutAGroup() {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 2, period: .seconds(3_600), burst: 2)
        var terms = terms(.wake)
        terms.lifespan = .milliseconds(300)
        var lab = self.lab(.dead, Policy(rules: [rule("wake", group: nil, terms: terms)], everyApp: settings))
        lab.hit(["a"], at: 0)
        self.fail(&lab, "A", at: 100)
        _ = lab.take()
        lab.hit(["a"], at: 500)
        #expect(lab.take() == ["2 A S5.launch-failed"])
        // It costs nothing of what may wake it.
        lab.hit(["a"], at: 1_200)
        #expect(lab.take() == ["3 deliver A a wake", "3 A S5.woken"])
        lab.hit(["a"], at: 1_300)
        #expect(lab.take() == ["4 A S3.wake-quota"])
    }

    /// Who was woken as often as it may be is not next.
    @Test func whoMayNotBeWokenIsNotNext() {
        let once = Quota(count: 1, period: .seconds(3_600), burst: 1)
        var lab = self.rivals(dead: ["A", "B"], alive: ["C"], quota: once)
        lab.hit(["b"], at: 0)
        lab.pass(to: 5_000)
        _ = lab.take()
        lab.hit(["a", "b", "c"], at: 5_000)
        #expect(lab.take().prefix(3) == ["3 B S3.wake-quota", "2 deliver A a wake", "2 A S5.woken"])
        self.fail(&lab, "A", at: 5_100)
        #expect(lab.take() == ["4 deliver C c", "4 C S5.sent"])
    }

    // MARK: Who goes away while it waits

    /// A waits for its group, or for its turn, behind S; and B behind A. All are there, and A was woken before.
    ///
    /// - Parameter tokens: What A is given of wakes in all.
    private func waiting(_ mode: GroupMode, tokens: Int) -> Lab {
        var lab = self.rivals(
            mode, dead: [], alive: ["S", "A", "B"], lifespan: .seconds(60),
            quota: Quota(count: tokens, period: .seconds(3_600), burst: tokens),
            window: mode == .ordered ? nil : .milliseconds(300))
        lab.tell("A", .dead)
        lab.hit(["a"], at: 0)
        lab.pass(to: 3_000)
        lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done))
        lab.answer("A", 1, .consume)
        lab.tell("A", nil)
        lab.pass(to: 5_000)
        _ = (lab.take(), lab.takeLaunches())
        lab.hit(mode == .ordered ? ["s", "a", "b"] : ["a", "b"], at: 5_000)
        return lab
    }

    /// While it was there S3 did not ask how often it was woken; now it would be.
    @Test(arguments: [GroupMode.exclusive, .ordered])
    func whoGoesAwayIsAskedForItsWakesAnew(_ mode: GroupMode) throws {
        var lab = self.waiting(mode, tokens: 1)
        #expect(lab.take() == (mode == .ordered ? ["2 deliver S s"] : []))
        lab.tell("A", .dead)
        #expect(lab.take() == ["2 A S3.wake-quota"])
        let verdict = try #require(lab.verdicts.last)
        #expect(ExplanationTests.gaps(verdict) == [])
        #expect(Explanation(verdict).steps[3].seen.hasPrefix("the app went away before that was decided"))
        #expect(Explanation(verdict).otherwise == ["it had stayed", "the motion had come 3595.0 s later"])
        // It is out of it, whatever becomes of it.
        lab.tell("A", nil)
        if mode == .ordered { lab.answer("S", 2, .pass) } else { lab.pass(to: 6_000) }
        #expect(lab.take().contains("2 deliver B b"))
        #expect(lab.takeLaunches() == [])
    }

    @Test(arguments: [GroupMode.exclusive, .ordered])
    func whatItMayStillBeWokenForItIs(_ mode: GroupMode) {
        var lab = self.waiting(mode, tokens: 2)
        lab.tell("A", .dead)
        _ = lab.take()
        if mode == .ordered { lab.answer("S", 2, .pass) } else { lab.pass(to: 6_000) }
        #expect(lab.take().contains("2 deliver A a wake"))
        #expect(lab.takeLaunches() == ["start A shake"])
    }

    /// It waits in two groups, and may be woken once more: it stays in one of them.
    @Test func oneWakeIsPromisedOnce() {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 1, period: .seconds(3_600), burst: 1)
        var groups = [group(.exclusive), group(.exclusive)]
        for index in groups.indices { groups[index].commitWindow = .milliseconds(300) }
        groups[1].name = "h"
        let rules = ["shake": "g", "tilt": "h"].map { preset, name in
            rule(preset, group: name, terms: terms(.wake)) { $0.presets.any = [NamePattern(preset)] }
        }
        var lab = Lab(Policy(groups: groups, rules: rules, everyApp: settings))
        for (name, preset) in [("S", "shake"), ("T", "tilt"), ("A", "shake")] { lab.add(name, preset: preset) }
        lab.addDetector("a-b", to: "A", preset: "tilt")
        lab.hit(["a", "a-b"], at: 0)
        #expect(lab.take() == [])
        lab.tell("A", .dead)
        #expect(lab.take() == ["2 A S3.wake-quota"])
        lab.pass(to: 2_000)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken"])
    }

    @Test(arguments: [(2, false), (3, true)])
    func aPushTakesNoWakeThatIsPromised(_ tokens: Int, _ isLeft: Bool) throws {
        var lab = self.waiting(.exclusive, tokens: tokens)
        lab.tell("A", .dead)
        let app = try #require(lab.apps["A"])
        #expect((lab.arbiter.wakeQuotaReturns(to: app, at: ms(5_000)) == nil) == isLeft)
    }

    /// What waits is older than what it got meanwhile. However much of it there is, it takes what is left by now.
    @Test func whatWaitedForAGroupGetsNoMoreWakesThanThereAre() {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 10, period: .seconds(1), burst: 1)
        var one = group(.exclusive)
        one.commitWindow = .milliseconds(300)
        let rules = ["shake": "g", "tilt": nil].map { preset, name in
            rule(preset, group: name, terms: terms(.wake)) { $0.presets.any = [NamePattern(preset)] }
        }
        var lab = Lab(Policy(groups: [one], rules: rules, everyApp: settings))
        for (name, preset) in [("S", "shake"), ("A", "shake")] { lab.add(name, preset: preset) }
        lab.addDetector("a-b", to: "A", preset: "tilt")
        for time: Int64 in [0, 10, 20] { lab.hit(["a"], at: time) }
        lab.hit(["a-b"], at: 250)
        lab.tell("A", .dead)
        lab.pass(to: 2_000)
        let told = lab.take()
        #expect(told.count { $0.hasSuffix("wake") } == 1, "\(told)")
    }

    /// A push is charged for the moment at which it comes. Motion that was on its way by then has what is left.
    @Test func motionThatAPushOvertookHasTheWakeThatIsLeft() {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 2, period: .seconds(3_600), burst: 2)
        var ledger = Ledger()
        func limit() -> Reason? {
            var seen = LimitsSeen()
            return ledger.wakeLimit(settings, .dead, terms(.wake), promised: 0, at: ms(999), &seen)
        }
        ledger.spendWake(settings, at: ms(1_000))
        #expect(limit() == nil)
        ledger.spend(settings, isWake: true, at: ms(999))
        #expect(limit() == .wakeQuota)
    }

    // MARK: The app's life

    /// The app is in the background for as long as it is launched, and then what it was.
    @Test func aLaunchedAppIsInTheBackgroundUntilItAnswers() {
        var lab = self.lab(nil)
        lab.take(.foreground(.app(AppID("B"))))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
        lab.hit(["a"], at: 10)
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .background)
        #expect(lab.arbiter.remaining(of: AppHandle(0), at: ms(10)) == .seconds(10))
        lab.take(.launched(AppID("A"), self.launch(lab), .done))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
    }

    @Test func whoDoesNotAnswerIsSuspendedAgain() {
        var lab = self.lab(nil)
        lab.take(.foreground(.app(AppID("B"))))
        lab.hit(["a"], at: 10)
        lab.pass(to: 10_009)
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .background)
        lab.pass(to: 10_010)
        #expect(lab.takeLaunches() == ["resume A shake", "silent A again 11010", "gave up A shake silent"])
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
    }

    @Test func aLaunchedAppMayBeginAnAssertionAndGoOn() {
        var lab = self.lab(nil)
        lab.take(.foreground(.app(AppID("B"))))
        lab.pass(to: 100_000)
        // Its budget is long used up, and begins anew.
        lab.hit(["a"], at: 100_000)
        lab.take(.beginAssertion(AppHandle(0), AssertionRequest(AssertionID(1), "work")))
        #expect(lab.refusals == [nil])
        lab.take(.launched(AppID("A"), self.launch(lab), .done))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .background)
        lab.pass(to: 131_000)
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
    }

    /// The same for who is started anew: what it used the time before was of another stay.
    @Test func anAppThatIsStartedAgainMayBeginAnAssertion() {
        var lab = Lab(Self.waking)
        lab.add("A", AppEntrance(isConnected: false))
        lab.take(.foreground(.app(AppID("B"))))
        for (number, time): (UInt64, Int64) in [(1, 10), (2, 100_000)] {
            lab.pass(to: time)
            lab.hit(["a"], at: time)
            lab.take(.back(AppHandle(0), AppEntrance()))
            lab.take(.beginAssertion(AppHandle(0), AssertionRequest(AssertionID(number), "work")))
            lab.take(.launched(AppID("A"), self.launch(lab), .done))
            lab.take(.away(AppHandle(0)))
        }
        #expect(lab.refusals == [nil, nil])
    }

    @Test func whoComesBecauseItWasLaunchedHasThatToDo() {
        var lab = Lab(Self.waking)
        lab.add("A", AppEntrance(isConnected: false))
        lab.take(.foreground(.app(AppID("B"))))
        lab.hit(["a"], at: 10)
        #expect(lab.takeLaunches() == ["start A shake"])
        lab.take(.back(AppHandle(0), AppEntrance()))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .background)
        #expect(lab.arbiter.launches.coldStarts == 0)
        lab.take(.launched(AppID("A"), self.launch(lab), .done))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
    }

    /// Who takes an app over while it is launched for somebody else has nothing to do, and is suspended as ever.
    @Test func whoTakesAnAppOverIsNotLaunched() {
        var lab = Lab(Self.waking)
        lab.add("A", AppEntrance(isConnected: false, user: 7))
        lab.take(.foreground(.app(AppID("B"))))
        lab.hit(["a"], at: 10)
        #expect(lab.takeLaunches() == ["start A shake of 7"])
        lab.take(.back(AppHandle(0), AppEntrance(user: 8)))
        self.fail(&lab, "A", .silent, at: 1_000)
        lab.pass(to: 100_000)
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .suspended)
    }

    /// What an app has won is its user's, also when another user has its name: nobody has it besides when that one leaves.
    @Test func whoTakesAnAppOverHasNothingToLose() {
        let rules = [("A", 2), ("B", 1)].map { rule(for: $0, strength: $1, terms: terms(.store)) }
        var lab = Lab(Policy(groups: [group(.exclusive)], rules: rules))
        lab.add("A", AppEntrance(isConnected: false, user: 7))
        lab.add("B")
        lab.hit(["a", "b"], at: 10)
        #expect(lab.take() == ["1 deliver A a store", "1 A S5.stored", "1 B S4.outranked"])
        lab.take(.back(AppHandle(0), AppEntrance(user: 8)))
        lab.take(.away(AppHandle(0)))
        #expect(lab.take() == [])
        // Nobody has the motion any more.
        lab.hit(["b"], at: 20)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent"])
    }

    /// The same when the motion is over by then, and the other's cannot be sent anything when it comes.
    @Test func whoTakesAnAppOverHasNothingToLoseOfWhatIsOver() {
        var terms = terms(.wake)
        terms.lifespan = .seconds(3)
        let rules = [("A", 2), ("B", 1)].map { rule(for: $0, strength: $1, terms: terms) }
        var lab = Lab(Policy(groups: [group(.exclusive)], rules: rules))
        lab.add("A", AppEntrance(isConnected: false, user: 7))
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken", "1 B S4.outranked"])
        lab.pass(to: 1_500)
        lab.take(.back(AppHandle(0), AppEntrance(told: .suspended, user: 8)))
        lab.take(.away(AppHandle(0)))
        #expect(lab.take() == [])
    }

    /// Nor does it keep the group that the other one's app had won.
    @Test func whoTakesAnAppOverHoldsNothing() {
        let rules = [("A", 1), ("B", 2)].map { rule(for: $0, strength: $1, terms: terms(.store)) }
        let sticky = group(.exclusive) {
            $0.isSticky = true
            $0.hysteresis = 5
        }
        for (user, expected) in [(7 as UInt32, "2 deliver A a"), (8, "2 deliver B b")] {
            var lab = Lab(Policy(groups: [sticky], rules: rules))
            lab.add("A", AppEntrance(isConnected: false, user: 7))
            lab.add("B")
            lab.hit(["a"], at: 10)
            #expect(lab.take() == ["1 deliver A a store", "1 A S5.stored"])
            lab.take(.back(AppHandle(0), AppEntrance(user: user)))
            lab.pass(to: 3_000)
            lab.hit(["a", "b"], at: 3_010)
            #expect(lab.take().first == expected)
        }
    }

    /// What the other one's app used of its budget it has not used.
    @Test(arguments: [(7 as UInt32, LifeRefusal?.some(.budget(.seconds(31)))), (8, nil)])
    func whoTakesAnAppOverHasABudgetOfItsOwn(_ user: UInt32, _ refusal: LifeRefusal?) {
        var settings = AppSettings()
        settings.grace = .seconds(5)
        var lab = Lab(Policy(rules: Self.waking.rules, everyApp: settings))
        lab.add("A", AppEntrance(user: 7))
        lab.take(.foreground(.app(AppID("B"))))
        lab.take(.away(AppHandle(0)))
        lab.pass(to: 31_000)
        lab.take(.back(AppHandle(0), AppEntrance(user: user)))
        #expect(lab.arbiter.facts(of: AppHandle(0))?.state == .background)
        lab.take(.beginAssertion(AppHandle(0), AssertionRequest(AssertionID(1), "work")))
        #expect(lab.refusals == [refusal])
    }

    @Test func whoComesByItselfIsNotLaunchedAnyMore() {
        var lab = Lab(Self.waking)
        for name in ["A", "B", "C"] { lab.add(name, AppEntrance(isConnected: false)) }
        lab.hit(["a", "b", "c"], at: 10)
        #expect(lab.takeLaunches() == ["start A shake", "start B shake"])
        lab.take(.back(lab.apps["C"] ?? AppHandle(0), AppEntrance()))
        lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done))
        #expect(lab.takeLaunches() == ["done A shake"])
    }

    /// Who comes need not be launched; an app of his name that is another user's must be as before.
    @Test func whoComesIsNoOtherUsersApp() {
        var lab = Lab(Self.waking)
        for name in ["A", "B", "C"] { lab.add(name, AppEntrance(isConnected: false, user: 7)) }
        lab.take(.launch(LaunchRequest(AppID("B"), .motion("shake"), ends: ms(60_000), of: 7)))
        lab.take(.launch(LaunchRequest(AppID("C"), .motion("shake"), ends: ms(60_000), of: 7)))
        lab.hit(["a"], at: 10)
        #expect(lab.takeLaunches() == ["start B shake of 7", "start C shake of 7"])
        lab.take(.app(AppHandle(3), AppID("A"), AppEntrance(user: 8)))
        lab.take(.launched(AppID("B"), self.launch(lab, "B"), .done))
        #expect(lab.takeLaunches() == ["done B shake", "start A shake of 7"])
        // Nor is he taken for launched.
        #expect(lab.arbiter.launches.coldStarts == 2)
        lab.take(.leave(AppHandle(3)))
        lab.take(.app(AppHandle(3), AppID("A"), AppEntrance(told: .suspended, user: 8)))
        #expect(lab.arbiter.facts(of: AppHandle(3))?.state == .suspended)
    }

    /// What one cannot be launched for is not what an app of his name was to have, which is another user's.
    @Test func anotherUsersFailureHandsNothingOn() {
        let rules = [("A", 2), ("B", 1)].map { rule(for: $0, strength: $1, terms: terms(.wake)) }
        var lab = Lab(Policy(groups: [group(.exclusive)], rules: rules))
        lab.add("A", AppEntrance(isConnected: false, user: 8))
        lab.add("B")
        lab.take(.launch(LaunchRequest(AppID("A"), .push, ends: ms(60_000), of: 7)))
        #expect(lab.takeLaunches() == ["start A push of 7"])
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a wake", "1 A S5.woken", "1 B S4.outranked"])
        self.fail(&lab, "A", at: 200)
        #expect(lab.take() == [])
        #expect(lab.takeLaunches() == ["not-started A again 1200", "start A shake of 8"])
        self.fail(&lab, "A", at: 300)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent"])
    }

    /// An app that is there is told of its task without a launch; one that comes for an event needs none for its task.
    @Test func whoComesIsNotStartedForItsTasksAnyMore() {
        var lab = Lab(Self.waking)
        for name in ["A", "B", "C"] { lab.add(name, AppEntrance(isConnected: false)) }
        for name in ["A", "B"] {
            lab.take(.launch(LaunchRequest(AppID(name), .task("sync"), ends: ms(60_000))))
        }
        #expect(lab.takeLaunches() == ["start A task", "start B task"])
        lab.take(.launch(LaunchRequest(AppID("C"), .task("sync"), ends: ms(60_000))))
        lab.hit(["a", "c"], at: 10)
        #expect(lab.takeLaunches() == [])
        // It goes on being launched until the broker says that its task has begun.
        lab.take(.back(lab.apps["A"] ?? AppHandle(0), AppEntrance()))
        #expect(lab.takeLaunches() == ["start C shake"])
        lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done))
        #expect(lab.takeLaunches() == ["done A task"])
        lab.take(.back(lab.apps["C"] ?? AppHandle(0), AppEntrance()))
        lab.take(.launched(AppID("C"), self.launch(lab, "C"), .done))
        #expect(lab.takeLaunches() == ["done C shake"])
        #expect(lab.arbiter.launches.waiting == 0 && lab.arbiter.launches.coldStarts == 1)
    }

    @Test func theTimeThatAnAppHasIsPolicys() {
        var settings = AppSettings()
        settings.wakeTimeout = .seconds(2)
        var lab = self.lab(.dead, Policy(rules: [rule("wake", group: nil, terms: terms(.wake))], everyApp: settings))
        lab.hit(["a"], at: 0)
        #expect(lab.arbiter.nextArrivalDeadline == ms(2_000))
    }

    /// What came while nobody could read it is read before anybody counts as silent.
    @Test func whoIsWaitedForMayComeLate() {
        var settings = AppSettings()
        settings.wakeTimeout = .seconds(2)
        for isThere in [true, false] {
            var lab = self.lab(
                .dead, Policy(rules: [rule("wake", group: nil, terms: terms(.wake))], everyApp: settings))
            lab.hit(["a"], at: 0)
            #expect(lab.takeLaunches() == ["start A shake"])
            lab.take(.patience(true))
            lab.pass(to: 9_000)
            #expect(lab.takeLaunches() == [])
            if isThere { lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done)) }
            lab.take(.patience(false))
            #expect(
                lab.takeLaunches() == (isThere ? ["done A shake"] : ["silent A again 10000", "gave up A shake silent"]))
        }
    }
}
