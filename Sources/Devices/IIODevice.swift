import DeviceCore
import Loop
import Motion

/// An industrial I/O device: one or several sensors that share a buffer and a rate.
///
/// Read through the kernel's own interface. A library that scans all devices at once gives up on all of them when one
/// of them writes nonsense; here each stands for itself.
final class IIODevice {
    let directory: AttributeDirectory
    /// What udev said when the device came.
    let notice: DeviceNotice
    /// The driver's name: `bmc150_accel`.
    let name: String
    private(set) var sensors: [IIOSensor] = []
    private let loop: EventLoop

    /// What is wanted of a sensor.
    private struct Want {
        let sensor: IIOSensor
        /// `nil`: nothing any more.
        var pace: SensorPace?
        /// What was wanted by those who let go a moment ago.
        var held: SensorPace?
    }

    /// What is wanted of each sensor that is wanted at all, or was a moment ago; empty when none is.
    private var wants: [Want] = []
    /// When what was wanted a moment ago is forgotten.
    private var forgetting: EventLoop.TimerID?
    private var capture: BufferCapture?
    /// What came of the buffer, while it runs.
    private var trail = SampleTrail()
    /// Why the buffer is not used any more.
    private var bufferProblem: String?

    /// A device that is polled runs at least so fast, however seldom it is read: some answer a read with their next sample only.
    private static let slowestPolled = 10.0
    /// A buffer that serves others stays as it is for so long when one of its sensors is let go: whoever claims and releases in turn
    /// would have it set up anew each time, and each time what is measured meanwhile is lost.
    private static let patience: Int64 = 1_000_000

    init(_ notice: DeviceNotice, on loop: EventLoop, _ threads: ReadingThreads) {
        self.notice = notice
        self.directory = AttributeDirectory(path: notice.path)
        self.loop = loop
        self.name = (try? self.directory.text("name")) ?? ""
        self.sensors = IIOSensor.kinds(in: self.directory).map {
            IIOSensor($0, of: self, AttributePoll(on: loop, threads, $0.isNoisy ? .motion : .level))
        }
    }

    var placement: String {
        Placement.word(label: try? self.directory.textIfAny("label"), location: self.notice.location)
    }

    /// Lets go of the sensors, which hold the device in turn.
    func dismantle() {
        self.standStill()
        self.sensors = []
    }

    /// Says what is wrong while the device does not answer one of its sensors: then nothing of it is touched, or the loop would
    /// wait where the reading does.
    func checkAnswers() throws(DeviceProblem) {
        for sensor in self.sensors { try sensor.checkAnswers() }
    }

    /// A reading came back that had been given up.
    func answers() {
        for sensor in self.sensors { sensor.sink?.deviceAnswers() }
    }

    // MARK: What it can do

    var isBuffered: Bool { self.bufferProblem == nil && self.directory.has("buffer/enable") && self.notice.node != nil }

    /// The rates of a sensor in the buffer; empty when we read at rates of our own.
    func rates(of sensor: IIOSensor) throws(DeviceProblem) -> [Double] {
        guard self.isBuffered else { return [] }
        for name in self.rateAttributes(of: sensor) {
            if let text = try self.directory.textIfAny(name + "_available") { return AttributeText.rates(text) }
        }
        // Without a choice it takes any rate that we may write, as sensor hubs do, or else it has the one there is.
        for name in self.rateAttributes(of: sensor) where self.directory.has(name) {
            guard !self.directory.takes(name) else { return [] }
            let rate = try self.directory.number(name)
            return SensorLimits.rates.contains(rate) ? [rate] : []
        }
        return []
    }

    func scanFormat(of channel: String) -> ScanFormat? {
        (try? self.directory.textIfAny("scan_elements/in_\(channel)_type")).flatMap { ScanFormat($0) }
    }

    private func rateAttributes(of sensor: IIOSensor) -> [String] {
        ["in_\(sensor.kind.attributeType)_sampling_frequency", "sampling_frequency"]
    }

    /// Raises a rate so low that the first reading would be an old one, or long in coming, while nobody reads the device.
    func raiseRate(of sensor: IIOSensor) {
        guard self.wants.isEmpty else { return }
        for name in self.rateAttributes(of: sensor) where self.directory.has(name) {
            guard self.directory.takes(name), let rate = try? self.directory.number(name), rate < Self.slowestPolled
            else { return }
            self.rateSetting(for: [sensor]).setToPoll(Self.slowestPolled)
            return
        }
    }

    /// Takes a sensor's channels into the scan, as far as that goes without letting the buffer run: so it is known before
    /// anybody claims the sensor whether we may. Returns what stands in the way.
    func prepare(_ sensor: IIOSensor) -> DeviceProblem? {
        // A buffer that runs is ours, or somebody's who must not be disturbed.
        guard self.isBuffered, self.capture == nil, (try? self.directory.number("buffer/enable")) == 0 else {
            return nil
        }
        do throws(DeviceProblem) {
            for channel in sensor.channels { try self.take("in_\(channel.name)_en", true) }
            return nil
        } catch {
            self.bufferProblem = error.message
            return error
        }
    }

    /// Whether its buffer might not be set up for one of its sensors when we came to look, and may be by now: the kernel shows a
    /// device before udev gives rights to it.
    var isUnbarred: Bool {
        guard self.sensors.contains(where: \.isBarred), !self.sensors.contains(where: \.isStuck) else { return false }
        return self.sensors.flatMap(\.channels).allSatisfy { channel in
            let element = "scan_elements/in_\(channel.name)_en"
            return self.directory.takes(element) && (try? self.directory.text(element)) != nil
        }
    }

    /// Takes an element into the scan, or out of it.
    func take(_ element: String, _ isWanted: Bool) throws(DeviceProblem) {
        let name = "scan_elements/\(element)"
        let text = isWanted ? "1" : "0"
        if try self.directory.text(name) != text { try self.directory.write(text, to: name) }
    }

    /// Gives the buffer another chance: whoever held it may be gone.
    func reconsider() {
        if self.wants.isEmpty { self.bufferProblem = nil }
    }

    // MARK: Running

    func run(_ sensor: IIOSensor, at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        try self.checkAnswers()
        if let index = self.wants.firstIndex(where: { $0.sensor === sensor }) {
            self.wants[index].pace = pace
        } else {
            self.wants.append(Want(sensor: sensor, pace: pace))
        }
        return try self.apply(for: sensor)
    }

    func stop(_ sensor: IIOSensor) {
        sensor.stopPolling()
        guard let index = self.wants.firstIndex(where: { $0.sensor === sensor }) else { return }
        self.wants[index].held = Self.merged([self.wants[index].pace, self.wants[index].held])
        self.wants[index].pace = nil
        if self.wanted.isEmpty {
            self.standStill()
        } else if self.capture == nil {
            self.forgetHeld()
        } else if self.forgetting == nil {
            self.forgetting = self.loop.schedule(after: Self.patience) { [weak self] in self?.follow() }
        }
    }

    /// The sensors that are wanted.
    private var wanted: [IIOSensor] { self.wants.filter { $0.pace != nil }.map(\.sensor) }

    /// The fastest rate and the shortest latency of those that are given.
    private static func merged(_ paces: [SensorPace?]) -> SensorPace? {
        let paces = paces.compactMap { $0 }
        guard var merged = paces.first else { return nil }
        for pace in paces {
            merged.rate = max(merged.rate, pace.rate)
            merged.batchLatency = min(merged.batchLatency, pace.batchLatency)
        }
        return merged
    }

    /// Forgets what was wanted a moment ago.
    private func forgetHeld() {
        self.loop.cancel(&self.forgetting)
        self.wants.removeAll { $0.pace == nil }
        for index in self.wants.indices { self.wants[index].held = nil }
    }

    /// Lets the buffer be what it must be for those who still want it.
    private func follow() {
        // What is in it was measured for them, too.
        self.catchUp()
        self.forgetHeld()
        _ = try? self.apply(for: nil)
    }

    /// Nobody wants it.
    private func standStill() {
        self.loop.cancel(&self.forgetting)
        self.wants = []
        self.endBuffer()
    }

    private func endBuffer() {
        self.capture?.stop()
        self.capture = nil
        self.trail = SampleTrail()
    }

    /// Lets the device run as everybody together wants it, and tells those who did not ask.
    private func apply(for asking: IIOSensor?) throws(DeviceProblem) -> SensorPace {
        guard !self.wanted.isEmpty else { return SensorPace(rate: 0) }
        if self.isBuffered, let pace = Self.merged(self.wants.flatMap { [$0.pace, $0.held] }) {
            do throws(DeviceProblem) {
                let real = try self.buffer(pace)
                for sensor in self.wanted where sensor !== asking { sensor.sink?.paceChanged(real) }
                return real
            } catch {
                self.giveUpBuffer(error.message)
            }
        }
        self.forgetHeld()
        let fastest = self.wants.compactMap { $0.pace?.rate }.max() ?? 0
        // There is one rate for all, fast enough for the fastest; a device that keeps its own is read all the same.
        // It is set where it is read, so that only that waits for the device.
        let setting = self.rateSetting(for: self.wants.map(\.sensor))
        let common = max(fastest, Self.slowestPolled)
        let prepare: @Sendable () -> Void = { setting.setToPoll(common) }
        var answer = SensorPace(rate: fastest)
        var refusal: DeviceProblem?
        for want in self.wants {
            guard let pace = want.pace else { continue }
            do throws(DeviceProblem) {
                let rate = try want.sensor.startPolling(at: pace.rate, preparedBy: prepare)
                if want.sensor === asking {
                    answer = SensorPace(rate: rate)
                } else {
                    want.sensor.sink?.paceChanged(SensorPace(rate: rate))
                }
            } catch {
                // Each stands for itself: nobody is broken for another, and nobody is silent without a word.
                if want.sensor === asking {
                    refusal = error
                } else {
                    var problem = error
                    problem.isFinal = true
                    want.sensor.sink?.readingFailed(problem)
                }
            }
        }
        if let refusal { throw refusal }
        return answer
    }

    private func buffer(_ pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        let sensors = self.wants.map(\.sensor)
        if let capture = self.capture {
            // A buffer that fills cannot be changed.
            if capture.serves(sensors, at: pace) { return capture.pace }
            capture.stop()
            self.capture = nil
            self.trail.breakOff()
        }
        let capture = try BufferCapture(self, sensors, at: pace, on: self.loop)
        self.capture = capture
        return capture.pace
    }

    /// Sets the rate nearest at or above the wanted one; returns what the device then says, `nil` when it says nothing.
    func setRate(_ wanted: Double, for sensors: [IIOSensor]) throws(DeviceProblem) -> Double? {
        try self.rateSetting(for: sensors).set(wanted)
    }

    private func rateSetting(for sensors: [IIOSensor]) -> RateSetting {
        RateSetting(directory: self.directory, attributes: sensors.map { self.rateAttributes(of: $0) })
    }

    /// The attributes by which a device's rate is set: for each sensor the first that is there.
    private struct RateSetting: Sendable {
        let directory: AttributeDirectory
        let attributes: [[String]]

        /// Sets a rate at which attributes can be read, as far as the device lets us. Of a buffer that runs for somebody else the
        /// rate is his.
        func setToPoll(_ wanted: Double) {
            guard (try? self.directory.number("buffer/enable")) != 1 else { return }
            _ = try? self.set(wanted)
        }

        func set(_ wanted: Double) throws(DeviceProblem) -> Double? {
            var result: Double?
            var tried: Set<String> = []
            for names in self.attributes {
                guard let name = names.first(where: { self.directory.has($0) }), tried.insert(name).inserted
                else { continue }
                // What there is to choose from may stand beside the rate of the whole device, as `rates(of:)` has it.
                let offers = names.map { $0 + "_available" }
                var choice = ""
                if let offer = offers.first(where: { self.directory.has($0) }) {
                    choice = try self.directory.text(offer)
                }
                let rate = SensorDescription.rate(for: wanted, among: AttributeText.rates(choice))
                if try self.directory.number(name) != rate {
                    try self.directory.write(AttributeText.decimal(rate), to: name)
                }
                let real = try self.directory.number(name)
                if SensorLimits.rates.contains(real) { result = min(result ?? real, real) }
            }
            return result
        }
    }

    /// Tells what has gathered in the buffer.
    func catchUp() { self.capture?.read() }

    /// Reads attribute by attribute from now on, because the buffer does not work.
    private func giveUpBuffer(_ reason: String) {
        self.bufferProblem = reason
        self.endBuffer()
        for sensor in self.wanted {
            sensor.sink?.methodChanged("read without its buffer: \(reason)")
            sensor.sink?.gap()
        }
    }

    // MARK: What the capture tells

    /// A sample comes, which is of this rate. Returns whether none are missing before it.
    func follows(_ time: Timestamp, rate: Double) -> Bool { !self.trail.take(time, rate: rate) }

    /// The buffer was asked to fill and never did.
    func bufferStaysEmpty(_ reason: String) {
        self.giveUpBuffer(reason)
        _ = try? self.apply(for: nil)
    }

    /// The capture broke, for all its sensors: each tries again by itself.
    func failed(_ problem: DeviceProblem) {
        let sensors = self.wanted
        // First of all: a sensor that lets go must not set the buffer up anew for the others.
        self.standStill()
        var problem = problem
        problem.isFinal = true
        for sensor in sensors { sensor.sink?.readingFailed(problem) }
    }
}
