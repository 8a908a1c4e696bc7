import Detection
import Motion
import Teaching
import TestSupport
import Traces

/// What taught gestures cost a sample, by how many there are, beside the plain way: each example is warped along the stream.
///
/// The motion is made, at 50 samples a second: half of it walks, half what hands do with a device between pauses. A day has
/// far more rest in it, and so costs less. Every gesture has five examples.
enum GestureBenchmark {
    private static let counts = [1, 100]
    private static let examples = 5

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        // Twenty minutes, or the whole two hours.
        var blocks: [SampleBlock] = []
        EverydayMotion.make(minutes: plan.isWhole ? 60 : 10) { blocks.append($0) }
        let samples = blocks.reduce(0) { $0 + $1.count }
        let most = self.counts.max() ?? 1
        let gestures = try self.gestures(most)
        var single: [Double] = []
        for count in self.counts {
            var pairs = Pairs()
            var beside = Pairs()
            for round in 0..<plan.longRounds {
                var engine = BenchEngine()
                for (index, gesture) in gestures.prefix(count).enumerated() {
                    engine.add(try self.detector(gesture), as: UInt32(index))
                }
                let ours = self.nanoseconds(blocks, samples) { times, values in engine.look(times, values) }
                // The plain way takes as long for each gesture, so of a hundred one is measured.
                var plain = PlainWarping(gestures[0])
                let theirs = self.nanoseconds(blocks, samples) { _, values in plain.look(values) }
                guard plain.nearest.isFinite else { throw Failure("nothing was warped") }
                pairs.add(ours: ours, baseline: theirs * Double(count))
                if count == 1 { single.append(ours) } else { beside.add(ours: ours, baseline: single[round]) }
            }
            report(pairs.figure("gesture.\(count)", "ns/sample", .saving))
            // They share what finds motions, and nothing is compared while none ends.
            if count > 1 { report(beside.figure("gesture.\(count)-to-1", "ns/sample", within: .atMost(Double(count)))) }
        }
    }

    private static func detector(_ gesture: TaughtGesture) throws(Failure) -> CompiledDetector {
        try compile(
            DetectorRequest(
                name: gesture.name,
                options: [
                    "preset": .text("gesture"), CompiledDetector.gestureKey: .text(GestureText.write(gesture)),
                ]))
    }

    /// Gestures of a hand, made from a seed, no two alike.
    private static func gestures(_ count: Int) throws(Failure) -> [TaughtGesture] {
        var chance = Chance(seed: 5)
        var gestures: [TaughtGesture] = []
        while gestures.count < count {
            var examples: [TaughtGesture.Example] = []
            while examples.count < self.examples {
                if let found = MotionFinder.found(HandMotion(&chance)) { examples.append(found.example) }
            }
            gestures.append(TaughtGesture(name: "gesture-\(gestures.count)", limit: 1.1, examples: examples))
        }
        return gestures
    }

    private static func nanoseconds(
        _ blocks: [SampleBlock], _ samples: Int, _ look: (Span<Int64>, Span<Double>) -> Void
    ) -> Double {
        let began = ProcessorClock.now()
        for block in blocks {
            // As a reader sends them.
            for first in stride(from: 0, to: block.count, by: 64) {
                let rows = first..<min(block.count, first + 64)
                look(
                    block.times.span.extracting(rows),
                    block.values.span.extracting(3 * rows.lowerBound..<3 * rows.upperBound))
            }
        }
        return (ProcessorClock.now() - began) / Double(max(1, samples))
    }
}

/// The plain rival: of each example a column of the warping table goes along with the stream, and any sample may be the first.
struct PlainWarping {
    private let examples: [[SIMD3<Double>]]
    private var columns: [[Double]]
    /// The least distance of a stretch of the stream to an example, so far.
    private(set) var nearest = Double.infinity

    init(_ gesture: TaughtGesture) {
        self.examples = gesture.examples.map { example in
            (0..<TaughtGesture.Limits.points).map { example.point($0) }
        }
        self.columns = self.examples.map { [Double](repeating: .infinity, count: $0.count + 1) }
    }

    mutating func look(_ values: Span<Double>) {
        for row in stride(from: 0, to: values.count, by: 3) {
            let sample = SIMD3(values[row], values[row + 1], values[row + 2])
            for example in self.examples.indices { self.look(sample, example) }
        }
    }

    private mutating func look(_ sample: SIMD3<Double>, _ example: Int) {
        let points = self.examples[example]
        var column: [Double] = []
        swap(&column, &self.columns[example])
        defer { swap(&column, &self.columns[example]) }
        // The place before the first point costs nothing: a gesture may begin here.
        var before = 0.0
        column[0] = 0
        for point in points.indices {
            let offset = sample - points[point]
            let cost = (offset * offset).sum()
            let next = cost + min(before, min(column[point + 1], column[point]))
            before = column[point + 1]
            column[point + 1] = next
        }
        self.nearest = min(self.nearest, column[points.count])
    }
}
