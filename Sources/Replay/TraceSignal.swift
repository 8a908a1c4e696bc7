package import Detection
package import Motion
import Traces

/// One sensor's signal and the looks of detectors at it, in so few parts of time that a trace of any length can be drawn.
///
/// A value. Parts are joined in pairs whenever there would be more of them than anybody sees.
package struct TraceSignal: Sendable {
    /// The signal in one part of the time.
    package struct Part: Equatable, Sendable {
        package var low = Double.infinity
        package var high = -Double.infinity
        /// The time of its first and last sample, in µs.
        package var first = Int64.max
        package var last = Int64.min

        package var isEmpty: Bool { self.low > self.high }

        fileprivate mutating func add(_ other: Part) {
            self.low = min(self.low, other.low)
            self.high = max(self.high, other.high)
            self.first = min(self.first, other.first)
            self.last = max(self.last, other.last)
        }
    }

    /// A detector that looks at it.
    package struct Watcher: Sendable {
        /// Its place among the requests.
        package var index: Int
        package var detector: CompiledDetector
        package fileprivate(set) var looks = 0
        /// In each part.
        package fileprivate(set) var looksOfParts: [Int] = []
        /// When hits were held by activity; the first of them, if there are many.
        package fileprivate(set) var held: [Timestamp] = []
        /// The step of its grid in which it looked last; `nil` before the first look.
        fileprivate var step: Int64?
    }

    package let sensor: String
    package let unit: String
    package private(set) var parts: [Part] = []
    package private(set) var watchers: [Watcher] = []
    /// The time of the first sample, in µs.
    package private(set) var start: Int64?
    package private(set) var end: Int64 = 0
    /// How long a part is, in µs.
    package private(set) var width: Int64 = 1_000
    package private(set) var samples = 0
    /// Where the grids of looks begin: behind a gap they do so anew.
    private var origin: Int64 = 0
    private let channels: [String]
    private let isVector: Bool

    private static let most = 1_024
    /// More held hits of a detector are counted, and not drawn.
    private static let mostHeld = 1_000

    init(_ sensor: TraceSensor) {
        self.sensor = sensor.name
        self.unit = sensor.unit
        self.channels = sensor.channels
        self.isVector = sensor.channels.prefix(3) == ["x", "y", "z"]
    }

    /// What of a sample is drawn: the length of a vector, or the first channel.
    package var title: String { self.isVector ? "norm(x, y, z)" : self.channels.first ?? "" }

    /// The longest step between two samples that is no gap, in µs.
    package var longest: Int64 { SensorLimits.gap(of: self.sensor).microseconds }

    mutating func add(_ detector: CompiledDetector, at index: Int) {
        self.watchers.append(Watcher(index: index, detector: detector))
    }

    /// The last hit of a detector that was held was at this time.
    mutating func note(held time: Timestamp, of detector: Int) {
        guard let index = self.watchers.firstIndex(where: { $0.index == detector }),
            self.watchers[index].held.last != time, self.watchers[index].held.count < Self.mostHeld
        else { return }
        self.watchers[index].held.append(time)
    }

    /// Takes rows of the trace.
    mutating func take(_ block: SampleBlock, _ rows: Range<Int>) {
        for row in rows {
            let time = block.times[row]
            let value = self.value(block.values, at: row * block.channels)
            // The engine refuses these, too: what follows is drawn as if they were not there.
            guard value.isFinite, self.start == nil || time > self.end else { continue }
            self.take(time, value)
        }
    }

    private mutating func take(_ time: Int64, _ value: Double) {
        let start = self.start ?? time
        if self.start == nil || time - self.end > self.longest {
            self.origin = time
            for index in self.watchers.indices { self.watchers[index].step = nil }
        }
        (self.start, self.end) = (start, time)
        self.samples += 1
        while (time - start) / self.width >= Int64(Self.most) { self.join() }
        let index = Int((time - start) / self.width)
        while self.parts.count <= index { self.parts.append(Part()) }
        self.parts[index].add(Part(low: value, high: value, first: time, last: time))
        for watcher in self.watchers.indices { self.look(watcher, at: time, index) }
    }

    /// A detector looks at the first sample of each step of its grid.
    private mutating func look(_ watcher: Int, at time: Int64, _ part: Int) {
        if let every = self.watchers[watcher].detector.every?.microseconds, every > 0 {
            let step = (time - self.origin) / every
            guard self.watchers[watcher].step.map({ step > $0 }) ?? true else { return }
            self.watchers[watcher].step = step
        }
        self.watchers[watcher].looks += 1
        while self.watchers[watcher].looksOfParts.count <= part { self.watchers[watcher].looksOfParts.append(0) }
        self.watchers[watcher].looksOfParts[part] += 1
    }

    /// Parts become twice as long.
    private mutating func join() {
        self.width *= 2
        var joined: [Part] = []
        for (index, part) in self.parts.enumerated() {
            if index % 2 == 0 { joined.append(part) } else { joined[joined.count - 1].add(part) }
        }
        self.parts = joined
        for watcher in self.watchers.indices {
            let looks = self.watchers[watcher].looksOfParts
            self.watchers[watcher].looksOfParts = stride(from: 0, to: looks.count, by: 2).map {
                looks[$0] + ($0 + 1 < looks.count ? looks[$0 + 1] : 0)
            }
        }
    }

    private func value(_ values: [Double], at offset: Int) -> Double {
        guard self.isVector else { return values[offset] }
        var sum = 0.0
        for channel in offset..<offset + 3 { sum += values[channel] * values[channel] }
        return sum.squareRoot()
    }
}
