import Arbitration
import Motion
import Scenarios
import Testing

@Suite struct ScenarioTests {
    @Test(arguments: [
        ("", "1:1"), ("# jostle scenario 1\n1s", "2:3"), ("# jostle scenario 1\n1s ap org.a", "2:4"),
        ("# jostle scenario 1\n1g app org.a", "2:1"), ("# jostle scenario 1\n2s end\n1s end", "3:1"),
        ("# jostle scenario 1\n1s app org.a state=foregrund", "2:20"),
        ("# jostle scenario 1\n1s app org.a state=dead state=dead", "2:25"),
        ("# jostle scenario 1\n1s app org.a colour=red", "2:14"), ("# jostle scenario 1\n1s hit org.a x 1q", "2:17"),
        ("# jostle scenario 1\n1s hit org.a", "2:13"), ("# jostle scenario 1\n1s end now", "2:8"),
        ("# jostle scenario 1\n1s power battery 150%", "2:18"), ("# jostle scenario 1\n1s clock Mon 24:00", "2:14"),
        ("# jostle scenario 1\n1s pass org.a epoch=-1", "2:21"), ("# jostle scenario 1\n1e300s end", "2:1"),
        ("# jostle scenario 1\n& end", "2:1"), ("# jostle scenario 1\n0s app A\n& end", "3:1"),
        ("# jostle scenario 1\n0s app A\n& state B dead", "3:1"),
        ("# jostle scenario 1\n0s locked yes\n& hit A a 1", "3:1"),
        ("# jostle scenario 1\n0s end\n| x", "3:1"), ("# jostle scenario 1\n0s policy a\n|x", "3:2"),
        ("# jostle scenario 1\n0s policy a usr", "2:13"), ("# jostle scenario 1\n0s remove A a%2", "2:13"),
        ("# jostle scenario 1\n0s motion 1s", "2:4"), ("# jostle scenario 1\n0s hit A a inf", "2:12"),
        ("# jostle scenario 1\n0s hit A a 1 sample=0s", "2:14"), ("# jostle scenario 2\n0s true A a soon", "2:13"),
        ("# jostle scenario 1\n0s detector A a measures=luck", "2:26"),
        ("# jostle scenario 1\n0s foreground", "2:14"), ("# jostle scenario 1\n0s foreground A,,B", "2:15"),
        ("# jostle scenario 1\n0s foreground A visible=", "2:25"), ("# jostle scenario 1\n0s foreground A B", "2:17"),
        ("# jostle scenario 1\n0s foreground unreported visible=A", "2:26"),
        ("# jostle scenario 3\n", "1:1"),
    ])
    func whatIsWrongHasAPlace(_ text: String, _ place: String) {
        #expect {
            try Scenario(parsing: text)
        } throws: { error in
            (error as? ScenarioProblem).map { "\($0.line):\($0.column)" } == place
        }
    }

    @Test func everyEventIsWrittenAsItIsRead() throws {
        let id = AppID("org.example.A")
        let scenario = Scenario([
            Scenario.Step(.zero, .app(id, AppEntrance(proof: .unit, told: .background))),
            Scenario.Step(.zero, .app(AppID("B"), AppEntrance(declared: WordSet([.audio, .push])))),
            Scenario.Step(.zero, .app(AppID("C"), AppEntrance(isProvenEnough: false, declared: .none))),
            Scenario.Step(.zero, .app(AppID("D"), AppEntrance(isConnected: false))),
            Scenario.Step(.zero, .back(AppID("D"), AppEntrance(proof: .unit))), Scenario.Step(.zero, .away(AppID("D"))),
            Scenario.Step(.zero, .foreground(.app(id))), Scenario.Step(.zero, .foreground(.app(nil))),
            Scenario.Step(.zero, .foreground(.none)), Scenario.Step(.zero, .state(id, nil)),
            Scenario.Step(.zero, .app(AppID("P"), AppEntrance(hasPlayer: true))),
            Scenario.Step(.zero, .frozen([id, AppID("B")])), Scenario.Step(.zero, .frozen([])),
            Scenario.Step(.zero, .playing([AppID("P")])), Scenario.Step(.zero, .playing([])),
            Scenario.Step(
                .zero,
                .foreground(.shown(ShownApps(front: [id, AppID("B")], visible: [AppID("C"), .anonymous(2)])))),
            Scenario.Step(.zero, .foreground(.shown(ShownApps(visible: [AppID("C")])))),
            Scenario.Step(
                .milliseconds(1),
                .detector(
                    id,
                    DetectorFacts(name: "d", preset: "shake", threshold: 2.7, rest: .seconds(1), startsResting: true))),
            Scenario.Step(TimeSpan(microseconds: 1_001), .hit(id, "d", peak: 3.25, lasting: .milliseconds(40))),
            Scenario.Step(.seconds(1), .state(id, .suspended)), Scenario.Step(.seconds(1), .locked(true)),
            Scenario.Step(.seconds(1), .activity(id, .voip, isRunning: true)),
            Scenario.Step(.seconds(1), .activity(id, .voip, isRunning: false, number: 8)),
            Scenario.Step(.seconds(1), .assertion(id, .begin(name: nil))),
            Scenario.Step(
                .seconds(1), .assertion(id, .begin(name: "up=load 2", warning: .milliseconds(500), number: 3))),
            Scenario.Step(.seconds(1), .assertion(id, .renew(name: "upload", below: .seconds(60)))),
            Scenario.Step(.seconds(1), .assertion(id, .renew(name: nil, below: nil))),
            Scenario.Step(.seconds(1), .assertion(id, .end(name: "upload", number: 7))),
            Scenario.Step(.seconds(1), .sleep(true)), Scenario.Step(.seconds(1), .sleep(false)),
            Scenario.Step(.seconds(1), .assertion(id, .end(name: nil))), Scenario.Step(.seconds(1), .power(.ac)),
            Scenario.Step(.seconds(1), .power(.battery(nil))), Scenario.Step(.seconds(1), .power(.battery(0.25))),
            Scenario.Step(.seconds(2), .clock(10_079)), Scenario.Step(.seconds(2), .answer(id, .consume, epoch: 7)),
            Scenario.Step(.seconds(2), .answer(id, .pass, epoch: nil)),
            Scenario.Step(.seconds(3), .removeDetector(id, "d")), Scenario.Step(.seconds(3), .leave(id)),
            Scenario.Step(.seconds(4), .app(.anonymous(3), AppEntrance(proof: .uid))),
            Scenario.Step(.seconds(4), .available(id, "a%\n b", true)),
            Scenario.Step(.seconds(4), .power(.battery(0.29))),
            Scenario.Step(
                .seconds(5), .policy(Scenario.File(name: "a.conf", isUser: true, lines: ["[Policy]", "", " x |"]))),
            Scenario.Step(.seconds(5), .policy(Scenario.File(name: "b", isUser: false, lines: [])), isJoined: true),
            Scenario.Step(.seconds(5), .policy(nil)), Scenario.Step(.seconds(9), .end),
        ])
        #expect(try Scenario(parsing: "\(scenario)") == scenario)
    }

    /// A condition that stays true keeps the motion going, and others out of it.
    @Test func aHitMayLast() throws {
        var group = GroupConfiguration(name: "g", place: Place(file: "p", line: 1))
        group.mode = .exclusive
        let rule = Rule(name: "r", place: Place(file: "p", line: 2), effect: .allow, group: "g")
        func log(lasting: String) throws -> String {
            let text = """
                # jostle scenario 1
                0s app A
                0s detector A a rest=0s
                0s app B
                0s detector B b rest=0s
                1s hit A a 2g\(lasting)
                3s hit B b 2g
                """
            return try ScenarioRunner.run(Scenario(parsing: text), policy: Policy(groups: [group], rules: [rule])).log
        }
        #expect(try log(lasting: "").contains("3.000 epoch=2 verdict B S5.sent"))
        #expect(try log(lasting: " for=1.5s").contains("3.000 epoch=1 verdict B S4.late"))
    }

    /// Whatever stands in a file, it runs or is refused.
    @Test(arguments: 1...40)
    func anyTextRunsOrIsRefused(_ seed: UInt64) {
        print("Scenario fuzz seed \(seed)")
        var state = seed
        func pick(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        let lines = [
            "app A", "app B state=dead proof=uid", "app A user=7", "launch A push user=8 for=1s",
            "detector A a preset=p threshold=2g rest=0s", "detector B b rest=5s",
            "detector A a", "remove A a", "state A suspended", "state A foreground", "activity A audio begin",
            "assertion B end", "locked yes", "power battery 3%", "clock Sun 23:59", "hit A a 1e308g for=9s",
            "hit B b -3",
            "consume A", "pass B epoch=18446744073709551615", "consume A epoch=1", "leave A", "leave B", "end", "hit A",
            "detector A a rest=-1s", "hit A a nan", "é", "power battery 1000%",
        ]
        var group = GroupConfiguration(name: "g", place: Place(file: "p", line: 1))
        group.mode = GroupMode.allCases[pick(3)]
        group.commitWindow = .milliseconds(Int64(pick(3)) * 200)
        let rule = Rule(name: "r", place: Place(file: "p", line: 2), effect: .allow, group: "g")
        let policy = Policy(groups: [group], rules: [rule])
        var ran = 0
        for _ in 0..<60 {
            var text = "# jostle scenario 1\n"
            var time = 0
            for _ in 0..<pick(14) {
                time += pick(400)
                // The last lines of the list are wrong ones.
                text += "\(time)ms \(lines[pick(pick(3) == 0 ? lines.count : lines.count - 5)])\n"
            }
            guard let scenario = try? Scenario(parsing: text) else { continue }
            ran += 1
            #expect((try? Scenario(parsing: "\(scenario)")) == scenario)
            let log = ScenarioRunner.run(scenario, policy: policy).log
            #expect(log == ScenarioRunner.run(scenario, policy: policy).log)
        }
        #expect(ran > 0)
    }
}
