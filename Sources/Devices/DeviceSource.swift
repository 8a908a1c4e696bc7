package import DeviceCore
import Loop
package import Motion

/// What there is to say of the device behind a sensor.
struct Hardware {
    /// The name of its driver or model.
    var driver: String
    /// Where it sits; empty when unknown.
    var placement: String
    /// What it is to `--source`.
    var source: String
    /// What it measures in, if not in the unit of its kind.
    var unit: String?
}

/// A sensor that is measured: its device comes and goes, and the claims on it stay.
package final class DeviceSource: SampleSource {
    package private(set) var sensor: SensorDescription
    package weak var sink: (any SampleSink)?
    package let kind: SensorKind
    package private(set) var driver: String

    private let loop: EventLoop
    private var reader: (any SensorReader)?
    /// What is there and not taken yet.
    private var coming: (reader: any SensorReader, hardware: Hardware)?
    private var use: DeviceUse
    private var retryTimer: EventLoop.TimerID?
    /// Takes what a person should be told.
    private let remark: (String) -> Void

    init(
        _ name: String, _ kind: SensorKind, on loop: EventLoop, remark: @escaping (_ message: String) -> Void
    ) {
        self.kind = kind
        self.loop = loop
        self.driver = ""
        self.sensor = SensorDescription(
            name: name, channels: kind.channels, unit: kind.unit, rates: [], source: "", isSimulated: false,
            isAvailable: false)
        self.use = DeviceUse(kind)
        self.remark = remark
    }

    package var now: Timestamp { Timestamp(microseconds: Clock.boottime.now()) }

    package func alarm(for time: Timestamp) -> Int64 { time.microseconds }

    package var method: String { self.reader?.method ?? "" }

    package var trouble: SensorState? { self.use.trouble }

    // MARK: The device

    /// The device is there, for the first time or again.
    func attach(_ reader: any SensorReader, _ hardware: Hardware) {
        self.coming = (reader, hardware)
        self.perform(self.use.attached())
    }

    /// Something about the device changed: one that did not work may now.
    func refresh() { self.perform(self.use.refreshed()) }

    /// The device is gone.
    func detach() { self.perform(self.use.detached()) }

    // MARK: Claims

    package func run(at pace: SensorPace) -> SensorPace {
        self.perform(self.use.wanted(at: pace))
        return self.use.inForce(pace)
    }

    package func catchUp() {
        if self.use.isRunning { self.reader?.catchUp() }
    }

    package func stop() { self.perform(self.use.unwanted()) }

    package func inject(_ motion: String) throws(InjectProblem) { throw .notSupported }

    // MARK: Steps

    private func perform(_ steps: [DeviceUse.Step]) {
        for step in steps { self.perform(step) }
        self.setRetryTimer()
    }

    private func perform(_ step: DeviceUse.Step) {
        switch step {
        case .probe: self.probe()
        case .start: self.start()
        case .stop: self.reader?.stop()
        case .letGo:
            self.reader?.sink = nil
            self.reader = nil
        case .take: self.take()
        case .tellGap: self.sink?.gap()
        case .tellPace(let pace): self.sink?.paceChanged(pace)
        case .tellChange: self.changed()
        case .goOn: self.perform(self.use.goOn())
        }
    }

    private func take() {
        guard let (reader, hardware) = self.coming else { return }
        self.coming = nil
        self.reader = reader
        reader.sink = self
        self.driver = hardware.driver
        self.sensor.placement = hardware.placement
        self.sensor.source = hardware.source
        self.sensor.unit = hardware.unit ?? self.kind.unit
        self.perform(self.use.taken())
    }

    private func probe() {
        guard let reader = self.reader else { return }
        do throws(DeviceProblem) {
            let facts = try reader.probe()
            self.sensor = SensorDescription(
                name: self.sensor.name, channels: self.sensor.channels, unit: self.sensor.unit, range: facts.range,
                rates: facts.rates, placement: self.sensor.placement, source: self.sensor.source, isSimulated: false)
            self.sensor.isSteady = facts.isSteady
            for remark in facts.remarks { self.remark("\(self.sensor.name): \(remark)") }
            self.perform(self.use.probed(range: facts.range, at: self.now))
        } catch {
            self.perform(self.use.probeFailed(error.message, at: self.now))
        }
    }

    private func start() {
        guard let reader = self.reader, let pace = self.use.pace else { return }
        do throws(DeviceProblem) {
            let real = try reader.start(at: pace)
            self.perform(self.use.started(at: real))
        } catch {
            self.perform(self.use.failed(error.message, isFinal: true, at: self.now))
        }
    }

    private func changed() {
        self.sensor.isAvailable = self.trouble?.isAvailable ?? true
        self.sink?.sourceChanged()
    }

    /// A timer only while there is something to wait for.
    private func setRetryTimer() {
        self.loop.set(&self.retryTimer, at: self.use.nextRetry?.microseconds, on: .boottime) { [weak self] in
            guard let self else { return }
            self.perform(self.use.retry(at: self.now))
        }
    }
}

extension DeviceSource: ReadingSink {
    func reading(at time: Timestamp, _ row: Span<Double>) {
        // A device that others share may tell for a moment what is wanted no more.
        guard self.use.isRunning else { return }
        for index in row.indices where !row[index].isFinite {
            // It is counted as refused there.
            self.sink?.sample(at: time, row)
            return self.readingFailed(DeviceProblem(passing: "a reading is \(row[index])"))
        }
        if self.use.succeeded() { self.changed() }
        let isNews = self.use.note(time, row)
        self.sink?.sample(at: time, row)
        if isNews { self.changed() }
    }

    func readingDone() { self.sink?.readingDone() }

    func gap() { self.sink?.gap() }

    func deviceAnswers() { self.perform(self.use.answered()) }

    func readingFailed(_ problem: DeviceProblem) {
        self.perform(self.use.failed(problem.message, isFinal: problem.isFinal, at: self.now))
    }

    func paceChanged(_ pace: SensorPace) { self.perform(self.use.paceChanged(pace)) }

    func methodChanged(_ reason: String) {
        self.remark("\(self.sensor.name): \(reason)")
        self.changed()
    }
}
