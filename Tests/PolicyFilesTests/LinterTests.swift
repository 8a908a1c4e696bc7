import Arbitration
import Motion
import PolicyFiles
import Testing
import Randomness

/// What the linter finds, as `ID line:column`.
private func lint(_ text: String, _ installed: [PolicyLinter.InstalledApp]? = nil) -> [String] {
    // What is said here is of rules, not of whole policies.
    PolicyLinter.check(read(text), installed: installed).filter { $0.check != .endsBuiltIn }.map {
        "\($0.check.rawValue) \($0.place.line):\($0.place.column)"
    }
}

@Suite struct LinterTests {
    @Test(arguments: [
        // Rules.
        ("[Rule a]\nThen=allow\n[Rule b]\nThen=deny\nWhenApp=x.x", "E010 3:1"),
        ("[Rule a]\nThen=allow\n[Rule b]\nThen=allow\nWhenApp=x.x", "W011 3:1"),
        ("[Rule a]\nThen=allow\nStrength=1\nGroup=g\n[Rule b]\nThen=allow\nWhenApp=x.x\n[Group g]", "E010 5:1"),
        ("[Rule a]\nThen=deny\nWhenLocked=yes\n[Rule b]\nThen=deny\nWhenLocked=no\n[Rule c]\nThen=allow", "E010 7:1"),
        (
            "[Rule a]\nThen=allow\nWhenApp=org.* !org.x\n[Rule b]\nThen=allow\nWhenApp=org.x\n[Rule c]\nThen=deny\n"
                + "WhenApp=org.*", "E010 7:1"
        ),
        (
            "[Rule a]\nThen=allow\nWhenIntensity=<2g\n[Rule b]\nThen=allow\nWhenIntensity=>=2g\n[Rule c]\nThen=deny\n"
                + "WhenIntensity=1g..3g", "E010 7:1"
        ),
        (
            "[Rule a]\nThen=allow\nWhenGrant=audio\n[Rule b]\nThen=allow\nWhenGrant=!audio\n[Rule c]\nThen=deny\n"
                + "WhenGrant=voip", "E010 7:1"
        ),
        (
            "[Rule a]\nThen=deny\nWhenTime=22:00-06:00\n[Rule b]\nThen=deny\nWhenTime=06:00-22:00\n[Rule c]\n"
                + "Then=allow\nWhenTime=Sun/12:00-13:00", "E010 7:1"
        ),
        ("[Rule a]\nThen=deny\nWhenPower=battery\n[Rule b]\nThen=allow\nWhenPower=battery<20%", "E010 4:1"),
        (
            "[Rule a]\nThen=allow\nWhenState=background\nWhenPreset=a*\n[Rule b]\nThen=deny\nWhenLocked=no\n"
                + "WhenPreset=a*", "W013 5:1"
        ),
        // Impossible.
        ("[Rule a]\nThen=allow\nWhenState=foreground\nWhenLocked=yes", "E014 3:11"),
        ("[Rule a]\nThen=allow\nWhenState=dead !dead", "E014 3:11"),
        ("[Rule a]\nThen=allow\nWhenGrant=!audio\nWhenActivity=audio", "E014 3:11"),
        ("[Rule a]\nThen=allow\nWhenState=dead\nWhenActivity=audio", "E014 3:11"),
        ("[Rule a]\nThen=allow\nWhenIntensity=<1g !<2g", "E014 3:15"),
        ("[Rule a]\nThen=allow\nWhenApp=org.a !org.*", "E014 3:9"),
        // Groups.
        ("[Group g]\nLease=3s", "W015 2:7"), ("[Group g]\nMode=exclusive\nAckTimeout=1s", "W015 3:12"),
        ("[Group g]\nMode=exclusive\n[Rule a]\nThen=allow\nGroup=g", "W020 1:1"),
        (
            "[Group g]\nMode=exclusive\nSelect=strength recent\n[Rule a]\nThen=allow\nGroup=g\n[Rule b]\nThen=allow\n"
                + "WhenApp=x.x\nPriority=1\nStrength=3\nGroup=g", "W030 1:1"
        ),
        ("[Group g]\nMode=exclusive\nSticky=yes", "W032 1:1"),
        ("[Group g]\nMode=exclusive\nSticky=yes\nLease=1s\nHysteresis=20", "W032 5:12"),
        (
            "[Group g]\nMode=exclusive\nAging=1/1 max 3\nSelect=strength recent\n[Rule a]\nThen=allow\nGroup=g\n"
                + "[Rule b]\nThen=allow\nWhenApp=x.x\nPriority=1\nStrength=3\nGroup=g", "W033 3:7"
        ),
        ("[Group g]\nMode=exclusive\nCommitWindow=600ms", "W035 3:14"),
        ("[Group g]\nMode=exclusive\nCommitWindow=400ms\n[Rule a]\nThen=allow\nGroup=g\nLifespan=500ms", "W035 3:14"),
        // Classes.
        ("[Class a]\nUninterruptible=yes\n[Class b]\nInterrupts=a", "E033 4:12"),
        ("[Class a]\n[Class b]\nMixable=yes\nInterrupts=a", "E033 4:12"),
        ("[Class a]\n[Class b]\nInterrupts=a\n[Interaction a b]\nAction=delay", "E033 5:8"),
        ("[Class a]\nMixable=yes\n[Interaction a a]\nAction=reject", "E033 4:8"),
        ("[Class a]\n[Class b]\n[Interaction a b]\nAction=delay\n[Interaction b a]\nAction=delay", "E033 4:8"),
        (
            "[Class a]\n[Class b]\n[Class c]\n[Interaction a b]\nAction=delay\n[Interaction b c]\nAction=delay\n"
                + "[Interaction c a]\nAction=delay\n[Interaction a a]\nAction=delay", "E033 5:8"
        ),
        ("[Class a]\n[Interaction a a]\nAction=delay\nDuck=20%", "W015 4:6"),
        ("[Class a]\n[Group g]\n[Rule r]\nThen=allow\nGroup=g\nClass=a", "W015 6:7"),
        ("[Class a]\n[Rule r]\nThen=allow\nClass=a", "W015 4:7"),
        ("[Group g]\nMode=mixable\nSelect=recent", "W015 3:8"),
        ("[Group g]\nMode=ordered\n[Rule a]\nThen=allow\nWhenApp=a.a b.b c.c d.d\nGroup=g", "E034 1:1"),
        ("[Group g]\nMode=ordered\n[Rule a]\nThen=allow\nWhenApp=a.a b.b\nGroup=g\nLifespan=1s", "E034 7:10"),
        // Delivery.
        ("[Rule a]\nThen=deny\nStrength=3", "W015 3:10"), ("[Rule a]\nThen=allow\nStrength=3", "W015 3:10"),
        ("[Rule a]\nThen=allow\nDeliver=wake", "E040 3:9"), ("[Rule a]\nThen=allow\nWhenState=dead", "W041 3:11"),
        (
            "[Rule a]\nThen=allow\nWhenPreset=shake*\nDurability=persistent\nLifespan=10min", "W042 5:10"
        ),
        ("[Rule a]\nThen=allow\nWhenApp=x.x\nDeliver=wake", "W050 1:1"),
        ("[Rule a]\nThen=allow\nWhenApp=x.x\nDeliver=wake", "W051 1:1"),
        // Presets.
        ("[Rule a]\nThen=deny\nWhenPreset=shake shaek.*", "W006 3:18"),
        ("[Rule a]\nThen=allow\nWhenPreset=!Shake", "W006 3:13"),
        // Apps.
        ("[App *]\nThresholds=knock:2g shake:100g", "W015 2:21"),
        ("[App *]\nMayPush=yes\n[App x.x]\nMayPush=no", "W015 4:9"),
        // Times.
        ("[Rule a]\nThen=allow\nWhenTime=02:30-06:00", "W070 3:10"),
        ("[Rule a]\nThen=allow\nWhenTime=Sat,Sun/22:00-02:15", "W070 3:10"),
        ("[Rule a]\nThen=allow\nWhenTime=Sun/02:00-03:00", "W070 3:10"),
        // Exceptions.
        ("[Rule a]\nThen=deny\nWhenApp=x.x\nWhenState=foreground\n[Rule b]\nThen=allow", "I012 5:1"),
    ])
    func finds(_ text: String, _ expected: String) {
        #expect(lint(text).contains(expected), "\(PolicyLinter.check(read(text)))")
    }

    /// Each of these is one step away from a finding.
    @Test(arguments: [
        "[Rule a]\nThen=deny\nWhenLocked=yes\n[Rule c]\nThen=allow\nPriority=-1",
        "[Rule a]\nThen=allow\nWhenApp=org.* !org.x !org.y\n[Rule b]\nThen=allow\nWhenApp=org.x\n[Rule c]\nThen=deny\n"
            + "Priority=-1\nWhenApp=org.*",
        "[Rule a]\nThen=allow\nWhenIntensity=<2g\n[Rule b]\nThen=allow\nWhenIntensity=>2g\n[Rule c]\nThen=deny\n"
            + "Priority=-1\nWhenIntensity=1g..3g",
        "[Rule a]\nThen=deny\nWhenTime=22:00-06:00\n[Rule b]\nThen=deny\nWhenTime=06:01-22:00\n[Rule c]\nPriority=-1\n"
            + "Then=allow\nWhenTime=Sun/05:00-13:00",
        "[Rule a]\nThen=deny\nWhenApp=a*\nWhenPreset=shake\n[Rule b]\nPriority=-1\nThen=allow\nWhenApp=a*\n"
            + "WhenPreset=tilt",
        "[Rule a]\nThen=allow\nWhenPreset=shake.* system.shake !location.*",
        "[Rule a]\nThen=allow\nWhenState=foreground\n[Rule b]\nThen=deny\nWhenState=background",
        "[Rule a]\nThen=deny\nWhenApp=x.x\nWhenState=foreground\n[Rule b]\nPriority=-1\nThen=allow",
        "[Rule a]\nThen=allow\nWhenTime=02:00-06:00 Mon..Sat/02:30-06:00 Sun/23:00-03:00",
        "[Group g]\nMode=exclusive\nSelect=strength recent\n[Rule a]\nThen=allow\nGroup=g",
        "[Group g]\nMode=ordered\nSelect=strength recent\n[Rule a]\nThen=allow\nWhenApp=a.a b.b c.c\nGroup=g",
        // A queue is no circle, and an exception need not be the rule.
        "[Class a]\n[Class b]\n[Interaction a a]\nAction=delay\n[Interaction a b]\nAction=delay\n[Interaction b b]\n"
            + "Action=delay",
        "[Class a]\n[Class b]\nMixable=yes\n[Class c]\nUninterruptible=yes\n[Interaction a b]\nAction=reject\n"
            + "[Interaction b b]\nAction=duck\nDuck=20%\n[Interaction c a]\nAction=delay",
        "[Class a]\n[Group g]\nMode=mixable\n[Rule r]\nThen=allow\nGroup=g\nClass=a",
        // A name that is no preset's is that of a detector, and what an app has to bring is not known.
        "[App *]\nThresholds=knock:2s shake:2g gesture:0.9\n[App x.x]\nMayPush=no",
    ])
    func findsNothing(_ text: String) {
        #expect(lint(text) == [])
    }

    /// Files end the built-in policy, whatever they say; whoever says what holds instead has thought of it.
    @Test(
        arguments: [
            ("[App org.a]\nGrants=audio", "W063 1:1"), ("[Rule a]\nThen=allow\nWhenApp=org.a", "W063 1:1"),
            ("[Rule a]\nThen=allow\nWhenState=background", "W063 1:1"),
            ("[Rule a]\nThen=allow\nWhenApp=org.*", "W063 1:1"),
            ("[Rule a]\nThen=allow\nWhenState=foreground", nil), ("[Rule a]\nThen=allow\nWhenApp=* !org.a", nil),
            ("[Rule a]\nThen=allow\nWhenApp=org.a\n[Policy]\nDefault=deny", nil), ("[Policy]\nDefault=allow", nil),
            ("", nil),
        ] as [(String, String?)])
    func whoEndsTheBuiltInPolicyIsTold(_ text: String, _ expected: String?) {
        let files = text.isEmpty ? [] : [PolicyFile(name: "10-a.conf", bytes: Array(text.utf8))]
        let found = PolicyLinter.check(PolicyReader.read(files)).filter { $0.check == .endsBuiltIn }
        #expect(
            found.map { "\($0.check.rawValue) \($0.place.line):\($0.place.column)" } == (expected.map { [$0] } ?? []))
        // A user's own files end nothing.
        let own = files.map { PolicyFile(name: $0.name, layer: .user, bytes: $0.bytes) }
        #expect(!PolicyLinter.check(PolicyReader.read(own)).contains { $0.check == .endsBuiltIn })
    }

    @Test func whatIsInstalledIsHeldAgainstThePolicy() {
        let policy = """
            [Group g]
            Mode=exclusive
            Select=strength recent
            [App org.example.Musik]
            Grants=audio
            [Rule loud]
            Then=allow
            WhenPreset=shake*
            WhenApp=org.example.Tracks
            Group=g
            Strength=5
            [Rule others]
            Then=allow
            WhenPreset=shake*
            Group=g
            """
        func app(_ name: String, _ preset: String, _ threshold: Double) -> PolicyLinter.InstalledApp {
            PolicyLinter.InstalledApp(
                AppID("org.example.\(name)"),
                detectors: [DetectorFacts(name: "d", preset: preset, threshold: threshold)])
        }
        let found = lint(
            policy, [app("Tracks", "shake", 1.2), app("Dice", "shake", 2.2), app("Music", "tilt", 1)])
        #expect(found == ["W030 1:1", "W031 1:1", "W005 4:1", "I061 6:1", "I061 6:1", "I061 6:1", "W060 12:1"])
        #expect(
            lint(policy, [app("Tracks", "shake", 2.2), app("Dice", "shake", 1.2)])
                == ["W030 1:1", "W005 4:1", "I061 6:1", "I061 6:1"])
    }

    /// A window that two app files name is nobody's.
    @Test func sharedWindowsAreTold() {
        func app(_ name: String, _ windows: [String], isOfFlatpak: Bool = false) -> PolicyLinter.InstalledApp {
            PolicyLinter.InstalledApp(
                AppID(name), file: "\(name).conf", windows: windows.map { NamePattern($0) }, isOfFlatpak: isOfFlatpak)
        }
        let policy = "[Rule a]\nThen=allow\n"
        #expect(lint(policy, [app("a.b", ["x", "y-*"]), app("a.c", ["z", "y"])]) == [])
        #expect(lint(policy, [app("a.b", ["x", "y-*"]), app("a.c", ["y-*"])]) == ["W057 1:1"])
        // A Flatpak takes none away from the host, and none of another is in its sandbox.
        let packed = ["a.c", "a.d"].map { app($0, ["x"], isOfFlatpak: true) }
        #expect(lint(policy, [app("a.b", ["x"]), packed[0]]) == [])
        #expect(lint(policy, [app("a.b", ["x"])] + packed) == ["W057 1:1"])
    }

    /// Who is not on the bus is woken by being started, if something starts it.
    @Test(arguments: [
        ("dead suspended", false, ["W043 4:9"]), ("dead suspended", true, []), ("suspended", false, []),
    ])
    func whatIsToBeWokenCanBeStarted(_ states: String, _ canBeStarted: Bool, _ expected: [String]) {
        let policy =
            "[Rule a]\nThen=allow\nWhenApp=x.x\nDeliver=wake\nWhenIdentity=unit\nWhenState=\(states)\n"
            + "[App *]\nQuota=9/1min"
        #expect(lint(policy, [PolicyLinter.InstalledApp(AppID("x.x"), canBeStarted: canBeStarted)]) == expected)
    }

    /// Without files apps are held against what the broker goes by then.
    @Test func withoutFilesTheBuiltInPolicyIsWhatAppsHear() {
        let app = PolicyLinter.InstalledApp(
            AppID("org.a"), detectors: [DetectorFacts(name: "d", preset: "shake")], file: "/x/org.a.conf")
        let found = PolicyLinter.check(PolicyReader.read([]), installed: [app])
        #expect(found.map(\.check) == [.coverage])
        #expect(found.first?.message.hasPrefix("org.a (/x/org.a.conf) hears shake when it is foreground;") == true)
    }

    @Test func whatAnInstalledAppHearsIsTold() {
        let policy =
            "[App a.a]\nGrants=audio\n[Rule f]\nWhenState=foreground\nThen=allow\n"
            + "[Rule b]\nWhenState=background\nWhenPreset=shake\nWhenActivity=*\nWhenIntensity=>2g\nThen=allow"
        let detectors = ["shake", "tilt", ""].map { DetectorFacts(name: "d", preset: $0) }
        let found = PolicyLinter.check(
            read(policy), installed: [PolicyLinter.InstalledApp(AppID("a.a"), detectors: detectors)])
        #expect(
            found.filter { $0.check == .coverage }.map(\.message) == [
                "a.a hears shake when it is foreground; background with audio at work (by intensity)",
                "a.a hears tilt, a condition of its own when it is foreground",
            ])
    }

    @Test func whatWouldTakeTooLongIsSaid() {
        var text = "[Policy]\nDefault=deny\n"
        for index in 0..<400 { text += "[Rule r\(index)]\nThen=deny\nWhenIntensity=\(index)g..\(index).5g\n" }
        let reading = read(text)
        let findings = PolicyLinter.check(reading, budget: 1_000)
        #expect(findings.map(\.check) == [.undecided])
        #expect(PolicyLinter.check(reading) == [])
    }

    /// A rule is found to decide nothing exactly if no situation comes to it.
    @Test(arguments: someSeeds(1...40))
    func shadowsAreExact(_ seed: UInt64) throws {
        print("Linter seed \(seed)")
        var generator = SeededRandom(seed: seed)
        func pick(_ choices: [String]) -> String { choices.randomElement(using: &generator) ?? "" }
        var text = ""
        for index in 0..<Int.random(in: 2...7, using: &generator) {
            text += "[Rule r\(index)]\nThen=\(pick(["allow", "deny"]))\n"
            for key in [
                "WhenApp=" + pick(["o.a", "o.b", "o.a*", "* !o.a", "o.a* !o.ab", "!o.b", "o.ab o.b", "*b"]),
                "WhenPreset=" + pick(["p", "q", "p*", "!p"]),
                "WhenState=" + pick(["foreground", "!foreground", "background dead", "inactive suspended"]),
                "WhenLocked=" + pick(["yes", "no"]), "WhenAssertion=" + pick(["yes", "no"]),
                "WhenIdentity=" + pick(["name", "!name", "unit flatpak"]),
                "WhenGrant=" + pick(["audio", "!audio", "audio voip", "voip !audio"]),
                "WhenActivity=" + pick(["audio", "!audio", "!*", "*"]),
                "WhenIntensity=" + pick([">=2g", "<2g", "1g..2g", ">2g", "<1g >3g", "!1g..3g"]),
                "WhenTime=" + pick(["00:00-12:00", "12:00-24:00", "Mon/00:00-24:00", "!Mon..Fri/08:00-18:00"]),
                "WhenPower=" + pick(["ac", "battery", "battery<20%", "!battery<20%", "battery>=20%"]),
            ] where Int.random(in: 0..<4, using: &generator) == 0 { text += key + "\n" }
        }
        let reading = read(text)
        guard let policy = reading.policy else {
            #expect(reading.errors.allSatisfy { $0.check == .impossible }, "seed \(seed)")
            return
        }
        let found = PolicyLinter.check(reading).filter { $0.check == .shadowed || $0.check == .redundant }
        let idle = Set(found.map(\.place.line))
        let deciding = Self.rulesThatDecide(policy)
        for rule in policy.rules {
            #expect(
                idle.contains(rule.place.line) != deciding.contains(rule.place.line),
                "seed \(seed): \(rule.name)\n\(text)")
        }
    }

    /// Tries every situation there can be, or one of each kind.
    private static func rulesThatDecide(_ policy: Policy) -> Set<Int> {
        let modes: [(WordSet<BackgroundMode>, WordSet<BackgroundMode>)] = {
            let some: [BackgroundMode] = [.audio, .voip, .push]
            return (0..<27).map { index in
                let digits = [index % 3, index / 3 % 3, index / 9]
                let granted = zip(some, digits).filter { $0.1 > 0 }.map(\.0)
                return (WordSet(granted), WordSet(zip(some, digits).filter { $0.1 > 1 }.map(\.0)))
            }
        }()
        var facts: [AppFacts] = []
        for state in AppState.allCases {
            for proof in IdentityProof.allCases {
                for hasAssertion in [false, true] where !hasAssertion || state.canReceive {
                    for (grants, activities) in modes {
                        facts.append(
                            AppFacts(
                                state: state, proof: proof, grants: grants, activities: activities,
                                hasAssertion: hasAssertion))
                    }
                }
            }
        }
        var devices: [DeviceFacts] = []
        for isLocked in [false, true] {
            for power in [Power.ac, .battery(nil), .battery(0.1), .battery(0.2), .battery(1)] {
                for minute in [0, 480, 720, 1_080, 1_440, 1_440 + 600, 7_200, 7_200 + 600, 7_200 + 1_100] {
                    devices.append(DeviceFacts(isLocked: isLocked, power: power, minuteOfWeek: minute))
                }
            }
        }
        // Which rules hold but for names and intensity: there are few such sets, however many situations.
        var holding: Set<Set<Int>> = []
        for fact in facts {
            for device in devices where !(device.isLocked && fact.state == .foreground) {
                holding.insert(
                    Set(policy.rules.filter { $0.conditions.unmet(fact, device).isEmpty }.map(\.place.line)))
            }
        }
        var deciding: Set<Int> = []
        for app in ["a", "b", "ab", "ax", "axb", "x", "xb"] {
            for preset in ["p", "q", "px", "x"] {
                let rules = policy.rulesTried(for: AppID("o.\(app)"), preset: preset)
                for lines in holding {
                    var open: [Double] = [0.5, 1, 1.5, 2, 2.5, 3, 3.5]
                    for rule in rules where lines.contains(rule.place.line) {
                        let taken = open.filter { rule.conditions.intensity?.holds(for: $0, .acceleration) ?? true }
                        if !taken.isEmpty { deciding.insert(rule.place.line) }
                        open.removeAll { taken.contains($0) }
                    }
                }
            }
        }
        return deciding
    }
}
