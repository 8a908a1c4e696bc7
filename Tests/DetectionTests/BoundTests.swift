import Motion
import Testing

@testable import Detection

/// Whether a preset's threshold itself counts is what its description says: each at its very value, and a step to either side.
@Suite struct BoundTests {
    /// What a preset compares a parameter with, found in a motion, and by how much the parameter may be set apart.
    private struct Edge {
        var preset: String
        var parameter: String
        /// What is compared with the parameter.
        var value: Double
        /// As the parameter is given.
        var option: (Double) -> OptionValue
        /// The next value above and below.
        var above: Double
        var below: Double
        /// Whether the preset fires in the motion at all.
        var fires: (OptionValue) throws -> Bool

        init(
            _ preset: String, _ parameter: String, _ value: Double, step: Double? = nil,
            _ option: @escaping (Double) -> OptionValue = { .number($0) }, fires: @escaping (OptionValue) throws -> Bool
        ) {
            (self.preset, self.parameter, self.value, self.option, self.fires) = (
                preset, parameter, value, option, fires
            )
            self.above = step.map { value + $0 } ?? value.nextUp
            self.below = step.map { value - $0 } ?? value.nextDown
        }

        func check() throws {
            let found = try #require(PresetCatalogue.named(self.preset))
            let parameter = try #require(found.parameters.first { $0.name == self.parameter })
            let bound = try #require(parameter.bound)
            // The description says the same to people.
            #expect(parameter.help.hasSuffix("(\(bound.rawValue))."))
            let (at, over, under) = (
                try self.fires(self.option(self.value)), try self.fires(self.option(self.above)),
                try self.fires(self.option(self.below))
            )
            let expected =
                switch bound {
                case .above: (false, false, true)
                case .atLeast: (true, false, true)
                case .below: (false, true, false)
                case .atMost: (true, true, false)
                }
            #expect(
                (at, over, under) == expected,
                "\(self.preset) \(self.parameter) \(bound.rawValue) \(self.value): at \(at), over \(over), under \(under)"
            )
        }
    }

    private typealias Motion = @Sendable (Double) -> (Double, Double, Double)

    private func hits(
        _ name: String, _ options: [String: OptionValue], rate: Double, seconds: Double, _ motion: Motion
    ) throws -> [Hit] {
        var engine = DetectionEngine([try preset(name, options)])
        return engine.run(trace(rate: rate, seconds: seconds, motion))
    }

    /// What the preset's quantity comes to in a motion: the largest peak of all looks at which it is over something small.
    private func most(
        _ name: String, _ parameter: String, _ small: OptionValue, rate: Double, seconds: Double, _ motion: Motion
    ) throws -> Double {
        let options: [String: OptionValue] = [parameter: small, "rest": .count(0), "rest-mode": .text("none")]
        return try #require(
            self.hits(name, options, rate: rate, seconds: seconds, motion).map(\.peak).max())
    }

    private static func microseconds(_ value: Double) -> OptionValue { .count(UInt64(value.rounded())) }

    /// Those whose condition compares one quantity: any motion has an edge.
    @Test(arguments: [
        ("shake.planar", "threshold", 1.0), ("shake.axis", "threshold", 1.5), ("shake.lowpass", "threshold", 0.34),
        ("shake.user", "threshold", 0.1), ("shake.magnitude", "threshold", 1.1), ("tilt", "angle", 0.2),
        ("moving", "threshold", 0.01), ("step", "threshold", 0.02), ("tap", "threshold", 0.5),
        ("double-tap", "threshold", 0.5), ("pick-up", "angle", 0.2),
    ])
    func ofOneQuantity(_ name: String, _ parameter: String, _ small: Double) throws {
        let motion: Motion =
            switch name {
            case "tap": { t in (0, 0, t >= 1 && t < 1.012 ? 3 : 1) }
            // The second knock is the weaker one, and so it decides.
            case "double-tap": { t in (0, 0, t >= 1 && t < 1.012 ? 3 : t >= 1.25 && t < 1.262 ? 2.5 : 1) }
            case "pick-up":
                { t in
                    let share = min(max((t - 2) / 0.5, 0), 1)
                    return (0, 0.8 * share, 1 - 0.4 * share)
                }
            case "step": { t in t < 2 ? (0, 0, 1) : t < 2.4 ? (0, 0.2, 1.6) : (0, 0, 1) }
            case "tilt": { t in t < 2 ? (0, 0, 1) : (0.3, 0.6, 0.7) }
            default: { t in t < 2 ? (0, 0.1, 1) : t < 2.4 ? (4.1, 0.3, 1.2) : (0, 0, 1) }
            }
        let value = try self.most(name, parameter, .number(small), rate: 400, seconds: 4, motion)
        try Edge(name, parameter, value) {
            try !self.hits(name, [parameter: $0], rate: 400, seconds: 4, motion).isEmpty
        }.check()
    }

    /// Three swings of 1.5 g, 100 ms apart.
    @Test func ofShake() throws {
        let swings: Motion = { t in
            t < 0.95 || t > 1.25 ? (0, 0, 1) : ((Int((t * 10).rounded()) % 2 == 0 ? 1.5 : -1.5), 0, 0)
        }
        func fires(_ options: [String: OptionValue]) throws -> Bool {
            try !self.hits("shake", options, rate: 10, seconds: 3, swings).isEmpty
        }
        let every: OptionValue = .text("100ms")
        let low: OptionValue = .number(1.2)
        try Edge("shake", "threshold", 1.5) { try fires(["threshold": $0, "every": every]) }.check()
        try Edge("shake", "count", 3, step: 1) {
            try fires(["count": $0, "threshold": low, "every": every])
        }.check()
        try Edge("shake", "within", 200_000, step: 1, Self.microseconds) {
            try fires(["within": $0, "threshold": low, "every": every])
        }.check()
    }

    @Test func ofTilted() throws {
        let jolt: Motion = { t in t < 1 ? (0, 0.5, 1) : (0.25, 2.5, 1) }
        func fires(_ options: [String: OptionValue]) throws -> Bool {
            try !self.hits("shake.tilted", options, rate: 10, seconds: 1.1, jolt).isEmpty
        }
        try Edge("shake.tilted", "threshold", 2.5) { try fires(["threshold": $0, "angle": .number(0.1)]) }.check()
        // The angle of the filtered x and y at the jolt, filtered twice as the article does.
        var (x, y) = (0.0, 0.0)
        for look in 0..<12 {
            let (jx, jy) = look < 10 ? (0.0, 0.5) : (0.25, 2.5)
            x = 0.1 * jx + (1 - 0.1) * x
            y = 0.1 * jy + (1 - 0.1) * y
        }
        try Edge("shake.tilted", "angle", Mathematics.arctangent(y, x)) {
            try fires(["threshold": .number(2), "angle": $0])
        }.check()
    }

    @Test func ofFreeFall() throws {
        // Nothing weighs more than a quarter from 1.00 s to 1.50 s.
        let fall: Motion = { t in (0, 0, t >= 0.995 && t < 1.505 ? 0.25 : 1) }
        func fires(_ options: [String: OptionValue]) throws -> Bool {
            try !self.hits("free-fall", options, rate: 100, seconds: 3, fall).isEmpty
        }
        try Edge("free-fall", "threshold", 0.25) { try fires(["threshold": $0]) }.check()
        try Edge("free-fall", "for", 500_000, step: 1, Self.microseconds) { try fires(["for": $0]) }.check()
    }

    @Test func ofStill() throws {
        let swing: Motion = { t in (0, 0, Int((t * 10).rounded()) % 2 == 0 ? 1 : 1.25) }
        try Edge("still", "threshold", 0.25) {
            try !self.hits("still", ["threshold": $0, "for": .text("2s")], rate: 10, seconds: 6, swing).isEmpty
        }.check()
        // Still from the first sample to the last, 5.9 s later.
        try Edge("still", "for", 5_900_000, step: 1, Self.microseconds) {
            try !self.hits("still", ["for": $0], rate: 10, seconds: 6) { _ in (0, 0, 1) }.isEmpty
        }.check()
    }

    @Test func ofTheFlip() throws {
        let flip: Motion = { t in
            let share = min(max((t - 2) / 0.6, 0), 1)
            return (0, 1 - abs(1 - 2 * share), 1 - 2 * share)
        }
        let done = try #require(
            self.hits("flip.face-down", ["within": .text("10s")], rate: 100, seconds: 5, flip).first)
        var engine = DetectionEngine([
            try detector(
                "lowpass(z, 100ms) > 0.94g", ["every": .text("50ms"), "rest": .count(0), "rest-mode": .text("none")])
        ])
        let left = try #require(engine.run(trace(rate: 100, seconds: 5, flip)).last)
        let span = Double((done.time - left.time).microseconds)
        // Only one look may see it lie: whoever comes too late then does not come later.
        let seconds = (done.time - .seconds(10)).microseconds
        try Edge("flip.face-down", "within", span, step: 1, Self.microseconds) {
            try !self.hits(
                "flip.face-down", ["within": $0], rate: 100, seconds: Double(seconds) / 1_000_000 + 0.01, flip
            ).isEmpty
        }.check()
    }

    @Test func ofTheDoubleTapsTime() throws {
        let knocks: Motion = { t in (0, 0, t >= 0.9975 && t < 1.01 || t >= 1.2475 && t < 1.26 ? 3 : 1) }
        // A window is kept in 32 slices, so it tells times apart by one of them.
        try Edge("double-tap", "within", 250_000, step: 8_100, Self.microseconds) {
            try !self.hits("double-tap", ["within": $0], rate: 200, seconds: 3, knocks).isEmpty
        }.check()
    }

    // MARK: Places

    /// Fixes at 46 degrees north, so many degrees east of the first, and so many seconds apart.
    private func fires(
        _ name: String, _ options: [String: OptionValue], _ fixes: [(east: Double, seconds: Double)]
    ) throws -> [Hit] {
        var block = SampleBlock(channels: 5)
        var time = 10.0
        for fix in fixes {
            time += fix.seconds
            block.append(Timestamp(microseconds: Int64((time * 1_000_000).rounded())), [46, 14 + fix.east, 1, 90, 0])
        }
        var engine = DetectionEngine(
            channels: SensorDescription.channels(of: "location"), gap: SensorLimits.gap(of: "location"))
        engine.add(try preset(name, options), as: DetectorID(0), at: .zero)
        return engine.run(block)
    }

    @Test func ofPlaces() throws {
        let start = try #require(Position(latitude: 46, longitude: 14))
        let away = try #require(Position(latitude: 46, longitude: 14.01))
        let distance = start.distance(to: away)
        try Edge("location.distance", "distance", distance) {
            try self.fires("location.distance", ["distance": $0], [(0, 0), (0.01, 1)]).count == 2
        }.check()
        try Edge("location.visit", "radius", distance) {
            try !self.fires("location.visit", ["radius": $0], [(0, 0), (0.01, 300)]).isEmpty
        }.check()
        try Edge("location.visit", "for", 300_000_000, step: 1, Self.microseconds) {
            try !self.fires("location.visit", ["for": $0], [(0, 0), (0, 300)]).isEmpty
        }.check()

        // A circle has an inside and an outside, and what is on it is neither.
        func circle(_ radius: Double, _ fixes: [Double]) throws -> [Hit] {
            let options: [String: OptionValue] = [
                "latitude": .number(46), "longitude": .number(14), "radius": .number(radius),
            ]
            return try self.fires("geofence", options, fixes.map { ($0, 1) })
        }
        #expect(try circle(distance, [0.01]).isEmpty)
        #expect(try circle(distance.nextUp, [0.01]).count == 1)
        #expect(try circle(distance, [0, 0.01]).count == 1)
        #expect(try circle(distance.nextDown, [0, 0.01]).count == 2)
        let help = PresetCatalogue.named("geofence")?.parameters.last?.help ?? ""
        #expect(help.contains("(<)") && help.contains("(>)"))
    }

    /// The article's filter is set when it is off by more than the share.
    @Test func ofTheSmoothing() throws {
        var exact = AdaptiveFilter(smoothing: 0.2)
        let isSetExactly = exact.adjust(to: 6)
        #expect(!isSetExactly)
        var less = AdaptiveFilter(smoothing: 0.19)
        let isSet = less.adjust(to: 6)
        #expect(isSet)
        #expect(PresetCatalogue.named("location.adaptive")?.parameters.first?.help.contains("(>)") == true)
    }

    /// The orientation has no threshold to set, and its own is the cosine of an angle.
    @Test func ofTheOrientation() throws {
        for (share, sides) in [(0.87, 1), (0.86, 0)] {
            let turned: Motion = { t in t < 2 ? (0, 0, 1) : (share, (1 - share * share).squareRoot(), 0) }
            #expect(try self.hits("orientation", [:], rate: 50, seconds: 8, turned).count == sides, "\(share)")
        }
    }

    /// No parameter that something is compared with is left out: those without a bound say why in words.
    @Test func allAreHere() {
        let silent = PresetCatalogue.all.flatMap { preset in
            preset.parameters.filter { $0.bound == nil }.map { "\(preset.name) \($0.name)" }
        }
        #expect(
            silent == [
                "orientation settle", "orientation rhythm", "orientation.screen settle", "orientation.screen rhythm",
                "location.adaptive smoothing", "geofence latitude", "geofence longitude",
                "geofence radius",
            ])
    }
}
