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

    @Test func whoComesByItselfIsNotLaunchedAnyMore() {
        var lab = Lab(Self.waking)
        for name in ["A", "B", "C"] { lab.add(name, AppEntrance(isConnected: false)) }
        lab.hit(["a", "b", "c"], at: 10)
        #expect(lab.takeLaunches() == ["start A shake", "start B shake"])
        lab.take(.back(lab.apps["C"] ?? AppHandle(0), AppEntrance()))
        lab.take(.launched(AppID("A"), self.launch(lab, "A"), .done))
        #expect(lab.takeLaunches() == ["done A shake"])
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
}
