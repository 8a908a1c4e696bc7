package import Detection
package import Motion
package import Traces

/// Runs detectors over one trace in virtual time: the engine of the broker, without a bus and without waiting.
///
/// Bytes go in, hits come out; nothing is kept of the trace, so its length does not matter.
package struct TraceReplay {
    /// What one detector did in the trace.
    package struct Tally: Equatable, Sendable {
        package var detector: String
        package var hits = 0
        /// Hits that were held back because of the rhythm that they came in; counted when the trace has ended.
        package var held: UInt64 = 0
    }

    /// A hit, named.
    package struct NamedHit: Equatable, Sendable {
        package var detector: String
        package var time: Timestamp
        package var peak: Double
        package var isClipped: Bool
        package var note: HitNote
    }

    /// Why the trace cannot be replayed.
    package enum Problem: Swift.Error, CustomStringConvertible {
        case trace(TraceProblem)
        case detector(DetectorProblem)
        /// The trace has no sensor that any of the detectors listens to.
        case noSensor(wanted: [String], found: [String])

        package var description: String {
            switch self {
            case .trace(let problem): "\(problem)"
            case .detector(let problem): "\(problem)"
            case .noSensor(let wanted, let found):
                "the detectors listen to \(wanted.joined(separator: ", ")), the trace has \(found.joined(separator: ", "))"
            }
        }
    }

    private let requests: [DetectorRequest]
    private var reader = TraceReader()
    private var streams: [Stream] = []
    /// What the sensor `motion` is made of, where the trace has none and a detector listens to it.
    private var fused: FusedTrace?
    private var hits: [Hit] = []
    /// One for each request, in their order.
    package private(set) var tallies: [Tally]
    /// Samples of the sensors that were listened to.
    package private(set) var samples = 0
    /// Samples that the engines refused, and fixes that the trace itself shows to be wrong.
    package var refused: UInt64 {
        self.streams.reduce(UInt64(self.reader.leftOut)) { $0 + $1.engine.counters.refusedSamples }
    }
    /// The trace's own words on what it shows: `shake …`, `not-shake …`.
    package var label: String? { self.reader.header?["label"] }

    /// The detectors on one sensor of the trace.
    private struct Stream {
        /// Where the rows of the sensor stand in the trace; -1 for one that is made of others.
        let block: Int
        var engine: DetectionEngine
        /// What is registered with the first sample: a clock that starts at registration starts with the trace.
        var waiting: [(detector: CompiledDetector, id: DetectorID)] = []
        var first: Timestamp?
        var last = Timestamp.zero
    }

    /// - Parameters:
    ///   - lead: begin so much earlier with a copy of the first sample; it moves the grid of looks and nothing else.
    ///   - spans: tally only the hits in these, of detectors that do not rest after what is before; `nil`: all.
    ///   - isDrawn: gather what a picture shows, in `signals`.
    package init(
        _ requests: [DetectorRequest], lead: TimeSpan = .zero, in spans: [ClosedRange<Timestamp>]? = nil,
        isDrawn: Bool = false
    ) {
        self.requests = requests
        self.tallies = requests.map { Tally(detector: $0.name) }
        self.lead = lead
        self.spans = spans
        self.isDrawn = isDrawn
    }

    private let lead: TimeSpan
    private let spans: [ClosedRange<Timestamp>]?
    private let isDrawn: Bool
    /// What was listened to, sensor by sensor, if it is to be drawn.
    package private(set) var signals: [TraceSignal] = []

    /// The time from the first to the last sample, of the sensor that ran longest, in hours.
    package var hours: Double {
        let spans = self.streams.map { stream in stream.first.map { (stream.last - $0).seconds } ?? 0 }
        return (spans.max() ?? 0) / 3_600
    }

    /// Takes the next bytes of the trace and tells the hits in them.
    package mutating func feed(_ bytes: Span<UInt8>, _ onHit: (NamedHit) -> Void) throws(Problem) {
        do throws(TraceProblem) {
            try self.reader.feed(bytes)
        } catch {
            try self.evaluate(onHit)
            throw .trace(error)
        }
        try self.evaluate(onHit)
    }

    /// The trace has ended: what is left of it, and the deadlines after its last sample.
    package mutating func finish(_ onHit: (NamedHit) -> Void) throws(Problem) {
        do throws(TraceProblem) {
            try self.reader.finish()
        } catch {
            throw .trace(error)
        }
        try self.evaluate(onHit)
        if self.fused != nil {
            self.fused?.finish()
            self.evaluateFused(onHit)
        }
        for index in self.streams.indices {
            // Nothing can be due later than this: no window or rest is longer.
            self.streams[index].engine.tick(to: self.streams[index].last + .seconds(3_600), hits: &self.hits)
            self.tell(onHit)
        }
        for index in self.tallies.indices {
            let id = DetectorID(UInt32(index))
            self.tallies[index].held = self.streams.reduce(0) { $0 + $1.engine.heldHits(of: id).count }
        }
    }

    private mutating func evaluate(_ onHit: (NamedHit) -> Void) throws(Problem) {
        if self.streams.isEmpty, let header = self.reader.header { try self.begin(header) }
        self.fused?.take(self.reader.blocks)
        if self.streams.count == 1 {
            let block = self.block(of: self.streams[0])
            self.evaluate(block, 0..<block.count, 0)
            self.tell(onHit)
        } else {
            self.evaluateInTurn(onHit)
        }
        self.reader.removeRows()
    }

    private func block(of stream: Stream) -> SampleBlock {
        stream.block < 0 ? self.fused?.block ?? SampleBlock(channels: 0) : self.reader.blocks[stream.block]
    }

    /// Takes what was made when the trace had ended.
    private mutating func evaluateFused(_ onHit: (NamedHit) -> Void) {
        guard let index = self.streams.firstIndex(where: { $0.block < 0 }) else { return }
        let block = self.block(of: self.streams[index])
        self.evaluate(block, 0..<block.count, index)
        self.tell(onHit)
    }

    /// Takes the samples of several sensors in the order of their times: how the bytes came must not show in the hits.
    private mutating func evaluateInTurn(_ onHit: (NamedHit) -> Void) {
        let blocks = self.streams.map { self.block(of: $0) }
        var next = blocks.map { _ in 0 }
        func time(_ stream: Int) -> Int64 {
            next[stream] < blocks[stream].count ? blocks[stream].times[next[stream]] : .max
        }
        while let turn = blocks.indices.min(by: { (time($0), $0) < (time($1), $1) }), time(turn) < .max {
            let others = blocks.indices.filter { $0 != turn }.map { (time($0), $0) }
            let limit = others.min { $0 < $1 } ?? (.max, 0)
            var end = next[turn]
            while end < blocks[turn].count, (blocks[turn].times[end], turn) < limit { end += 1 }
            self.evaluate(blocks[turn], next[turn]..<end, turn)
            self.tell(onHit)
            next[turn] = end
        }
    }

    private mutating func evaluate(_ block: SampleBlock, _ rows: Range<Int>, _ index: Int) {
        guard !rows.isEmpty else { return }
        let earliest = block.times[rows.lowerBound]
        self.samples += rows.count
        if self.isDrawn { self.signals[index].take(block, rows) }
        self.streams[index].last = Timestamp(microseconds: block.times[rows.upperBound - 1])
        let isFirst = self.streams[index].first == nil
        if isFirst {
            let start = Timestamp(microseconds: earliest)
            self.streams[index].first = start
            for (detector, id) in self.streams[index].waiting {
                self.streams[index].engine.add(detector, as: id, at: start)
            }
            self.streams[index].waiting = []
        }
        let values = block.values.span.extracting(rows.lowerBound * block.channels..<rows.upperBound * block.channels)
        guard self.lead > .zero else {
            guard self.isDrawn else {
                return self.streams[index].engine.process(
                    times: block.times.span.extracting(rows), values: values, hits: &self.hits)
            }
            // A few at a time, so that each moment is seen at which a hit was held: there is one in a rest at most.
            for first in stride(from: 0, to: rows.count, by: Self.drawnAtOnce) {
                let part = first..<min(rows.count, first + Self.drawnAtOnce)
                let times = block.times.span.extracting(
                    rows.lowerBound + part.lowerBound..<rows.lowerBound + part.upperBound)
                self.streams[index].engine.process(
                    times: times,
                    values: values.extracting(part.lowerBound * block.channels..<part.upperBound * block.channels),
                    hits: &self.hits)
                self.noteHeld(of: index)
            }
            return
        }
        // The engine's clock runs ahead by the lead, so that no time is before zero.
        if isFirst {
            let first = [earliest]
            self.streams[index].engine.process(
                times: first.span, values: values.extracting(0..<block.channels), hits: &self.hits)
        }
        let times = block.times[rows].map { (Timestamp(microseconds: $0) + self.lead).microseconds }
        self.streams[index].engine.process(times: times.span, values: values, hits: &self.hits)
    }

    /// Samples that are looked at at once when it is drawn.
    private static let drawnAtOnce = 8

    /// Lets the picture know of a hit that was held since it was last asked.
    private mutating func noteHeld(of index: Int) {
        for watcher in self.signals[index].watchers {
            let held = self.streams[index].engine.heldHits(of: DetectorID(UInt32(watcher.index)))
            if let last = held.last { self.signals[index].note(held: last, of: watcher.index) }
        }
    }

    private mutating func tell(_ onHit: (NamedHit) -> Void) {
        for hit in self.hits {
            let index = Int(hit.detector.index)
            let time = hit.time - self.lead
            if self.spans?.contains(where: { $0.contains(time) }) ?? true { self.tallies[index].hits += 1 }
            onHit(
                NamedHit(
                    detector: self.tallies[index].detector, time: time, peak: hit.peak, isClipped: hit.isClipped,
                    note: hit.note))
        }
        self.hits.removeAll(keepingCapacity: true)
    }

    /// The header is known: compiles the detectors for the sensors that the trace has.
    private mutating func begin(_ header: TraceHeader) throws(Problem) {
        var wanted: [String] = []
        for (index, request) in self.requests.enumerated() {
            do throws(DetectorProblem) {
                let compiled = try DetectorCompiler.compile(request, for: nil)
                let detector = self.spans == nil ? compiled : compiled.withoutRest
                if !wanted.contains(detector.sensor) { wanted.append(detector.sensor) }
                guard let stream = self.stream(of: detector.sensor, header) else { continue }
                self.streams[stream].waiting.append((detector, DetectorID(UInt32(index))))
                if self.isDrawn { self.signals[stream].add(detector, at: index) }
            } catch {
                throw .detector(error)
            }
        }
        guard !self.streams.isEmpty else {
            throw .noSensor(wanted: wanted, found: header.sensors.map(\.name))
        }
    }

    /// The stream of a sensor that the trace has, or has what it is made of.
    private mutating func stream(of sensor: String, _ header: TraceHeader) -> Int? {
        if let block = header.index(of: sensor) { return self.makeStream(block, header) }
        guard sensor == SensorDescription.motion, let fused = self.fused ?? FusedTrace(header) else { return nil }
        if let known = self.streams.firstIndex(where: { $0.block < 0 }) { return known }
        self.fused = fused
        return self.makeStream(of: TraceSensor(name: sensor, channels: FusedTrace.channels, unit: ""), -1)
    }

    private mutating func makeStream(_ block: Int, _ header: TraceHeader) -> Int {
        if let known = self.streams.firstIndex(where: { $0.block == block }) { return known }
        return self.makeStream(of: header.sensors[block], block)
    }

    private mutating func makeStream(of sensor: TraceSensor, _ block: Int) -> Int {
        if self.isDrawn { self.signals.append(TraceSignal(sensor)) }
        self.streams.append(
            Stream(
                block: block,
                engine: DetectionEngine(
                    channels: sensor.channels, range: sensor.range, gap: SensorLimits.gap(of: sensor.name))))
        return self.streams.count - 1
    }
}
