import Arbitration
import Detection
import Motion
import Scenarios

/// A tracker on a journey: what the article asks of one, and whether `location.adaptive` and the broker's rules give it that.
///
/// The fixes run through the detector, its hits through the arbiter, in virtual time. The tracker goes to the background soon
/// after it began, where it says that it is at work with the location. A value, so that its judgement can be tested.
struct TrackerStory {
    static let tracker = AppID("org.jostle.Demo.Tracker")
    static let other = AppID("org.jostle.Demo.Maps")
    static let detector = "track"
    /// When the user turns to another app.
    static let leaves = TimeSpan.seconds(60)

    /// What a tracker does at a speed.
    enum Motion: String, CaseIterable {
        case still, slow, moving

        init(speed: Double) {
            self = speed < 0.5 ? .still : speed < 3 ? .slow : .moving
        }
    }

    struct Fix: Equatable {
        var time: Timestamp
        var position: Position
        var speed: Double
        var motion: Motion { Motion(speed: self.speed) }
    }

    /// A fix that came to the app as an event.
    struct Report: Equatable {
        var time: Timestamp
        var distance: Double
        /// In m, as the event says.
        var filter: Double
        var speed: Double
        var motion: Motion { Motion(speed: self.speed) }
    }

    /// A filter that became another.
    struct Change: Equatable {
        var time: Timestamp
        var from: Double
        var to: Double
    }

    /// Fixes of one motion that follow each other.
    struct Stretch: Equatable {
        var motion: Motion
        var start: Timestamp
        var end: Timestamp
        var metres: Double
        var fixes = 1
        var seconds: Double { (self.end - self.start).seconds }
    }

    let fixes: [Fix]
    let smoothing: Double
    /// Whether policy lets it work with the location in the background.
    let isGranted: Bool
    private(set) var reports: [Report] = []
    private(set) var changes: [Change] = []
    /// How often the filter was set, also to what it was.
    private(set) var settings = 0
    /// Hits that did not reach the app.
    private(set) var denied = 0

    init(_ block: SampleBlock, smoothing: Double = 0, isGranted: Bool = true) throws(DetectorProblem) {
        let start = block.times.first ?? 0
        self.fixes = (0..<block.count).compactMap { row in
            let place = row * block.channels
            return Position(latitude: block.values[place], longitude: block.values[place + 1]).map {
                Fix(
                    time: Timestamp(microseconds: block.times[row] - start), position: $0,
                    speed: block.values[place + 2])
            }
        }
        self.smoothing = smoothing
        self.isGranted = isGranted
        self.followFilter()
        try self.deliver(try self.hits(block, from: start))
    }

    private mutating func followFilter() {
        var filter = AdaptiveFilter(smoothing: self.smoothing)
        for fix in self.fixes {
            let before = filter.metres
            guard filter.adjust(to: fix.speed) else { continue }
            self.settings += 1
            if filter.metres != before {
                self.changes.append(Change(time: fix.time, from: before, to: filter.metres))
            }
        }
    }

    private func hits(_ block: SampleBlock, from start: Int64) throws(DetectorProblem) -> [Hit] {
        let request = DetectorRequest(
            name: Self.detector, options: ["preset": .text("location.adaptive"), "smoothing": .number(self.smoothing)])
        let detector = try DetectorCompiler.compile(request, for: nil)
        var engine = DetectionEngine(
            channels: SensorDescription.channels(of: SensorDescription.location),
            gap: SensorLimits.gap(of: SensorDescription.location))
        engine.add(detector, as: DetectorID(0), at: .zero)
        var hits: [Hit] = []
        let times = block.times.map { $0 - start }
        engine.process(times: times.span, values: block.values.span, hits: &hits)
        return hits
    }

    /// Lets the arbiter decide about the hits; what it delivers are the reports.
    private mutating func deliver(_ hits: [Hit]) throws(DetectorProblem) {
        var steps = [
            Scenario.Step(.zero, .app(Self.tracker, AppEntrance())),
            Scenario.Step(.zero, .foreground(.app(Self.tracker))),
            Scenario.Step(
                .zero,
                .detector(
                    Self.tracker,
                    DetectorFacts(
                        name: Self.detector, preset: "location.adaptive", dimension: .length, rest: .zero))),
            Scenario.Step(.zero, .activity(Self.tracker, .location, isRunning: true)),
        ]
        var hasLeft = false
        for hit in hits {
            let time = hit.time - Timestamp.zero
            if !hasLeft, time >= Self.leaves {
                hasLeft = true
                steps.append(Scenario.Step(Self.leaves, .app(Self.other, AppEntrance())))
                steps.append(Scenario.Step(Self.leaves, .foreground(.app(Self.other))))
            }
            steps.append(Scenario.Step(time, .hit(Self.tracker, Self.detector, peak: hit.peak, note: hit.note)))
        }
        let outcome = ScenarioRunner.run(Scenario(steps), policy: Self.policy(isGranted: self.isGranted))
        var next = 0
        for (hit, fate) in zip(hits, outcome.fates) {
            guard fate.isDelivered else {
                self.denied += 1
                continue
            }
            while next < self.fixes.count - 1, self.fixes[next].time < hit.time { next += 1 }
            self.reports.append(
                Report(
                    time: hit.time, distance: hit.note.distance(hit.peak) ?? 0, filter: hit.note.filter ?? 0,
                    speed: self.fixes[next].speed))
        }
    }

    /// The rules of the phone, and for the tracker the right to work with the location.
    static func policy(isGranted: Bool) -> Policy {
        var settings = AppSettings()
        if isGranted { settings.grants = WordSet([.location]) }
        return Policy(
            otherwise: Policy.builtIn.otherwise, rules: Policy.builtIn.rules, matrix: Policy.builtIn.matrix,
            apps: [self.tracker: settings])
    }
}
