package import Detection
import Motion

/// Makes a gesture of examples: says which of them does not belong, and how far from them a motion may be.
package enum GestureTeacher {
    /// An example, and what people call it.
    package struct Lesson: Sendable {
        package var source: String
        package var motion: MotionFinder.Found

        package init(source: String, motion: MotionFinder.Found) {
            self.source = source
            self.motion = motion
        }
    }

    /// Why nothing was learned.
    package enum Problem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
        case tooFew(Int)
        case tooMany(Int)
        /// One example is far from all others, which are nearer to each other.
        case odd(source: String, distance: Double, others: Double)

        package var description: String {
            switch self {
            case .tooFew(let count):
                "\(count) example\(count == 1 ? "" : "s"): give three to five, "
                    + "\(TaughtGesture.Limits.examples.lowerBound) at least"
            case .tooMany(let count):
                "\(count) examples: give three to five, \(TaughtGesture.Limits.examples.upperBound) at most"
            case .odd(let source, let distance, let others):
                "\(source) does not resemble the others: it is \(Self.plain(distance)) from the nearest of them, "
                    + "and they are \(Self.plain(others)) from each other"
            }
        }

        private static func plain(_ value: Double) -> String {
            let hundredths = Int((min(value, 99) * 100).rounded())
            return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
        }
    }

    /// The share of motions that nobody taught which may be taken for the gesture.
    ///
    /// On recorded gestures of ten people this takes 8 of 100 other deliberate gestures, and 95 of 100 of the same.
    package static let share = 0.09
    /// Beyond this distance from all others an example is none of them, if they are clearly nearer to each other.
    private static let oddDistance = 1.8
    private static let oddRatio = 1.2
    /// Beyond this it is worth a word.
    private static let doubtfulDistance = 1.45

    /// The motion of a stream that an example shows: the strongest.
    package static func example(in motions: [MotionFinder.Found]) -> MotionFinder.Found? {
        motions.max { $0.strength < $1.strength }
    }

    /// The gesture that the examples show.
    ///
    /// - Parameter anyway: also when one of them is odd.
    package static func teach(
        _ name: String, _ lessons: [Lesson], anyway: Bool = false
    ) throws(Problem) -> TaughtGesture {
        let limits = TaughtGesture.Limits.examples
        guard lessons.count >= limits.lowerBound else { throw .tooFew(lessons.count) }
        guard lessons.count <= limits.upperBound else { throw .tooMany(lessons.count) }
        let oddest = self.distances(lessons).enumerated().max { $0.element < $1.element }
        if !anyway, let oddest, oddest.element > self.oddDistance {
            var others = lessons
            others.remove(at: oddest.offset)
            let rest = self.distances(others).sorted()
            let middle = rest.count > 1 ? rest[rest.count / 2] : oddest.element
            if lessons.count == 2 || oddest.element > self.oddRatio * middle {
                throw .odd(source: lessons[oddest.offset].source, distance: oddest.element, others: middle)
            }
        }
        let examples = lessons.map(\.motion.example)
        let open = TaughtGesture(name: name, limit: TaughtGesture.Limits.limit.upperBound, examples: examples)
        let taken = Int(self.share * Double(GestureCohort.count))
        let limit = open.nearest(taken + 1, of: GestureCohort.shapes)[taken]
        // As the file will have it; rounded up it would take another one.
        return TaughtGesture(name: name, limit: (limit * 1_000).rounded(.down) / 1_000, examples: examples)
    }

    /// The examples that are far from the others, though not too far.
    package static func doubtful(_ lessons: [Lesson]) -> [Lesson] {
        zip(lessons, self.distances(lessons)).filter { $0.1 > self.doubtfulDistance }.map(\.0)
    }

    /// How far each example is from the nearest other one.
    private static func distances(_ lessons: [Lesson]) -> [Double] {
        lessons.indices.map { index in
            lessons.indices.filter { $0 != index }.map {
                TaughtGesture.distance(lessons[index].motion.shape, lessons[$0].motion.shape)
            }.min() ?? 0
        }
    }
}
