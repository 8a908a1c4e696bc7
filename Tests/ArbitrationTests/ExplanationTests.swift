import Arbitration
import Motion
import Testing

@Suite struct ExplanationTests {
    private func text(_ lab: Lab, _ app: String) -> String {
        lab.verdicts.last { $0.id.name == app }.map { Explanation($0).description } ?? ""
    }

    @Test func whoLostToAStricterDetector() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity, .strength]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("any-shake", line: 14)]))
        lab.add("org.example.Gentle", threshold: 1.2)
        lab.add("org.example.Hard", threshold: 2.7)
        lab.hit(["org.example.gentle"], at: 5_000, 2.9)
        lab.hit(["org.example.hard"], at: 5_120, 3.1)
        let gentle = """
            epoch 1  org.example.gentle (shake)  2.9 g  at 5.0 s  policy 1
            org.example.Gentle  NOT DELIVERED  S4.outranked
              S0 identity   pass  proven by name
              S1 alive      pass  foreground, unlocked
              S2 rule       pass  test.conf:14 [Rule any-shake] Priority=0 says allow
              S3 limits     pass  no quota
              S4 group      no    g: exclusive, 2 candidates, decided as soon as it was certain; org.example.Hard is first by \
            specificity, 2.7 g to 1.2 g
              S5 delivery   -
              it would have got it if it asked for more than 2.7 g, or the motion had stayed at or below 2.7 g
            """
        #expect(self.text(lab, "org.example.Gentle") == gentle)
        #expect(
            self.text(lab, "org.example.Hard").contains("ahead of org.example.Gentle by specificity, 2.7 g to 1.2 g"))
        // What is asked later is answered as it was then.
        lab.perform { $0.take(.policy(Policy(otherwise: .allow)), at: ms(9_000), into: &$1) }
        #expect(self.text(lab, "org.example.Gentle") == gentle)
    }

    /// With a gentler motion whoever stands between them has it.
    @Test func aGentlerMotionIsTheNextOnes() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")]))
        for (app, threshold) in [("Gentle", 1.2), ("Medium", 2.3), ("Hard", 3.5)] { lab.add(app, threshold: threshold) }
        lab.hit(["gentle", "medium", "hard"], at: 0, 4)
        let more = "it would have got it if it asked for more than 3.5 g"
        #expect(self.text(lab, "Medium").hasSuffix("\(more), or the motion had stayed at or below 3.5 g"))
        #expect(self.text(lab, "Gentle").hasSuffix(more))
        lab.hit(["gentle", "medium"], at: 5_000, 3.5)
        lab.pass(to: 6_000)
        #expect(lab.deliveries.map(\.id.name) == ["Hard", "Medium"])
    }

    /// What hits below its threshold, as a fall does, did not go beyond it.
    @Test func ofWhatAsksForLittleNoGentlerMotionIsTold() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")]))
        for (app, threshold) in [("Deep", 0.4), ("Shallow", 0.5)] { lab.add(app, threshold: threshold) }
        lab.hit(["deep", "shallow"], at: 0, 0.1)
        lab.pass(to: 1_000)
        #expect(self.text(lab, "Deep").hasSuffix("it would have got it if it asked for more than 0.5 g"))
    }

    /// Who came late and would have lost in time, too, is told both.
    @Test func whoCameLateMayHaveBeenBehindInTimeToo() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")]))
        for (app, threshold) in [("Gentle", 1.2), ("Medium", 2.3), ("Hard", 3.5)] { lab.add(app, threshold: threshold) }
        let late = "it would have got it if its detector had fired before the group decided"
        lab.hit(["hard"], at: 0, 4)
        lab.hit(["medium"], at: 50, 4)
        #expect(self.text(lab, "Medium").hasSuffix("\(late), and had not been behind by specificity, 3.5 g to 2.3 g"))
        lab.hit(["gentle"], at: 5_000, 4)
        lab.pass(to: 5_400)
        lab.hit(["medium"], at: 5_500, 4)
        #expect(self.text(lab, "Medium").hasSuffix(late))
        #expect(lab.verdicts.filter { $0.id.name == "Medium" }.map(\.reason) == [.late, .late])
    }

    /// Nothing but strength is said to take a sticky group from who holds it, because nothing else does.
    @Test func onlyStrengthTakesAGroupFromItsHolder() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.isSticky = true
            $0.hysteresis = 20
        }
        let rules = [rule(for: "Holder", strength: 5), rule(for: "Weak"), rule(for: "Strong", strength: 30)]
        var lab = Lab(Policy(groups: [configuration], rules: rules))
        for (app, threshold) in [("Holder", 1.5), ("Weak", 1.2), ("Strong", 1.8)] { lab.add(app, threshold: threshold) }
        lab.hit(["holder"], at: 0)
        lab.hit(["holder", "weak"], at: 5_000)
        let stronger = "if its strength exceeded the holder's by the group's Hysteresis"
        #expect(self.text(lab, "Weak").hasSuffix(stronger), "\(self.text(lab, "Weak"))")
        lab.addDetector("weak", to: "Weak", threshold: 1.9)
        lab.hit(["holder", "weak"], at: 10_000)
        #expect(lab.deliveries.map(\.id.name) == ["Holder", "Holder", "Holder"])
        #expect(self.text(lab, "Weak").hasSuffix("\(stronger), or that one held the group no more"))
        lab.hit(["holder", "strong"], at: 15_000)
        #expect(self.text(lab, "Holder").contains("Strong is first by strength, 30 to 5\n"))
    }

    /// Who is suspended before the decision has not left.
    @Test func whoIsSuspendedMeanwhileIsNotSaidToHaveLeft() {
        let configuration = group(.exclusive) {
            $0.commitWindow = .milliseconds(350)
            $0.commitsEagerly = false
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")]))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.tell("A", .suspended)
        #expect(lab.verdicts.last?.reason == .gone)
        #expect(self.text(lab, "A").contains("the app left or was suspended, or its detector was removed, before"))
    }

    /// Who was not there could not read sooner, and one whose event came too late need not.
    @Test func whatGrewTooOldIsExplainedByWhoWasThere() throws {
        let lab = try #require(Self.stories.first { $0.reason == .stored }).run()
        var verdict = try #require(lab.verdicts.last { $0.id.name == "A" })
        verdict.reason = .expired
        #expect(Explanation(verdict).otherwise == ["it had been back sooner"])
        verdict.facts.state = .foreground
        #expect(Explanation(verdict).otherwise == ["the event had come to it, or been acknowledged, sooner"])
    }

    /// Who is third in an order depends on the second, too.
    @Test func whoIsThirdNeedsBothToPass() {
        let rules = [rule(for: "A", strength: 3), rule(for: "B", strength: 2), rule(for: "C", strength: 1)]
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        for app in ["A", "B", "C"] { lab.add(app) }
        lab.hit(["a", "b", "c"], at: 0)
        lab.answer("A", 1, .consume)
        #expect(self.text(lab, "B").hasSuffix("if A had passed it on"))
        #expect(self.text(lab, "C").hasSuffix("if A and whoever stands between them had passed it on"))
    }

    /// What was kept for who is suspended was not sent to it when its turn in an order is over.
    @Test func whoWasNotThereWasSentNothing() {
        let rules = [rule(for: "A", strength: 2, terms: terms(.store)), rule(for: "B")]
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        lab.add("A", AppEntrance(told: .suspended))
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        lab.pass(to: 400)
        lab.pass(to: 800)
        #expect(lab.verdicts.map(\.reason) == [.silent, .silent], "\(lab.said)")
        #expect(self.text(lab, "A").hasSuffix("passed on because the app was not there to answer in time"))
        #expect(self.text(lab, "B").hasSuffix("sent, and passed on because no answer came in time"))
    }

    /// Who showed what in front, when that is why an app was not there; as it was then.
    @Test func whoSaidThatItIsNotInFront() {
        func alive(_ lab: Lab) -> String {
            let line = self.text(lab, "A").split(separator: "\n").first { $0.contains("S1 alive") }
            return String(line?.drop { $0 != "," }.dropFirst(2) ?? "")
        }
        func say(_ front: [String], visible: [String] = [], _ sources: String..., in lab: inout Lab) {
            let shown = ShownApps(front: Set(front.map { AppID($0) }), visible: Set(visible.map { AppID($0) }))
            let lines = sources.enumerated().map { index, source in
                FocusTestimony.Line(source: source, app: index < front.count ? AppID(front[index]) : nil)
            }
            lab.take(.foreground(.shown(shown), FocusTestimony(lines)))
        }
        var lab = Lab(Policy(rules: [rule("all")]))
        lab.add("A")
        lab.hit(["a"], at: 0)
        #expect(alive(lab) == "unlocked")
        say(["B"], "x11::0", in: &lab)
        lab.hit(["a"], at: 1_000)
        #expect(lab.verdicts.last?.reason == .suspended && alive(lab) == "unlocked; x11::0 shows B in front")
        // The same by another: no app is elsewhere, and what is told is what was said last.
        say(["B"], "", in: &lab)
        lab.hit(["a"], at: 2_000)
        #expect(alive(lab) == "unlocked; somebody says that B is in front")
        say([], visible: ["A"], "x11::0", in: &lab)
        lab.hit(["a"], at: 3_000)
        #expect(lab.verdicts.last?.facts.state == .inactive && alive(lab) == "unlocked; x11::0 shows no app in front")
        #expect(lab.verdicts.last?.facts.report == 0)
        // Who is behind the lock is there for another reason, as is one that was told of alone.
        lab.lock(true)
        lab.hit(["a"], at: 4_000)
        #expect(alive(lab) == "locked")
        lab.lock(false)
        lab.tell("A", .suspended)
        lab.hit(["a"], at: 5_000)
        #expect(lab.verdicts.last?.reason == .suspended && alive(lab) == "unlocked")
        lab.tell("A", nil)
        say(["B", "C", "A"], "one", "two", "three", in: &lab)
        lab.hit(["a"], at: 6_000)
        #expect(lab.verdicts.last?.facts.state == .foreground && alive(lab) == "unlocked")
        say(["B", "C"], "one", "two", in: &lab)
        lab.hit(["a"], at: 7_000)
        #expect(alive(lab) == "unlocked; one shows B in front, two shows C in front")
        // Within one motion, too, what is told is what was said last.
        let count = lab.verdicts.count
        lab.hit(["a"], at: 7_100)
        #expect(lab.verdicts.count == count)
        say(["C"], "two", in: &lab)
        lab.hit(["a"], at: 7_200)
        #expect(alive(lab) == "unlocked; two shows C in front")
        say(["B", "C"], "one", "two", in: &lab)
        lab.hit(["a"], at: 7_300)
        // Which other apps there are is none of its business.
        let shown = lab.verdicts.last.map { Explanation($0.withoutOthers).description } ?? ""
        #expect(shown.contains("unlocked; one shows another app in front, two shows another app in front\n"))
    }

    /// A hit that waits for its group's decision is not told what was said after it.
    @Test func whatIsSaidLaterIsNotTold() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")]))
        lab.add("Gentle", threshold: 1.2)
        lab.add("Hard", threshold: 2.7)
        func say(_ app: String) {
            let lines = [FocusTestimony.Line(source: "x11::0", app: AppID(app))]
            let shown = ShownApps(front: [AppID(app)], visible: [AppID("Gentle"), AppID("Hard")])
            lab.take(.foreground(.shown(shown), FocusTestimony(lines)))
        }
        say("C")
        // The stricter one may fire yet.
        lab.hit(["gentle"], at: 5_000, 2.9)
        #expect(lab.verdicts.isEmpty)
        lab.now = 5_050
        say("D")
        #expect(lab.verdicts.isEmpty)
        lab.hit(["hard"], at: 5_120, 3.1)
        lab.pass(to: 6_000)
        let told = lab.verdicts.map { "\($0.id) \($0.testimony.map { "\($0)" } ?? "-")" }.sorted()
        #expect(told == ["Gentle -", "Hard x11::0 shows D in front"], "\(lab.said)")
    }

    /// A hit that waits for its group's decision is told as the device was when it was judged.
    @Test(arguments: [GroupMode.exclusive, .ordered])
    func theDeviceIsToldAsItWasAtTheHit(_ mode: GroupMode) {
        let configuration = group(mode) {
            $0.commitWindow = .milliseconds(350)
            $0.commitsEagerly = false
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("unlocked") { $0.locked = false }]))
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 1_000)
        lab.now = 1_100
        lab.lock(true)
        lab.pass(to: 1_400)
        if mode == .ordered { lab.answer("A", 1, .consume) }
        #expect(lab.verdicts.count == 2, "\(lab.said)")
        for app in ["A", "B"] { #expect(self.text(lab, app).contains(", unlocked\n"), "\(self.text(lab, app))") }
    }

    /// Who cannot run is suspended though it is in front, and the source is named; of others nothing is said.
    @Test func whoIsFrozenIsSuspendedByASource() {
        var lab = Lab(Policy(rules: [rule("all") { $0.states = WordSet([.foreground]) }]))
        lab.add("A")
        lab.add("B")
        lab.take(.foreground(.shown(ShownApps(front: [AppID("A"), AppID("B")]))))
        func state(_ app: String) -> AppState? { lab.apps[app].flatMap { lab.arbiter.life(of: $0)?.appState } }
        lab.take(.frozen([AppID("A"): .frozen(by: "freezer")]))
        #expect(state("A") == .suspended && state("B") == .foreground)
        lab.hit(["a", "b"], at: 1_000)
        #expect(self.text(lab, "A").contains("suspended, unlocked; freezer says that it is frozen\n"))
        #expect(!self.text(lab, "B").contains("frozen"))
        // A single word on the app goes before it, and then the freezer was not the cause.
        lab.tell("A", .suspended)
        lab.hit(["a"], at: 3_000)
        #expect(!self.text(lab, "A").contains("frozen"), "\(self.text(lab, "A"))")
        lab.tell("A", nil)
        #expect(state("A") == .suspended)
        lab.take(.frozen([:]))
        #expect(state("A") == .foreground)
    }

    @Test func whoWasRefusedByTheRules() {
        let rules = [
            rule("call", line: 3) {
                $0.states = WordSet([.background])
                $0.activities.any = WordSet([.voip])
                $0.assertion = true
            },
            rule("near", line: 7) {
                $0.states = WordSet([.background])
                $0.assertion = true
            },
        ]
        var lab = Lab(Policy(rules: rules))
        lab.add("A", AppEntrance(told: .background))
        lab.hit(["a"], at: 0)
        let near = "test.conf:7 [Rule near] Priority=0 matched; "
        #expect(
            self.text(lab, "A").hasSuffix(near + "WhenAssertion=yes does not hold: the app holds no assertion"))
        lab.tell("A", .foreground)
        lab.hit(["a"], at: 2_000)
        #expect(
            self.text(lab, "A").hasSuffix(
                near + "WhenState=background does not hold: the app is in the foreground; "
                    + "WhenAssertion=yes does not hold: the app holds no assertion"), "\(self.text(lab, "A"))")
        lab.tell("A", .dead)
        lab.hit(["a"], at: 5_000)
        #expect(self.text(lab, "A").contains("S1 alive      no    dead, unlocked"))
    }

    @Test func whoCannotReceiveLacksAWayToBeReached() {
        var lab = Lab(Policy(rules: [rule("all", line: 2)]))
        lab.add("A", AppEntrance(told: .suspended))
        lab.hit(["a"], at: 0)
        #expect(
            self.text(lab, "A").hasSuffix(
                "matched; Deliver=live does not reach it, as wake or store would: the app is suspended"))
    }

    @Test func whoUsedUpItsQuota() {
        var settings = AppSettings()
        settings.quota = Quota(count: 6, period: .seconds(60), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.hit(["a"], at: 4_000)
        #expect(self.text(lab, "A").contains("S3 limits     no    the quota is used up, 0 of 1 left"))
        #expect(self.text(lab, "A").hasSuffix("it would have got it if the motion had come 6.0 s later"))
    }

    @Test func othersAreNobodysBusiness() throws {
        let rules = [rule(for: "A", strength: 2), rule(for: "B", strength: 1)]
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        lab.answer("A", 1, .consume)
        let verdict = try #require(lab.verdicts.last)
        #expect(Explanation(verdict).description.contains("A consumed it"))
        let hidden = Explanation(verdict.withoutOthers).description
        #expect(hidden.contains("another app consumed it"))
        #expect(hidden.hasSuffix("it would have got it if another app had passed it on"))
    }

    // MARK: Everything that can be decided

    /// What is missing in the explanation of a verdict; empty when nothing is.
    static func gaps(_ verdict: Verdict) -> [String] {
        let explanation = Explanation(verdict)
        var gaps: [String] = []
        if explanation.steps.map(\.stage) != Reason.Stage.allCases { gaps.append("a stage has no line") }
        for step in explanation.steps {
            let expected: Explanation.Step.Result =
                if step.stage > verdict.reason.stage {
                    .skipped
                } else if step.stage == .delivery, verdict.reason == .woken {
                    .waits
                } else if step.stage < verdict.reason.stage
                    || verdict.isDelivered
                { .pass } else { .no }
            if step.result != expected { gaps.append("\(step.stage.name) is \(step.result.rawValue)") }
            if step.seen.isEmpty != (expected == .skipped) { gaps.append("\(step.stage.name) saw '\(step.seen)'") }
        }
        if let rule = verdict.rule, verdict.reason.stage >= .rule {
            let line = explanation.steps[2].seen
            if !line.contains("\(rule.place.lineDescription) [Rule \(rule.name)]") { gaps.append("no place: \(line)") }
        }
        if explanation.otherwise.isEmpty != verdict.isDelivered { gaps.append("otherwise: \(explanation.otherwise)") }
        let text = explanation.description
        for word in [verdict.reason.name, "\(verdict.epoch)", verdict.detector] where !text.contains(word) {
            gaps.append("'\(word)' is not said")
        }
        return gaps
    }

    /// How the arbiter comes to a reason.
    struct Story: Sendable, CustomTestStringConvertible {
        let reason: Reason
        let run: @Sendable () -> Lab

        init(_ reason: Reason, _ run: @escaping @Sendable () -> Lab) {
            self.reason = reason
            self.run = run
        }

        var testDescription: String { self.reason.name }
    }

    /// App A under one rule, and what happens to it.
    private static func alone(
        _ entrance: AppEntrance = AppEntrance(), _ kind: DeliveryTerms = DeliveryTerms(),
        settings: AppSettings = AppSettings(),
        _ body: (inout Lab) -> Void = { _ in }
    ) -> Lab {
        var lab = Lab(Policy(rules: [rule("all", line: 7, group: nil, terms: kind)], everyApp: settings))
        lab.add("A", entrance)
        lab.hit(["a"], at: 1_000)
        body(&lab)
        return lab
    }

    /// A and B compete; B is ahead.
    private static func contest(
        _ mode: GroupMode, _ set: (inout GroupConfiguration) -> Void = { _ in }, _ body: (inout Lab) -> Void
    ) -> Lab {
        let rules = [rule(for: "A", strength: 1), rule(for: "B", strength: 2)]
        var lab = Lab(Policy(groups: [group(mode, set)], rules: rules))
        lab.add("A")
        lab.add("B")
        body(&lab)
        return lab
    }

    /// B has a session, and A another or none when its second hit comes; its first hit is in time for all that is ducked.
    private static func mixed(_ body: (inout Lab) -> Void) -> Lab {
        let place = Place(file: "test.conf", line: 5)
        let classes = ["playback", "voice", "call", "quiet"].map { name in
            var one = SessionClass(name: name, place: place)
            if name == "quiet" { one.whenLocked = .silence }
            return one
        }
        func cell(_ holder: String, _ requester: String, _ action: InteractionAction) -> Interaction {
            var cell = Interaction(holder: holder, requester: requester, place: place)
            cell.action = action
            cell.ducking.events = Quota(count: 1, period: .seconds(60), burst: 1)
            return cell
        }
        let matrix = InteractionMatrix(
            classes,
            [cell("playback", "voice", .duck), cell("call", "playback", .delay), cell("call", "quiet", .reject)])
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        var lab = Lab(
            Policy(
                groups: [group(.mixable)], rules: [rule("all", sessionClass: "quiet")], matrix: matrix,
                everyApp: settings))
        lab.add("A")
        lab.add("B")
        body(&lab)
        lab.hit(["a"], at: 1_000)
        lab.hit(["a"], at: 9_000)
        return lab
    }

    private static let limited: AppSettings = {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        settings.wakeQuota = settings.quota
        settings.cooldown = .seconds(5)
        return settings
    }()

    static let stories: [Story] = [
        Story(.mismatch) { alone(AppEntrance(isProvenEnough: false)) },
        Story(.suspended) { alone(AppEntrance(told: .suspended)) },
        Story(.dead) { alone(AppEntrance(told: .dead)) },
        Story(.denied) {
            var lab = Lab(Policy(rules: [rule("no", line: 3, .deny), rule("yes", line: 9)]))
            lab.add("A")
            lab.hit(["a"], at: 0)
            return lab
        },
        Story(.noRule) {
            var lab = Lab(Policy(rules: [rule(for: "B")]))
            lab.add("A")
            lab.hit(["a"], at: 0)
            return lab
        },
        Story(.quota) {
            alone(settings: limited) { $0.hit(["a"], at: 9_000) }
        },
        Story(.wakeQuota) {
            var settings = limited
            settings.quota = nil
            return alone(AppEntrance(told: .dead), terms(.wake), settings: settings) { $0.hit(["a"], at: 9_000) }
        },
        Story(.appCooldown) {
            var settings = limited
            settings.quota = nil
            return alone(settings: settings) { $0.hit(["a"], at: 2_000) }
        },
        Story(.groupCooldown) {
            contest(.broadcast, { ($0.cooldown, $0.quiet) = (.seconds(9), .milliseconds(100)) }) {
                $0.hit(["b"], at: 0)
                $0.hit(["a"], at: 5_000)
            }
        },
        Story(.outranked) { contest(.exclusive) { $0.hit(["a", "b"], at: 0) } },
        Story(.late) {
            contest(.exclusive) {
                $0.hit(["b"], at: 0)
                $0.hit(["a"], at: 200)
            }
        },
        Story(.interrupted) {
            mixed {
                $0.begin("A", "playback")
                $0.begin("B", "playback")
            }
        },
        Story(.ducked) {
            mixed {
                $0.begin("A", "playback")
                $0.begin("B", "voice")
            }
        },
        Story(.delayed) {
            mixed {
                $0.begin("B", "call")
                $0.begin("A", "playback")
            }
        },
        Story(.rejected) { mixed { $0.begin("B", "call") } },
        Story(.silenced) { mixed { $0.lock(true) } },
        Story(.consumed) {
            contest(.ordered) {
                $0.hit(["a", "b"], at: 0)
                $0.answer("B", 1, .consume)
            }
        },
        Story(.budget) {
            contest(.ordered, { $0.orderBudget = .milliseconds(300) }) {
                $0.hit(["a", "b"], at: 0)
                $0.pass(to: 500)
            }
        },
        Story(.gone) {
            contest(.exclusive, { $0.commitWindow = .milliseconds(300) }) {
                $0.hit(["a"], at: 0)
                $0.tell("A", .dead)
            }
        },
        Story(.sent) { alone() },
        Story(.woken) { alone(AppEntrance(told: .dead), terms(.wake)) },
        Story(.stored) { alone(AppEntrance(told: .dead), terms(.store)) },
        Story(.taken) {
            contest(.ordered) {
                $0.hit(["a"], at: 0)
                $0.answer("A", 1, .consume)
            }
        },
        Story(.passed) {
            contest(.ordered) {
                $0.hit(["a"], at: 0)
                $0.answer("A", 1, .pass)
            }
        },
        Story(.silent) {
            contest(.ordered) {
                $0.hit(["a"], at: 0)
                $0.pass(to: 2_000)
            }
        },
        Story(.left) {
            contest(.ordered) {
                $0.hit(["a"], at: 0)
                $0.tell("A", .dead)
            }
        },
    ]

    @Test func everyReasonHasItsStory() {
        #expect(Set(Self.stories.map(\.reason)) == Set(Reason.allCases.filter { !$0.isEnd }))
    }

    /// What became of an event that was kept is told in place of its being kept.
    @Test(arguments: Reason.allCases.filter(\.isEnd))
    func everyEndIsExplained(_ end: Reason) throws {
        let lab = try #require(Self.stories.first { $0.reason == .stored }).run()
        var verdict = try #require(lab.verdicts.last { $0.id.name == "A" })
        #expect(verdict.reason.isOpen)
        verdict.reason = end
        #expect(Self.gaps(verdict).isEmpty, "\(Explanation(verdict))")
    }

    /// Whatever the reason, each stage has its line, the rule its place, and who got nothing learns what it lacked.
    @Test(arguments: stories)
    func everyReasonIsExplained(_ story: Story) throws {
        let lab = story.run()
        let verdict = try #require(lab.verdicts.last { $0.id.name == "A" })
        #expect(verdict.reason == story.reason)
        for verdict in lab.verdicts {
            #expect(Self.gaps(verdict).isEmpty, "\(Explanation(verdict))")
            #expect(Self.gaps(verdict.withoutOthers).isEmpty)
            #expect(!Explanation(verdict.withoutOthers).description.contains(verdict.id.name == "A" ? "B" : "A "))
        }
        #expect(verdict.reason.name.hasPrefix("S\(verdict.reason.stage.rawValue)."))
    }

    @Test(arguments: 1...60)
    func whateverIsDecidedIsExplained(_ seed: UInt64) {
        print("Explanation seed \(seed)")
        for verdict in GuaranteeTests.run(seed: seed).verdicts {
            #expect(Self.gaps(verdict).isEmpty, "seed \(seed): \(Explanation(verdict))")
        }
    }
}
