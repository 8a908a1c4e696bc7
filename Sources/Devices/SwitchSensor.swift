import CEvdev
import DeviceCore
import Loop
import Motion

/// A switch that closes when something comes near: the proximity sensor of phones whose kernel shows it among their buttons.
///
/// A change is told when it comes; and, as everywhere, the state at the rate that is wanted.
final class SwitchSensor: SensorReader {
    weak var sink: (any ReadingSink)?
    private let node: String
    private let loop: EventLoop
    private var device: InputDevice?
    private var isFollowed = true
    private var watch: EventLoop.Registration?
    private var timer: PollTimer?
    private var wasClosed: Bool?

    /// What is the same goes without saying more often.
    static let fastest = 100.0

    init(_ node: String, on loop: EventLoop) {
        self.node = node
        self.loop = loop
    }

    deinit { self.stop() }

    var method: String { self.isFollowed ? "input" : "polled" }

    func probe() throws(DeviceProblem) -> SensorFacts {
        self.isFollowed = try InputDevice(self.node).isFollowed
        return SensorFacts()
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        if self.device == nil { try self.open() }
        let timer = PollTimer.running(self.timer, at: pace.rate, atMost: Self.fastest, on: self.loop) { [weak self] in
            self?.read(at: $0)
        }
        self.timer = timer
        return SensorPace(rate: timer.rate)
    }

    private func open() throws(DeviceProblem) {
        let device = try InputDevice(self.node)
        do throws(SystemError) {
            self.watch = try self.loop.watch(device.descriptor.raw, for: .read) { [weak self] _ in self?.takeChange() }
        } catch {
            throw DeviceProblem(error, on: self.node)
        }
        self.device = device
    }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
        self.loop.cancel(&self.watch)
        self.device = nil
        self.wasClosed = nil
    }

    /// Something happened to one of the device's buttons.
    private func takeChange() {
        guard let device = self.device else { return }
        do throws(DeviceProblem) {
            // What libevdev has fetched and not told makes nothing readable.
            if try !device.takeEvents() { self.loop.defer { [weak self] in self?.takeChange() } }
            guard try device.isClosed(CEvdev_SW_FRONT_PROXIMITY) != self.wasClosed else { return }
        } catch {
            self.fail(error)
            return
        }
        self.read(at: Timestamp(microseconds: Clock.boottime.now()))
    }

    private func read(at time: Timestamp) {
        guard let device = self.device else { return }
        let isClosed: Bool
        do throws(DeviceProblem) {
            isClosed = try device.isClosed(CEvdev_SW_FRONT_PROXIMITY)
        } catch {
            self.fail(error)
            return
        }
        self.wasClosed = isClosed
        let row = [isClosed ? 1.0 : 0]
        self.sink?.reading(at: time, row.span)
        self.sink?.readingDone()
    }

    /// A node that cannot be read would call us for ever.
    private func fail(_ problem: DeviceProblem) {
        var problem = problem
        problem.isFinal = true
        self.sink?.readingFailed(problem)
    }
}
