import Arbitration
import Motion
import PolicyFiles
import Testing
import Randomness

func read(_ text: String) -> PolicyReading { PolicyReader.read([PolicyFile(name: "a.conf", text)]) }

/// What was found, as `ID line:column`.
func found(_ reading: PolicyReading) -> [String] {
    reading.findings.map { "\($0.check.rawValue) \($0.place.line):\($0.place.column)" }
}

@Suite struct PolicyReaderTests {
    @Test func aWholePolicy() throws {
        let text = """
            # A hard shake belongs to whoever asked for a hard shake.
            [Policy]
            Default=allow

            [Group shake]
            Mode=exclusive
            Select=specificity strength
            CommitWindow=350ms
            EagerCommit=no
            Sticky=yes
            Lease=10s
            Hysteresis=20
            Aging=5/10 max 60

            [App *]
            Quota=30/1min burst 5
            [App org.example.Music]
            Grants=audio voip
            QueueBytes=1MiB

            [Rule any-shake]
            Priority=7
            WhenApp=org.example.* !org.example.Bad
            WhenPreset=shake*
            WhenState=foreground background
            WhenLocked=no
            WhenGrant=audio !push
            WhenActivity=*
            WhenIdentity=!uid
            WhenIntensity=>=2.5g
            WhenTime=22:00-06:00
            WhenPower=ac battery>=20%
            Then=allow
            Reason=because it is asked for
            Group=shake
            Strength=-3
            Deliver=wake
            Reliability=ack
            Durability=persistent
            Lifespan=10min
            """
        let reading = read(text)
        #expect(reading.findings == [])
        let policy = try #require(reading.policy)
        #expect(policy.otherwise == .allow)
        let group = try #require(policy.groups.first)
        #expect(group.mode == .exclusive)
        #expect(group.select == [.specificity, .strength])
        #expect(group.commitWindow == .milliseconds(350))
        #expect(!group.commitsEagerly)
        #expect(group.isSticky)
        #expect(group.lease == .seconds(10))
        #expect(group.aging == Aging(step: 5, denials: 10, limit: 60))
        let music = policy.settings(for: AppID("org.example.Music"))
        #expect(music.quota == Quota(count: 30, period: .seconds(60), burst: 5))
        #expect(music.grants == WordSet([.audio, .voip]))
        #expect(music.queueBytes == 1_048_576)
        #expect(policy.settings(for: AppID("other")).queueBytes == 262_144)
        let rule = try #require(policy.rules.first)
        #expect(rule.place == Place(file: "a.conf", line: 21, column: 1))
        #expect(rule.priority == 7)
        #expect(rule.conditions.apps.matches("org.example.Good"))
        #expect(!rule.conditions.apps.matches("org.example.Bad"))
        #expect(rule.conditions.states == WordSet([.foreground, .background]))
        #expect(rule.conditions.locked == false)
        #expect(rule.conditions.grants == ModeCondition(any: WordSet([.audio]), except: WordSet([.push])))
        #expect(rule.conditions.activities == ModeCondition(any: .all))
        #expect(rule.conditions.proofs == WordSet([.name, .unit, .flatpak]))
        #expect(rule.conditions.intensity?.holds(for: 2.5, .acceleration) == true)
        #expect(rule.conditions.intensity?.holds(for: 2.4999, .acceleration) == false)
        #expect(rule.conditions.times?.contains(0) == true)
        #expect(rule.conditions.times?.contains(360) == false)
        #expect(rule.conditions.power?.holds(for: .battery(0.2)) == true)
        #expect(rule.conditions.power?.holds(for: .battery(0.19)) == false)
        #expect(rule.note == "because it is asked for")
        #expect(rule.strength == -3)
        #expect(rule.terms.kind == .wake)
        #expect(rule.terms.lifespan == .seconds(600))
    }

    @Test(arguments: [
        ("[Rul x]\nThen=allow", "E001 1:2"), ("[Rule x]\nThn=allow\nThen=allow", "E001 2:1"),
        ("[Rule x]\nThen=alow", "E001 2:6"), ("[Rule x]\nThen = allow\nWhenState= forground", "E001 3:12"),
        ("[Rule x]\nThen=allow\nWhenState=foreground  !ded", "E001 3:24"),
        ("[Rule x]\nThen=allow\nThen=deny", "E002 3:1"), ("[Rule x]\nThen=allow\n[Rule x]\nThen=deny", "E002 3:1"),
        ("[Rule x]\nThen=allow\nLifespan=3", "E003 3:10"), ("[Rule x]\nThen=allow\nLifespan=-3s", "E003 3:10"),
        ("[Rule x]\nThen=allow\nLifespan=nan", "E003 3:10"), ("[Rule x]\nThen=allow\nLifespan=3sec", "E003 3:11"),
        ("[Rule x]\nThen=allow\nLifespan=3g", "E003 3:10"), ("[Rule x]\nThen=allow\nLifespan=1e300s", "E003 3:10"),
        ("[Rule x]\nThen=allow\nStrength=9999999999999999999", "E003 3:10"),
        ("[Rule x]\nThen=allow\nWhenIntensity=>=2.5g <3deg", "E003 3:22"),
        ("[Rule x]\nThen=allow\nWhenIntensity=3g..2g", "E003 3:15"),
        ("[Rule x]\nThen=allow\nWhenIntensity=>=2.5q", "E003 3:20"),
        ("[Rule x]\nThen=allow\nWhenTime=22:00", "E003 3:10"),
        ("[Rule x]\nThen=allow\nWhenTime=22:00-22:00", "E003 3:10"),
        ("[Rule x]\nThen=allow\nWhenTime=25:00-26:00", "E003 3:10"),
        ("[Rule x]\nThen=allow\nWhenPower=battery<20", "E003 3:11"),
        ("[Rule x]\nThen=allow\nWhenPower=baterry", "E001 3:11"),
        ("[App a.b]\nQuota=30/1min burst", "E003 2:7"), ("[App a.b]\nQuota=0/1min", "E003 2:7"),
        ("[App a.b]\nQuota=30/0", "E003 2:10"), ("[App a.b]\nQueueBytes=9999999999999999MiB", "E003 2:12"),
        ("[App a*]\nQuota=30/1min", "E003 1:6"), ("[Rule x]\nThen=allow\nGroup=shke\n[Group shake]", "E004 3:7"),
        ("[Group g]\nMode=mixed", "E001 2:6"), ("[Class music]\nMixable=maybe", "E003 2:9"),
        ("[Class a]\nInterrupts=a b", "E004 2:14"), ("[Class a]\nInterrupts=a a", "E002 2:14"),
        ("[Class a]\nRequiresGrant=sound", "E001 2:15"), ("[Class a]\nDefault=yes\n[Class b]\nDefault=yes", "E002 4:9"),
        ("[Class a b]", "E008 1:10"), ("[Class a]\n[Interaction a]", "E008 2:2"),
        ("[Class a]\n[Interaction a b]\nAction=delay", "E004 2:16"),
        ("[Class a]\n[Interaction a a]\nAction=stop", "E001 3:8"),
        ("[Class a]\n[Interaction a a]\nAction=duck\nDuck=100%", "E003 4:6"),
        ("[Class a]\n[Interaction a a]\nAction=duck\nDuck=20% 1/2s", "E003 4:6"),
        ("[Class a]\n[Interaction a a]\nAction=duck\nDuck=20% rate 0/2s", "E003 4:15"),
        ("[Rule x]\nThen=allow\nClass=playbak\n[Class playback]", "E004 3:7"), ("[Rule x]\nPriority=3", "E007 1:1"),
        ("Then=allow", "E008 1:1"), ("[Rule x]\n  Then", "E008 2:3"), ("[Rule x]\nThen: allow\nThen=allow", "E008 2:5"),
        ("[Rule x\nThen=allow", "E008 1:8"), ("[Rule x] y\nThen=allow", "E008 1:10"), ("[Rule]", "E008 1:2"),
        ("[Rule x y]\nThen=allow", "E008 1:9"), ("[]", "E008 1:1"), ("; not a comment", "E008 1:1"),
        ("[Rule x]\nThen=allow\u{7}", "E008 2:11"), ("[Rule x]\n=allow\nThen=allow", "E008 2:1"),
        ("[Rule a/b]\nThen=deny", "E003 1:7"), ("[Group g]\nAging=5/0 max 3", "E003 2:9"),
        ("[Group g]\nSelect=strength strength", "E002 2:17"),
    ])
    func whatIsWrongHasAPlace(_ text: String, _ expected: String) {
        let reading = read(text)
        #expect(found(reading).contains(expected), "\(reading.findings)")
        #expect(reading.policy == nil)
    }

    /// A name that nobody can have would have a rule pass over those who are meant.
    @Test(arguments: [
        ("[Rule x]\nThen=allow\nWhenApp=!org.example.A,!org.example.B", "3:23"),
        ("[Rule x]\nThen=allow\nWhenApp=!org.example.A\u{a0}!org.example.B", "3:23"),
        ("[Rule x]\nThen=allow\nWhenApp=!\"org.example.A\"", "3:10"),
        ("[Rule x]\nThen=deny\nWhenApp=org.ex\u{430}mple.A", "3:15"),
        ("[Rule x]\nThen=deny\nWhenApp=org.example.A.", "3:9"), ("[Rule x]\nThen=deny\nWhenApp=org..*", "3:9"),
        ("[Rule x]\nThen=deny\nWhenApp=!Music", "3:10"), ("[Rule x]\nThen=deny\nWhenApp=org.example.?", "3:21"),
        ("[Rule x]\nThen=deny\nWhenApp=:1.4", "3:9"), ("[Rule x]\nThen=deny\nWhenApp=org.1*", "3:9"),
        ("[Rule x]\nThen=deny\nWhenPreset=shake,tilt", "3:17"),
        ("[App \"org.example.A\"]\nClips=no", "1:6"), ("[App org.example.A.]\nClips=no", "1:6"),
        ("[App org.ex\u{430}mple.A]\nClips=no", "1:6"), ("[App Music]\nClips=no", "1:6"),
    ])
    func aNameThatNobodyCanHaveIsRefused(_ text: String, _ place: String) {
        #expect(found(read(text)) == ["E003 \(place)"], "\(read(text).findings)")
    }

    @Test(arguments: ["*", "org.*", "*.Game", "o*", "*a*", "org.*.A", "org.example*", "_a.-b", "*1"])
    func aNameThatSomebodyCanHaveIsTaken(_ name: String) {
        #expect(read("[Rule x]\nThen=deny\nWhenApp=\(name)").findings == [])
    }

    @Test func theNearestWordIsNamed() {
        let reading = read("[Rule x]\nThen=allow\nWhenStat=foreground")
        #expect(
            reading.findings.first?.description
                == "a.conf:3:1: error E001: unknown key of [Rule] 'WhenStat'; did you mean 'WhenState'?")
    }

    @Test func longNamesAndLines() {
        let id = "org.example." + String(repeating: "a", count: 200)
        #expect(read("[App \(id)]\nGrants=audio").policy?.apps.keys.first == AppID(id))
        let names = String(repeating: "org.example.Name ", count: 200)
        #expect(read("[Rule x]\nThen=deny\nWhenApp=\(names)").policy?.rules.first?.conditions.apps.any.count == 200)
        let reading = read("[Rule x]\nThen=deny\nWhenApp=\(String(repeating: "a.b ", count: 3_000))")
        #expect(found(reading) == ["E008 3:4095"])
    }

    @Test func aListGoesOnAndAnEmptyValueBeginsItAnew() {
        let one = "[Rule x]\nThen=allow\nWhenState=foreground\nWhenState=inactive\n"
        let base = PolicyFile(name: "10.conf", one)
        func states(_ other: String) -> [AppState]? {
            let reading = PolicyReader.read([base, PolicyFile(name: "20.conf", other)])
            return reading.policy?.rules.first?.conditions.states.elements
        }
        #expect(states("") == [.foreground, .inactive])
        #expect(states("[Rule x]\nWhenState=dead") == [.foreground, .inactive, .dead])
        #expect(states("[Rule x]\nWhenState=\nWhenState=dead") == [.dead])
    }

    @Test func laterFilesMergeKeyByKey() throws {
        let reading = PolicyReader.read([
            PolicyFile(name: "10.conf", "[Rule x]\nThen=allow\nPriority=3\n[Rule y]\nThen=deny"),
            PolicyFile(name: "20.conf", "[Rule y]\nReason=no\n[Rule x]\nThen=deny"),
        ])
        let policy = try #require(reading.policy)
        #expect(policy.rules.map(\.name) == ["x", "y"])
        #expect(policy.rules.map(\.effect) == [.deny, .deny])
        #expect(policy.rules.map(\.place.file) == ["10.conf", "10.conf"])
        #expect(policy.rules.map(\.priority) == [3, 0])
        #expect(policy.rules.map(\.note) == ["", "no"])
    }

    @Test(arguments: [
        ("[Group g]\nMode=exclusive", "E006 1:2"), ("[Class c]\nMixable=yes", "E006 1:2"),
        ("[Interaction a b]\nAction=delay", "E006 1:2"), ("[Rule x]\nThen=deny\nClass=c", "E006 3:1"),
        ("[Rule x]\nThen=allow", "E006 2:6"),
        ("[Rule x]\nThen=deny\nGroup=g", "E006 3:1"), ("[App a.b]\nGrants=audio", "E006 2:1"),
        ("[Policy]\nDefault=allow", "E006 2:9"),
    ])
    func usersMayOnlyTakeAway(_ text: String, _ expected: String) {
        let reading = PolicyReader.read([PolicyFile(name: "u.conf", layer: .user, text)])
        #expect(found(reading).contains(expected))
        #expect(reading.policy == nil)
    }

    @Test func usersMakeLimitsSmallerAndDenyFirst() throws {
        let system = """
            [Rule x]
            Then=allow
            [App *]
            Quota=30/1min
            [App a.b]
            Quota=60/1min
            """
        let user = """
            [Rule x]
            Then=deny
            [App *]
            Quota=40/1min
            Cooldown=1s
            [App a.b]
            QueueBytes=1KiB
            """
        let reading = PolicyReader.read([
            PolicyFile(name: "s.conf", system), PolicyFile(name: "u.conf", layer: .user, user),
        ])
        let policy = try #require(reading.policy)
        #expect(policy.rules.map(\.place.file) == ["u.conf", "s.conf"])
        #expect(policy.everyApp.quota?.count == 30)
        let own = policy.settings(for: AppID("a.b"))
        #expect(own.quota?.count == 40)
        #expect(own.cooldown == .seconds(1))
        #expect(own.queueBytes == 1_024)
    }

    @Test func anAppsSectionBuildsOnThatOfEveryApp() throws {
        let reading = read(
            "[App *]\nGrants=audio push\nCooldown=1s\nQuota=9/1min\n"
                + "[App a.b]\nGrants=location\nCooldown=2s\nQuota=\n[App c.d]\nCooldown=3s\n")
        let policy = try #require(reading.policy)
        let (one, other) = (policy.settings(for: AppID("a.b")), policy.settings(for: AppID("c.d")))
        #expect(one.grants == WordSet([.location]) && other.grants == policy.everyApp.grants)
        #expect(one.cooldown == .seconds(2) && other.cooldown == .seconds(3))
        #expect(one.quota == policy.everyApp.quota && other.quota == policy.everyApp.quota)
        #expect(policy.everyApp.quota != nil && policy.everyApp.grants == WordSet([.audio, .push]))
    }

    /// A user's slower rate counts though its burst is the larger, and a smaller burst though its rate is the faster.
    @Test(arguments: [
        ("60/1h", "60/1h burst 30"), ("60/1min burst 5", "30/1min burst 5"), ("60/1min", "30/1min"),
        ("1/1s burst 40", "30/1min"), ("10/1min burst 2", "10/1min burst 2"),
    ])
    func aUsersQuotaCountsInBothItsParts(_ own: String, _ expected: String) throws {
        let reading = PolicyReader.read([
            PolicyFile(name: "s.conf", "[App *]\nQuota=30/1min\nWakeQuota=30/1min"),
            PolicyFile(name: "u.conf", layer: .user, "[App *]\nQuota=\(own)\nWakeQuota=\(own)"),
        ])
        let wanted = read("[App *]\nQuota=\(expected)\nWakeQuota=\(expected)")
        let (policy, other) = (try #require(reading.policy), try #require(wanted.policy))
        #expect(policy.everyApp == other.everyApp)
    }

    /// What no rule matches a user may deny, whatever the administrator says of it.
    @Test(arguments: [("allow", "Default=deny", Effect.deny), ("deny", "Default=deny", .deny), ("allow", "", .allow)])
    func theStricterDefaultHolds(_ system: String, _ user: String, _ expected: Effect) throws {
        let reading = PolicyReader.read([
            PolicyFile(name: "s.conf", "[Policy]\nDefault=\(system)\n"),
            PolicyFile(name: "u.conf", layer: .user, "[Policy]\n\(user)\n"),
        ])
        #expect(reading.findings == [])
        #expect(try #require(reading.inForce).otherwise == expected)
    }

    @Test func whatIsShownSaysTheSame() throws {
        let reading = read(
            "[Rule b]\nThen=allow\nWhenTime=Sat,Sun/22:00-06:00\nWhenPower=battery !battery<20%\n[Rule a]\nThen=deny\n"
                + "WhenApp=a.a\nWhenApp=b.b !c.c\n[App *]\nQuota=30/1min burst 5")
        let again = read(PolicyText.show(reading))
        let (a, b) = (try #require(reading.policy), try #require(again.policy))
        #expect(a.rules.count == 2)
        #expect(zip(a.rules, b.rules).allSatisfy { $0.says(sameAs: $1) })
        #expect(a.everyApp == b.everyApp)
    }

    /// What is too long for a line is shown in several, and so are the places that it comes from.
    @Test func aLongListIsShownInLinesThatCanBeRead() throws {
        let names = (0..<2_000).map { "WhenApp=org.example.App\($0)\n" }
        let reading = read("[Rule a]\nThen=allow\n" + names.joined())
        let shown = PolicyText.show(reading)
        #expect((shown.split(separator: "\n").map(\.utf8.count).max() ?? .max) <= 4_094)
        let again = read(shown)
        #expect(again.errors == [])
        let (a, b) = (try #require(reading.policy?.rules.first), try #require(again.policy?.rules.first))
        #expect(a.says(sameAs: b))
    }

    /// Every key is shown with the lines that it comes from, which are not always where its section begins.
    @Test func whatIsShownSaysWhereItStands() {
        let reading = PolicyReader.read([
            PolicyFile(name: "10-a.conf", "[Rule a]\nThen=allow\nWhenApp=x.x\n[Policy]\nDefault=deny\n"),
            PolicyFile(name: "20-b.conf", "# again\n[Rule a]\nWhenApp=y.y z.z\nWhenApp=w.w\nThen=deny\n"),
            PolicyFile(name: "u.conf", layer: .user, "[Rule u]\nThen=deny\n"),
        ])
        #expect(
            PolicyText.show(reading) == """
                # u.conf:1 (user)
                [Rule u]
                # u.conf:2
                Then=deny

                # 10-a.conf:1
                [Rule a]
                # 20-b.conf:5
                Then=deny
                # 10-a.conf:3, 20-b.conf:3, 20-b.conf:4
                WhenApp=x.x y.y z.z w.w

                # 10-a.conf:4
                [Policy]
                # 10-a.conf:5
                Default=deny

                """)
        #expect(PolicyText.entries(reading).map(\.isUsers) == [true, false, false, false])
        // Without files of the system the phone's rules are in force, too.
        #expect(
            PolicyText.show(PolicyReader.read([PolicyFile(name: "u", layer: .user, "[Rule u]\nThen=deny")])).hasPrefix(
                "# Behind this"))
        #expect(
            PolicyText.show(PolicyReader.read([])).split(separator: "\n").dropFirst() == [
                "# built-in:1 [Rule system-shake] Priority=100 WhenPreset=system.shake WhenState=!foreground Then=deny",
                "# built-in:2 [Rule foreground] WhenState=foreground Then=allow",
                "# built-in:3 [Rule background-activity] WhenState=inactive background WhenActivity=* Then=allow",
                "# built-in:4 [Rule background-assertion] WhenState=inactive background WhenAssertion=yes Then=allow",
                "# built-in:5 [Class ambient] Mixable=yes WhenLocked=silence",
                "# built-in:6 [Class soloAmbient] WhenLocked=silence Default=yes",
                "# built-in:7 [Class playback] RequiresGrant=audio",
                "# built-in:8 [Class record] RequiresGrant=audio",
                "# built-in:9 [Class playAndRecord] RequiresGrant=audio voip",
                "# built-in [Policy] Default=deny",
            ])
    }

    /// Whatever stands in a file, it is read or refused, and every finding has a place in the file.
    @Test(arguments: 1...40)
    func anyBytesAreReadOrRefused(_ seed: UInt64) {
        print("Policy fuzz seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let pieces = [
            "[", "]", "=", "\n", " ", "Rule", "App", "*", "!", "#", ":", "Then", "allow", "WhenTime", "22:00-06:00",
            "..",
            "WhenIntensity", ">=2.5g", "Quota", "30/1min", "burst", "\u{0}", "\r", "é", "[Rule x]\n", "Then=deny\n",
            "WhenPower=battery<20%\n", "9999999999999999999", "-", "/", "Mon..Fri", "Select=", "[Group g]\n",
        ]
        for _ in 0..<50 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<40, using: &generator) {
                bytes += Array((pieces.randomElement(using: &generator) ?? "").utf8)
                if Int.random(in: 0..<12, using: &generator) == 0 {
                    bytes.append(.random(in: 0...255, using: &generator))
                }
            }
            let reading = PolicyReader.read([PolicyFile(name: "f.conf", bytes: bytes)])
            let lines = bytes.count { $0 == 0x0A } + 1
            #expect(reading.findings.allSatisfy { (1...lines).contains($0.place.line) && $0.place.column >= 1 })
            #expect((reading.policy == nil) == !reading.errors.isEmpty)
        }
    }
}
