import Devices
import Motion

/// The sensors that the reader makes of others: `motion` and `hinge`, each as soon as what it is made of is there.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class MadeSensors {
    /// Which sensors are on either side of a hinge.
    struct HingePair: Sendable {
        var display = SensorDescription.accelerometer
        var base = SensorDescription.base
    }

    private let hingePair: HingePair
    private let tablet: TabletSwitch?
    private let make: (any SampleSource) -> SensorService
    /// Those that are there, by their names.
    private var known: [String: SensorService] = [:]
    private var motion: MotionSource?
    private var isMotionMade: Bool
    private var isHingeMade: Bool

    /// - Parameters:
    ///   - given: The sensors that come by themselves, of a trace; these are not made.
    ///   - tablet: What follows the hinge.
    ///   - make: Adds a sensor to those there are.
    init(
        given: [String], _ hingePair: HingePair, _ tablet: TabletSwitch?,
        _ make: @escaping (any SampleSource) -> SensorService
    ) {
        self.hingePair = hingePair
        self.tablet = tablet
        self.make = make
        self.isMotionMade = given.contains(SensorDescription.motion)
        self.isHingeMade = given.contains(SensorDescription.hinge)
    }

    /// A sensor is there, for the first time.
    func see(_ sensor: SensorService) {
        let name = sensor.description.name
        self.known[name] = sensor
        if name == SensorDescription.hinge { self.tablet?.follow(sensor) }
        if name == SensorDescription.accelerometer, !self.isMotionMade {
            self.isMotionMade = true
            let made = MotionSource(of: sensor)
            self.motion = made
            _ = self.make(made)
        }
        if let gyroscope = self.known[SensorDescription.gyroscope], let motion, !motion.isFollowing {
            motion.follow(gyroscope)
        }
        if let display = self.known[self.hingePair.display], let base = self.known[self.hingePair.base],
            !self.isHingeMade
        {
            self.isHingeMade = true
            let hinge = self.make(HingeSource(display: display, base: base))
            self.tablet?.follow(hinge)
        }
    }
}
