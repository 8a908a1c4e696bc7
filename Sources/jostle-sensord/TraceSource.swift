import DeviceCore
import Devices
import Loop
import Motion
import Traces

/// Plays one sensor of a recorded trace in real time, or at another speed.
///
/// A trace begins at its start whenever somebody begins to claim it, at a time behind all that was played of it before. Its own
/// spacing is kept at every speed; a loop is a gap. The file is read as it plays, so its length does not matter. Where it is to be
/// played faster than that can be done for those who claim it, it plays as fast as can be, and all else has its turns.
final class TraceSource: SampleSource {
    let sensor: SensorDescription
    weak var sink: (any SampleSink)?
    private(set) var trouble: SensorState?
    private let loop: EventLoop
    private let path: String
    private let loops: Bool
    private let clock: PlaybackClock
    /// Somebody claims it: it goes by the clock.
    private var isClaimed = false
    private var playback: Playback?
    private var timer: EventLoop.TimerID?

    /// How long may be played in one turn, in µs: at a speed at which more becomes due meanwhile there would be no end.
    private static let longestTurn: Int64 = 2_000

    /// - Parameter clock: That of all sensors of the trace.
    init(_ path: String, sensor: SensorDescription, by clock: PlaybackClock, loops: Bool, on loop: EventLoop) {
        self.path = path
        var sensor = sensor
        sensor.hasOwnClock = !clock.isReal
        self.sensor = sensor
        self.loops = loops
        self.loop = loop
        self.clock = clock
    }

    var now: Timestamp { self.clock.now }

    func alarm(for time: Timestamp) -> Int64 { self.clock.alarm(for: time) }

    func run(at pace: SensorPace) -> SensorPace {
        let rate = SensorPace(rate: self.sensor.rates.first ?? pace.rate)
        guard self.playback == nil else { return rate }
        self.trouble = nil
        // One whose file could not be played goes by the clock already.
        let start = self.isClaimed ? self.clock.now : self.clock.begin()
        self.isClaimed = true
        self.begin(at: start)
        return rate
    }

    func stop() {
        self.loop.cancel(&self.timer)
        self.playback = nil
        if self.isClaimed { self.clock.end() }
        self.isClaimed = false
    }

    func inject(_ motion: String) throws(InjectProblem) { throw .notSupported }

    /// Starts the file so that its first sample is due at `start`.
    private func begin(at start: Timestamp) {
        do throws(SystemError) {
            self.playback = try Playback(self.path, self.sensor, from: start)
        } catch {
            self.playback = nil
            return self.fail("\(self.path): \(error)")
        }
        self.fill()
        self.setTimer()
    }

    /// Reads a piece of the file in the place of the rows that were played. What is no good is its end.
    private func fill() {
        guard let playback = self.playback else { return }
        do {
            return try playback.fill(self.sensor)
        } catch let problem as TraceProblem {
            self.fail("\(self.path):\(problem)")
        } catch {
            self.fail("\(self.path): \(error)")
        }
        playback.isAtEnd = true
    }

    /// The trace is no good; it stands still until somebody begins it anew.
    private func fail(_ reason: String) {
        self.trouble = .broken(reason)
        self.sink?.sourceChanged()
    }

    /// The time of the next sample on our clock; `nil`: none is read.
    private var due: Timestamp? {
        guard let next = self.playback?.next, let times = self.playback?.rows.times, next < times.count,
            let offset = self.playback?.offset
        else { return nil }
        return Timestamp(microseconds: times[next]) + TimeSpan(microseconds: offset)
    }

    private func setTimer() {
        guard let isAtEnd = self.playback?.isAtEnd else { return }
        let due = self.due
        if due == nil, isAtEnd { return }
        // A trace may have nothing of this sensor for very long: that is read in turns.
        let alarm = due.map { self.clock.alarm(for: $0) } ?? Clock.boottime.now()
        self.loop.set(&self.timer, at: alarm, on: .boottime) { [weak self] in self?.play() }
    }

    /// Plays what is due, as far as others are not kept waiting for it.
    private func play() {
        if self.due == nil { self.fill() }
        let end = Clock.monotonic.now() + Self.longestTurn
        while let due, due <= self.clock.now {
            self.tell(at: due)
            // A claimant may have gone while it was told, and with it the playback.
            guard let playback = self.playback else { return }
            playback.last = due
            playback.next += 1
            if playback.next == playback.rows.count { self.fill() }
            guard Clock.monotonic.now() < end else { break }
        }
        self.sink?.readingDone()
        if self.due == nil, self.loops, let playback, playback.isAtEnd, let last = playback.last {
            // More than a gap later, so that nothing is detected from the end into the beginning. Where that is none, it is told.
            if SensorLimits.gap(of: self.sensor.name) > SensorLimits.gap { self.sink?.gap() }
            return self.begin(at: last + SensorLimits.gap + .milliseconds(100))
        }
        self.setTimer()
    }

    private func tell(at time: Timestamp) {
        guard let next = self.playback?.next, let values = self.playback?.rows.values else { return }
        let channels = self.sensor.channels.count
        self.sink?.sample(at: time, values.span.extracting(next * channels..<(next + 1) * channels))
    }
}

/// A file being played: where reading is, and the rows read ahead.
private final class Playback {
    private let file: InputFile
    private let start: Timestamp
    private var reader = TraceReader()
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private(set) var rows: SampleBlock
    /// Nothing comes behind these rows.
    var isAtEnd = false
    /// The row that comes next.
    var next = 0
    /// Sample time minus trace time; `nil` before the first row.
    private(set) var offset: Int64?
    /// When the last row was played.
    var last: Timestamp?

    init(_ path: String, _ sensor: SensorDescription, from start: Timestamp) throws(SystemError) {
        self.file = try InputFile(path)
        self.start = start
        self.rows = SampleBlock(channels: sensor.channels.count)
    }

    /// Reads a piece of the file, which need not have a row of a sensor.
    ///
    /// - Throws: also where the file is another one than it was when the sensor was described, and has it otherwise.
    func fill(_ sensor: SensorDescription) throws {
        self.rows.removeAll()
        self.next = 0
        guard !self.isAtEnd else { return }
        let count = try self.file.read(into: &self.buffer)
        if count > 0 {
            let bytes = self.buffer
            try self.reader.feed(bytes.span.extracting(0..<count))
        } else {
            self.isAtEnd = true
            try self.reader.finish()
        }
        if let header = self.reader.header {
            guard let index = header.index(of: sensor.name), header.sensors[index].channels == sensor.channels
            else { throw OtherTrace(sensor: sensor.name) }
            self.rows = self.reader.blocks[index]
        }
        self.reader.removeRows()
        if self.offset == nil, let first = self.rows.times.first { self.offset = self.start.microseconds - first }
    }
}

/// There is another trace in the place of the one that was there when we began.
private struct OtherTrace: Swift.Error, CustomStringConvertible {
    let sensor: String

    var description: String { "it has no \(self.sensor) any more, or one of other channels" }
}
