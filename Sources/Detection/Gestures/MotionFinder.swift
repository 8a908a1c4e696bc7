/// Finds the motions in samples as the engine does, for whoever teaches gestures.
package struct MotionFinder: Sendable {
    /// A motion that was found.
    package struct Found: Sendable {
        /// When it began and ended, in µs.
        package let start: Int64
        package let end: Int64
        package let example: TaughtGesture.Example
        /// What is compared of it, as measured.
        package let shape: [Double]
        /// The mean strength of what is added to gravity, in g.
        package let strength: Double
    }

    private var state = [Double](repeating: .nan, count: MotionSegmenter.size)

    package init() {}

    /// What is found of a made motion between two calm moments: of several the strongest.
    package static func found(_ motion: HandMotion) -> Found? {
        var finder = MotionFinder()
        var found: Found?
        let calm = 30
        for index in 0..<motion.cells.count + 2 * calm {
            let cell = motion.cells[max(0, min(motion.cells.count - 1, index - calm))]
            if let one = finder.take(cell, at: Int64(index + 1) * HandMotion.cell) {
                if one.strength > found?.strength ?? 0 { found = one }
            }
        }
        return found
    }

    /// Takes a sample; returns the motion that ended with it. Times must rise.
    package mutating func take(_ sample: SIMD3<Double>, at time: Int64) -> Found? {
        var state = self.state.mutableSpan
        let place = Int(MotionSegmenter.take(&state, at: 0, sample, now: Double(time))) - 1
        guard place >= 0 else { return nil }
        func number(_ offset: Int) -> Double { self.state[place + offset] }
        typealias Kept = MotionSegmenter.Kept
        let points = Array(self.state[place + Kept.points..<place + Kept.shape])
        let cell = Int64(MotionSegmenter.cell)
        var (sum, squares) = (SIMD3<Double>.zero, SIMD3<Double>.zero)
        for index in 0..<GestureShape.points {
            let point = SIMD3(points[index * 3], points[index * 3 + 1], points[index * 3 + 2])
            sum += point
            squares += point * point
        }
        let mean = sum / Double(GestureShape.points)
        let variance = (squares / Double(GestureShape.points) - mean * mean).sum()
        return Found(
            start: time - Int64(number(Kept.began)) * cell, end: time - Int64(number(Kept.ended)) * cell,
            example: TaughtGesture.Example(seconds: number(Kept.seconds), measured: points),
            shape: Array(self.state[place + Kept.shape..<place + Kept.shape + GestureShape.size]),
            strength: max(0, variance).squareRoot())
    }
}
