import Detection
import Journal
import Motion
import Replay
import Reports

/// Fetches what nearly was a hit, clip by clip: however many there are, the motion of few is in memory.
struct NearMissGathering {
    private var digest: NearMissDigest
    private let times: Range<Int64>
    /// By what was in force for them: very many moments are of few detectors.
    private var detectors: [String: CompiledDetector?] = [:]
    /// The newest, by their numbers, which may be drawn.
    private var drawable: [Int: (clip: PastClip, detector: CompiledDetector, time: Int64)] = [:]

    private init(from since: Int64, to until: Int64) {
        self.digest = NearMissDigest(since: since, until: until)
        self.times = since..<max(since, until)
    }

    /// Of a time; `nil`: nothing of that was ever kept. And how many clips cannot be read.
    ///
    /// - Parameter progress: Told up to when it has come, in µs of the wall clock.
    static func all(
        of reader: borrowing JournalReader, from since: Int64, to until: Int64, _ progress: (Int64) -> Void
    ) throws(JournalFailure) -> (digest: NearMissDigest?, unreadable: Int) {
        guard reader.hasClips else { return (nil, 0) }
        var gathering = Self(from: since, to: until)
        // A clip is as old as its first moment; the others are a few seconds younger.
        let first = since - min(since, ClipTerms.range.upperBound.microseconds * 4)
        let unreadable = try reader.eachClip(from: first, to: until) { stored in
            gathering.add(PastClip(stored: stored))
            progress(stored.wall)
        }
        return (gathering.end(), unreadable)
    }

    private mutating func add(_ clip: PastClip) {
        for moment in clip.stored.moments where moment.isNear && self.times.contains(moment.wall) {
            let detector = self.detector(of: moment)
            let strength = clip.strength(of: moment, detector)
            let start = clip.stored.motion.times.first ?? moment.time
            let number = self.digest.times
            self.digest.add(
                DayPage.NearMiss(
                    number: number, wall: moment.wall, clip: clip.stored.id, app: moment.app, user: clip.stored.user,
                    detector: moment.detector, threshold: moment.threshold, unit: strength.unit,
                    reach: strength.reachText, strength: strength.text,
                    lines: NearMissText.lines(clip, moment, detector, strength, time: Moment(wall: moment.wall).text),
                    moment: Double(moment.time - start) / 1e6))
            guard let detector else { continue }
            self.drawable[number] = (clip, detector, moment.time)
            // They come nearly in the order of their times, and so the newest are among the last.
            self.drawable[number - 2 * DayPage.drawnNear] = nil
        }
    }

    private mutating func detector(of moment: StoredClip.Moment) -> CompiledDetector? {
        if let known = self.detectors[moment.options] { return known }
        let detector = PastClip.detector(of: moment)
        // Whoever else wrote there may have written any number of them.
        if self.detectors.count < 1_024 { self.detectors[moment.options] = .some(detector) }
        return detector
    }

    private mutating func end() -> NearMissDigest {
        let drawable = self.drawable
        self.digest.finish()
        self.digest.draw(DayPage.drawnNear) { miss in
            drawable[miss.number].map { one in
                let (title, points) = one.clip.replay.curve(of: one.detector, lookingAt: one.time)
                return DayPage.NearMiss.Curve(title, points.map { (Double($0.time) / 1e6, $0.value) })
            }
        }
        return self.digest
    }
}
