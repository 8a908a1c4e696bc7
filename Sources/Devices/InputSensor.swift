import CEvdev
import DeviceCore
import Loop
import Motion

/// An accelerometer or gyroscope that the kernel shows as an input device: laptops, game pads.
///
/// Such a device tells changes only, and a device that lies still tells none. So its state is read at the rate that is
/// wanted: what it told since the last time is taken in, and a state that stayed is a sample too. The device need not wake
/// us, and stands still while its node is closed.
final class InputSensor: SensorReader {
    let kind: SensorKind
    weak var sink: (any ReadingSink)?
    private let node: String
    private let loop: EventLoop
    /// Whether udev or the device itself says that its axes are of motion.
    private let isMeant: Bool
    /// A pad has no display that its axes could be those of.
    private let isInPad: Bool
    private var device: InputDevice?
    private var isFollowed = true
    private var timer: PollTimer?
    private var factors: [Double] = []
    /// For a device that does not say what it counts.
    private var gravity: GravityScale?
    private var row: [Double] = [0, 0, 0]

    /// The kinds that an input device can be, by the first of their three axes.
    static let kinds: [(kind: SensorKind, axis: UInt32)] = [
        (.accelerometer, CEvdev_ABS_X), (.gyroscope, CEvdev_ABS_RX),
    ]
    /// No input device of ours is faster.
    static let fastest = 250.0

    init(_ kind: SensorKind, _ node: String, isMeant: Bool, isInPad: Bool, on loop: EventLoop) {
        self.kind = kind
        self.node = node
        self.isMeant = isMeant
        self.isInPad = isInPad
        self.loop = loop
    }

    var method: String { self.isFollowed ? "input" : "polled" }

    private var axis: UInt32 { Self.kinds.first { $0.kind == self.kind }?.axis ?? CEvdev_ABS_X }

    func probe() throws(DeviceProblem) -> SensorFacts {
        guard self.isMeant else { throw DeviceProblem("\(self.node) is no accelerometer") }
        let device = try InputDevice(self.node)
        self.isFollowed = device.isFollowed
        var facts = SensorFacts()
        var factors: [Double] = []
        for axis in self.axis..<self.axis + 3 {
            let reach = try device.axis(axis)
            guard reach.resolution > 0 else { continue }
            // An accelerometer counts its resolution in units per g, a gyroscope in units per degree and second.
            let factor = (self.kind == .gyroscope ? .pi / 180 : 1) / Double(reach.resolution)
            factors.append(factor)
            let range = Double(min(reach.least.magnitude, reach.most.magnitude)) * factor
            facts.range = min(facts.range ?? .infinity, range)
        }
        if let range = facts.range, !(range > 0) { facts.range = nil }
        self.gravity = nil
        if factors.count < 3 {
            guard self.kind == .accelerometer else {
                throw DeviceProblem("it tells no resolution: nobody knows what a reading means")
            }
            self.gravity = GravityScale()
            factors = [1, 1, 1]
            facts.range = nil
            facts.remarks.append("it tells no resolution; what it shows on average is taken for 1 g")
        }
        self.factors = factors
        return facts
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        if self.device == nil { self.device = try InputDevice(self.node) }
        let timer = PollTimer.running(self.timer, at: pace.rate, atMost: Self.fastest, on: self.loop) { [weak self] in
            self?.read(at: $0)
        }
        self.timer = timer
        return SensorPace(rate: timer.rate)
    }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
        self.device = nil
    }

    private func read(at time: Timestamp) {
        guard let device = self.device else { return }
        do throws(DeviceProblem) {
            // What is left has the next reading.
            if device.isFollowed { _ = try device.takeEvents() }
            for index in 0..<3 {
                self.row[index] = Double(try device.axis(self.axis + UInt32(index)).value) * self.factors[index]
            }
        } catch {
            self.sink?.readingFailed(error)
            return
        }
        if !self.isInPad { DeviceAxes.turn(&self.row) }
        if self.gravity?.turn(&self.row, at: time) == false {
            if self.gravity?.isSilent(at: time) == true { self.sink?.readingFailed(.showsNothing) }
            return
        }
        let row = self.row
        self.sink?.reading(at: time, row.span)
        self.sink?.readingDone()
    }
}
