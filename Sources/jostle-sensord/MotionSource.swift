import DeviceCore
import Devices
import Motion
import SensorCore

/// The sensor `motion`: made of the accelerometer and, where there is one that works, the gyroscope.
///
/// It claims both as everybody does, only while somebody claims it.
final class MotionSource: FusedSource {
    weak var sink: (any SampleSink)?
    private let accelerometer: SensorService
    private var gyroscope: SensorService?
    var fusion = MotionFusion()
    private var pace: SensorPace?

    /// A gyroscope that is read less often misses too much of a turn.
    private static let slowestTurning = 50.0

    init(of accelerometer: SensorService) {
        self.accelerometer = accelerometer
    }

    /// Whether a gyroscope has ever been there.
    var isFollowing: Bool { self.gyroscope != nil }

    /// There is a gyroscope, for the first time.
    func follow(_ gyroscope: SensorService) {
        self.gyroscope = gyroscope
        if let pace { self.sink?.paceChanged(self.claim(pace)) }
        self.update()
    }

    private var isFollowed: Bool { self.gyroscope?.description.isAvailable ?? false }

    var sensor: SensorDescription {
        let base = self.accelerometer.description
        var sensor = SensorDescription(
            name: SensorDescription.motion, channels: SensorDescription.channels(of: SensorDescription.motion),
            unit: "",
            rates: base.ratesMadeOf, placement: base.placement,
            source: self.isFollowed ? "\(base.name) and \(SensorDescription.gyroscope)" : base.name,
            isSimulated: base.isSimulated, isAvailable: base.isAvailable)
        sensor.isSteady = base.isSteady
        sensor.hasOwnClock = base.hasOwnClock
        return sensor
    }

    var trouble: SensorState? { self.accelerometer.trouble }
    var method: String { self.isFollowed ? "fused" : "filtered" }
    var now: Timestamp { self.accelerometer.now }

    func alarm(for time: Timestamp) -> Int64 { self.accelerometer.alarm(for: time) }

    func run(at pace: SensorPace) -> SensorPace {
        let isNew = self.pace == nil
        self.pace = pace
        self.fusion.isFollowed = self.isFollowed
        if isNew { self.fusion.gap() }
        return self.claim(pace)
    }

    private func claim(_ pace: SensorPace) -> SensorPace {
        var pace = pace
        if self.gyroscope != nil { pace.rate = max(pace.rate, Self.slowestTurning) }
        do throws(ClaimProblem) {
            if let gyroscope {
                let turning = try gyroscope.claim(pace, for: self)
                self.fusion.follow(turning)
            }
            return try self.accelerometer.claim(pace, for: self)
        } catch {
            // What is no pace is refused before it comes to us.
            return pace
        }
    }

    /// What is under way to us waits there, and in the devices.
    func catchUp() {
        self.gyroscope?.flush(self)
        self.accelerometer.flush(self)
    }

    func stop() {
        self.pace = nil
        self.accelerometer.release(self)
        self.gyroscope?.release(self)
    }

    /// The gyroscope came or went, or runs at another pace.
    private func update() {
        if let pace = self.gyroscope?.pace(for: self) { self.fusion.follow(pace) }
        let isFollowed = self.isFollowed
        if self.fusion.isFollowed != isFollowed {
            self.fusion.isFollowed = isFollowed
            self.fusion.gap()
            self.sink?.gap()
        }
        self.sink?.sourceChanged()
    }
}

extension MotionSource {
    var names: [String] { [SensorDescription.motion] }

    func take(_ times: Span<Int64>, _ values: Span<Double>, from sensor: SensorService) {
        let isAccelerometer = sensor === self.accelerometer
        self.fuse(times, values) { fusion, value, time in
            if isAccelerometer { fusion.accelerate(value, at: time) } else { fusion.rotate(value, at: time) }
        }
    }

    func changed(_ sensor: SensorService) {
        if sensor === self.gyroscope { return self.update() }
        self.sink?.sourceChanged()
        if let pace = sensor.pace(for: self) { self.sink?.paceChanged(pace) }
    }
}
