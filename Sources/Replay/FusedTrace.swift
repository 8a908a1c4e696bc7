import Motion
import SensorCore
import Traces

/// Makes the samples of the sensor `motion` for a trace that has none, as the reader makes them: of its accelerometer, and of
/// its gyroscope where it has one.
struct FusedTrace {
    private let accelerometer: Int
    private let gyroscope: Int?
    private var fusion = MotionFusion()
    /// When the accelerometer was read last.
    private var last: Int64?
    /// What was made of the rows taken last.
    private(set) var block = SampleBlock(channels: FusedTrace.channels.count)

    static let channels = SensorDescription.channels(of: SensorDescription.motion)

    /// `nil` for a trace without an accelerometer.
    init?(_ header: TraceHeader) {
        guard let accelerometer = header.index(of: SensorDescription.accelerometer),
            header.sensors[accelerometer].channels.count == 3
        else { return nil }
        self.accelerometer = accelerometer
        self.gyroscope = header.index(of: SensorDescription.gyroscope).flatMap {
            header.sensors[$0].channels.count == 3 ? $0 : nil
        }
        self.fusion.isFollowed = self.gyroscope != nil
    }

    /// Takes the next rows of both, in the order of their times.
    mutating func take(_ blocks: [SampleBlock]) {
        self.block.removeAll()
        let accelerations = blocks[self.accelerometer]
        let rotations = self.gyroscope.map { blocks[$0] } ?? SampleBlock(channels: 3)
        var (next, turn) = (0, 0)
        while next < accelerations.count || turn < rotations.count {
            let isTurn =
                turn < rotations.count
                && (next >= accelerations.count || rotations.times[turn] <= accelerations.times[next])
            if isTurn {
                self.fusion.rotate(
                    Self.vector(rotations, turn), at: Timestamp(microseconds: rotations.times[turn]))
                turn += 1
            } else {
                self.accelerate(Self.vector(accelerations, next), at: accelerations.times[next])
                next += 1
            }
            self.drain()
        }
    }

    /// The trace has ended: what still waits for a turn goes without it.
    mutating func finish() {
        self.block.removeAll()
        self.fusion.isFollowed = false
        self.drain()
    }

    private mutating func accelerate(_ value: SIMD3<Double>, at time: Int64) {
        // What goes back or is no number is refused by the engine, as it would be without us.
        let isNext = time > self.last ?? -1 && value.x.isFinite && value.y.isFinite && value.z.isFinite
        guard isNext else {
            let row = [value.x, value.y, value.z] + [Double](repeating: .nan, count: Self.channels.count - 3)
            return self.block.append(Timestamp(microseconds: time), row)
        }
        if let last, time - last > SensorLimits.gap.microseconds { self.fusion.gap() }
        self.last = time
        self.fusion.accelerate(value, at: Timestamp(microseconds: time))
    }

    private mutating func drain() {
        while let time = self.fusion.next() { self.block.append(time, self.fusion.row) }
    }

    private static func vector(_ block: SampleBlock, _ row: Int) -> SIMD3<Double> {
        SIMD3(block.values[3 * row], block.values[3 * row + 1], block.values[3 * row + 2])
    }
}
