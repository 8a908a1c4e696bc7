import Arbitration
import Motion
import Testing
import Randomness

/// A verdict as bytes: what is kept of it, and what bytes are refused.
@Suite struct EncodingTests {
    /// Verdicts of random contests, and then with every field made something else.
    private static func verdicts(seed: UInt64) -> [Verdict] {
        var generator = SeededRandom(seed: seed)
        let apps = ["org.example.A", "org.example.B", "org.example.Ü"]
        var lab = Lab(GuaranteeTests.policy(&generator, groups: 2, apps: apps))
        for app in apps {
            let state = AppState.allCases.randomElement(using: &generator) ?? .foreground
            lab.add(app, AppEntrance(told: state), threshold: .random(in: 1...3, using: &generator))
        }
        for step in 0..<40 {
            let fired = apps.filter { _ in Bool.random(using: &generator) }.map { $0.lowercased() }
            lab.hit(fired, at: Int64(step) * 400, .random(in: 1...5, using: &generator))
        }
        lab.pass(to: 60_000)
        return (lab.verdicts + Self.inherited).flatMap { [$0, Self.changed($0, &generator)] }
    }

    /// What an owner that died left to others.
    private static var inherited: [Verdict] {
        var lab = Lab(Policy(groups: [group(.exclusive)], rules: [rule(for: "A", strength: 2), rule("all")]))
        for name in ["A", "B", "C"] { lab.add(name) }
        lab.hit(["a", "b", "c"], at: 0)
        lab.tell("A", .dead)
        return lab.verdicts
    }

    private static func changed(_ verdict: Verdict, _ generator: inout SeededRandom) -> Verdict {
        func pick<T>(_ choices: T...) -> T { choices.randomElement(using: &generator) ?? choices[0] }
        var copy = verdict
        copy.epoch = pick(0, 127, 128, .max)
        copy.app = AppHandle(pick(0, .max))
        copy.detector = pick("", "a", "ein längerer Name", String(repeating: "x", count: 300))
        copy.time = Timestamp(microseconds: pick(.min, -1, 0, 63, 64, .max))
        copy.intensity = pick(0, -0.0, .infinity, .leastNonzeroMagnitude, 2.3)
        copy.dimension = Dimension.allCases.randomElement(using: &generator) ?? .none
        copy.reason = Reason.allCases.randomElement(using: &generator) ?? .sent
        copy.facts = AppFacts(
            state: copy.facts.state, proof: pick(.uid, .flatpak), isProvenEnough: pick(true, false),
            grants: pick(.none, .all, WordSet([.audio, .push])), activities: pick(.none, WordSet([.voip])),
            hasAssertion: pick(true, false), lastUsed: Timestamp(microseconds: pick(.min, 5)))
        copy.surroundings.device = DeviceFacts(
            isLocked: pick(true, false), power: pick(.ac, .battery(nil), .battery(0.25)), minuteOfWeek: pick(0, 10_079))
        copy.limits = pick(nil, LimitsSeen(), LimitsSeen(tokens: -3, burst: .max, until: .zero))
        let rule = Self.randomRule(&generator)
        copy.rule = pick(nil, rule)
        copy.nearest = pick(nil, NearMiss(rule: rule, unmet: Conditions.Keys(rawValue: pick(0, 0x7FF))))
        copy.decidedBy = pick(nil, .holder, .registration, .selected(.roundRobin))
        copy.takenBy = pick(nil, AppID(""), .anonymous(.max), AppID("org.example.B"))
        copy.alongside = pick(nil, 7)
        let fronts = (0..<Int.random(in: 1...5, using: &generator)).map {
            FocusTestimony.Line(source: pick("", "x11::0"), app: pick(nil, AppID("org.example.B\($0)")))
        }
        copy.surroundings.testimony = pick(nil, FocusTestimony(fronts), FocusTestimony.frozen(by: "freezer"))
        return copy
    }

    private static func randomRule(_ generator: inout SeededRandom) -> Rule {
        func pick<T>(_ choices: T...) -> T { choices.randomElement(using: &generator) ?? choices[0] }
        var conditions = Conditions()
        conditions.apps = NameList(any: [NamePattern("org.*"), NamePattern("a")], except: [NamePattern("*.b")])
        conditions.presets.except = pick([], [NamePattern("shake*")])
        conditions.states = pick(.all, .none, WordSet([.dead]))
        conditions.locked = pick(nil, true, false)
        conditions.grants = ModeCondition(any: pick(nil, .none, .all), except: pick(.none, WordSet([.fetch])))
        conditions.assertion = pick(nil, true)
        conditions.proofs = pick(.all, WordSet([.unit]))
        conditions.intensity = pick(
            nil, IntensityCondition(dimension: .acceleration, ranges: RangeSet([1.0..<2.0, 3.0..<Double.infinity])))
        conditions.times = pick(nil, RangeSet([0..<60, 120..<240]))
        conditions.power = pick(
            nil, PowerCondition(ac: pick(true, false), charges: PowerCondition.anyCharge, unknownCharge: true))
        var terms = DeliveryTerms()
        terms.kind = pick(.live, .store, .wake)
        terms.reliability = pick(.ack, .bestEffort)
        terms.durability = pick(.persistent, .volatile)
        terms.lifespan = TimeSpan(microseconds: pick(0, .max))
        return Rule(
            name: pick("", "r"), place: Place(file: "/etc/10-ä.conf", line: pick(1, .max), column: 3),
            priority: pick(.min, .max), conditions: conditions, effect: pick(.allow, .deny), note: "because",
            group: pick(nil, "g"), strength: pick(-1, 1_000), terms: terms)
    }

    private static let seeds: [UInt64] = [1, 2, 3, 20_261_121, .max]

    @Test(arguments: seeds)
    func whatIsWrittenIsRead(_ seed: UInt64) throws {
        let verdicts = Self.verdicts(seed: seed)
        #expect(verdicts.count > 20, "seed \(seed)")
        var encoder = VerdictEncoder()
        for verdict in verdicts {
            // Whatever it remembers of the one before.
            #expect(encoder.encode(verdict) == verdict.encoded, "seed \(seed)")
            let read = try Verdict(encoded: encoder.encode(verdict))
            #expect(read == verdict, "seed \(seed)")
            #expect(Explanation(read) == Explanation(verdict), "seed \(seed)")
            #expect(Explanation(read.withoutOthers) == Explanation(verdict.withoutOthers), "seed \(seed)")
        }
    }

    /// What was written before anybody said what is in front.
    @Test func theVersionBeforeIsRead() throws {
        for var verdict in Self.verdicts(seed: 8) {
            verdict.surroundings.testimony = nil
            let body = Array(verdict.encoded[5...].dropLast())
            let sum = Verdict.sum(over: body[...])
            let head = [2] + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
            #expect(try Verdict(encoded: head + body) == verdict)
        }
    }

    /// What was written before anybody was said to be frozen.
    @Test func theVersionWithoutFrozenIsRead() throws {
        for var verdict in Self.verdicts(seed: 8) {
            verdict.surroundings.testimony = FocusTestimony([.init(source: "x11::0", app: AppID("org.example.B"))])
            let body = Array(verdict.encoded[5...].dropLast())
            let sum = Verdict.sum(over: body[...])
            let head = [3] + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
            #expect(try Verdict(encoded: head + body) == verdict)
        }
    }

    /// Everything in a verdict that a contest makes is in one of them.
    @Test func contestsAreAmongThem() {
        let verdicts = Self.seeds.flatMap(Self.verdicts)
        #expect(verdicts.contains { $0.contest?.winnerRank != nil && $0.contest?.nextRank != nil && $0.rank != nil })
        #expect(verdicts.contains { $0.contest?.inherits != nil })
        for mode in GroupMode.allCases { #expect(verdicts.contains { $0.contest?.mode == mode }) }
    }

    @Test func anyOtherBitIsNoticed() throws {
        let bytes = try #require(Self.verdicts(seed: 7).first).encoded
        for index in bytes.indices {
            for bit in 0..<8 {
                var broken = bytes
                broken[index] ^= 1 << bit
                #expect(throws: RecordProblem.self) { try Verdict(encoded: broken) }
            }
            #expect(throws: RecordProblem.self) { try Verdict(encoded: Array(bytes[..<index])) }
        }
        #expect(throws: RecordProblem.corrupt) { try Verdict(encoded: bytes + [0]) }
        #expect(throws: RecordProblem.version(9)) { try Verdict(encoded: [9] + bytes.dropFirst()) }
        #expect(throws: RecordProblem.corrupt) { try Verdict(encoded: []) }
    }

    /// Bytes that pass for whole, and are not what anybody wrote: read as something, or refused, and no trap.
    @Test(arguments: seeds)
    func nonsenseIsSurvived(_ seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        let originals = Self.verdicts(seed: seed).map(\.encoded)
        var accepted = 0
        for _ in 0..<3_000 {
            var body = Array(try #require(originals.randomElement(using: &generator))[5...])
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: body.indices, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: body[index] = .random(in: 0...255, using: &generator)
                case 1: body.remove(at: index)
                default: body.insert(.random(in: 0...255, using: &generator), at: index)
                }
            }
            let sum = Verdict.sum(over: body[...])
            let head = (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
            guard let verdict = try? Verdict(encoded: [Verdict.encodingVersion] + head + body) else { continue }
            accepted += 1
            #expect(!Explanation(verdict).description.isEmpty)
        }
        #expect(accepted > 0, "seed \(seed)")
    }
}

extension Verdict {
    fileprivate var encoded: [UInt8] {
        var encoder = VerdictEncoder()
        return encoder.encode(self)
    }
}
