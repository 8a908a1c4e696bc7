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
    private var life = DeviceLife()
    private var check: ReadingCheck
    private var pace: SensorPace?
    private var real: SensorPace?
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
        self.check = ReadingCheck(kind, range: nil)
        self.remark = remark
    }

    package var now: Timestamp { Timestamp(microseconds: Clock.boottime.now()) }

    package func alarm(for time: Timestamp) -> Int64 { time.microseconds }

    package var method: String { self.reader?.method ?? "" }

    package var trouble: SensorState? {
        if let problem = self.life.trouble { return .broken(problem) }
        switch self.life.phase {
        case .absent: return .absent
        case .broken, .probing, .idle: return nil
        case .running:
            switch self.check.verdict {
            case .good: return nil
            case .stuck: return .stuck
            case .saturated: return .saturated
            }
        }
    }

    // MARK: The device

    /// The device is there, for the first time or again.
    func attach(_ reader: any SensorReader, _ hardware: Hardware) {
        if self.reader != nil { self.detach() }
        self.reader = reader
        reader.sink = self
        self.driver = hardware.driver
        self.sensor.placement = hardware.placement
        self.sensor.source = hardware.source
        self.sensor.unit = hardware.unit ?? self.kind.unit
        self.perform(self.life.appeared())
    }

    /// Something about the device changed: one that did not work may now.
    func refresh() { self.perform(self.life.appeared()) }

    /// The device is gone.
    func detach() {
        let wasRunning = self.life.phase == .running
        self.perform(self.life.vanished())
        self.reader?.sink = nil
        self.reader = nil
        if wasRunning { self.sink?.gap() }
        self.changed()
    }

    // MARK: Claims

    package func run(at pace: SensorPace) -> SensorPace {
        self.pace = pace
        let action = self.life.wanted()
        self.perform(self.life.phase == .running ? .start : action)
        // A device that is not there yet will run as it is asked to, as far as anybody knows.
        return self.real ?? SensorPace(rate: pace.rate)
    }

    package func catchUp() {
        if self.life.phase == .running { self.reader?.catchUp() }
    }

    package func stop() {
        self.pace = nil
        self.perform(self.life.unwanted())
    }

    package func inject(_ motion: String) throws(InjectProblem) { throw .notSupported }

    // MARK: Life

    private func perform(_ action: DeviceLife.Action) {
        switch action {
        case .none: break
        case .probe: self.probe()
        case .start: self.start()
        case .stop:
            self.reader?.stop()
            self.real = nil
        }
        self.setRetryTimer()
    }

    private func probe() {
        guard let reader = self.reader else { return }
        var problem: String?
        do throws(DeviceProblem) {
            let facts = try reader.probe()
            self.sensor = SensorDescription(
                name: self.sensor.name, channels: self.sensor.channels, unit: self.sensor.unit, range: facts.range,
                rates: facts.rates, placement: self.sensor.placement, source: self.sensor.source, isSimulated: false)
            self.sensor.isSteady = facts.isSteady
            self.check = ReadingCheck(self.kind, range: facts.range)
            for remark in facts.remarks { self.remark("\(self.sensor.name): \(remark)") }
        } catch {
            problem = error.message
        }
        let action = self.life.probed(problem, at: self.now)
        // Another choice of rates may let it run at once, at the right one.
        self.changed()
        self.perform(self.real == nil ? action : .none)
    }

    private func start() {
        guard let reader = self.reader, let pace = self.pace else { return }
        do throws(DeviceProblem) {
            let real = try reader.start(at: pace)
            self.real = real
            self.sink?.paceChanged(real)
            self.changed()
        } catch {
            // No reading follows that could fail once more: only the wait for a retry leads on.
            self.broke(error, isFinal: true)
        }
    }

    private func broke(_ problem: DeviceProblem, isFinal: Bool) {
        let action = self.life.failed(problem.message, isFinal: isFinal, at: self.now)
        guard action != .none else { return }
        self.perform(action)
        self.sink?.gap()
        self.changed()
    }

    private func changed() {
        self.sensor.isAvailable = self.trouble?.isAvailable ?? true
        self.sink?.sourceChanged()
    }

    /// A timer only while there is something to wait for.
    private func setRetryTimer() {
        guard let due = self.life.nextRetry?.microseconds else {
            if let timer = self.retryTimer { self.loop.cancel(timer) }
            self.retryTimer = nil
            return
        }
        if let timer = self.retryTimer { return self.loop.reschedule(timer, at: due) }
        self.retryTimer = self.loop.schedule(at: due, on: .boottime) { [weak self] in
            guard let self else { return }
            self.perform(self.life.retry(at: self.now))
        }
    }
}

extension DeviceSource: ReadingSink {
    func reading(at time: Timestamp, _ row: Span<Double>) {
        if self.life.succeeded() { self.changed() }
        let isNews = self.check.note(time, row)
        self.sink?.sample(at: time, row)
        if isNews { self.changed() }
    }

    func readingDone() { self.sink?.readingDone() }

    func deviceAnswers() { self.refresh() }

    func readingFailed(_ problem: DeviceProblem) { self.broke(problem, isFinal: problem.isFinal) }

    func paceChanged(_ pace: SensorPace) {
        self.real = pace
        self.sink?.paceChanged(pace)
    }

    func methodChanged(_ reason: String) {
        self.remark("\(self.sensor.name): \(reason)")
        self.changed()
    }
}
