/// The keys with which `Explain` and `WhyNot` are asked and answered.
package enum VerdictKey {
    package static let app = "app"
    package static let sequence = "sequence"
    package static let detector = "detector"
    package static let peak = "peak"

    // MARK: A verdict

    package static let text = "text"
    package static let epoch = "epoch"
    package static let preset = "preset"
    package static let time = "time"
    package static let intensity = "intensity"
    package static let unit = "unit"
    package static let policyGeneration = "policy-generation"
    package static let reason = "reason"
    package static let delivered = "delivered"
    package static let stages = "stages"
    package static let otherwise = "otherwise"
    package static let rule = "rule"
    package static let ruleAt = "rule-at"
    package static let group = "group"
    package static let mode = "mode"
    package static let candidates = "candidates"
    package static let winner = "winner"
    package static let decidedBy = "decided-by"
    package static let launchFailures = "launch-failures"
    package static let lastFailure = "last-failure"
    package static let endedAfter = "ended-after"
    package static let made = "made"
    package static let policyFiles = "policy-files"

    // MARK: How things stand

    package static let state = "state"
    package static let registered = "registered"
    package static let lastEvent = "last-event"
    package static let lastEpoch = "last-epoch"
    package static let silence = "silence"
    package static let mutedUntil = "muted-until"
    package static let denials = "denials"
    package static let launches = "launches"
    package static let lastLaunch = "last-launch"
    package static let nextLaunch = "next-launch"
    package static let pastFailure = "past-failure"
    package static let detectorCount = "detector-count"
    package static let detectors = "detectors"
    package static let threshold = "threshold"
    package static let available = "available"
    package static let obstacle = "obstacle"
    package static let heldByActivity = "held-by-activity"
    package static let lastHeld = "last-held"
}

/// The keys of a launch that is over.
package enum LaunchKey {
    package static let reason = "reason"
    package static let result = "result"
    package static let time = "time"
}
