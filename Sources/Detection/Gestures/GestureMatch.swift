/// Compares a motion that ended with a taught gesture.
///
/// The distance to an example is that of the numbers of the whole and of the runs, after a small turn (`GestureTurn`). Runs
/// may be stretched in time against each other (dynamic time warping). That to the gesture is the mean of the three nearest
/// examples, of which the nearer weigh more: they agree. It counts the more the commoner the motion is
/// (`GestureBackground`). Half the score is at the gesture's own limit. A motion hits when its score is high enough, or a
/// little too low twice in a row.
///
/// Layout of its numbers: the score, when it was a little too low, when it last hit; then the gesture's `table`.
enum GestureMatch {
    static let size = 3
    /// Places that one run may be ahead of the other.
    private static let band = 14
    /// What is missing to a score that counts only when it comes twice.
    static let slack = 0.06
    /// How much the nearest examples weigh in a distance.
    private static let weights = SIMD3(0.5, 0.3, 0.2)
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
        var nearest = SIMD3<Double>(repeating: .infinity)
        let weights = self.weights(of: count)
        // The mean is beyond when one of them is beyond its share of that; what is further than three others weighs nothing.
        var within = most / weights[min(count, 3) - 1]
        for example in 0..<count {
            let other = table + 2 + example * GestureShape.size
            let distance = self.distance(numbers, place, numbers, other, within: within)
            if distance < nearest.x {
                nearest = SIMD3(distance, nearest.x, nearest.y)
            } else if distance < nearest.y {
                nearest = SIMD3(nearest.x, distance, nearest.y)
            } else if distance < nearest.z {
                nearest.z = distance
            }
            within = min(within, nearest.z)
        }
        // What weighs nothing may be infinite.
        for rank in 0..<3 where weights[rank] == 0 { nearest[rank] = 0 }
        return (nearest * weights).sum()
    }

    /// The weights of the three nearest of some examples, of which there may be fewer.
    private static func weights(of count: Int) -> SIMD3<Double> {
        var weights = self.weights
        for rank in 0..<3 where rank >= count { weights[rank] = 0 }
        return weights / weights.sum()
    }

    /// The distance between two shapes; infinite when it is beyond `most`.
    static func distance(
        _ numbers: Span<Double>, _ place: Int, _ others: Span<Double>, _ other: Int, within most: Double
    ) -> Double {
        var square = 0.0
        for index in GestureShape.steps * GestureShape.width..<GestureShape.size {
            // How the turn leaves gravity is known only then.
            if GestureShape.gravity..<GestureShape.gravity + 3 ~= index { continue }
            let difference = numbers[place + index] - others[other + index]
            square += difference * difference
        }
        guard square <= most * most else { return .infinity }
        let turn = GestureTurn(numbers, place, others, other)
        square += turn.square
        guard square <= most * most else { return .infinity }
        let rest = (most * most - square) * Double(GestureShape.steps)
        let warped = self.warped(numbers, place, turn, others, other, within: rest)
        return (square + warped / Double(GestureShape.steps)).squareRoot()
    }

    /// The least sum of squares along a path through both runs, of which the first is turned.
    private static func warped(
        _ numbers: Span<Double>, _ place: Int, _ turn: GestureTurn, _ others: Span<Double>, _ other: Int,
        within most: Double
    ) -> Double {
        typealias Row = InlineArray<33, Double>
        var row = Row(repeating: .infinity)
        row[0] = 0
        for step in 1...GestureShape.steps {
            var next = Row(repeating: .infinity)
            var least = Double.infinity
            let at = place + (step - 1) * GestureShape.width
            let (a, b) = (turn.turned(self.half(numbers, at)), turn.turned(self.half(numbers, at + 3)))
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
