import Motion

/// Whether a journey went as the article asks of a tracker.
extension TrackerStory {
    /// What the article asks.
    enum Requirement: String, CaseIterable {
        case byTime = "by time when moving"
        case byDistance = "by distance when slow"
        case silence = "silent when still"
        case background = "in the background"
        case relaunch = "after it was killed"
    }

    struct Judgement: Equatable {
        var requirement: Requirement
        /// What was found, in a sentence; `nil` when the journey has none of it.
        var finding: String?
        var isMet: Bool
    }

    /// The filter is ten seconds of the way, to a tenth and to whole metres a second; a bend makes the straight way shorter,
    /// and a fix can only be reported when it comes.
    private static let longestInterval = 15.0
    /// A stretch shorter than this, in s, says nothing.
    private static let shortest = 60.0

    var length: TimeSpan { (self.fixes.last?.time ?? .zero) - (self.fixes.first?.time ?? .zero) }

    /// Against a fix a second, as one that just listens has.
    var savings: Double {
        let seconds = self.length.seconds
        return seconds > 0 ? 1 - Double(self.reports.count + self.denied) / (seconds + 1) : 0
    }

    var stretches: [Stretch] {
        var stretches: [Stretch] = []
        for (index, fix) in self.fixes.enumerated() {
            let way = index > 0 ? self.fixes[index - 1].position.distance(to: fix.position) : 0
            if let last = stretches.last, last.motion == fix.motion {
                stretches[stretches.count - 1].end = fix.time
                stretches[stretches.count - 1].metres += way
                stretches[stretches.count - 1].fixes += 1
            } else {
                stretches.append(Stretch(motion: fix.motion, start: fix.time, end: fix.time, metres: 0))
            }
        }
        return stretches.filter { $0.seconds >= Self.shortest }
    }

    func reports(in stretch: Stretch) -> [Report] {
        self.reports.filter { $0.time >= stretch.start && $0.time <= stretch.end }
    }

    /// Of all that virtual time can show.
    var judgements: [Judgement] { [self.byTime, self.byDistance, self.silence, self.background] }

    private var byTime: Judgement {
        let stretches = self.stretches.filter { $0.motion == .moving }
        let seconds = stretches.reduce(0) { $0 + $1.seconds }
        let count = stretches.reduce(0) { $0 + self.reports(in: $1).count }
        guard seconds > 0 else { return Judgement(requirement: .byTime, finding: nil, isMet: true) }
        let interval = seconds / Double(max(1, count))
        // A file may have few fixes, and none can be reported before it comes.
        let step = seconds / Double(stretches.reduce(0) { $0 + $1.fixes })
        return Judgement(
            requirement: .byTime,
            finding: "\(count) reports in \(rounded(seconds, 0)) s of moving, one each \(rounded(interval, 1)) s",
            isMet: count > 0 && interval <= Self.longestInterval + step)
    }

    private var byDistance: Judgement {
        let stretches = self.stretches.filter { $0.motion == .slow }
        let metres = stretches.reduce(0) { $0 + $1.metres }
        let reports = stretches.flatMap { self.reports(in: $0) }
        guard metres >= 100 else { return Judgement(requirement: .byDistance, finding: nil, isMet: true) }
        // Where it becomes slow, the filter is set, and the next fix is reported whatever its distance.
        let most = metres / 50 + Double(2 * stretches.count)
        return Judgement(
            requirement: .byDistance,
            finding: "\(reports.count) reports on \(rounded(metres, 0)) m of slow way, one each "
                + "\(rounded(metres / Double(max(1, reports.count)), 0)) m",
            isMet: !reports.isEmpty && Double(reports.count) <= most)
    }

    private var silence: Judgement {
        let stretches = self.stretches.filter { $0.motion == .still }
        let seconds = stretches.reduce(0) { $0 + $1.seconds }
        let counts = stretches.map { self.reports(in: $0).count }
        guard seconds > 0 else { return Judgement(requirement: .silence, finding: nil, isMet: true) }
        let count = counts.reduce(0, +)
        return Judgement(
            requirement: .silence,
            finding: "\(count) reports in \(rounded(seconds, 0)) s of rest, in \(stretches.count) places",
            // The first fix of all is one, and so may be the first of each place.
            isMet: !counts.contains { $0 > 2 })
    }

    private var background: Judgement {
        let inBackground = self.reports.filter { $0.time - Timestamp.zero >= Self.leaves }.count
        guard self.length > Self.leaves else { return Judgement(requirement: .background, finding: nil, isMet: true) }
        guard self.isGranted else {
            return Judgement(
                requirement: .background, finding: "\(inBackground) reports without the right, \(self.denied) withheld",
                isMet: inBackground == 0)
        }
        return Judgement(
            requirement: .background,
            finding: "\(inBackground) reports while another app is in front, \(self.denied) withheld",
            isMet: self.denied == 0)
    }
}
