package import Detection
package import Motion

/// How one detector does with many values of a parameter, most often its threshold: false hits an hour against the share of real
/// ones that it finds.
///
/// Every trace is replayed once for each grid phase, with one detector for each value; they share all but the comparison.
/// Traces come in any order.
package struct ThresholdSweep: Sendable {
    /// What is tuned.
    package enum Subject: Sendable {
        case preset(String, parameter: PresetParameter)
        /// A condition with a name in it that stands for a number of this dimension.
        case condition(String, name: String, Dimension)

        /// What reports call it.
        package var title: String {
            switch self {
            case .preset(let name, let parameter):
                parameter.name == "threshold" ? name : "\(name), \(parameter.name)"
            case .condition(let text, _, _): text
            }
        }

        /// What the values are of.
        package var parameterName: String {
            switch self {
            case .preset(_, let parameter): parameter.name
            case .condition(_, let name, _): name
            }
        }

        /// What its numbers are in; empty for a number of things.
        package var unit: String {
            switch self {
            case .preset(_, let parameter): parameter.unit
            case .condition(_, _, let dimension): dimension.canonicalUnit
            }
        }

        /// What holds when nobody says anything.
        fileprivate var usual: Double? {
            if case .preset(_, let parameter) = self, !parameter.isRequired { parameter.defaultValue } else { nil }
        }

        /// What is asked for with a value, besides all else.
        func options(_ value: Double) -> [(key: String, value: OptionValue)] {
            switch self {
            case .preset(let name, let parameter):
                let isTime = parameter.dimension == .time
                return [
                    ("preset", .text(name)), (parameter.name, isTime ? .text("\(value)s") : .number(value)),
                ]
            case .condition(let text, let name, let dimension):
                let number = "(\(value)\(dimension.canonicalUnit))"
                return [("when", .text(Self.replacing(name, in: text, by: number)))]
            }
        }

        /// Puts a number where a name stands as a whole word.
        private static func replacing(_ name: String, in text: String, by number: String) -> String {
            var result = ""
            var word = ""
            for character in text + " " {
                if character.isLetter || character.isNumber || character == "_" {
                    word.append(character)
                } else {
                    result += word == name ? number : word
                    result.append(character)
                    word = ""
                }
            }
            return String(result.dropLast())
        }
    }

    /// What a trace shows.
    package enum Kind: Sendable {
        /// The motion that is to be found, at least once.
        case positive
        /// Anything else: each hit in it is false.
        case negative

        /// What a trace's label says; `nil` when it does not say.
        package init?(label: String?) {
            guard let word = label?.split(separator: " ").first else { return nil }
            switch word {
            case "shake": self = .positive
            case "not-shake": self = .negative
            default: return nil
            }
        }
    }

    /// What happens at one threshold.
    package struct Point: Equatable, Sendable {
        package var threshold: Double
        package var falseHits = 0
        package var found = 0
        /// Per hour of negative traces; `nil` without any.
        package var falsePerHour: Double?
        /// The share of positive traces found; `nil` without any.
        package var recall: Double?
    }

    /// What one recording did with every threshold, in all its phases.
    package struct Recording: Equatable, Sendable {
        package var name: String
        package var kind: Kind
        package fileprivate(set) var hours = 0.0
        /// How often it was replayed.
        package fileprivate(set) var runs = 0
        /// For each threshold: its hits in all runs, and in how many runs there was one.
        package fileprivate(set) var hits: [Int]
        package fileprivate(set) var runsHit: [Int]

        fileprivate init(_ name: String, _ kind: Kind, thresholds: Int) {
            (self.name, self.kind) = (name, kind)
            self.hits = Array(repeating: 0, count: thresholds)
            self.runsHit = self.hits
        }

        fileprivate mutating func add(_ replay: TraceReplay) {
            self.hours += replay.hours
            self.runs += 1
            for (index, tally) in replay.tallies.enumerated() where tally.hits > 0 {
                self.hits[index] += tally.hits
                self.runsHit[index] += 1
            }
        }
    }

    /// A threshold to use, and why.
    package struct Advice: Equatable, Sendable {
        package var point: Point
        /// False when no threshold has so few false hits and still finds something: then this is the best compromise.
        package var meetsTarget: Bool
        /// Between these the target is met, and at least nine tenths of what the advised threshold finds are found.
        package var lowest: Double
        package var highest: Double
    }

    package let subject: Subject
    /// What else is asked of the detector.
    private let options: DetectorOptions
    package let thresholds: [Double]
    package let phases: Int
    private var points: [Point]
    /// In the order in which they came.
    package private(set) var recordings: [Recording] = []
    private var negativeHours = 0.0
    private var positiveRuns = 0

    /// - Parameter range: the values to try, in `steps` equal steps; of what is whole, whole ones.
    package init(
        _ subject: Subject, options: DetectorOptions = [:], over range: ClosedRange<Double>, steps: Int, phases: Int
    ) {
        self.subject = subject
        self.options = options
        self.phases = max(1, phases)
        let count = max(2, steps)
        let step = (range.upperBound - range.lowerBound) / Double(count - 1)
        let values = (0..<count).map { range.lowerBound + Double($0) * step }
        if case .preset(_, let parameter) = subject, parameter.isWhole {
            self.thresholds = Set(values.map { $0.rounded() }).sorted()
        } else {
            self.thresholds = values
        }
        self.points = self.thresholds.map { Point(threshold: $0) }
    }

    /// The detectors to replay a trace with, named by the index of their threshold.
    package var requests: [DetectorRequest] {
        self.thresholds.indices.map { index in
            var options = self.options
            for (key, value) in self.subject.options(self.thresholds[index]) { options[key] = value }
            return DetectorRequest(name: "\(index)", options: options)
        }
    }

    /// How much earlier to begin in a phase, so that looks fall elsewhere.
    package func lead(in phase: Int, every: TimeSpan) -> TimeSpan {
        TimeSpan(microseconds: every.microseconds / Int64(self.phases) * Int64(phase))
    }

    /// Counts a replay of `requests` over one trace in one phase.
    ///
    /// - Parameter name: what the trace is called where it is shown what stands behind a point.
    package mutating func count(_ replay: TraceReplay, as kind: Kind, of name: String) {
        let known = self.recordings.firstIndex { $0.name == name && $0.kind == kind }
        if known == nil { self.recordings.append(Recording(name, kind, thresholds: self.thresholds.count)) }
        self.recordings[known ?? self.recordings.count - 1].add(replay)
        switch kind {
        case .positive: self.positiveRuns += 1
        case .negative: self.negativeHours += replay.hours
        }
        for index in self.points.indices {
            let hits = replay.tallies[index].hits
            switch kind {
            case .positive: self.points[index].found += hits > 0 ? 1 : 0
            case .negative: self.points[index].falseHits += hits
            }
        }
    }

    /// The curve, by rising threshold.
    package var curve: [Point] {
        self.points.map { point in
            var point = point
            if self.negativeHours > 0 { point.falsePerHour = Double(point.falseHits) / self.negativeHours }
            if self.positiveRuns > 0 { point.recall = Double(point.found) / Double(self.positiveRuns) }
            return point
        }
    }

    /// Whether a larger value lets more through, as of a condition with `<`: then the largest is not the strictest.
    private var isLooserAbove: Bool {
        func hits(_ points: ArraySlice<Point>) -> Int { points.reduce(0) { $0 + $1.falseHits + $1.found } }
        let half = self.points.count / 2
        return hits(self.points.suffix(half)) > hits(self.points.prefix(half))
    }

    /// Among the thresholds that have no more than `target` false hits an hour, as have all that are stricter, those that find
    /// most. Traces tell them no further apart, so it is what people are used to, if that is one of them, else their middle,
    /// which is as far as can be from what does worse.
    package func advice(target: Double) -> Advice? {
        let curve = self.isLooserAbove ? self.curve.reversed() : self.curve
        guard let last = curve.last else { return nil }
        let failing = curve.lastIndex { ($0.falsePerHour ?? 0) > target }
        let first = failing.map { $0 + 1 } ?? 0
        guard first < curve.count, (curve[first].recall ?? 1) > 0 else {
            let most = max(curve.compactMap(\.falsePerHour).max() ?? 0, 1e-9)
            func worth(_ point: Point) -> Double { (point.recall ?? 0) - (point.falsePerHour ?? 0) / most }
            let best = curve.indices.max { worth(curve[$0]) < worth(curve[$1]) } ?? 0
            let from = curve[...best].lastIndex { worth($0) != worth(curve[best]) }.map { $0 + 1 } ?? 0
            let to = curve[best...].firstIndex { worth($0) != worth(curve[best]) } ?? curve.count
            let point = self.choice(of: curve[from..<to]) ?? last
            return Advice(point: point, meetsTarget: false, lowest: point.threshold, highest: point.threshold)
        }
        let most = curve[first].recall
        let level = curve[first...].firstIndex { $0.recall != most } ?? curve.count
        let enough = 0.9 * (most ?? 0)
        let end = curve[first...].firstIndex { ($0.recall ?? 0) < enough } ?? curve.count
        let ends = (curve[first].threshold, curve[max(first, end - 1)].threshold)
        return Advice(
            point: self.choice(of: curve[first..<level]) ?? last, meetsTarget: true, lowest: min(ends.0, ends.1),
            highest: max(ends.0, ends.1))
    }

    /// One of several that do equally well, which stand side by side.
    private func choice(of points: ArraySlice<Point>) -> Point? {
        guard let first = points.first, let last = points.last else { return nil }
        let (low, high) = (min(first.threshold, last.threshold), max(first.threshold, last.threshold))
        let usual = self.subject.usual.flatMap { (low...high).contains($0) ? $0 : nil }
        let wanted = usual ?? (low + high) / 2
        var point = points.min { ($0.threshold - wanted).magnitude < ($1.threshold - wanted).magnitude }
        // Between two that do equally well nothing does worse.
        if let usual { point?.threshold = usual }
        return point
    }

    /// Why the advice may be worth little: what disturbs was hardly tried.
    package var doubt: String? {
        // A recording of ten minutes may end a sample before they are over.
        let minutes = (self.negativeHours * 600 / Double(self.phases)).rounded() / 10
        guard minutes < Self.enoughMinutes else { return nil }
        let needed = "give \(SweepReport.number(Self.enoughMinutes)) min or more of motion that is not meant"
        return minutes > 0
            ? "only \(SweepReport.number(minutes)) min of negative traces say how often it is disturbed: \(needed)"
            : "no negative trace says how often it is disturbed: \(needed)"
    }

    /// With less than so much nobody can tell one false hit in an hour from six.
    private static let enoughMinutes = 10.0
}
