import CEvdev
import DeviceCore
import EventLoop
import Glibc
import Motion

/// An accelerometer or gyroscope that the kernel shows as an input device: laptops, game pads.
///
/// Such a device tells changes only, and a device that lies still tells none. So its state is read at the rate that is
/// wanted: what it told since the last time is taken in, and a state that stayed is a sample too. The device need not wake
/// us, and stands still while its node is closed.
final class EvdevSensor: SensorReader {
    let kind: SensorKind
    weak var sink: (any ReadingSink)?
    private let node: String
    private let loop: EventLoop
    private var device: EvdevDevice?
    private var timer: PollTimer?
    private var factors: [Double] = []
    private var row: [Double] = [0, 0, 0]

    /// The kinds that an input device can be, by the first of their three axes.
    static let kinds: [(kind: SensorKind, axis: UInt32)] = [
        (.accelerometer, CEvdev_ABS_X), (.gyroscope, CEvdev_ABS_RX),
    ]
    /// No input device of ours is faster.
    static let fastest = 250.0

    init(_ kind: SensorKind, _ node: String, on loop: EventLoop) {
        self.kind = kind
        self.node = node
        self.loop = loop
    }

    var method: String { "input" }

    private var axis: UInt32 { Self.kinds.first { $0.kind == self.kind }?.axis ?? CEvdev_ABS_X }

    func probe() throws(DeviceProblem) -> SensorFacts {
        let device = try EvdevDevice(self.node)
        guard device.isAccelerometer else { throw DeviceProblem("\(self.node) is no accelerometer") }
        var facts = SensorFacts()
        var factors: [Double] = []
        for axis in self.axis..<self.axis + 3 {
            guard let reach = device.reach(of: axis) else { throw DeviceProblem("an axis is missing") }
            // An accelerometer counts its resolution in units per g, a gyroscope in units per degree and second.
            guard reach.resolution > 0 else {
                throw DeviceProblem("it tells no resolution: nobody knows what a reading means")
            }
            let factor = (self.kind == .gyroscope ? .pi / 180 : 1) / Double(reach.resolution)
            factors.append(factor)
            let range = Double(min(reach.least.magnitude, reach.most.magnitude)) * factor
            facts.range = min(facts.range ?? .infinity, range)
        }
        if let range = facts.range, !(range > 0) { facts.range = nil }
        self.factors = factors
        return facts
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        if self.device == nil { self.device = try EvdevDevice(self.node) }
        let rate = min(pace.rate, Self.fastest)
        if let timer = self.timer, timer.rate == rate { return SensorPace(rate: rate) }
        self.timer?.cancel()
        self.timer = PollTimer(on: self.loop, rate: rate) { [weak self] in self?.read(at: $0) }
        return SensorPace(rate: rate)
    }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
        self.device = nil
    }

    private func read(at time: Timestamp) {
        guard let device = self.device else { return }
        do throws(DeviceProblem) {
            try device.takeEvents()
        } catch {
            self.sink?.readingFailed(error)
            return
        }
        for index in 0..<3 {
            self.row[index] = Double(device.value(of: self.axis + UInt32(index))) * self.factors[index]
        }
        let row = self.row
        self.sink?.reading(at: time, row.span)
        self.sink?.readingDone()
    }
}

/// An open input device. The corresponding C library is libevdev.
@safe
final class EvdevDevice {
    private let descriptor: OwnedDescriptor
    private let device: OpaquePointer

    init(_ node: String) throws(DeviceProblem) {
        do throws(SystemError) {
            self.descriptor = try OwnedDescriptor(opening: node, O_RDONLY | O_NONBLOCK)
        } catch {
            throw DeviceProblem(error, on: node)
        }
        var device: OpaquePointer?
        // SAFETY: the descriptor is open and outlives the object, which is released in deinit.
        let result = unsafe libevdev_new_from_fd(self.descriptor.raw, &device)
        guard result == 0, let device = unsafe device else {
            throw DeviceProblem(SystemError(code: -result, function: "libevdev_new_from_fd"), on: node)
        }
        unsafe self.device = device
    }

    deinit {
        // SAFETY: the object is ours, and nothing uses it any more.
        unsafe libevdev_free(self.device)
    }

    /// The device's name for people.
    var name: String {
        // SAFETY: libevdev never gives NULL for the name; the text is copied.
        unsafe libevdev_get_name(self.device).map { unsafe String(cString: $0) } ?? ""
    }

    var isAccelerometer: Bool {
        // SAFETY: the device is there, and so in all that follow.
        unsafe libevdev_has_property(self.device, CEvdev_INPUT_PROP_ACCELEROMETER) != 0
    }

    /// The limits of an axis and its units per physical unit; `nil` when there is no such axis.
    func reach(of axis: UInt32) -> (least: Int32, most: Int32, resolution: Int32)? {
        // SAFETY: the struct belongs to the device and is copied at once.
        guard let info = unsafe libevdev_get_abs_info(self.device, axis) else { return nil }
        return unsafe (info.pointee.minimum, info.pointee.maximum, info.pointee.resolution)
    }

    /// Takes in all that the device told.
    func takeEvents() throws(DeviceProblem) {
        var isSyncing = false
        while true {
            let result = unsafe CEvdev_advance(self.device, isSyncing ? 1 : 0)
            switch result {
            case 0: continue
            // The kernel dropped events because we slept: what follows is how the device's state differs.
            case 1: isSyncing = true
            case -EAGAIN where isSyncing: isSyncing = false
            case -EAGAIN: return
            default:
                throw DeviceProblem(SystemError(code: -result, function: "libevdev_next_event"), on: "the device")
            }
        }
    }

    func value(of axis: UInt32) -> Int32 { unsafe libevdev_get_event_value(self.device, CEvdev_EV_ABS, axis) }
}
