import DeviceCore
import Loop
import Motion

/// One sensor of an industrial I/O device: its attributes, and how their numbers become ours.
final class IIOSensor: SensorReader {
    let kind: SensorKind
    weak var sink: (any ReadingSink)?
    private let device: IIODevice
    private let isInHub: Bool

    /// One channel as it is read.
    struct Channel {
        /// The kernel's name: `accel_x`.
        var name: String
        var attribute: String
        var scale: ChannelScale
    }

    private(set) var channels: [Channel] = []
    /// Its buffer might not be set up when we came to look.
    private(set) var isBarred = false
    /// `nil` when its axes are those that its driver is to have.
    private var matrix: MountMatrix?
    private var gate = ProximityGate(level: 0)
    /// For an accelerometer that does not say what it counts.
    private var gravity: GravityScale?
    private var row: [Double]

    private let poll: AttributePoll

    /// Each reading costs bus transfers between host and device: faster than this, only a buffer makes sense.
    static let fastestPolling = 200.0

    init(_ kind: SensorKind, of device: IIODevice, _ poll: AttributePoll) {
        self.kind = kind
        self.poll = poll
        self.device = device
        self.isInHub = device.notice.isInHub
        self.row = [Double](repeating: 0, count: kind.channels.count)
        poll.sink = self
    }

    /// The kinds of sensor that a device is, by the attributes it has. Whether they are complete is seen later.
    static func kinds(in directory: AttributeDirectory) -> [SensorKind] {
        SensorKind.allCases.filter { kind in
            kind.attributeNames.joined().contains { directory.hasChannel($0) }
        }
    }

    /// Whether its channels can be read one by one, without a buffer.
    var canBePolled: Bool { self.channels.allSatisfy { self.device.directory.has($0.attribute) } }

    // MARK: Probing

    func probe() throws(DeviceProblem) -> SensorFacts {
        try self.device.checkAnswers()
        let directory = self.device.directory
        self.device.reconsider()
        let names =
            self.kind.attributeNames.first { names in names.contains { directory.hasChannel($0) } }
            ?? self.kind.attributeNames[0]
        var facts = SensorFacts()
        self.gravity = self.tellsScale(names) ? nil : GravityScale()
        if self.gravity != nil {
            facts.remarks.append("in_accel_scale is missing; what it shows on average is taken for 1 g")
        }
        var channels: [Channel] = []
        for name in names { channels.append(try self.channel(name)) }
        self.channels = channels
        let problem = self.device.prepare(self)
        self.isBarred = problem != nil
        if let problem {
            facts.remarks.append("read without its buffer: \(problem.message)")
        }
        if self.kind.hasDirection { self.matrix = try self.mountMatrix(&facts) }
        if self.kind == .proximity { self.gate = ProximityGate(level: try self.nearLevel()) }
        facts.rates = try self.device.rates(of: self)
        self.device.raiseRate(of: self)
        // What is read one by one and may take its time comes as it comes.
        facts.isSteady = self.kind.isNoisy && (!self.device.isBuffered || self.tellsAlways(names))
        if self.matrix?.keepsAxes ?? true, self.gravity == nil { facts.range = self.range() }
        return facts
    }

    /// False for an accelerometer of which neither a channel nor the device has a scale.
    private func tellsScale(_ names: [String]) -> Bool {
        let directory = self.device.directory
        return self.kind != .accelerometer || directory.has("in_\(self.kind.attributeType)_scale")
            || names.contains { directory.has("in_\($0)_scale") || directory.has("in_\($0)_input") }
    }

    /// False for a device that tells a reading only when it differs enough from the one before.
    private func tellsAlways(_ names: [String]) -> Bool {
        ([self.kind.attributeType] + names).allSatisfy { name in
            let attribute = "in_\(name)_hysteresis"
            return !self.device.directory.has(attribute) || (try? self.device.directory.number(attribute)) == 0
        }
    }

    private func channel(_ name: String) throws(DeviceProblem) -> Channel {
        let directory = self.device.directory
        // What the driver has already computed needs no scale; where there is a raw value too, that one is in the buffer.
        if !directory.has("in_\(name)_raw"), directory.has("in_\(name)_input") {
            return Channel(
                name: name, attribute: "in_\(name)_input",
                scale: try self.scale((name: "in_\(name)_input", value: 1), offset: nil))
        }
        // Some devices have their channels in the buffer and nowhere else.
        guard directory.has("in_\(name)_raw") || (self.device.isBuffered && directory.hasChannel(name)) else {
            throw DeviceProblem("in_\(name)_raw is missing")
        }
        // From which level on something is near is said in counts, and what a count is of anything does not matter.
        let isCounted = self.kind == .proximity
        let scale = try isCounted ? nil : self.attribute("scale", of: name)
        let offset = try isCounted ? nil : self.attribute("offset", of: name)
        if scale == nil, self.kind.needsScale, self.gravity == nil {
            throw DeviceProblem("in_\(self.kind.attributeType)_scale is missing: nobody knows what a reading means")
        }
        return Channel(
            name: name, attribute: "in_\(name)_raw",
            scale: try self.scale(scale ?? (name: "", value: 1), offset: offset))
    }

    private func scale(
        _ scale: (name: String, value: Double), offset: (name: String, value: Double)?
    ) throws(DeviceProblem) -> ChannelScale {
        if let offset, !ChannelScale.plausibleOffset.contains(offset.value) {
            throw DeviceProblem("\(offset.name) is \(offset.value), which is no offset")
        }
        guard let result = ChannelScale(scale: scale.value, offset: offset?.value ?? 0, factor: self.kind.factor) else {
            throw DeviceProblem("\(scale.name) is \(scale.value), which is no scale")
        }
        return result
    }

    /// A channel's own attribute, or that of all channels of its type.
    private func attribute(_ suffix: String, of channel: String) throws(DeviceProblem) -> (name: String, value: Double)?
    {
        for name in ["in_\(channel)_\(suffix)", "in_\(self.kind.attributeType)_\(suffix)"]
        where self.device.directory.has(name) {
            return (name, try self.device.directory.number(name))
        }
        return nil
    }

    /// What udev says comes first: it is how a machine's owner corrects its maker.
    private func mountMatrix(_ facts: inout SensorFacts) throws(DeviceProblem) -> MountMatrix? {
        var texts: [(name: String, text: String)] = []
        if self.kind == .accelerometer, let text = self.device.notice.mountMatrix {
            texts.append(("ACCEL_MOUNT_MATRIX", text))
        }
        for name in ["in_\(self.kind.attributeType)_mount_matrix", "in_mount_matrix", "mount_matrix"] {
            if let text = try self.device.directory.textIfAny(name) { texts.append((name, text)) }
        }
        for (name, text) in texts {
            if let matrix = MountMatrix(text) { return matrix == .identity ? nil : matrix }
            facts.remarks.append("\(name) is '\(printable(text.prefix(80)))', which is no mount matrix; it is left out")
        }
        return nil
    }

    private func nearLevel() throws(DeviceProblem) -> Double {
        if let level = self.device.notice.nearLevel.flatMap({ AttributeText.number($0) }) { return level }
        for name in self.channels.map(\.name) + [self.kind.attributeType]
        where self.device.directory.has("in_\(name)_nearlevel") {
            return try self.device.directory.number("in_\(name)_nearlevel")
        }
        return 0
    }

    /// The largest value the buffer's format can hold, which is what the sensor can show.
    private func range() -> Double? {
        var least: Double?
        for channel in self.channels {
            guard let largest = self.device.scanFormat(of: channel.name)?.largest else { return nil }
            least = min(least ?? .infinity, channel.scale.value(largest).magnitude)
        }
        return least
    }

    // MARK: Running

    /// Whether a reading of its attributes has not come back.
    var isStuck: Bool { self.poll.isStuck }

    /// Says what is wrong while that is so.
    func checkAnswers() throws(DeviceProblem) { try self.poll.checkAnswers() }

    var method: String { self.device.isBuffered ? "buffered" : "polled" }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace { try self.device.run(self, at: pace) }

    func stop() { self.device.stop(self) }

    func catchUp() { self.device.catchUp() }

    /// Reads the attributes at a rate of our own; returns it.
    func startPolling(
        at wanted: Double, preparedBy prepare: @escaping @Sendable () -> Void
    ) throws(DeviceProblem) -> Double {
        let rate = min(wanted, Self.fastestPolling)
        try self.poll.run(at: rate, { AttributeText.number($0) }, preparedBy: prepare) { () throws(DeviceProblem) in
            var files: [AttributeFile] = []
            for channel in self.channels { files.append(try AttributeFile(self.device.directory, channel.attribute)) }
            return files
        }
        return rate
    }

    func stopPolling() { self.poll.stop() }

    /// Takes a channel's raw value out of a buffer's scan.
    func setRaw(_ raw: Int64, of channel: Int) { self.row[channel] = self.channels[channel].scale.value(Double(raw)) }

    /// docs/axes.md says how it is known.
    private func turnToOurAxes() {
        if !self.isInHub {
            DeviceAxes.turn(&self.row)
        } else if self.kind == .accelerometer {
            DeviceAxes.oppose(&self.row)
        }
    }

    /// Hands on the row that was read.
    func tell(at time: Timestamp) {
        self.matrix?.turn(&self.row)
        if self.kind.hasDirection { self.turnToOurAxes() }
        if self.kind == .proximity { self.row[0] = self.gate.value(self.row[0]) }
        if self.gravity?.turn(&self.row, at: time) == false {
            guard self.gravity?.isSilent(at: time) == true else { return }
            self.sink?.readingFailed(.showsNothing)
            return
        }
        let row = self.row
        self.sink?.reading(at: time, row.span)
    }
}

extension IIOSensor: PollSink {
    func polled(at time: Timestamp, _ numbers: Span<Double>) {
        for index in numbers.indices { self.row[index] = self.channels[index].scale.value(numbers[index]) }
        self.tell(at: time)
    }

    func pollDone() { self.sink?.readingDone() }

    func pollFailed(_ problem: DeviceProblem) { self.sink?.readingFailed(problem) }

    func pollReturned() { self.device.answers() }
}
