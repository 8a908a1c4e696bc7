import Detection
import Journal

/// Of which motion all that there was is in clips: from what nearly was a hit of a detector on or, where that is not noticed, from what was
/// one.
struct KeptMotion {
    /// In the unit of what the detector compares.
    let bound: Double
    /// Less is more, as in free fall: what is above the bound was not kept, and not what is below it.
    let isOfLittle: Bool

    /// `nil`: the detector of the moment has no threshold that says it.
    init?(_ moment: StoredClip.Moment) {
        let detector = PastClip.detector(of: moment)
        let near = detector.flatMap { NearMiss.detector(beside: $0) }
        guard let bound = near?.threshold ?? moment.threshold, bound > 0 else { return nil }
        (self.bound, self.isOfLittle) = (bound, detector?.asksForLittle ?? false)
    }

    /// Where motion is of which nobody knows.
    var elsewhere: String { self.isOfLittle ? "above" : "below" }

    /// Whether a threshold is also passed by motion that was not kept.
    func isTooMuch(_ threshold: Double) -> Bool {
        threshold > 0 && (self.isOfLittle ? threshold > self.bound : threshold < self.bound)
    }

    /// Of which motion all that there was is in clips of several moments of one kind.
    static func ofAll(_ all: [KeptMotion]) -> KeptMotion? {
        all.max { $0.isOfLittle ? $0.bound > $1.bound : $0.bound < $1.bound }
    }
}
