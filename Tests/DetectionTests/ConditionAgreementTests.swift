import Motion
import Testing

@testable import Detection

/// Each construct of the language does what its definition says, computed here from the whole history of looks.
@Suite struct ConditionAgreementTests {
    struct Look {
        var time: Int64
        var x: Double
        var y: Double
        var z: Double
        var norm: Double { (self.x * self.x + self.y * self.y + self.z * self.z).squareRoot() }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var text: String
        /// Whether the last look of a history is true.
        var isTrue: @Sendable ([Look]) -> Bool
        var testDescription: String { self.text }
    }

    /// The looks whose slice lies within the last 32 of a window.
    static func window(_ looks: [Look], _ length: Double) -> ArraySlice<Look> {
        guard let last = looks.last else { return [] }
        func slice(_ look: Look) -> Double { (Double(look.time) / (length / 32)).rounded(.down) }
        return looks[(looks.firstIndex { slice($0) > slice(last) - 32 } ?? 0)...]
    }

    static func filtered(_ looks: [Look], constant: Double, _ value: (Look) -> Double) -> [Double] {
        var result: [Double] = []
        for (index, look) in looks.enumerated() {
            guard index > 0, let last = result.last else {
                result.append(value(look))
                continue
            }
            let elapsed = Double(look.time - looks[index - 1].time)
            result.append(last + (value(look) - last) * Mathematics.approach(elapsed / constant))
        }
        return result
    }

    static let cases: [Case] = [
        Case(text: "x > 0.5g and y < 0g") { ($0.last?.x ?? 0) > 0.5 && ($0.last?.y ?? 0) < 0 },
        Case(text: "x > 0.5g or (y < 0g and z > 1g) or z < 0.2g") {
            let look = $0.last ?? Look(time: 0, x: 0, y: 0, z: 1)
            return look.x > 0.5 || (look.y < 0 && look.z > 1) || look.z < 0.2
        },
        Case(text: "not (x > 0.5g or y <= 0.1g)") { !(($0.last?.x ?? 0) > 0.5 || ($0.last?.y ?? 0) <= 0.1) },
        Case(text: "x > y") { ($0.last?.x ?? 0) - ($0.last?.y ?? 0) > 0 },
        Case(text: "max(x, y) - min(y, z) >= 1.5g") {
            let look = $0.last ?? Look(time: 0, x: 0, y: 0, z: 0)
            return max(look.x, look.y) - min(look.y, look.z) >= 1.5
        },
        Case(text: "held(norm(x, y, z) > 1.2g, 150ms)") { looks in
            guard let last = looks.last, last.norm > 1.2 else { return false }
            let start = looks.lastIndex { !($0.norm > 1.2) }.map { $0 + 1 } ?? 0
            return last.time - looks[start].time >= 150_000
        },
        Case(text: "fraction(norm(x, y, z) > 1.33g, 500ms) >= 60%") { looks in
            guard let first = looks.first, let last = looks.last, last.time - first.time >= 500_000 else {
                return false
            }
            let window = Self.window(looks, 500_000)
            return Double(window.count { $0.norm > 1.33 }) / Double(window.count) >= 0.6
        },
        Case(text: "count(x > 0.5g, 1s) >= 3") { looks in
            let start = Self.window(looks, 1_000_000).startIndex
            return (start..<looks.count).count { looks[$0].x > 0.5 && ($0 == 0 || !(looks[$0 - 1].x > 0.5)) } >= 3
        },
        Case(text: "x > 1g then x < -1g within 200ms") { looks in
            guard let last = looks.last, last.x < -1 else { return false }
            return looks.dropLast().contains { $0.x > 1 && last.time - $0.time <= 200_000 }
        },
        Case(text: "peak(y, 300ms) > 1.5g") { Self.window($0, 300_000).contains { abs($0.y) > 1.5 } },
        Case(text: "range(y, 300ms) > 2g") { looks in
            let window = Self.window(looks, 300_000).map(\.y)
            return (window.max() ?? 0) - (window.min() ?? 0) > 2
        },
        Case(text: "mean(z, 400ms) > 1.1g") { looks in
            let window = Self.window(looks, 400_000)
            return window.reduce(0) { $0 + $1.z } / Double(window.count) > 1.1
        },
        Case(text: "rms(norm(user), 250ms) > 0.6g") { looks in
            let constant = ConditionParser.gravityTimeConstant
            let (x, y, z) = (
                Self.filtered(looks, constant: constant, \.x), Self.filtered(looks, constant: constant, \.y),
                Self.filtered(looks, constant: constant, \.z)
            )
            let window = Self.window(looks, 250_000)
            let sum = window.indices.reduce(0.0) {
                let (a, b, c) = (looks[$1].x - x[$1], looks[$1].y - y[$1], looks[$1].z - z[$1])
                return $0 + a * a + b * b + c * c
            }
            return (sum / Double(window.count)).squareRoot() > 0.6
        },
        Case(text: "lowpass(x, 100ms) > 0.4g") { (Self.filtered($0, constant: 100_000, \.x).last ?? 0) > 0.4 },
        Case(text: "delta(z) > 0.3g") { looks in
            looks.count > 1 && looks[looks.count - 1].z - looks[looks.count - 2].z > 0.3
        },
        Case(text: "rate(z) > 10g/1s") { looks in
            guard looks.count > 1 else { return false }
            let (last, before) = (looks[looks.count - 1], looks[looks.count - 2])
            return (last.z - before.z) / (Double(last.time - before.time) / 1_000_000) > 10
        },
        Case(text: "x / (y - y) > 1 or z > 1g") { _ in false },
        Case(text: "max(abs(x / (y - y)), abs(z / 1g)) > 1") { _ in false },
        Case(text: "atan2(x / (y - y), z / 1g) > 0deg") { _ in false },
        Case(text: "not (z > 0g then x / (y - y) > 1 within 1s)") { _ in false },
        Case(text: "reversals(x, y, y / (y - y) * 1g, over: 1g, within: 1s) < 1") { _ in false },
        Case(text: "sqrt(x * y) > 0.5g or z < 0g") { looks in
            guard let last = looks.last, last.x * last.y >= 0 else { return false }
            return (last.x * last.y).squareRoot() > 0.5 || last.z < 0
        },
    ]

    @Test(arguments: cases, [UInt64(11), 12, 13])
    func agreesWithItsDefinition(_ item: Case, seed: UInt64) throws {
        let options: [[String: OptionValue]] = [
            ["rest": .count(0), "rest-mode": .text("none")],
            ["rest": .text("400ms"), "every": .text("37ms")],
            ["rest": .text("300ms"), "rest-mode": .text("restarting"), "every": .text("20ms")],
        ]
        let block = Motions.accelerometer(
            seed: seed,
            .init(
                rate: 100, seconds: 12, jitter: seed == 12 ? 0.3 : 0, shaking: 1, amplitude: 2...6,
                gaps: seed == 13 ? 0.003 : 0))
        let compiled = try options.map { (options) throws(DetectorProblem) in try detector(item.text, options) }
        // Company that shares features and compound conditions must change nothing.
        let company = try Self.cases.map { (other) throws(DetectorProblem) in try detector(other.text, options[1]) }
        var engine = DetectionEngine(compiled + company)
        let hits = engine.run(block).filter { $0.detector.index < 3 }.map {
            "\($0.time.microseconds) \($0.detector.index)"
        }

        var expected: [String] = []
        var looks: [[Look]] = [[], [], []]
        var buckets: [Int64] = [-1, -1, -1]
        var last: [Int64?] = [nil, nil, nil]
        var origin = block.times[0]
        var before = origin
        for row in 0..<block.count {
            let time = block.times[row]
            if time - before > 1_000_000 {
                origin = time
                looks = [[], [], []]
                buckets = [-1, -1, -1]
            }
            before = time
            for index in 0..<3 {
                let every: Int64 = [1, 37_000, 20_000][index]
                let bucket = (time - origin) / every
                guard bucket != buckets[index] else { continue }
                buckets[index] = bucket
                looks[index].append(
                    Look(
                        time: time, x: block.values[row * 3], y: block.values[row * 3 + 1], z: block.values[row * 3 + 2]
                    ))
                guard item.isTrue(looks[index]) else { continue }
                let rest: Int64 = [0, 400_000, 300_000][index]
                let fires = last[index].map { time - $0 >= rest } ?? true
                if fires { expected.append("\(time) \(index)") }
                if fires || index == 2 { last[index] = time }
            }
        }
        #expect(hits == expected, "seed \(seed)")
        if !item.text.contains("y - y") {
            #expect(!expected.isEmpty, "the motion never made it true: seed \(seed)")
        } else {
            #expect(engine.counters.undefinedLooks > 0)
        }
    }
}
