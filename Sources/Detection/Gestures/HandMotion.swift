import Motion

/// A motion of a hand that holds a device: its acceleration with gravity, in g, every 20 ms.
package struct HandMotion: Sendable {
    /// The time between two values, in µs.
    package static let cell: Int64 = 20_000
    package let cells: [SIMD3<Double>]

    /// A gesture, or with `isHandling` what hands do with a device all day: weaker, turning it more, and held in any way.
    ///
    /// Of handling, length and strength are spread as those of 669 motions that were found in 3 h of recordings of pockets
    /// and wrists (STMicroelectronics, BSD-3-Clause; Pebble, Apache-2.0): half of them take 0.38 to 1.24 s, with 0.09 to 0.31 g.
    package init(_ chance: inout Chance, isHandling: Bool = false) {
        let seconds =
            isHandling
            ? max(0.25, min(2.9, 0.68 * Self.exponential(0.85 * chance.normal()))) : chance.uniform(0.35, 1.8)
        let count = max(12, Int(seconds * 50))
        var path = isHandling ? Self.strokes(1 + chance.index(5), anyway: 1, count, &chance) : Self.path(count, &chance)
        Self.accelerate(&path)
        let strength = path.reduce(0) { $0 + ($1 * $1).sum() } / Double(count)
        let wanted = Self.exponential(isHandling ? chance.normal() * 0.9 - 2.1 : chance.normal() * 0.6 - 0.2)
        let scale = wanted / max(strength.squareRoot(), 1e-9)

        var gravity = chance.vector() * 0.25 + SIMD3(0, 0, 1)
        if chance.uniform(0, 1) < (isHandling ? 0.8 : 0.3) { gravity = chance.vector() }
        gravity = Self.unit(gravity)
        let axis = Self.unit(chance.vector())
        let turn = 0.5 * (pow2(chance.normal()) + pow2(chance.normal())) / 2
        let isLasting = chance.uniform(0, 1) < 0.6
        self.cells = (0..<count).map { index in
            let part = Double(index) / Double(count - 1)
            let angle = turn * (isLasting ? Self.smooth(part) : Mathematics.sineAndCosine(.pi * part).sine)
            let noise = SIMD3(chance.normal(), chance.normal(), chance.normal()) * 0.02
            return path[index] * scale + Self.turned(gravity, about: axis, by: -angle) + noise
        }
    }

    // MARK: Paths

    private static func path(_ count: Int, _ chance: inout Chance) -> [SIMD3<Double>] {
        let kind = chance.index(5)
        let along = Self.direction(&chance, spread: 0.2, anyway: 0.4)
        func part(_ index: Int) -> Double { Double(index) / Double(count - 1) }
        func wave(_ turns: Double) -> (sine: Double, cosine: Double) {
            Mathematics.sineAndCosine(2 * .pi * (turns - turns.rounded()))
        }
        switch kind {
        case 0:
            return (0..<count).map { along * Self.smooth(part($0)) }
        case 1:
            return (0..<count).map { along * wave(Self.smooth(part($0)) / 2).sine }
        case 2:
            let across = Self.unit(Self.across(along, chance.vector()))
            let turns = chance.uniform(0.7, 2.2)
            return (0..<count).map { index in
                let (sine, cosine) = wave(turns * Self.smooth(part(index)))
                return along * sine + across * (1 - cosine)
            }
        case 3:
            let swings = chance.uniform(1, 5)
            return (0..<count).map { along * (wave(swings * part($0)).sine * wave(part($0) / 2).sine) }
        default:
            return Self.strokes(2 + chance.index(3), anyway: 0, count, &chance)
        }
    }

    /// Strokes one after another, of unequal length.
    private static func strokes(
        _ strokes: Int, anyway: Double, _ count: Int, _ chance: inout Chance
    ) -> [SIMD3<Double>] {
        let cuts = [0] + (1..<max(2, strokes)).map { _ in chance.uniform(0, 1) }.prefix(strokes - 1).sorted() + [1]
        let ways = (0..<strokes).map { _ in
            Self.direction(&chance, spread: 0.2, anyway: anyway) * chance.uniform(0.5, 1)
        }
        return (0..<count).map { index in
            let part = Double(index) / Double(count - 1)
            var sum = SIMD3<Double>.zero
            for (stroke, way) in ways.enumerated() {
                let length = max(cuts[stroke + 1] - cuts[stroke], 0.1)
                sum += way * Self.smooth(max(0, min(1, (part - cuts[stroke]) / length)))
            }
            return sum
        }
    }

    /// An axis either way, a little off; or, with the chance of `anyway`, any direction.
    private static func direction(_ chance: inout Chance, spread: Double, anyway: Double) -> SIMD3<Double> {
        var way = SIMD3<Double>.zero
        way[chance.index(3)] = chance.uniform(0, 1) < 0.5 ? 1 : -1
        if chance.uniform(0, 1) < anyway { way = self.unit(chance.vector()) }
        return way + chance.vector() * spread
    }

    /// Makes the second difference of a path.
    private static func accelerate(_ path: inout [SIMD3<Double>]) {
        for _ in 0..<2 {
            let before = path
            for index in before.indices {
                let (first, last) = (max(0, index - 1), min(before.count - 1, index + 1))
                path[index] = (before[last] - before[first]) / Double(last - first)
            }
        }
    }

    /// 0 to 1 as a hand goes, without a jerk at either end.
    private static func smooth(_ part: Double) -> Double { part * part * part * (10 - part * (15 - 6 * part)) }

    private static func exponential(_ value: Double) -> Double {
        value < 0 ? 1 - Mathematics.approach(-value) : 1 / (1 - Mathematics.approach(value))
    }

    private static func unit(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        vector / max((vector * vector).sum().squareRoot(), 1e-9)
    }

    private static func across(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    }

    private static func turned(
        _ vector: SIMD3<Double>, about axis: SIMD3<Double>, by angle: Double
    ) -> SIMD3<Double> {
        let (sine, cosine) = Mathematics.sineAndCosine(angle)
        return vector * cosine + self.across(axis, vector) * sine + axis * ((axis * vector).sum() * (1 - cosine))
    }
}

private func pow2(_ value: Double) -> Double { value * value }

/// Chance that is the same on every machine.
package struct Chance: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    private mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    package mutating func uniform(_ low: Double, _ high: Double) -> Double {
        low + (high - low) * (Double(self.next() >> 11) * 0x1p-53)
    }

    package mutating func index(_ count: Int) -> Int { Int(self.next() % UInt64(count)) }

    /// Nearly normal, with mean 0 and deviation 1.
    package mutating func normal() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += self.uniform(0, 1) }
        return sum
    }

    package mutating func vector() -> SIMD3<Double> { SIMD3(self.normal(), self.normal(), self.normal()) }
}
