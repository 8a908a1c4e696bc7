import Motion
import Testing

@testable import Arbitration
import Randomness

/// Whatever happens to apps, in whatever order: what must never be.
@Suite struct LifeWalkTests {
    private static let names = ["A", "B", "C", "D"]

    private static func policy(_ generator: inout SeededRandom) -> Policy {
        var settings = AppSettings()
        settings.grants = WordSet([.audio, .location].filter { _ in .random(using: &generator) })
        settings.grace = .milliseconds([0, 0, 700, 4_000].randomElement(using: &generator) ?? 0)
        settings.assertionBudget = .milliseconds([0, 900, 5_000, 31_000].randomElement(using: &generator) ?? 0)
        settings.allowsRenewal = .random(using: &generator)
        settings.assertionsPerHour = [nil, 3, 40].randomElement(using: &generator) ?? nil
        return Policy(
            otherwise: .allow,
            rules: [rule("wake", group: nil, terms: terms(.wake)) { $0.apps.any = [NamePattern("D")] }],
            everyApp: settings)
    }

    /// What was said, as the arbiter should have understood it.
    private struct Said {
        var front: ForegroundReport = .none
        var isLocked = false
        var told: [String: AppState] = [:]
        var frozen: Set<String> = []
        var playing: Set<String> = []

        /// Whether an app is where the user looks.
        func isFront(_ name: String) -> Bool {
            if let told = self.told[name] { return told == .foreground }
            if self.frozen.contains(name) { return false }
            switch self.front {
            case .none: return !self.isLocked
            case .shown(let apps): return !self.isLocked && apps.front.contains(AppID(name))
            }
        }
    }

    /// Some have a player.
    private static func entrance(_ name: String) -> AppEntrance { AppEntrance(hasPlayer: name < "C") }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func keepsItsPromises(_ seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var lab = Lab(Self.policy(&generator))
        var said = Said()
        var counts: [String: Int] = [:]
        for name in Self.names { lab.add(name, Self.entrance(name)) }
        for _ in 0..<4_000 {
            let name = Self.names.randomElement(using: &generator) ?? "A"
            guard let app = lab.apps[name] else { continue }
            lab.now += .random(in: 0...900, using: &generator)
            let (deliveries, refusals) = (lab.deliveries.count, lab.refusals.count)
            let effects = lab.effects.count
            switch Int.random(in: 0..<32, using: &generator) {
            case 0..<3:
                let front = (Self.names + ["gone"]).randomElement(using: &generator).map { AppID($0) }
                let other = Self.names.randomElement(using: &generator).map { AppID($0) } ?? AppID("gone")
                let shown = ShownApps(front: Set([front, other].compactMap { $0 }), visible: [AppID(name)])
                let reports: [ForegroundReport] = [
                    .none, .app(nil), .app(front), .shown(shown), .shown(ShownApps(visible: [other])),
                ]
                said.front = reports.randomElement(using: &generator) ?? .none
                lab.take(.foreground(said.front))
            case 3..<6:
                said.told[name] = AppState.allCases.randomElement(using: &generator)
                lab.take(.told(app, said.told[name]))
            case 6..<8:
                said.told[name] = nil
                lab.take(.told(app, nil))
            case 8..<10:
                said.isLocked.toggle()
                lab.take(.device(DeviceFacts(isLocked: said.isLocked)))
            case 10: lab.take(.sleep(.random(using: &generator)))
            case 11..<16:
                let id = AssertionID(.random(in: 0..<3, using: &generator))
                let warning = TimeSpan.milliseconds(.random(in: 0...6_000, using: &generator))
                lab.take(.beginAssertion(app, AssertionRequest(id, "a", warning: warning)))
            case 16..<18: lab.take(.endAssertion(app, AssertionID(.random(in: 0..<3, using: &generator))))
            case 18..<21:
                let mode: BackgroundMode = [.audio, .location, .push].randomElement(using: &generator) ?? .push
                lab.take(.beginActivity(app, ActivityID(.random(in: 0..<3, using: &generator)), mode))
            case 21..<23: lab.take(.endActivity(app, ActivityID(.random(in: 0..<3, using: &generator))))
            case 23:
                lab.take(.policy(Self.policy(&generator)))
            case 24:
                lab.take(.leave(app))
                said.told[name] = nil
                lab.add(name, Self.entrance(name))
            case 25:
                said.frozen = Set(Self.names.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
                let frozen = said.frozen.map { (AppID($0), FocusTestimony.frozen(by: "freezer")) }
                lab.take(.frozen(Dictionary(uniqueKeysWithValues: frozen)))
            case 26:
                said.playing = Set(Self.names.filter { _ in .random(using: &generator) })
                lab.take(.playing(Set(said.playing.map { AppID($0) })))
            default: lab.hit([name.lowercased()], at: lab.now)
            }
            // Live events go to apps that can take them, and only a rule wakes.
            for delivery in lab.deliveries.dropFirst(deliveries) {
                let state = lab.arbiter.facts(of: delivery.app)?.state ?? .dead
                // Who is launched, or has not answered in time, is in another state when the input is through.
                let isMoved = lab.effects.dropFirst(effects).contains { $0.app == delivery.app }
                #expect((delivery.route == .live) == state.canReceive || isMoved)
                #expect(delivery.route == .live || delivery.id.name == "D")
            }
            for refusal in lab.refusals.dropFirst(refusals) { counts[refusal?.name ?? "begun", default: 0] += 1 }
            // What is due now happens before anything else does.
            lab.pass(to: lab.now)
            for (_, effect) in lab.effects.dropFirst(effects) {
                switch effect {
                case .changed(let change): counts["\(change.to.name) \(change.cause)", default: 0] += 1
                case .expiring: counts["expiring", default: 0] += 1
                case .assertionEnded(_, _, let end): counts["ended \(end)", default: 0] += 1
                case .activityEnded: counts["activity ended", default: 0] += 1
                case .player(let isAtPlay): counts[isAtPlay ? "plays" : "plays no more", default: 0] += 1
                }
            }
            for name in Self.names { self.check(name, said, lab) }
            if let deadline = lab.arbiter.nextArrivalDeadline { #expect(deadline > ms(lab.now)) }
        }
        // The walk came everywhere.
        for word in [
            "suspended grace", "suspended overrun", "suspended told", "inactive lock", "foreground foreground",
            "expiring", "ended overrun", "ended foreground", "ended suspended", "activity ended", "begun", "budget",
            "hourly", "ungranted", "suspended", "dead", "repeated", "suspended frozen", "foreground frozen", "plays",
            "plays no more", "background player",
        ] {
            #expect(counts[word, default: 0] > 0, "\(word): \(counts)")
        }
    }

    private func check(_ name: String, _ said: Said, _ lab: Lab) {
        guard let app = lab.apps[name], let life = lab.arbiter.life(of: app), let facts = lab.arbiter.facts(of: app),
            let settings = lab.arbiter.settings(of: app)
        else {
            Issue.record("\(name) is gone")
            return
        }
        #expect((facts.state == .foreground) == said.isFront(name))
        #expect(facts.state == life.appState)
        #expect(facts.hasAssertion == life.hasAssertion)
        #expect(facts.activities == life.modes)
        let plays = said.playing.contains(name) && Self.entrance(name).hasPlayer && settings.grants.contains(.audio)
        #expect(life.isAtPlay == (plays && facts.state.canReceive))
        if said.frozen.contains(name), said.told[name] == nil { #expect(facts.state == .suspended) }
        for assertion in life.assertions {
            // None outlives its deadline.
            if let remaining = lab.arbiter.remaining(of: assertion.id, app, at: ms(lab.now)) {
                #expect(remaining > .zero)
                #expect(remaining <= settings.assertionBudget)
            }
        }
        if let launchedUntil = life.launchedUntil { #expect(launchedUntil > ms(lab.now)) }
        switch life.state {
        case .suspended, .dead:
            #expect(life.assertions.isEmpty)
            #expect(life.activities.isEmpty)
            #expect(lab.arbiter.remaining(of: app, at: ms(lab.now)) == .zero)
        case .background(.grace(let until)):
            #expect(until > ms(lab.now))
            #expect(life.assertions.isEmpty)
            #expect(facts.countingActivities.isEmpty)
        case .background(.working):
            #expect(life.hasAssertion || !facts.countingActivities.isEmpty || life.launchedUntil != nil)
        case .background(.told), .inactive: break
        case .foreground:
            #expect(life.assertions.allSatisfy { lab.arbiter.remaining(of: $0.id, app, at: ms(lab.now)) == nil })
        }
    }

    /// In no hour more begin than policy allows, also when the app leaves and comes back.
    @Test func noHourHasMoreThanItsShare() {
        let seed: UInt64 = 11
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var settings = AppSettings()
        settings.allowsRenewal = true
        settings.assertionsPerHour = 5
        settings.grace = .seconds(100_000)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        lab.tell("A", .background)
        var begun: [Int64] = []
        for step in 0..<3_000 {
            lab.now += .random(in: 0...1_200_000, using: &generator)
            if Int.random(in: 0..<10, using: &generator) == 0 {
                lab.take(.leave(AppHandle(0)))
                lab.add("A")
                lab.tell("A", .background)
            }
            let count = lab.refusals.count
            lab.take(.beginAssertion(AppHandle(0), AssertionRequest(AssertionID(UInt64(step)), "a")))
            #expect(lab.refusals.count == count + 1)
            let recent = begun.reversed().prefix { lab.now - $0 < 3_600_000 }
            #expect((lab.refusals[count] == nil) == (recent.count < 5))
            if lab.refusals[count] == nil { begun.append(lab.now) }
        }
        #expect(begun.count > 1_000)
    }
}
