import Arbitration
import BrokerCore
import Motion
import Randomness

/// What a life begins with: who the apps are, and the policies that may come into force.
struct Setup {
    static let clients = 8
    static let policies = 6
    /// Whose apps they are, in order; the first is also the broker's.
    private static let owners: [UInt32] = [1_000, 1_000, 1_001, 1_002, 1_001, 1_001, 1_002, 1_000]
    /// Root has what the system installs.
    static let users = Set(owners + [UserShares.root])
    /// How long a group waits for its candidates.
    static let window = TimeSpan.milliseconds(350)
    /// What the first app may have, whichever policy is in force.
    static let quota = Quota(count: 20, period: .seconds(10), burst: 6)
    /// How often the last app may be launched, whichever policy is in force.
    static let wakeQuota = Quota(count: 12, period: .seconds(10), burst: 3)
    /// No event is of use for longer.
    static let longestLifespan = TimeSpan.seconds(60)
    static let sensor = SensorDescription(
        name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [10, 25, 50, 100],
        source: "test", isSimulated: false)

    /// The first has a quota; the fifth has no name. Those behind it are launched, and two of them have one name at two users.
    static let apps = ["A", "B", "C", "D", "", "E", "E", "F"].map { AppID($0.isEmpty ? "" : "org.example.\($0)") }
    /// From this one on they are launched.
    static let firstLaunched = 5

    static func user(of client: Int) -> UInt32 { self.owners[client] }

    /// Apps that may be installed, and whether the broker's user does that or the system.
    static let files: [(app: AppID, isOfUser: Bool)] = [(apps[5], false), (apps[7], true)]

    /// The detectors that a version of such a file has, by number.
    static func detectors(ofFile version: Int) -> [Int] { version == 1 ? [0] : [1, 2] }

    let rules: [Policy]
    /// So many changes may wait for the disk. The real one takes more than most lives ever have, so that some are to have less.
    let room: Int

    /// How much may be kept for an app.
    private static let bytes = [1_600, 8_000, 40_000, 262_144]
    /// Each policy with each of these, whole and divided. Many lives have the same.
    private static let everyRule: [[Policy]] = (0..<policies).map { index in
        bytes.flatMap { bytes in [false, true].map { Setup.policy(index, keeping: bytes, isDivided: $0) } }
    }

    init(seed: UInt64) {
        var random = SeededRandom(seed: ~seed)
        self.rules = Self.everyRule.map { rules in rules.randomElement(using: &random) ?? rules[0] }
        self.room = random.chance(0.25) ? 24 : 4_096
    }

    // MARK: Detectors

    /// Those that are asked for all the time.
    private static let usual: [DetectorRequest] = (0..<8).map { Setup.makeDetector($0) }

    /// The detectors that a client asks for, by number.
    static func detector(_ number: Int) -> DetectorRequest {
        self.usual.indices.contains(number) ? self.usual[number] : self.makeDetector(number)
    }

    /// The number of one.
    static func number(of detector: DetectorRequest) -> Int { Int(detector.name.dropFirst()) ?? -1 }

    private static func makeDetector(_ number: Int) -> DetectorRequest {
        DetectorRequest(
            name: "d\(number)",
            options: [
                "preset": .text("shake.planar"), "threshold": .number(2 + Double(number) / 2), "rest": .text("0ms"),
            ])
    }

    // MARK: Policies

    /// What is harder than this, in g, a divided policy has other rules for.
    private static let hard = 3.5
    /// In which order apps are asked for. One rule is for both of one name; the one for those without comes last, as it fits all.
    private static let order = [0, 1, 2, 3, 5, 7, 4]
    private static let modes: [GroupMode?] = [nil, .exclusive, .ordered, .broadcast, .exclusive, nil]

    /// - Parameter isDivided: What is hard has a group of its own for the same apps, and other terms.
    private static func policy(_ index: Int, keeping bytes: Int, isDivided: Bool) -> Policy {
        let gentle = Self.group("shake", index)
        let hard = isDivided ? Self.group("hard", (index + 1) % Self.policies) : nil
        var settings = AppSettings()
        settings.queueBytes = bytes
        settings.wakeTimeout = .seconds(4)
        settings.grants = WordSet([.push, .fetch, .processing])
        settings.refreshInterval = .seconds(3)
        settings.refreshTime = .seconds(2)
        settings.processingTime = .seconds(8)
        settings.taskWindow = .seconds(1)
        settings.discretion = .seconds(12)
        var limited = settings
        limited.quota = Self.quota
        var seldom = settings
        seldom.wakeQuota = Self.wakeQuota
        let ofHard = isDivided ? Self.order.map { Self.hardRule(of: $0, index, hard) } : []
        return Policy(
            otherwise: .deny, groups: [gentle, hard].compactMap(\.self),
            rules: ofHard + Self.order.map { Self.rule(of: $0, index, gentle) },
            apps: [Self.apps[0]: limited, Self.apps[7]: seldom],
            everyApp: settings)
    }

    private static func group(_ name: String, _ index: Int) -> GroupConfiguration? {
        guard let mode = Self.modes[index] else { return nil }
        var group = GroupConfiguration(name: name, place: Place(file: "life.conf", line: 1))
        group.mode = mode
        group.select = [.specificity]
        group.commitWindow = Self.window
        group.isSticky = index == 4
        return group
    }

    private static func rule(of client: Int, _ index: Int, _ group: GroupConfiguration?) -> Rule {
        Rule(
            name: "r\(client)", place: Place(file: "life.conf", line: 10 + client),
            conditions: Self.conditions(of: client), effect: Self.effect(of: client, index), group: group?.name,
            strength: client, terms: Self.terms(of: client, index))
    }

    /// On the terms of another, and preferred the other way round.
    private static func hardRule(of client: Int, _ index: Int, _ group: GroupConfiguration?) -> Rule {
        var conditions = Self.conditions(of: client)
        conditions.intensity = IntensityCondition(
            dimension: .acceleration, ranges: RangeSet(Self.hard..<Double.infinity))
        return Rule(
            name: "h\(client)", place: Place(file: "life.conf", line: 20 + client), conditions: conditions,
            effect: Self.effect(of: client, index), group: group?.name, strength: Self.clients - client,
            terms: Self.terms(of: [1, 2, 3, 0, 4, 7, 7, 5][client], index))
    }

    private static func conditions(of client: Int) -> Conditions {
        var conditions = Conditions()
        let app = Self.apps[client]
        if !app.isAnonymous { conditions.apps.any = [NamePattern(app.name)] }
        return conditions
    }

    /// The last policy has nothing for one of them.
    private static func effect(of client: Int, _ index: Int) -> Effect { index == 5 && client == 1 ? .deny : .allow }

    private static func terms(of client: Int, _ policy: Int) -> DeliveryTerms {
        var terms = DeliveryTerms()
        switch client {
        case 0:
            terms.kind = .store
            terms.reliability = .ack
            terms.durability = .persistent
            terms.lifespan = Self.longestLifespan
        case 1:
            terms.reliability = .ack
            terms.lifespan = .seconds(20)
        case 2:
            terms.kind = .store
            terms.durability = .persistent
            terms.lifespan = .seconds(40)
        case 3:
            terms.kind = .store
            terms.reliability = .ack
            terms.durability = .persistent
            terms.lifespan = .seconds(4)
        case 5:
            // One policy launches nobody.
            terms.kind = policy == 3 ? .store : .wake
            terms.reliability = .ack
            terms.durability = .persistent
            terms.lifespan = .seconds(45)
        case 7:
            terms.kind = .wake
            terms.lifespan = .seconds(15)
        default: break
        }
        return terms
    }
}
