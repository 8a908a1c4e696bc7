import Detection
import Motion
import TestSupport
import Traces

/// What a fix costs, by how many geofences there are, beside each app measuring its distance itself.
///
/// The journey is the demo's, the circles lie along it. A fix comes once a second.
enum PlacesBenchmark {
    private static let counts = [1, 100, 1_000]

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let journey = SyntheticDrive().block
        let places = (0..<journey.count).compactMap { row in
            Position(latitude: journey.values[row * 5], longitude: journey.values[row * 5 + 1])
        }
        for count in self.counts {
            let centres = (0..<count).map { places[$0 * places.count / count] }
            var pairs = Pairs()
            for _ in 0..<plan.longRounds {
                var engine = try self.engine(centres)
                var hits: [Hit] = []
                // One at a time, as fixes come.
                let ours = self.microseconds(places.count) {
                    for row in 0..<journey.count {
                        engine.process(
                            times: journey.times.span.extracting(row..<row + 1),
                            values: journey.values.span.extracting(row * 5..<row * 5 + 5), hits: &hits)
                    }
                }
                guard hits.count >= count else { throw Failure("\(count) geofences made \(hits.count) hits") }
                var inside = 0
                let apps = self.microseconds(places.count) {
                    // An app gets two numbers, and knows its centre.
                    for row in 0..<journey.count {
                        let (latitude, longitude) = (journey.values[row * 5], journey.values[row * 5 + 1])
                        for centre in centres {
                            guard let place = Position(latitude: latitude, longitude: longitude) else { continue }
                            if centre.distance(to: place) < 100 { inside += 1 }
                        }
                    }
                }
                guard inside > 0 else { throw Failure("no app was anywhere") }
                pairs.add(ours: ours, baseline: apps)
            }
            report(pairs.figure("places.\(count)", "us/fix", within: count == counts.last ? .atMost(3) : nil))
        }
    }

    private static func engine(_ centres: [Position]) throws(Failure) -> DetectionEngine {
        var engine = DetectionEngine(
            channels: SensorDescription.channels(of: SensorDescription.location),
            gap: SensorLimits.gap(of: SensorDescription.location))
        for (index, centre) in centres.enumerated() {
            let options: [String: OptionValue] = [
                "preset": .text("geofence"), "latitude": .number(centre.latitude),
                "longitude": .number(centre.longitude),
            ]
            let detector = try compile(DetectorRequest(name: "place", options: options))
            engine.add(detector, as: DetectorID(UInt32(index)), at: .zero)
        }
        return engine
    }

    private static func microseconds(_ fixes: Int, _ work: () -> Void) -> Double {
        let began = ProcessorClock.now()
        work()
        return (ProcessorClock.now() - began) / 1_000 / Double(max(1, fixes))
    }
}
