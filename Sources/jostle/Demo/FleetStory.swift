import Motion

/// What happens to three devices and their server, and what should. A value, so that its judgement can be tested.
struct FleetStory {
    static let group = "kiosks"
    static let devices = ["kiosk-15", "kiosk-16", "kiosk-17"]
    static let detector = "knock"
    /// What the bridges' detector reacts to.
    static let threshold = "2g"

    /// The app of each kiosk.
    static let app = "org.example.Kiosk"

    /// What each kiosk has of its own: its bridge hears its detectors.
    static let ownPolicy = """
        [Rule bridge]
        Priority=200
        WhenApp=org.jostle.Bridge
        Then=allow

        """
    /// What the last has besides, where there is no story but somebody who asks.
    static let nightPolicy = """
        [Rule night]
        Priority=100
        WhenApp=\(app)
        Then=deny
        Reason=the museum is closed

        """
    /// A policy that lets everybody have events.
    static let goodPolicy = """
        [Rule all]
        Then=allow

        """
    /// One that nothing is wrong with, but for what it does.
    static let badPolicy = """
        [Rule quiet]
        Priority=100
        WhenApp=\(app)
        Then=deny

        [Rule all]
        Then=allow

        """

    /// What should come true, in this order.
    enum Step: String, CaseIterable {
        case present = "three devices are there"
        case applied = "a policy is in force on all three"
        case live = "a shake of one is seen from afar"
        case caughtUp = "what happened while the server was dead is told when it is back, as past"
        case stopped = "a bad policy is stopped by the canary"
        case explained = "from afar it is explained why the canary's shake did nothing"
        case restored = "the canary has back what it had, and a shake is seen again"
    }

    private(set) var done: [Step] = []

    mutating func happened(_ step: Step) { if !self.done.contains(step) { self.done.append(step) } }

    /// What did not happen, or not in its order.
    var differences: [String] {
        let missing = Step.allCases.filter { !self.done.contains($0) }
        if !missing.isEmpty { return missing.map { "not: \($0.rawValue)" } }
        return self.done == Step.allCases ? [] : ["not in this order"]
    }
}
