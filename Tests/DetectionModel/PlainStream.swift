package import Detection
package import Motion

/// Detectors on one stream, each on its own: what the engine must agree with, hit for hit.
package struct PlainStream {
    /// When a detector looks, and at what.
    package struct Pace: Hashable, Sendable {
        package var every: Int64?
        package var decimation: Decimation

        package init(every: Int64?, decimation: Decimation) {
            self.every = every
            self.decimation = decimation
        }
    }

    package struct Detector: Sendable {
        package var program: Program
        package var pace: Pace
        package var rest: Int64
        package var restMode: RestMode

        package init(_ program: Program, _ pace: Pace, rest: Int64, _ restMode: RestMode) {
            self.program = program
            self.pace = pace
            self.rest = rest
            self.restMode = restMode
        }
    }

    private struct Running {
        let id: UInt32
        let detector: Detector
        var evaluator = PlainEvaluator()
        var lastFired: Int64?
        var lastTrue: Int64?
        /// Of each number that hits may carry; none while the condition is false.
        var peaks: [Double]?
    }

    /// The grid of a pace that somebody has.
    private struct Grid {
        /// No look before this time.
        var nextDue = Int64.min
        var lastLook: Int64?
        /// The open bucket of `mean` and `peak`: when it ends, and its samples.
        var bucket: (end: Int64, samples: [[Double]])?
    }

    private var running: [Running] = []
    private var grids: [Pace: Grid] = [:]
    private var origin: Int64?
    private var lastTime: Int64?

    package init() {}

    /// Ids of detectors whose numbers grew beyond a Double, and after which nothing is promised.
    package var overflown: [UInt32] { self.running.filter(\.evaluator.hasOverflown).map(\.id) }

    package mutating func add(_ detector: Detector, as id: UInt32) {
        self.remove(id)
        if self.grids[detector.pace] == nil {
            var grid = Grid()
            if let origin = self.origin, let last = self.lastTime, let every = detector.pace.every {
                grid.nextDue = Self.boundary(after: last, origin, every)
            }
            self.grids[detector.pace] = grid
        }
        var new = Running(id: id, detector: detector)
        // A filter that somebody has already is not begun anew.
        for other in self.running where other.detector.pace == detector.pace {
            for term in [detector.program.term] + detector.program.measured.map(\.term) {
                if let term { new.evaluator.adopt(other.evaluator, of: term) }
            }
        }
        self.running.append(new)
    }

    package mutating func remove(_ id: UInt32) {
        guard let index = self.running.firstIndex(where: { $0.id == id }) else { return }
        let pace = self.running.remove(at: index).detector.pace
        if !self.running.contains(where: { $0.detector.pace == pace }) { self.grids[pace] = nil }
    }

    private static func boundary(after time: Int64, _ origin: Int64, _ every: Int64) -> Int64 {
        origin + ((time - origin) / every + 1) * every
    }

    /// Takes a sample; returns the hits in the order of time and id.
    package mutating func sample(_ time: Int64, _ values: [Double]) -> [Hit] {
        var hits: [Hit] = []
        for (pace, grid) in self.grids {
            guard let bucket = grid.bucket, bucket.end <= time else { continue }
            self.grids[pace]?.bucket = nil
            self.grids[pace]?.nextDue = bucket.end
            self.look(pace, at: bucket.end, Self.decimated(bucket.samples, pace.decimation), &hits)
        }
        if let last = self.lastTime, time - last > 1_000_000 {
            self.origin = nil
            for pace in self.grids.keys { self.grids[pace] = Grid() }
            for index in self.running.indices {
                self.running[index].evaluator.reset()
                self.running[index].peaks = nil
            }
        }
        let origin = self.origin ?? time
        self.origin = origin
        self.lastTime = time
        for (pace, grid) in self.grids {
            if pace.decimation != .last, let every = pace.every {
                if grid.bucket == nil, time >= grid.nextDue {
                    self.grids[pace]?.bucket = (Self.boundary(after: time, origin, every), [])
                }
                self.grids[pace]?.bucket?.samples.append(values)
            } else if time >= grid.nextDue {
                if let every = pace.every { self.grids[pace]?.nextDue = Self.boundary(after: time, origin, every) }
                self.look(pace, at: time, values, &hits)
            }
        }
        return hits.sorted { ($0.time, $0.detector) < ($1.time, $1.detector) }
    }

    private static func decimated(_ samples: [[Double]], _ decimation: Decimation) -> [Double] {
        (0..<3).map { channel in
            let values = samples.map { $0[channel] }
            switch decimation {
            case .last: return values.last ?? 0
            case .mean: return values.reduce(0, +) / Double(values.count)
            case .peak: return values.reduce(0) { abs($1) > abs($0) ? $1 : $0 }
            }
        }
    }

    private mutating func look(_ pace: Pace, at time: Int64, _ values: [Double], _ hits: inout [Hit]) {
        let elapsed = self.grids[pace]?.lastLook.map { time - $0 } ?? 0
        self.grids[pace]?.lastLook = time
        for index in self.running.indices where self.running[index].detector.pace == pace {
            if let hit = Self.look(&self.running[index], at: time, elapsed, values) { hits.append(hit) }
        }
    }

    private static func look(_ running: inout Running, at time: Int64, _ elapsed: Int64, _ values: [Double]) -> Hit? {
        let (program, detector) = (running.detector.program, running.detector)
        guard let term = program.term else { return nil }
        running.evaluator.look(at: time, elapsed: elapsed, values)
        let measured = program.measured.map { $0.sign * running.evaluator.value(of: $0.term) }
        // An undefined value anywhere makes the look false.
        guard running.evaluator.value(of: term) == 1 else {
            running.peaks = nil
            return nil
        }
        let peaks = zip(measured, running.peaks ?? measured).map { max($0, $1) }
        running.peaks = peaks
        let fires =
            switch detector.restMode {
            case .leading: running.lastFired.map { time - $0 >= detector.rest } ?? true
            case .restarting: running.lastTrue.map { time - $0 >= detector.rest } ?? true
            case .none: true
            }
        running.lastTrue = time
        guard fires else { return nil }
        running.lastFired = time
        let shares = zip(peaks, program.measured).map { $0 / $1.scale }
        let strongest = shares.firstIndex { $0 == shares.max() } ?? 0
        return Hit(
            detector: DetectorID(running.id), time: Timestamp(microseconds: time),
            peak: program.measured[strongest].sign * peaks[strongest])
    }
}
