import DeviceCore
import Devices
import Motion

/// What a gpsd may say, in pieces as they come.
enum GpsdTarget {
    /// The first byte says how the rest is cut. What is told of it is a place on earth.
    static func run(_ bytes: [UInt8]) -> String? {
        let chunk = max(1, Int(bytes.first ?? 64))
        var lines = LineSplitter(longest: GpsdParser.longestLine)
        let parser = GpsdParser()
        var (clock, track) = (FixClock(), LocationTrack())
        var problem: String?
        var (start, now) = (min(1, bytes.count), Timestamp(microseconds: 1_000_000))
        while start < bytes.count, problem == nil {
            let end = min(bytes.count, start + chunk)
            let fits = lines.take(bytes.span.extracting(start..<end)) { line in
                now = now + .milliseconds(100)
                guard let report = parser.read(line) else { return }
                problem = problem ?? self.check(report, &clock, &track, now)
            }
            guard fits else { return problem }
            start = end
        }
        return problem
    }

    private static func check(
        _ report: GpsdParser.Report, _ clock: inout FixClock, _ track: inout LocationTrack, _ now: Timestamp
    ) -> String? {
        for value in [report.speed, report.course, report.accuracy] {
            if let value, !value.isFinite { return "a value that is no number" }
        }
        guard let position = Position(latitude: report.latitude, longitude: report.longitude),
            let time = clock.time(of: report.time, wallClock: 1_700_000_000_000_000, now: now)
        else { return nil }
        guard time <= now else { return "a time to come" }
        let fix = LocationFix(
            time: time.microseconds, position: position, speed: report.speed, course: report.course,
            accuracy: report.accuracy)
        guard let row = track.row(for: fix) else { return nil }
        return row.allSatisfy(\.isFinite) ? nil : "a row that is no numbers"
    }
}
