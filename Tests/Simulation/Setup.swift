import Arbitration
import BrokerCore
import Motion
import Randomness

/// What a life begins with: who the apps are, and the policies that may come into force.
struct Setup {
    static let clients = 5
    static let policies = 6
    /// Whose apps they are, in order; the first is also the broker's.
    private static let owners: [UInt32] = [1_000, 1_000, 1_001, 1_002, 1_001]
    static let users = Set(owners)
    /// How long a group waits for its candidates.
    static let window = TimeSpan.milliseconds(350)
    /// What the first app may have, whichever policy is in force.
    static let quota = Quota(count: 20, period: .seconds(10), burst: 6)
    /// No event is of use for longer.
    static let longestLifespan = TimeSpan.seconds(60)
    static let sensor = SensorDescription(
        name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [10, 25, 50, 100],
        source: "test", isSimulated: false)

    /// The first has a quota; the last has no name.
    static let apps = ["A", "B", "C", "D"].map { AppID("org.example.\($0)") } + [AppID("")]

    static func user(of client: Int) -> UInt32 { self.owners[client] }

    let rules: [Policy]

    init(seed: UInt64) {
        var random = SeededRandom(seed: ~seed)
        let bytes = [1_600, 8_000, 40_000, 262_144]
        self.rules = (0..<Self.policies).map { index in
            Self.policy(index, keeping: bytes.randomElement(using: &random) ?? 8_000)
        }
    }

    /// The detectors that a client asks for, by number.
    static func detector(_ number: Int) -> DetectorRequest {
        DetectorRequest(
            name: "d\(number)",
            options: [
                "preset": .text("shake.planar"), "threshold": .number(2 + Double(number) / 2), "rest": .text("0ms"),
            ])
    }

    // MARK: Policies

    private static func policy(_ index: Int, keeping bytes: Int) -> Policy {
        let modes: [GroupMode?] = [nil, .exclusive, .ordered, .broadcast, .exclusive, nil]
        var group = GroupConfiguration(name: "shake", place: Place(file: "life.conf", line: 1))
        group.mode = modes[index] ?? .broadcast
        group.select = [.specificity]
        group.commitWindow = Self.window
        group.isSticky = index == 4
        let hasGroup = modes[index] != nil
        var settings = AppSettings()
        settings.queueBytes = bytes
        var limited = settings
        limited.quota = Self.quota
        let rules = (0..<Self.clients).map { client in
            var conditions = Conditions()
            let app = Self.apps[client]
            if !app.isAnonymous { conditions.apps.any = [NamePattern(app.name)] }
            // The last policy has nothing for one of them.
            let effect: Effect = index == 5 && client == 1 ? .deny : .allow
            return Rule(
                name: "r\(client)", place: Place(file: "life.conf", line: 10 + client), conditions: conditions,
                effect: effect, group: hasGroup ? group.name : nil, strength: client, terms: Self.terms(of: client))
        }
        return Policy(
            otherwise: .deny, groups: hasGroup ? [group] : [], rules: rules, apps: [Self.apps[0]: limited],
            everyApp: settings)
    }

    private static func terms(of client: Int) -> DeliveryTerms {
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
        default: break
        }
        return terms
    }
}
