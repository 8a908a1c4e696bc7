import Arbitration
import BrokerCore
import Detection
import Motion
import Randomness
import Testing

/// What is shown of what users hold is what is there, however it came to be.
@Suite struct UsageTests {
    private static let users: [UInt32] = [0, 1_000, 1_001, 1_002]

    private struct Registered {
        let user: UInt32
        var detectors: [String: DetectorRequest] = [:]
    }

    /// Of few conditions and paces, so that some are the same, on sensors that are there and not.
    private static func detector(_ name: String, _ generator: inout SeededRandom) -> DetectorRequest {
        let level = Int.random(in: 1...3, using: &generator)
        let sensor = ["accelerometer", "accelerometer", "gyroscope"].randomElement(using: &generator) ?? ""
        let unit = sensor == "gyroscope" ? "rad/s" : "g"
        let condition =
            ["x > \(level)\(unit)", "mean(x, \(level)00ms) > 1\(unit)", "x + y > \(level)\(unit)"].randomElement(
                using: &generator) ?? ""
        var options: [String: OptionValue] = ["when": .text(condition), "sensor": .text(sensor)]
        if Bool.random(using: &generator) { options["every"] = .text("\(level)0ms") }
        return DetectorRequest(name: name, options: options)
    }

    private static func rows(_ bench: Bench) -> [UsageTable.Row] {
        UsageTable(bench.core.usage).rows(for: .everything)
    }

    private static func held(_ name: String, by user: UInt32?, _ rows: [UsageTable.Row]) -> Int {
        rows.filter { $0.key.limit == name && $0.key.user == user }.reduce(0) { $0 + $1.held }
    }

    @Test(arguments: someSeeds(1...8)) func whateverComesAndGoes(_ seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var bench = Bench()
        var apps: [UInt32: Registered] = [:]
        for step in 0..<300 {
            let index = UInt32.random(in: 0..<8, using: &generator)
            let app = AppHandle(index)
            switch (apps[index], Int.random(in: 0..<10, using: &generator)) {
            case (nil, _):
                let user = Self.users.randomElement(using: &generator) ?? 0
                _ = try bench.register(index, "org.example.App\(index)", user: user)
                apps[index] = Registered(user: user)
            case (_?, 0):
                bench.leave(app)
                while bench.isCleaningDue { bench.clean() }
                apps[index] = nil
            case (let known?, 1..<4):
                guard let name = known.detectors.keys.sorted().randomElement(using: &generator) else { continue }
                try bench.remove(app, [name])
                apps[index]?.detectors[name] = nil
            default:
                // It may be there already, and is another now.
                let name = "d\(Int.random(in: 0..<6, using: &generator))"
                let detector = Self.detector(name, &generator)
                _ = try bench.add(app, detector)
                apps[index]?.detectors[name] = detector
            }
            let rows = Self.rows(bench)
            for user in Self.users {
                let own = apps.values.filter { $0.user == user }
                let detectors = own.flatMap(\.detectors.values)
                #expect(Self.held("apps", by: user, rows) == own.count)
                #expect(Self.held("detectors", by: user, rows) == detectors.count)
                #expect(Self.held("condition-bytes", by: user, rows) == detectors.reduce(0) { $0 + $1.conditionBytes })
            }
            for row in rows where row.key.user == nil {
                let users = rows.filter {
                    $0.key.user != nil && $0.key.limit == row.key.limit && $0.key.part == row.key.part
                }
                #expect(row.held == users.reduce(0) { $0 + $1.held }, "\(row)")
            }
            guard step.isMultiple(of: 10) else { continue }
            // A broker that was never told of anything else counts the same.
            var other = Bench()
            for (index, known) in apps {
                let app = try other.register(index, "org.example.App\(index)", user: known.user)
                for detector in known.detectors.values { _ = try other.add(app, detector) }
            }
            #expect(rows == Self.rows(other))
        }
        for index in apps.keys { bench.leave(AppHandle(index)) }
        while bench.isCleaningDue { bench.clean() }
        #expect(Self.rows(bench).allSatisfy { $0.key.user == nil && $0.held == 0 })
        #expect(Self.rows(bench) == Self.rows(Bench()))
    }

    /// What is kept for who left is his until he is back.
    @Test func whatIsKeptForWhoLeft() throws {
        var terms = DeliveryTerms()
        terms.reliability = .ack
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "all", place: Place(file: "t", line: 1), effect: .allow, group: nil, terms: terms)
        var bench = Bench(policy: Policy(otherwise: .deny, groups: [], rules: [rule]))
        for (index, user) in [1_000, 1_000, 1_001].enumerated() {
            let app = try bench.register(UInt32(index), "org.example.A\(index)", user: UInt32(user))
            _ = try bench.add(app, Bench.planar("d", 2))
        }
        bench.feed([2.5])
        #expect(Self.held("absent-apps", by: nil, Self.rows(bench)) == 0)
        for index in 0..<UInt32(3) { bench.leave(AppHandle(index)) }
        while bench.isCleaningDue { bench.clean() }
        let rows = Self.rows(bench)
        #expect(Self.held("absent-apps", by: 1_000, rows) == 2 && Self.held("absent-apps", by: 1_001, rows) == 1)
        let bytes = Self.held("kept-bytes", by: 1_001, rows)
        #expect(bytes > 0 && Self.held("kept-bytes", by: 1_000, rows) == 2 * bytes)
        #expect(Self.held("kept-bytes", by: nil, rows) == 3 * bytes)
        #expect(Self.held("apps", by: nil, rows) == 0 && Self.held("detectors", by: nil, rows) == 0)
        for (index, user) in [1_000, 1_000, 1_001].enumerated() {
            _ = try bench.register(UInt32(index), "org.example.A\(index)", user: UInt32(user))
        }
        #expect(Self.rows(bench).allSatisfy { !["absent-apps", "kept-bytes"].contains($0.key.limit) || $0.held == 0 })
    }
}
