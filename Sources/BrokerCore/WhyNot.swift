package import Arbitration
package import Motion

/// How things stand for an app: what would happen to its detectors now, since when it got nothing, and why.
package struct WhyNot {
    package let app: App
    /// Events that it was too slow for.
    package let dropped: UInt64
    /// What rules see of it.
    package let facts: AppFacts
    package let now: Timestamp
    /// Motion says nothing before this time.
    package let mutedUntil: Timestamp
    /// As many as an answer holds.
    package let detectors: [DetectorOutlook]
    /// How many there are.
    package let detectorCount: Int

    /// Since when it got nothing: its last event, or its registration.
    package var silentSince: Timestamp { self.app.lastEvent?.time ?? self.app.registered }

    /// For how long it got nothing.
    package var silence: TimeSpan { max(.zero, self.now - self.silentSince) }
}

/// What would happen to a detector now.
package struct DetectorOutlook {
    package enum Prospect {
        /// If it fired, this would be the verdict.
        case verdict(Verdict)
        /// If it fired, its app would get one more event of this epoch, which is not over.
        case more(epoch: UInt64)
        /// If it fired, that would count to the motion of this epoch, in which its app has its part, and come to nothing.
        /// With the verdict there, if there is one by now.
        case counted(epoch: UInt64, Reason, Verdict?)
        /// That cannot be told.
        case unknown
    }

    package let name: String
    /// Empty for a condition of its own.
    package let preset: String
    package let threshold: Double?
    package let dimension: Dimension
    /// Why it cannot fire at all; `nil` when it can.
    package let obstacle: String?
    package let sensor: String
    package let prospect: Prospect

    package var isAvailable: Bool { self.obstacle == nil }

    /// Whether its app would get an event.
    package var isHeard: Bool {
        guard self.isAvailable else { return false }
        switch self.prospect {
        case .verdict(let verdict): return verdict.isDelivered
        case .more: return true
        case .counted, .unknown: return false
        }
    }
}
