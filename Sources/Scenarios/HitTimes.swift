package import Motion

/// When hits were by the wall clock, of verdicts that say when the sample was and when they were made.
///
/// Samples count from a boot, and a verdict comes a little after its hit: what came soonest tells when the boot was. Where others seem to
/// have taken longer than any decision does, the wall clock was set in between, as on a machine that has none while it is off, and those
/// before and after it are told apart.
package struct HitTimes: Sendable {
    /// Longer than the longest window and the longest order after each other.
    package static let longest = TimeSpan.seconds(900)

    /// Verdicts of a boot that follow each other, between which nobody set the clock.
    private struct Stretch: Sendable {
        /// When the boot was by the wall clock, if the verdict came at once: of the one that came soonest, and of the one that came latest.
        var soonest: Timestamp
        var latest: Timestamp
    }

    private var stretches: [Stretch] = []
    /// The last stretch of each boot.
    private var last: [String: Int] = [:]
    /// For each verdict its stretch, and when its sample was.
    private var taken: [(stretch: Int, sample: Timestamp)] = []

    package init() {}

    /// Takes the next verdict, in the order in which they were made.
    package mutating func take(_ sample: Timestamp, of boot: String, made wall: Timestamp) {
        let start = Timestamp.zero + (wall - sample)
        if let place = self.last[boot], start - self.stretches[place].soonest <= Self.longest,
            self.stretches[place].latest - start <= Self.longest
        {
            self.stretches[place].soonest = min(self.stretches[place].soonest, start)
            self.stretches[place].latest = max(self.stretches[place].latest, start)
            self.taken.append((place, sample))
        } else {
            self.last[boot] = self.stretches.count
            self.taken.append((self.stretches.count, sample))
            self.stretches.append(Stretch(soonest: start, latest: start))
        }
    }

    /// When the hit of each verdict was, in the order in which they were taken.
    package var all: [Timestamp] {
        self.taken.map { self.stretches[$0.stretch].soonest + ($0.sample - .zero) }
    }
}
