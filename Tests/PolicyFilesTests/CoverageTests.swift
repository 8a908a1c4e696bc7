import Arbitration
import Motion
import PolicyFiles
import Testing
import Randomness

@Suite struct CoverageTests {
    private func coverage(_ text: String, _ apps: [String] = [], _ presets: [String] = ["p", "q"]) throws
        -> PolicyCoverage
    {
        PolicyCoverage(of: try #require(read(text).policy), apps: apps.map { AppID($0) }, presets: presets)
    }

    /// What the built-in rules say, in words.
    @Test func theRulesOfThePhone() {
        let coverage = PolicyCoverage(of: .builtIn, presets: ["shake", "tap", "system.shake"])
        #expect(
            coverage.text(width: 80) == """
                any other app
                the app is  and has           other detectors  system.shake
                foreground  –                 yes              yes
                inactive    –                 no               no
                inactive    any mode at work  yes              no
                inactive    an assertion      yes              no
                background  –                 no               no
                background  any mode at work  yes              no
                background  an assertion      yes              no
                suspended   –                 no               no
                dead        –                 no               no

                """)
        #expect(
            coverage.markdown.hasPrefix(
                "| the app is | and has | other detectors | system.shake |\n|---|---|---|---|\n| foreground | – | yes | yes |\n"
            ))
    }

    @Test func whatTheLockChangesIsShown() throws {
        let coverage = try self.coverage(
            "[Rule a]\nThen=allow\nWhenState=background\nWhenLocked=no\n[Rule b]\nThen=allow\nWhenState=suspended\n"
                + "WhenGrant=push\nDeliver=wake\n[App x.x]\nGrants=push\n[App y.y]\nGrants=audio")
        #expect(coverage.tables.map(\.apps) == [["x.x", "any other app"], ["y.y"]])
        func rows(_ table: PolicyCoverage.Table) -> [String] {
            table.rows.map { row in
                let words = PolicyCoverage.words(of: row.situation)
                return "\(words.state) \(words.right) \(row.cells.map(\.text))"
            }
        }
        #expect(
            rows(coverage.tables[0]) == [
                "foreground – [\"no\"]", "inactive – [\"no\"]", "background, unlocked – [\"yes\"]",
                "background, locked – [\"no\"]", "suspended – [\"no\"]", "suspended a grant of push [\"woken\"]",
                "dead – [\"no\"]",
            ])
        #expect(rows(coverage.tables[1]).count == 6)
    }

    /// Wide tables go on below themselves.
    @Test func noLineIsWiderThanAsked() throws {
        var text = ""
        for index in 0..<12 {
            text +=
                "[Group group-\(index)]\n[Rule r\(index)]\nThen=allow\nWhenPreset=preset-\(index)\nGroup=group-\(index)\n"
        }
        let coverage = try self.coverage(text, [], (0..<14).map { "preset-\($0)" })
        let lines = coverage.text(width: 80).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(coverage.tables.map(\.columns.count) == [13])
        for index in 0..<12 { #expect(lines.contains { $0.contains("yes, in group-\(index)") }) }
    }

    /// What a cell says is what the arbiter does.
    @Test(arguments: someSeeds(1...10))
    func everyCellIsWhatIsDecided(_ seed: UInt64) throws {
        print("Coverage seed \(seed)")
        var generator = SeededRandom(seed: seed)
        func pick(_ choices: [String]) -> String { choices.randomElement(using: &generator) ?? "" }
        var compared = 0
        for _ in 0..<8 {
            var text = "[Policy]\nDefault=\(pick(["allow", "deny"]))\n[Group g]\n"
            if Bool.random(using: &generator) { text += "[App o.a]\nGrants=\(pick(["audio", "voip push"]))\n" }
            for index in 0..<Int.random(in: 1...6, using: &generator) {
                let effect = pick(["allow", "deny"])
                text += "[Rule r\(index)]\nThen=\(effect)\n"
                if effect == "allow" {
                    text += pick(["", "Group=g\n"]) + pick(["", "Deliver=wake\n", "Deliver=store\n"])
                }
                for key in [
                    "WhenApp=" + pick(["o.a", "o.b", "o.a*", "!o.b"]),
                    "WhenPreset=" + pick(["p", "q", "p*", "!p", "*"]),
                    "WhenState=" + pick(["foreground", "!foreground", "background dead", "inactive suspended"]),
                    "WhenLocked=" + pick(["yes", "no"]), "WhenAssertion=" + pick(["yes", "no"]),
                    "WhenGrant=" + pick(["audio", "!audio", "voip"]), "WhenActivity=" + pick(["audio", "!*", "*"]),
                    "WhenIntensity=" + pick([">=2g", "<2g"]), "WhenPower=" + pick(["ac", "battery"]),
                ] where Int.random(in: 0..<4, using: &generator) == 0 { text += key + "\n" }
            }
            guard let policy = read(text).policy else { continue }
            for app in ["o.a", "o.b", "o.c"] {
                let id = AppID(app)
                for table in PolicyCoverage(of: policy, apps: [id], presets: ["p", "q"]).tables {
                    for row in table.rows {
                        for (presets, cell) in zip(table.columns, row.cells) {
                            for preset in presets {
                                let name = preset == PolicyCoverage.ownCondition ? "" : preset
                                let answers = Self.decided(policy, id, name, row.situation)
                                compared += 1
                                // Lots that differ may stand together if what decides between them is the same.
                                let isSo = answers.count == 1 ? answers == [cell.text] : cell.text.hasPrefix("by ")
                                #expect(isSo, "seed \(seed) \(preset) \(row.situation) \(answers)\n\(text)")
                            }
                        }
                    }
                }
            }
        }
        #expect(compared > 200)
    }

    /// All that the arbiter says to hits of a detector in a situation, however strong and whatever the device runs on.
    private static func decided(
        _ policy: Policy, _ id: AppID, _ preset: String, _ situation: PolicyCoverage.Situation
    ) -> Set<String> {
        var settings = policy.settings(for: id)
        settings.grants = .none
        // As long as this takes, and beyond.
        settings.grace = .seconds(60)
        var has: [ArbiterInput] = []
        switch situation.right {
        case .nothing: break
        // One of them is what it has.
        case .grant(let modes): settings.grants = WordSet(modes.elements.prefix(1))
        case .activity(let modes):
            settings.grants = WordSet(modes.elements.prefix(1))
            has = settings.grants.elements.map { .beginActivity(AppHandle(0), ActivityID(1), $0) }
        case .assertion: has = [.beginAssertion(AppHandle(0), AssertionRequest(AssertionID(1), "a"))]
        }
        let policy = Policy(
            otherwise: policy.otherwise, groups: policy.groups, rules: policy.rules, apps: [id: settings],
            everyApp: policy.everyApp)
        var said: Set<String> = []
        for isLocked in situation.isLocked.map({ [$0] }) ?? (situation.state == .foreground ? [false] : [false, true]) {
            for power in [Power.ac, .battery(0.5)] {
                for (peak, dimension) in [(1.0, Dimension.acceleration), (3, .acceleration), (1, .angle)] {
                    var arbiter = Arbiter(policy: policy, epoch: 0)
                    var actions: [ArbiterAction] = []
                    let detector = DetectorFacts(name: "d", preset: preset, dimension: dimension)
                    let enter: [ArbiterInput] = [
                        .device(DeviceFacts(isLocked: isLocked, power: power)),
                        .app(AppHandle(0), id, AppEntrance()),
                    ]
                    let fire: [ArbiterInput] = [
                        .told(AppHandle(0), situation.state), .detector(DetectorID(0), AppHandle(0), detector),
                        .hits([Hit(detector: DetectorID(0), time: .zero, peak: peak)]),
                    ]
                    for input in enter + has + fire { arbiter.take(input, at: .zero, into: &actions) }
                    #expect(arbiter.facts(of: AppHandle(0))?.state == situation.state)
                    for action in actions {
                        guard case .verdict(let verdict) = action else { continue }
                        let word =
                            switch verdict.reason {
                            case .sent: "yes"
                            case .woken: "woken"
                            case .stored: "stored"
                            default: "no"
                            }
                        said.insert(word + (verdict.isDelivered ? verdict.rule?.group.map { ", in \($0)" } ?? "" : ""))
                    }
                }
            }
        }
        return said
    }
}
