import Motion

/// Which app still hears a shake when it is not in front: what the article found, place by place.
///
/// A value, so that its judgement can be tested without a bus.
struct BackgroundStory: Equatable {
    /// Where the apps are.
    struct Place: Hashable {
        let name: String
        /// Whom the user is with, unless the screen is locked.
        let inFront: InFront
        var isLocked = false

        /// The user is with them all: nobody says what is in front.
        static let foreground = Place(name: "foreground", inFront: .everybody)
        /// Another app is in front.
        static let background = Place(name: "background", inFront: .app(BackgroundStory.front.id))
        /// The screen was locked over them.
        static let locked = Place(name: "locked", inFront: .everybody, isLocked: true)
        /// Another app was in front, and then the screen was locked.
        static let both = Place(
            name: "background, locked", inFront: .app(BackgroundStory.front.id), isLocked: true)
        static let allCases = [foreground, background, locked, both]

        func isInFront(_ app: App) -> Bool {
            switch self.inFront {
            case .everybody: !self.isLocked
            case .app(let id): !self.isLocked && id == app.id
            case .nobody: false
            }
        }
    }

    enum InFront: Hashable {
        case everybody
        case app(String)
        case nobody
    }

    /// One of the apps.
    struct App: Equatable {
        let id: String
        let title: String
        /// The planar threshold, in g; `nil`: it listens to the system's shake alone.
        let threshold: Double?
        /// It is at work in a mode that it is granted.
        let hasRight: Bool

        var detectors: [String] { (self.threshold == nil ? [] : ["shake.planar"]) + ["system.shake"] }
        /// What its program is told to listen to.
        var arguments: [String] {
            (self.hasRight ? ["--work", "audio"] : []) + [self.id]
                + (self.threshold.map { ["shake.planar,\($0)g"] } ?? []) + ["system.shake"]
        }
    }

    /// One cell of the table: an app's detector, a place, a shake.
    struct Case: Hashable {
        let app: String
        let detector: String
        let place: Place
        let shake: String
    }

    static let apps = [
        App(id: "org.jostle.Demo.Gentle", title: "gentle app, no right", threshold: 2.3, hasRight: false),
        App(id: "org.jostle.Demo.Hard", title: "hard app, no right", threshold: 3.5, hasRight: false),
        App(id: "org.jostle.Demo.GentlePlayer", title: "gentle app, playing", threshold: 2.3, hasRight: true),
        App(id: "org.jostle.Demo.HardPlayer", title: "hard app, playing", threshold: 3.5, hasRight: true),
        front,
    ]
    /// Who is in front when the others are not.
    static let front = App(id: "org.jostle.Demo.Front", title: "app in front", threshold: nil, hasRight: false)
    static let shakes = DemoStory.shakes

    /// Of two programs with windows one is in front, the other, or neither; and one behind the lock.
    static let desktop = BackgroundStory(
        apps: [apps[0], apps[2]],
        places: [
            Place(name: "the first in front", inFront: .app(apps[0].id)),
            Place(name: "the second", inFront: .app(apps[2].id)),
            Place(name: "neither", inFront: .nobody),
            Place(name: "the second, locked", inFront: .app(apps[2].id), isLocked: true),
        ])

    /// Who listens, and where that is tried.
    let apps: [App]
    let places: [Place]

    init(apps: [App] = Self.apps, places: [Place] = Place.allCases) {
        self.apps = apps
        self.places = places
    }

    /// The rules of the phone, as they are shipped, and a right for the two that play.
    static let policy = """
        [Policy]
        Default=deny

        [Rule system-shake]
        Priority=100
        WhenPreset=system.shake
        WhenState=!foreground
        Then=deny
        Reason=belongs to the foreground app

        \(DemoStory.phoneRules)
        """
        + apps.filter(\.hasRight).map { "[App \($0.id)]\nGrants=audio\n\n" }.joined()

    /// What the file of an app with a right says.
    static let appFile = "[App]\nUsage=Skips to the next track when you shake the device\nModes=audio\n"

    /// What each shake brought to whom.
    private(set) var arrivals: [Case: Int] = [:]

    mutating func arrived(_ detector: String, at app: App, in place: Place, during shake: DemoStory.Shake) {
        self.arrivals[Case(app: app.id, detector: detector, place: place, shake: shake.name), default: 0] += 1
    }

    func hasArrived(_ detector: String, at app: App, in place: Place, during shake: DemoStory.Shake) -> Bool {
        self.arrivals[Case(app: app.id, detector: detector, place: place, shake: shake.name)] != nil
    }

    /// Whether a detector is to bring an event, as the article reports it.
    static func isMeant(_ detector: String, at app: App, in place: Place, during shake: DemoStory.Shake) -> Bool {
        let isInFront = place.isInFront(app)
        // The system's shake goes to who is in front, whatever right another one has.
        guard detector != "system.shake", let threshold = app.threshold else { return isInFront }
        // Listening to the sensor itself works everywhere, for who has some right.
        return shake.peak > threshold && (isInFront || app.hasRight)
    }

    /// What is not as the article reports it, up to a place and its shakes; empty when all is.
    func differences(in places: [Place]? = nil) -> [String] {
        var differences: [String] = []
        for place in places ?? self.places {
            for shake in Self.shakes {
                for app in self.apps {
                    for detector in app.detectors {
                        let isMeant = Self.isMeant(detector, at: app, in: place, during: shake)
                        guard self.hasArrived(detector, at: app, in: place, during: shake) != isMeant else { continue }
                        differences.append(
                            "\(place.name), \(shake.name) shake: the \(app.title) got "
                                + "\(isMeant ? "nothing" : "an event") from \(detector)")
                    }
                }
            }
        }
        return differences
    }
}
