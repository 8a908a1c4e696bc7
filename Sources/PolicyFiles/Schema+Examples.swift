extension Schema {
    /// What each key may look like, by section: for the documentation.
    static let examples: [String: [String: String]] = [
        "Policy": ["Default": "allow"],
        "Group": [
            "Mode": "exclusive", "Select": "specificity strength", "CommitWindow": "350ms", "EagerCommit": "no",
            "Quiet": "800ms", "Cooldown": "2s", "Sticky": "yes", "Lease": "30s", "Hysteresis": "10",
            "AckTimeout": "250ms", "OrderBudget": "1s", "Aging": "5/10 max 60",
        ],
        "Class": [
            "Mixable": "yes", "WhenLocked": "silence", "Interrupts": "ambient soloAmbient playback",
            "Uninterruptible": "yes", "RequiresGrant": "audio voip", "Default": "yes",
        ],
        "Interaction": ["Action": "duck", "Duck": "20% rate 1/2s"],
        "App": [
            "Grants": "audio location", "Quota": "30/1min burst 5", "Cooldown": "500ms", "QueueBytes": "64KiB",
            "Grace": "5s", "AssertionBudget": "175s", "AssertionsPerHour": "4", "Renewal": "yes", "WakeQuota": "6/1h",
            "WakeTimeout": "5s", "MayPush": "yes", "MayReportForeground": "yes", "RefreshInterval": "1h",
            "RefreshTime": "20s", "ProcessingTime": "10min",
            "TaskWindow": "5min", "Discretion": "24h",
            "FastestRate": "400Hz", "Thresholds": "shake.planar:2g",
            "Clips": "no",
        ],
        "Rule": [
            "Priority": "100", "WhenApp": "org.example.* !org.example.Game", "WhenPreset": "shake*",
            "WhenState": "foreground background", "WhenLocked": "no", "WhenGrant": "audio !voip", "WhenActivity": "*",
            "WhenAssertion": "yes", "WhenIdentity": "unit flatpak", "WhenIntensity": ">=2.5g",
            "WhenTime": "Mon..Fri/08:00-18:00", "WhenPower": "battery<20%", "Then": "allow",
            "Reason": "belongs to the foreground app", "Group": "shake", "Strength": "50", "Class": "playback",
            "Deliver": "wake",
            "Reliability": "ack", "Durability": "persistent", "Lifespan": "30s",
        ],
    ]
}
