import DeviceCore
import Devices
import Loop
import Motion
import Traces

/// An accelerometer whose motion is made from a seed and a script.
///
/// Time begins when somebody claims it first and goes on from then: who looks away misses what happens.
final class SynthSource: SampleSource {
    let sensor: SensorDescription
    weak var sink: (any SampleSink)?
    /// Motion that is made needs nothing that could break.
    var trouble: SensorState? { nil }
    private let loop: EventLoop
    private var motion: SyntheticMotion
    private var start: Timestamp?
    private var pace = SensorPace(rate: 0)
    /// The number of the next sample at this rate.
    private var next: Int64 = 0
    private var timer: EventLoop.TimerID?
    private var row = [0.0, 0, 0]

    /// A sleeper that wakes later than this has missed the samples in between, as with a real device.
    private static let backlog = TimeSpan.seconds(2)

    init(_ motion: SyntheticMotion, on loop: EventLoop) {
        self.motion = motion
        var sensor = motion.sensor
        sensor.isSteady = true
        self.sensor = sensor
        self.loop = loop
    }

    var now: Timestamp { Timestamp(microseconds: Clock.boottime.now()) }

    func alarm(for time: Timestamp) -> Int64 { time.microseconds }

    func run(at pace: SensorPace) -> SensorPace {
        let now = self.now
        if self.start == nil { self.start = now }
        // What became due just now is not lost by a change of pace.
        let first = self.timer == nil ? now : min(now, self.due)
        self.pace = pace
        self.skip(to: first)
        self.setTimer()
        return pace
    }

    func stop() {
        self.loop.cancel(&self.timer)
    }

    func catchUp() {
        if self.timer != nil { self.read(upTo: self.now) }
    }

    func inject(_ motion: String) throws(InjectProblem) {
        // The past cannot be read any more when motion was added.
        self.catchUp()
        let now = self.now
        // Motion that nobody watches is motion all the same.
        let start = self.start ?? now
        self.start = start
        do throws(SyntheticMotion.Problem) {
            try self.motion.inject(motion, at: now - start)
        } catch {
            throw error.limit.map { .limit("\($0): \(error.message)") } ?? .bad("motion:\(error)")
        }
    }

    /// Goes on with the first sample at or after `time`.
    private func skip(to time: Timestamp) {
        guard let start else { return }
        self.next = Int64(((time - start).seconds * self.pace.rate).rounded(.up))
    }

    private var due: Timestamp {
        (self.start ?? .zero) + SyntheticMotion.offset(ofSample: self.next, rate: self.pace.rate)
    }

    /// Lets the next sample wait as long as it may, so that those that follow it are read in the same go.
    private func setTimer() {
        let alarm = (self.due + self.pace.batchLatency).microseconds
        self.loop.set(&self.timer, at: alarm, on: .boottime) { [weak self] in self?.read() }
    }

    private func read() {
        self.read(upTo: self.now)
        guard self.timer != nil else { return }
        self.sink?.readingDone()
        if self.timer != nil { self.setTimer() }
    }

    private func read(upTo now: Timestamp) {
        if now - self.due > self.pace.batchLatency + Self.backlog { self.skip(to: now) }
        while self.due <= now {
            let time = self.due
            let reading = self.motion.sample(at: SyntheticMotion.offset(ofSample: self.next, rate: self.pace.rate))
            self.next += 1
            guard let reading else { continue }
            for axis in 0..<3 { self.row[axis] = reading[axis] }
            self.sink?.sample(at: time, self.row.span)
            // A claimant may have gone while it was told.
            guard self.timer != nil else { return }
        }
    }
}
