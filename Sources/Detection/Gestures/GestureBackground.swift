/// Motions that nobody taught, made from a seed: what resembles them must be nearer to a gesture than what is like no other.
///
/// A motion that any hand may make lies near to many gestures, whatever they are. So its distance to a gesture is held against
/// the one to what is common: the nearest few of these motions.
package enum GestureBackground {
    /// Another seed than that of the motions which thresholds are held against.
    private static let seed: UInt64 = 77
    private static let count = 64
    static let nearest = 8
    /// The distance to the nearest few that is usual for such motions themselves: what is as far counts in full.
    static let usual = 1.287
    private static let least = 0.3

    /// The shapes of the motions, one after another, always the same. Made when it is first asked for.
    static let shapes: [Double] = {
        var chance = Chance(seed: seed)
        var shapes: [Double] = []
        while shapes.count < count * GestureShape.size {
            if let found = MotionFinder.found(HandMotion(&chance)) { shapes += found.shape }
        }
        return shapes
    }()

    /// Makes the motions, so that no sample waits for it.
    static func prepare() { _ = self.shapes }

    /// How rare the shape at `place` is: 1 for one that is like no other, less for a common one.
    static func rarity(_ numbers: Span<Double>, at place: Int) -> Double {
        let shapes = self.shapes
        var least = InlineArray<8, Double>(repeating: .infinity)
        for other in stride(from: 0, to: shapes.count, by: GestureShape.size) {
            let most = least[self.nearest - 1]
            let distance = GestureMatch.distance(numbers, place, shapes.span, other, within: min(most, 1e6))
            guard distance < most else { continue }
            var rank = self.nearest - 1
            while rank > 0, least[rank - 1] > distance {
                least[rank] = least[rank - 1]
                rank -= 1
            }
            least[rank] = distance
        }
        var sum = 0.0
        for rank in 0..<self.nearest { sum += least[rank] }
        return max(self.least, min(1, sum / (Double(self.nearest) * self.usual)))
    }
}
