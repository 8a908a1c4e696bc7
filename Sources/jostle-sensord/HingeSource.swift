import DeviceCore
import Devices
import Motion
import SensorCore

/// The sensor `hinge`: how far a laptop is open, made of the accelerometers of its display and its base.
///
/// It claims both as everybody does, only while somebody claims it.
final class HingeSource: FusedSource {
    weak var sink: (any SampleSink)?
    private let display: SensorService
    private let base: SensorService
    var fusion = HingeFusion()
    private var pace: SensorPace?

    /// What is read less often cannot tell a turn from a jump.
    private static let slowest = 20.0

    init(display: SensorService, base: SensorService) {
        self.display = display
        self.base = base
    }

    var sensor: SensorDescription {
        let (display, base) = (self.display.description, self.base.description)
        var sensor = SensorDescription(
            name: SensorDescription.hinge, channels: SensorDescription.channels(of: SensorDescription.hinge),
            unit: SensorDescription.hingeUnits, rates: display.ratesMadeOf, source: "\(display.name) and \(base.name)",
            isSimulated: display.isSimulated || base.isSimulated, isAvailable: display.isAvailable && base.isAvailable)
        sensor.isSteady = display.isSteady && base.isSteady
        sensor.hasOwnClock = display.hasOwnClock
        return sensor
    }

    var trouble: SensorState? { self.display.trouble ?? self.base.trouble }
    var method: String { "fused" }
    var now: Timestamp { self.display.now }

    func alarm(for time: Timestamp) -> Int64 { self.display.alarm(for: time) }

    func run(at pace: SensorPace) -> SensorPace {
        if self.pace == nil { self.fusion.gap() }
        self.pace = pace
        var pace = pace
        pace.rate = max(pace.rate, Self.slowest)
        do throws(ClaimProblem) {
            _ = try self.base.claim(pace, for: self)
            return try self.display.claim(pace, for: self)
        } catch {
            // What is no pace is refused before it comes to us.
            return pace
        }
    }

    /// What is under way to us waits there, and in the devices.
    func catchUp() {
        self.base.flush(self)
        self.display.flush(self)
    }

    func stop() {
        self.pace = nil
        self.display.release(self)
        self.base.release(self)
    }
}

extension HingeSource {
    var names: [String] { [SensorDescription.hinge] }

    func take(_ times: Span<Int64>, _ values: Span<Double>, from sensor: SensorService) {
        let isDisplay = sensor === self.display
        self.fuse(times, values) { fusion, value, time in
            if isDisplay { fusion.display(value, at: time) } else { fusion.base(value, at: time) }
        }
    }

    func changed(_ sensor: SensorService) {
        self.sink?.sourceChanged()
        if sensor === self.display, let pace = sensor.pace(for: self) { self.sink?.paceChanged(pace) }
    }
}
