import Motion
import Testing

@testable import Detection

/// How far a motion is from examples: after a small turn, and by the nearest three.
@Suite struct GestureDistanceTests {
    /// A circle that is made while the device is held turned by an angle about an axis.
    private static func shape(turnedBy angle: Double, about axis: SIMD3<Double>) throws -> [Double] {
        let (sine, cosine) = Mathematics.sineAndCosine(angle)
        func across(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
            SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }
        var finder = MotionFinder()
        var found: [MotionFinder.Found] = []
        for index in 0..<150 {
            let (x, y, z) = MadeGesture.circle.at(Double(index) / 50 - 1)
            let value = SIMD3(x, y, z)
            let turned = value * cosine + across(axis, value) * sine + axis * ((axis * value).sum() * (1 - cosine))
            if let one = finder.take(turned, at: Int64(index + 1) * 20_000) { found.append(one) }
        }
        return try #require(found.first).shape
    }

    private static func run(_ shape: [Double], _ step: Int) -> SIMD3<Double> {
        let place = step * GestureShape.width
        return SIMD3(shape[place], shape[place + 1], shape[place + 2])
    }

    @Test(arguments: [SIMD3(1.0, 0, 0), SIMD3(0, -1, 0), SIMD3(0, 0, 1), SIMD3(0.48, 0.6, -0.64)], [0.1, 0.25, 0.4])
    func aSmallTurnIsFound(_ axis: SIMD3<Double>, _ angle: Double) throws {
        let plain = try Self.shape(turnedBy: 0, about: axis)
        let held = try Self.shape(turnedBy: angle, about: axis)
        let turn = GestureTurn(held.span, 0, plain.span, 0)
        for step in 0..<GestureShape.steps {
            let left = turn.turned(Self.run(held, step)) - Self.run(plain, step)
            let apart = Self.run(held, step) - Self.run(plain, step)
            #expect((left * left).sum() <= 0.1 * (apart * apart).sum() + 0.003, "step \(step): \(left)")
        }
        // The turn costs a little, and next to nothing is left between the directions of gravity.
        #expect(turn.square < 0.08 * angle * angle)
        #expect(TaughtGesture.distance(held, plain) < 1.2 * angle + 0.01)
    }

    /// A turn keeps lengths, and has an end.
    @Test func aLargeTurnIsNone() throws {
        let axis = SIMD3(1.0, 0, 0)
        let plain = try Self.shape(turnedBy: 0, about: axis)
        for angle in [1.0, 2, 3] {
            let held = try Self.shape(turnedBy: angle, about: axis)
            let turn = GestureTurn(held.span, 0, plain.span, 0)
            for vector in [SIMD3(1.0, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1), SIMD3(0.6, 0, -0.8)] {
                let turned = turn.turned(vector)
                #expect(abs((turned * turned).sum() - 1) < 1e-12)
                // The cosine of 28.1 degrees.
                #expect((turned * vector).sum() > 0.882)
            }
            #expect(TaughtGesture.distance(held, plain) > 0.5, "\(angle)")
        }
        // What does not differ is not turned, and a motion without any strength is held against another like any.
        #expect(GestureTurn(plain.span, 0, plain.span, 0).square < 1e-20)
        let nothing = [Double](repeating: 0, count: GestureShape.size)
        #expect(TaughtGesture.distance(nothing, plain).isFinite)
        #expect(TaughtGesture.distance(plain, nothing).isFinite)
    }

    /// The mean of the nearest three, whatever the order of the examples, and exact where it is within the bound.
    @Test(arguments: 2...6)
    func theNearestThreeCount(_ count: Int) throws {
        var chance = Chance(seed: UInt64(count))
        var found: [MotionFinder.Found] = []
        while found.count < count + 20 {
            if let one = MotionFinder.found(HandMotion(&chance)) { found.append(one) }
        }
        let examples = found.prefix(count).map(\.example)
        let shapes = examples.map(\.shape)
        let weights = count == 2 ? [0.625, 0.375] : [0.5, 0.3, 0.2]
        for turned in 0..<count {
            let order = Array(examples[turned...] + examples[..<turned])
            let gesture = TaughtGesture(name: "some", limit: 1, examples: order)
            for motion in found.dropFirst(count) {
                let distances = shapes.map { TaughtGesture.distance(motion.shape, $0) }.sorted()
                let plain = zip(weights, distances).reduce(0) { $0 + $1.0 * $1.1 }
                let numbers = motion.shape + gesture.table
                func distance(_ most: Double) -> Double {
                    GestureMatch.distance(numbers.span, from: 0, to: motion.shape.count, within: most)
                }
                #expect(abs(distance(1e6) - plain) < 1e-9)
                #expect(abs(distance(plain + 1e-6) - plain) < 1e-9)
                #expect(distance(plain * 0.8) > plain * 0.8)
            }
        }
    }
}
