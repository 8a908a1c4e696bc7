import Motion

/// The tracker that is killed: what is played for it, and whether it went as the article asks.
extension TrackerStory {
    /// What became of it, as its own lines and the broker tell it.
    struct Relaunch: Equatable {
        /// What it says that it was launched for; `nil`: it was not.
        var reason: String?
        /// Reports that it was launched with.
        var reports = 0
        var recordedReason = ""
        var recordedResult = ""
    }

    /// The part of the journey that is played, and how fast.
    struct Excerpt: Equatable {
        var start: Timestamp
        var speed: Double
    }

    /// From the report on that the next one follows soonest, so that it comes after two seconds at most; `nil` where there are
    /// no two.
    var excerpt: Excerpt? {
        let pairs = zip(self.reports, self.reports.dropFirst())
        guard let (first, next) = pairs.min(by: { $0.1.time - $0.0.time < $1.1.time - $1.0.time }) else { return nil }
        // Never slower than it was, and no faster than a trace can be played.
        let speed = min(max(1, (next.time - first.time).seconds / 2), 1_000)
        return Excerpt(start: first.time, speed: speed)
    }

    static let appFile = "[App]\nUsage=Draws where you went\nModes=location\n"

    /// The rules of the phone for it, and one by which a report starts it when it is gone.
    static let relaunchPolicy = """
        [Policy]
        Default=deny

        [App \(tracker.name)]
        Grants=location

        [Rule tracker-wake]
        WhenApp=\(tracker.name)
        WhenState=suspended dead
        WhenGrant=location
        Then=allow
        Deliver=wake
        Lifespan=1min

        \(DemoStory.phoneRules)
        """

    /// - Parameter relaunch: `nil` when the journey has too few reports for it.
    static func judgement(of relaunch: Relaunch?) -> Judgement {
        guard let relaunch else { return Judgement(requirement: .relaunch, finding: nil, isMet: true) }
        guard let reason = relaunch.reason else {
            return Judgement(requirement: .relaunch, finding: "its next report did not start it again", isMet: false)
        }
        var finding = "its next report started it again, launch reason '\(reason)'"
        if relaunch.reports == 0 { finding += ", without the report" }
        let isKnown = relaunch.recordedReason == reason && relaunch.recordedResult == "done"
        if !isKnown { finding += "; the broker says '\(relaunch.recordedReason)', \(relaunch.recordedResult)" }
        return Judgement(
            requirement: .relaunch, finding: finding,
            isMet: reason == SensorDescription.location && relaunch.reports > 0 && isKnown)
    }
}
