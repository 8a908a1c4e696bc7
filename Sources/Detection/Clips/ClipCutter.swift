package import Motion

/// Cuts the motion around moments out of a sensor's stream.
///
/// A value: samples and moments go in, and when a clip is due it is copied into memory that somebody lends. Nothing here
/// allocates once it is made.
package struct ClipCutter: Sendable {
    private let terms: ClipTerms
    private let channels: [String]
    private var ring: MotionRing
    /// Those of the clip in the making; none: there is none.
    private var moments: [ClipMoment] = []
    /// From when to when that one goes, in µs.
    private var (begin, end): (Int64, Int64) = (0, 0)

    /// Sensors that run faster than this, in Hz, have shorter clips.
    private static let rate: Int64 = 250

    package init(_ terms: ClipTerms, channels: [String]) {
        self.terms = terms
        self.channels = channels
        let samples = Int(clamping: terms.longest.microseconds * Self.rate / 1_000_000)
        let most = MotionClip.mostValues / max(1, channels.count)
        self.ring = MotionRing(width: channels.count, capacity: min(max(64, samples), most, MotionClip.mostSamples))
        self.moments.reserveCapacity(MotionClip.mostMoments)
    }

    /// The same for a sensor that has other channels now.
    package func madeAnew(for channels: [String]) -> ClipCutter { ClipCutter(self.terms, channels: channels) }

    // MARK: In

    /// Samples were looked at, those up to `latest`.
    @inline(__always)
    package mutating func take(_ times: Span<Int64>, _ values: Span<Double>, upTo latest: Int64) {
        self.ring.append(times, values, upTo: latest)
    }

    /// Whether a moment of a detector is worth to be told: nothing of it is kept otherwise.
    package func wants(_ id: DetectorID, at time: Timestamp, isNear: Bool) -> Bool {
        guard !self.moments.isEmpty else { return true }
        if time.microseconds > self.begin + self.terms.longest.microseconds { return false }
        let earliest = time - self.terms.after
        for index in self.moments.indices where self.moments[index].id == id {
            // What came of it is what counts, and the first sign of it is enough.
            if isNear { return false }
            if self.moments[index].isNear, self.moments[index].time >= earliest { return true }
        }
        return self.moments.count < MotionClip.mostMoments
    }

    /// Something was hit, or nearly. Asked for with `wants` first.
    package mutating func add(_ moment: ClipMoment) {
        let time = moment.time.microseconds
        if self.moments.isEmpty {
            self.begin = time - self.terms.before.microseconds
            self.end = time + self.terms.after.microseconds
            self.moments.append(moment)
            return
        }
        let latest = self.begin + self.terms.longest.microseconds
        self.end = max(self.end, min(time + self.terms.after.microseconds, latest))
        // What nearly was a hit is none when there is one a moment later.
        let earliest = moment.time - self.terms.after
        let near = self.moments.firstIndex { $0.id == moment.id && $0.isNear && $0.time >= earliest }
        if let near, !moment.isNear {
            self.moments[near] = moment
        } else if self.moments.count < MotionClip.mostMoments {
            self.moments.append(moment)
        }
    }

    /// Forgets moments of a user.
    package mutating func forget(_ isForgotten: (ClipMoment) -> Bool) { self.moments.removeAll(where: isForgotten) }

    /// No more comes for now: what there is makes the clip.
    package mutating func finish() { self.end = min(self.end, self.ring.last) }

    /// What came until now has nothing to do with what comes.
    package mutating func beginAnew() {
        self.moments.removeAll(keepingCapacity: true)
        self.ring.removeAll()
    }

    // MARK: Out

    /// Whether a clip is complete.
    @inline(__always)
    package var isDue: Bool { !self.moments.isEmpty && self.ring.last >= self.end }

    /// Puts the clip that is due into another's memory, and begins anew.
    package mutating func cut(_ sensor: String, into clip: inout MotionClip) {
        clip.removeAll()
        guard !self.moments.isEmpty else { return }
        clip.sensor = sensor
        clip.channels = self.channels
        if self.begin <= self.end { self.ring.copy(self.begin...self.end, into: &clip) }
        swap(&clip.moments, &self.moments)
    }
}
