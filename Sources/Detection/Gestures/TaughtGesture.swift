/// A gesture that was taught: examples of it, and how far from them a motion may be.
///
/// It does not change, so that all who have it share it. Two are equal when they find the same, whatever their names.
package final class TaughtGesture: Sendable {
    /// A motion: how long it took, and its acceleration with gravity at 48 moments, in hundredths of g.
    package struct Example: Equatable, Sendable {
        package let seconds: Double
        /// x, y and z of each moment.
        package let values: [Int16]

        /// An example of measured values in g, x, y and z of each moment.
        package init(seconds: Double, measured: [Double]) {
            self.seconds = max(Limits.seconds.lowerBound, min(seconds, Limits.seconds.upperBound))
            let most = Double(Limits.hundredths)
            self.values = measured.map { Int16(max(-most, min(most, ($0 * 100).rounded()))) }
        }

        init(seconds: Double, values: [Int16]) {
            self.seconds = seconds
            self.values = values
        }

        /// The acceleration of a moment, in g.
        package func point(_ index: Int) -> SIMD3<Double> {
            SIMD3(
                Double(self.values[index * 3]), Double(self.values[index * 3 + 1]), Double(self.values[index * 3 + 2]))
                / 100
        }

        /// What is compared of it.
        package var shape: [Double] {
            var points = GestureShape.Points(repeating: .zero)
            for index in 0..<GestureShape.points { points[index] = self.point(index) }
            var numbers = [Double](repeating: 0, count: GestureShape.size)
            var span = numbers.mutableSpan
            GestureShape.write(points, seconds: self.seconds, to: &span, at: 0)
            return numbers
        }
    }

    /// What a gesture may be.
    package enum Limits {
        package static let examples = 2...8
        package static let seconds = 0.1...4.0
        /// The largest magnitude of a value, in hundredths of g.
        package static let hundredths: Int16 = 6_400
        package static let limit = 0.05...4.0
        /// Bytes of a file.
        package static let bytes = 16_384
        /// Characters of a name.
        package static let name = 64
        /// Moments of an example.
        package static let points = GestureShape.points
    }

    package let name: String
    /// The distance at which a motion's score is a half.
    package let limit: Double
    package let examples: [Example]
    /// What is compared with: the limit, how many examples, and the shape of each.
    let table: [Double]
    /// What it is looked up by. Made once of all there is: whoever brings gestures could make many that begin alike.
    private let fingerprint: Int

    package init(name: String, limit: Double, examples: [Example]) {
        self.name = name
        self.limit = max(Limits.limit.lowerBound, min(limit, Limits.limit.upperBound))
        self.examples = examples
        self.table = [self.limit, Double(examples.count)] + examples.flatMap(\.shape)
        var hasher = Hasher()
        for number in self.table { hasher.combine(number.bitPattern) }
        self.fingerprint = hasher.finalize()
    }

    /// The score of a shape: 1 for an example, a half at the limit.
    package func score(of shape: [Double]) -> Double {
        GestureMatch.score(self.distance(of: shape), limit: self.limit)
    }

    /// How far a shape is from the gesture: the further, the commoner it is.
    package func distance(of shape: [Double]) -> Double {
        self.plainDistance(of: shape) / GestureBackground.rarity(shape.span, at: 0)
    }

    private func plainDistance(of shape: [Double]) -> Double {
        let numbers = shape + self.table
        return GestureMatch.distance(numbers.span, from: 0, to: shape.count, within: 1e6)
    }

    /// How far the nearest of some shapes are from the gesture, in order: so many as are asked for.
    package func nearest(_ count: Int, of shapes: [[Double]]) -> [Double] {
        let order = shapes.map { (plain: self.plainDistance(of: $0), shape: $0) }.sorted { $0.plain < $1.plain }
        var nearest: [Double] = []
        for (plain, shape) in order {
            // How rare a shape is only makes it further.
            if nearest.count >= count, plain >= nearest[count - 1] { break }
            let distance = plain / GestureBackground.rarity(shape.span, at: 0)
            nearest.insert(distance, at: nearest.firstIndex { $0 > distance } ?? nearest.endIndex)
        }
        return Array(nearest.prefix(count))
    }

    /// How far two shapes are from each other.
    package static func distance(_ a: [Double], _ b: [Double]) -> Double {
        GestureMatch.distance(a.span, 0, b.span, 0, within: 1e6)
    }

    /// True for letters, digits, dots, hyphens and underscores, which need no quotes anywhere.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= Limits.name
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension TaughtGesture: Hashable {
    package static func == (a: TaughtGesture, b: TaughtGesture) -> Bool {
        a === b || a.fingerprint == b.fingerprint && a.table == b.table
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.fingerprint)
    }
}
