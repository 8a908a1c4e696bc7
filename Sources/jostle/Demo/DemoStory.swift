import Motion

/// The documented case: a gentle shake reaches one app, a hard shake reaches both.
///
/// A value, so that its judgement can be tested without a bus.
struct DemoStory: Equatable {
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

    static let apps = [
        App(id: "org.jostle.Demo.App", title: "demo app", threshold: 2.3, origin: "the article's number"),
        App(id: "org.jostle.Demo.Player", title: "music player", threshold: 3.5, origin: "our number"),
    ]
    static let shakes = [Shake(name: "gentle", peak: 2.8), Shake(name: "hard", peak: 4.5)]

    /// The motion before and between the shakes: a device lying still, gravity on z.
    static let rest = "seed=1; noise=0.05g; gravity=z"
    /// How long a shake takes, and how long it is quiet after it. Rests of one second end in between.
    static let shakeLength = TimeSpan.milliseconds(1_200)
    static let quiet = TimeSpan.milliseconds(1_600)

    /// When each shake began, once it has.
    private(set) var starts: [Timestamp] = []
    private(set) var arrivals: [Arrival] = []

    mutating func shakeBegins(at time: Timestamp) { self.starts.append(time) }

    mutating func arrived(_ arrival: Arrival) { self.arrivals.append(arrival) }

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

    /// What is not as the article says; empty when all is.
    var differences: [String] {
        var differences: [String] = []
        for shake in Self.shakes {
            for app in Self.apps {
                let expected = shake.peak > app.threshold ? 1 : 0
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
}
