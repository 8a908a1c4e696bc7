import DeviceCore
import Glibc
import Loop
import Motion

/// A device's buffer while it fills: set up, read as it wakes us, taken apart.
///
/// The kernel gathers as many samples as the most impatient claim can wait for; a device with a FIFO of its own gathers
/// them there, and neither it nor we wake in between.
final class BufferCapture {
    /// What the device really runs at.
    let pace: SensorPace
    /// What was wanted of it.
    private let wanted: SensorPace
    private unowned let device: IIODevice
    private let loop: EventLoop
    private let sensors: [IIOSensor]
    private let stampClock: StampClock?
    /// The clock that its stamps are to have again after us; `nil`: there is no choice.
    private let otherClock: String?
    private var clock: SampleClock
    /// `nil` once it is stopped.
    private var descriptor: OwnedDescriptor?
    private var watch: EventLoop.Registration?
    private var watchdog: EventLoop.TimerID?
    private var hasRead = false
    private var isReading = false
    /// When nothing was left to be read.
    private var emptied = Timestamp(microseconds: Clock.boottime.now())
    private var buffer: ScanBuffer
    /// Scans that the kernel's buffer holds: more come in one turn only from a device that never ends.
    private let longestTurn: Int

    /// The clocks that a device's stamps can be of.
    private enum StampClock {
        case boottime
        case monotonic
        case realtime

        /// What to add to a stamp to get CLOCK_BOOTTIME.
        var offset: TimeSpan {
            switch self {
            case .boottime: .zero
            case .monotonic: TimeSpan(microseconds: Clock.boottime.now() - Clock.monotonic.now())
            case .realtime: TimeSpan(microseconds: Clock.boottime.now() - Clock.wallClock())
            }
        }
    }

    /// Scans fetched in one read.
    private static let batch = 128
    /// A buffer that is silent for longer, beyond what it may hold back, does not work.
    private static let silence: Int64 = 5_000_000

    init(
        _ device: IIODevice, _ sensors: [IIOSensor], at pace: SensorPace, on loop: EventLoop
    ) throws(DeviceProblem) {
        self.device = device
        self.sensors = sensors
        self.loop = loop
        self.wanted = pace
        let directory = device.directory
        guard let node = device.notice.node else { throw DeviceProblem("the device has no node") }
        let descriptor = try Self.take(node)
        let otherClock = try Self.otherClock(of: directory)
        self.otherClock = otherClock
        // A reader that was killed may have left it running.
        try directory.write("0", to: "buffer/enable")
        try Self.setTrigger(of: device, sensors)
        let rate = try device.setRate(pace.rate, for: sensors) ?? pace.rate

        var elements: [ScanLayout.Element] = []
        var enabled: Set<String> = []
        for channel in sensors.flatMap(\.channels) {
            let name = "in_\(channel.name)"
            elements.append(try Self.element(name, in: directory))
            enabled.insert("\(name)_en")
        }
        var clockBits: Int?
        var isRunning = false
        defer { if !isRunning { Self.giveBack(otherClock, to: directory) } }
        let stampClock = try Self.setClock(of: directory)
        if stampClock != nil, let stamp = try? Self.element("in_timestamp", in: directory) {
            elements.append(stamp)
            enabled.insert("in_timestamp_en")
            clockBits = stamp.format.bits
        }
        for name in directory.names(in: "scan_elements") where name.hasSuffix("_en") {
            try device.take(name, enabled.contains(name))
        }
        guard let layout = ScanLayout(elements) else { throw DeviceProblem("its channels share a place in the scan") }
        self.stampClock = clockBits == nil ? nil : stampClock
        self.clock = SampleClock(bits: clockBits)

        let plan = try Self.setLength(of: directory, for: pace, rate: rate)
        self.pace = SensorPace(rate: rate, batchLatency: plan.latency)
        self.longestTurn = plan.length
        self.buffer = ScanBuffer(layout, elements.map(\.format), scans: max(Self.batch, plan.watermark))
        let raw = descriptor.raw
        self.descriptor = consume descriptor
        try directory.write("1", to: "buffer/enable")
        isRunning = true
        do throws(SystemError) {
            self.watch = try loop.watch(raw, for: .read) { [weak self] _ in self?.read() }
        } catch {
            self.stop()
            throw DeviceProblem(error, on: node)
        }
        self.setWatchdog()
    }

    /// Whether these sensors, and no others, already run as wanted.
    func serves(_ sensors: [IIOSensor], at pace: SensorPace) -> Bool {
        self.wanted == pace && self.sensors.elementsEqual(sensors, by: ===)
    }

    private var isStopped: Bool { self.descriptor?.raw == nil }

    func stop() {
        guard !self.isStopped else { return }
        self.loop.cancel(&self.watch)
        self.loop.cancel(&self.watchdog)
        // A device that is gone cannot be told, and need not be.
        try? self.device.directory.write("0", to: "buffer/enable")
        Self.giveBack(self.otherClock, to: self.device.directory)
        // At once: another may take its place while this one still tells what it read, and the kernel opens it for one at
        // a time.
        self.descriptor = nil
    }

    // MARK: Setting up

    /// Opens a buffer, which the kernel does for one at a time: until it is ours, nothing of it is changed.
    private static func take(_ node: String) throws(DeviceProblem) -> OwnedDescriptor {
        do throws(SystemError) {
            return try OwnedDescriptor(opening: node, O_RDONLY | O_NONBLOCK)
        } catch {
            throw DeviceProblem(error, on: node)
        }
    }

    private static func element(
        _ name: String, in directory: AttributeDirectory
    ) throws(DeviceProblem) -> ScanLayout.Element {
        let text = try directory.text("scan_elements/\(name)_type")
        guard let format = ScanFormat(text) else {
            throw DeviceProblem("scan_elements/\(name)_type is '\(printable(text.prefix(40)))', which is no format")
        }
        let number = try directory.number("scan_elements/\(name)_index")
        guard let index = Int(exactly: number), index >= 0 else {
            throw DeviceProblem("scan_elements/\(name)_index is \(number), which is no index")
        }
        return ScanLayout.Element(index: index, format: format)
    }

    /// A device that fills its buffer only when a trigger fires gets its own, unless somebody chose one for it.
    private static func setTrigger(of device: IIODevice, _ sensors: [IIOSensor]) throws(DeviceProblem) {
        let attribute = "trigger/current_trigger"
        guard let current = try device.directory.textIfAny(attribute), current.isEmpty else { return }
        let all = "/sys/bus/iio/devices"
        // As the kernel's drivers name it.
        let own = ["\(device.name)-dev\(device.notice.number)", "\(device.name)-trigger"]
        for trigger in AttributeDirectory(path: all).names(in: ".") where trigger.hasPrefix("trigger") {
            let name = try? AttributeDirectory(path: "\(all)/\(trigger)").text("name")
            guard let name, own.contains(name) else { continue }
            return try device.directory.write(name, to: attribute)
        }
        // Some fill without one. Where there is no other way to read it, the kernel shall say whether this one does.
        if sensors.allSatisfy(\.canBePolled) { throw DeviceProblem("no trigger is its own") }
    }

    private static let clockAttribute = "current_timestamp_clock"
    /// Other programs leave the clock as it is. So a buffer that runs with this one is ours, and one that runs with
    /// another is somebody's, who may open it for each look and have it closed in between, as iio-sensor-proxy does.
    private static let ourClock = "boottime"
    /// The clock that a device begins with.
    private static let firstClock = "realtime"

    /// Looks at the clock that its stamps have without us. Throws where somebody else's buffer runs with it.
    private static func otherClock(of directory: AttributeDirectory) throws(DeviceProblem) -> String? {
        // Where we cannot set it, a buffer that we left has another than ours, too.
        guard directory.takes(self.clockAttribute), let clock = try? directory.text(self.clockAttribute) else {
            return nil
        }
        // A reader that was killed has not given it back, and nobody knows what it was.
        guard clock != self.ourClock else { return self.firstClock }
        if (try? directory.number("buffer/enable")) == 1 {
            throw DeviceProblem("its buffer runs for another program")
        }
        return clock
    }

    /// Has its stamps have a clock that is not ours, so that its next buffer is not taken for ours.
    private static func giveBack(_ clock: String?, to directory: AttributeDirectory) {
        if let clock { try? directory.write(clock, to: self.clockAttribute) }
    }

    /// Asks for stamps of the clock that we use; returns the clock that it has, `nil` for one that we do not know.
    private static func setClock(of directory: AttributeDirectory) throws(DeviceProblem) -> StampClock? {
        guard directory.has(self.clockAttribute) else { return .realtime }
        try? directory.write(self.ourClock, to: self.clockAttribute)
        switch try directory.text(self.clockAttribute) {
        case self.ourClock: return .boottime
        case "monotonic": return .monotonic
        case "realtime": return .realtime
        default: return nil
        }
    }

    private static func setLength(
        of directory: AttributeDirectory, for pace: SensorPace, rate: Double
    ) throws(DeviceProblem) -> FifoPlan {
        let attribute = "buffer/watermark"
        var hardware: ClosedRange<Int>?
        if let most = try? directory.number("buffer/hwfifo_watermark_max"), most >= 1, most <= 1_000_000 {
            let least = (try? directory.number("buffer/hwfifo_watermark_min")) ?? 1
            hardware = Int(min(max(least, 1), most))...Int(most)
        }
        let plan = FifoPlan(for: pace, rate: rate, hardware: hardware, canWait: directory.has(attribute))
        // A watermark must never be above the length.
        if directory.has("buffer/length") { try directory.write("\(plan.length)", to: "buffer/length") }
        if directory.has(attribute) { try directory.write("\(plan.watermark)", to: attribute) }
        return plan
    }

    // MARK: Reading

    /// Reads what there is, as much as the kernel keeps; what comes meanwhile has another turn. Reading without waiting, which we do,
    /// has the kernel empty the device's own FIFO first.
    func read() {
        // Whoever is told of a sample may ask for more.
        guard !self.isReading else { return }
        self.isReading = true
        defer { self.isReading = false }
        do throws(DeviceProblem) {
            var left = self.longestTurn
            while let raw = self.descriptor?.raw, left > 0 {
                let now = Timestamp(microseconds: Clock.boottime.now())
                let scans = try self.buffer.fill(from: raw)
                if let scans {
                    self.hasRead = true
                    left -= scans
                    self.tell(scans)
                }
                guard scans == nil || !self.buffer.isFull else { continue }
                self.emptied = now
                break
            }
        } catch {
            return self.device.failed(error)
        }
        // Also when another took its place meanwhile: what it told is there.
        for sensor in self.sensors { sensor.sink?.readingDone() }
    }

    private func tell(_ scans: Int) {
        let arrival = SampleClock.Arrival(
            now: Timestamp(microseconds: Clock.boottime.now()), offset: self.stampClock?.offset ?? .zero,
            period: TimeSpan(seconds: 1 / self.pace.rate) ?? .zero, held: self.pace.batchLatency, since: self.emptied)
        for scan in 0..<scans {
            let stamp = self.stampClock == nil ? nil : self.buffer.stamp(of: scan)
            let time = self.clock.time(of: stamp, after: scans - 1 - scan, arrival)
            if !self.device.follows(time, rate: self.pace.rate) {
                for sensor in self.sensors { sensor.sink?.gap() }
                if self.isStopped { return }
            }
            var element = 0
            for sensor in self.sensors {
                for channel in sensor.channels.indices {
                    sensor.setRaw(self.buffer.raw(element, of: scan), of: channel)
                    element += 1
                }
                sensor.tell(at: time)
                // A claimant may have gone while it was told, and with it this capture.
                if self.isStopped { return }
            }
        }
    }

    /// Looks now and then whether the buffer fills at all: some have a trigger that never fires. The system's sleep is no silence.
    private func setWatchdog() {
        let patience = Self.silence + self.pace.batchLatency.microseconds + Int64(3_000_000 / self.pace.rate)
        self.watchdog = self.loop.schedule(after: patience) { [weak self] in
            guard let self, !self.isStopped else { return }
            guard self.hasRead else { return self.device.bufferStaysEmpty("no reading came in \(patience / 1_000) ms") }
            self.hasRead = false
            if let watchdog = self.watchdog { self.loop.reschedule(watchdog, after: patience) }
        }
    }
}
