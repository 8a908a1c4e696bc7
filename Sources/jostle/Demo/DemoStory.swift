import Motion

/// The documented case: a gentle shake reaches one app, a hard shake reaches both; and the same with somebody who decides.
///
/// One act of it. A value, so that its judgement can be tested without a bus.
struct DemoStory: Equatable {
    /// What decides who gets the events of an act.
    enum Rules: String, CaseIterable {
        /// Without any policy file: whoever asked gets it.
        case broadcast
        /// A hard shake belongs to whoever asked for a hard shake.
        case exclusive
    }

    /// One of the two subscribers.
    struct App: Equatable {
        let id: String
        let title: String
        /// The planar threshold, in g.
        let threshold: Double
        /// Where the number comes from.
        let origin: String
    }

    /// One of the two shakes.
    struct Shake: Equatable {
        let name: String
        /// The planar peak, in g.
        let peak: Double

        /// What the sensor reader is asked to add to its motion.
        var motion: String { "shake peak=\(self.peak)g axis=x freq=3Hz for=1.2s" }
    }

    /// An event as a subscriber told of it.
    struct Arrival: Equatable {
        let app: String
        /// The time of the sample that decided.
        let time: Timestamp
        let peak: Double
        /// From the sample to the subscriber, in µs.
        let delay: Int64
    }

    /// What the broker says became of an app in a shake.
    struct Verdict: Equatable {
        let app: String
        /// The time of the sample that decided.
        let time: Timestamp
        let reason: String
        let winner: String
        let decidedBy: String
        /// All of it, for people.
        let text: [String]
    }

    static let apps = [
        App(id: "org.jostle.Demo.App", title: "demo app", threshold: 2.3, origin: "the article's number"),
        App(id: "org.jostle.Demo.Player", title: "music player", threshold: 3.5, origin: "our number"),
    ]
    static let shakes = [Shake(name: "gentle", peak: 2.8), Shake(name: "hard", peak: 4.5)]

    /// The policy of the second act: that of policies/examples/02-most-specific.
    static let policy = """
        # A hard shake belongs to whoever asked for a hard shake.
        #
        # The gentle detector fires first in every shake, so the group waits until the hard one has had its chance: 350 ms, but no
        # longer than somebody stricter can still fire.

        [Policy]
        Default=deny

        [Group shake]
        Mode=exclusive
        Select=specificity strength
        CommitWindow=350ms

        [Rule any-shake]
        WhenPreset=shake*
        WhenState=foreground background
        Then=allow
        Group=shake

        """

    /// The rules of the phone, as they are shipped, for what is not the system's.
    static let phoneRules = """
        [Rule foreground]
        WhenState=foreground
        Then=allow

        [Rule background-activity]
        WhenState=inactive background
        WhenActivity=*
        Then=allow

        """

    /// The motion before and between the shakes: a device lying still, gravity on z.
    static let rest = "seed=1; noise=0.05g; gravity=z"
    /// How long a shake takes, and how long it is quiet after it. Rests of one second end in between.
    static let shakeLength = TimeSpan.milliseconds(1_200)
    static let quiet = TimeSpan.milliseconds(1_600)

    let rules: Rules
    /// When each shake began, once it has.
    private(set) var starts: [Timestamp] = []
    private(set) var arrivals: [Arrival] = []
    private(set) var verdicts: [Verdict] = []

    init(_ rules: Rules) {
        self.rules = rules
    }

    mutating func shakeBegins(at time: Timestamp) { self.starts.append(time) }

    mutating func arrived(_ arrival: Arrival) { self.arrivals.append(arrival) }

    mutating func explained(_ verdict: Verdict) { self.verdicts.append(verdict) }

    /// Whether an app is to get an event of a shake.
    func isMeant(_ app: App, for shake: Shake) -> Bool {
        let reached = Self.apps.filter { shake.peak > $0.threshold }
        switch self.rules {
        case .broadcast: return reached.contains(app)
        case .exclusive: return reached.max { $0.threshold < $1.threshold } == app
        }
    }

    /// The shake that was going on, or had just ended, at `time`.
    func shake(at time: Timestamp) -> Shake? {
        guard let index = self.starts.lastIndex(where: { $0 <= time }),
            time - self.starts[index] < Self.shakeLength + Self.quiet
        else { return nil }
        return Self.shakes[index]
    }

    func arrivals(of shake: Shake, at app: App) -> [Arrival] {
        self.arrivals.filter { $0.app == app.id && self.shake(at: $0.time) == shake }
    }

    func verdict(of shake: Shake, for app: App) -> Verdict? {
        self.verdicts.first { $0.app == app.id && self.shake(at: $0.time) == shake }
    }

    /// What is not as it should be; empty when all is.
    var differences: [String] { self.wrongEvents + self.wrongReasons }

    private var wrongEvents: [String] {
        var differences: [String] = []
        for shake in Self.shakes {
            for app in Self.apps {
                let expected = self.isMeant(app, for: shake) ? 1 : 0
                let count = self.arrivals(of: shake, at: app).count
                if count != expected {
                    differences.append(
                        "the \(app.title) got \(count) events of the \(shake.name) shake, not \(expected)")
                }
            }
        }
        let strays = self.arrivals.filter { self.shake(at: $0.time) == nil }.count
        if strays > 0 { differences.append("\(strays) events belong to no shake") }
        return differences
    }

    /// Where the broker gives another reason than the one that there is.
    private var wrongReasons: [String] {
        var differences: [String] = []
        for shake in Self.shakes {
            for app in Self.apps where shake.peak > app.threshold {
                let reason = self.isMeant(app, for: shake) ? "S5.sent" : "S4.outranked"
                let said = self.verdict(of: shake, for: app)
                if said?.reason != reason {
                    differences.append(
                        "for the \(app.title) the broker says '\(said?.reason ?? "nothing")' of the \(shake.name) shake, "
                            + "not '\(reason)'")
                } else if reason == "S4.outranked", said?.decidedBy != "specificity" || said?.winner != self.winner?.id
                {
                    differences.append(
                        "the broker says that '\(said?.winner ?? "")' won the \(shake.name) shake by "
                            + "'\(said?.decidedBy ?? "")'")
                }
            }
        }
        return differences
    }

    /// Whoever asked for the hardest shakes.
    private var winner: App? { Self.apps.max { $0.threshold < $1.threshold } }
}
