/// Compares a motion that ended with a taught gesture.
///
/// The distance to an example is that of the numbers of the whole and of the runs, which may be stretched in time against
/// each other (dynamic time warping). That to the gesture is the mean of the two nearest examples, of which the nearest weighs
/// a little more: two agree. It counts the more the commoner the motion is (`GestureBackground`). Half the score is at the
/// gesture's own limit. A motion hits when its score is high enough, or a little too low twice in a row.
///
/// Layout of its numbers: the score, when it was a little too low, when it last hit; then the gesture's `table`.
enum GestureMatch {
    static let size = 3
    /// Places that one run may be ahead of the other.
    private static let band = 14
    /// What is missing to a score that counts only when it comes twice.
    static let slack = 0.06
    /// How much of the distance is that of the nearest example.
    private static let nearest = 0.6
    /// The time in which it must come twice, in µs.
    private static let patience = 3_000_000.0

    /// Takes the motion at `place`; returns 1 for a hit. `node` has the least score and the rest in µs.
    static func take(
        _ state: inout MutableSpan<Double>, at base: Int, motion place: Int, _ node: Instruction, now: Double
    ) -> Double {
        let table = base + self.size
        let limit = state[table]
        let most = 2 * limit * (1 - node.p + self.slack)
        let shape = place + MotionSegmenter.Kept.shape
        var distance = self.distance(state.span, from: shape, to: table, within: most)
        // How rare it is only makes it further: what is too far already need not be asked for that.
        if distance <= most {
            if state[place + MotionSegmenter.Kept.rarity].isNaN {
                state[place + MotionSegmenter.Kept.rarity] = GestureBackground.rarity(state.span, at: shape)
            }
            distance /= state[place + MotionSegmenter.Kept.rarity]
        }
        let score = self.score(distance, limit: limit)
        state[base] = score
        let isNear = score >= node.p - self.slack
        let wasNear = now - state[base + 1] <= self.patience
        state[base + 1] = isNear ? now : .nan
        guard score >= node.p || isNear && wasNear, !(now - state[base + 2] < node.q) else { return 0 }
        state[base + 1] = .nan
        state[base + 2] = now
        return 1
    }

    /// 1 for the very motion, a half at the limit, 0 from twice that on.
    static func score(_ distance: Double, limit: Double) -> Double { max(0, 1 - distance / (2 * limit)) }

    /// The distance between the shape at `place` and the examples of a table, however rare it is; infinite when it is surely
    /// beyond `most`.
    static func distance(_ numbers: Span<Double>, from place: Int, to table: Int, within most: Double) -> Double {
        let count = Int(numbers[table + 1])
        var (nearest, second) = (Double.infinity, Double.infinity)
        for example in 0..<count {
            let other = table + 2 + example * GestureShape.size
            // The mean of two is beyond when one of them is beyond its share of that.
            let distance = self.distance(numbers, place, numbers, other, within: most / (1 - self.nearest))
            if distance < nearest {
                (nearest, second) = (distance, nearest)
            } else if distance < second {
                second = distance
            }
        }
        return count > 1 ? self.nearest * nearest + (1 - self.nearest) * second : nearest
    }

    /// The distance between two shapes; infinite when it is beyond `most`.
    static func distance(
        _ numbers: Span<Double>, _ place: Int, _ others: Span<Double>, _ other: Int, within most: Double
    ) -> Double {
        let runs = GestureShape.steps * GestureShape.width
        var square = 0.0
        for index in runs..<GestureShape.size {
            let difference = numbers[place + index] - others[other + index]
            square += difference * difference
        }
        guard square <= most * most else { return .infinity }
        let rest = (most * most - square) * Double(GestureShape.steps)
        let warped = self.warped(numbers, place, others, other, within: rest)
        return (square + warped / Double(GestureShape.steps)).squareRoot()
    }

    /// The least sum of squares along a path through both runs.
    private static func warped(
        _ numbers: Span<Double>, _ place: Int, _ others: Span<Double>, _ other: Int, within most: Double
    ) -> Double {
        typealias Row = InlineArray<33, Double>
        var row = Row(repeating: .infinity)
        row[0] = 0
        for step in 1...GestureShape.steps {
            var next = Row(repeating: .infinity)
            var least = Double.infinity
            let at = place + (step - 1) * GestureShape.width
            let (a, b) = (self.half(numbers, at), self.half(numbers, at + 3))
            for against in max(1, step - self.band)...min(GestureShape.steps, step + self.band) {
                let to = other + (against - 1) * GestureShape.width
                let (c, d) = (a - self.half(others, to), b - self.half(others, to + 3))
                let cost = (c * c + d * d).sum()
                next[against] = cost + min(row[against - 1], min(row[against], next[against - 1]))
                least = min(least, next[against])
            }
            guard least <= most else { return .infinity }
            row = next
        }
        return row[GestureShape.steps]
    }

    private static func half(_ numbers: Span<Double>, _ place: Int) -> SIMD3<Double> {
        SIMD3(numbers[place], numbers[place + 1], numbers[place + 2])
    }
}
