import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle app`: one app, as the broker shows it.
struct AppCommand {
    static let syntax = CommandSyntax.ofOneApp(
        "app", "show one app: its state and why it is in it, its detectors and what became of them"
    ) { try AppCommand(app: $0, invocation: $1).run() }

    /// Its id, or its unique name.
    let app: String
    let invocation: Invocation

    private var terminal: Terminal { self.invocation.terminal }

    func run() throws(CommandFailure) {
        let broker = try Service.broker(on: self.invocation.bus, self.invocation.loop)
        // Says what is wrong with a name that is none, and finds the app behind a unique name.
        let lately = try broker.whyNot(self.app)
        let id = lately.text(VerdictKey.app)
        let own = try broker.app(Path.app(id.isEmpty ? self.app : id))
        if self.invocation.isJSON { return self.printJSON(own, lately) }

        let since = Moment(boottime: own.count("StateSince")).line
        self.terminal.print(
            "\(id.isEmpty ? "a client without a name" : id)  \(own.text("State")) since \(since): \(Self.cause(own))")
        if own.text("State") != "dead" {
            let identity =
                own.text("Identity") == "uid" ? "only its user is known" : "proven by its \(own.text("Identity"))"
            self.terminal.print("  identity    \(identity)")
        }
        if !own.text("Usage").isEmpty { self.terminal.print("  usage       \(own.text("Usage"))") }
        if !own.text("AppFile").isEmpty { self.terminal.print("  app file    \(own.text("AppFile"))") }
        if own["Durable"] == .boolean(true) { self.terminal.print("  durable     what it registered outlives it") }
        if !own.lines("Grants").isEmpty {
            self.terminal.print("  granted     \(own.lines("Grants").joined(separator: ", "))")
        }
        if !own.lines("Activities").isEmpty {
            self.terminal.print("  at work     \(own.lines("Activities").joined(separator: ", "))")
        }
        for session in Self.sessions(own) {
            let share = Self.loudness(session.share)
            self.terminal.print(
                "  session     \(session.name): \(session.state)\(share)\(session.isSilenced ? ", silenced" : "")")
        }
        for assertion in Self.assertions(own) {
            let left = assertion.remaining.map { "lasts another \($0.inWords)" } ?? "nothing of it is used"
            self.terminal.print("  assertion   \(assertion.name): \(left)")
        }
        if own.count("Overruns") > 0 {
            self.terminal.print("  overruns    \(own.count("Overruns")) assertions that it did not end in time")
        }
        for task in TasksCommand.rows(own) {
            self.terminal.print(
                "  task        \(task.identifier) (\(task.kind)): \(task.state), "
                    + task.next)
        }
        for outcome in TasksCommand.outcomes(own) {
            self.terminal.print(
                "  ran         \(outcome.identifier): \(outcome.end) \(Moment(wall: Int64(clamping: outcome.ended)).line)"
                    + (outcome.attempt > 1 ? ", attempt \(outcome.attempt)" : ""))
        }
        if own.count("Launches") > 0 { self.terminal.print("  launches    \(Self.launches(own))") }
        let detectors = Self.detectors(own)
        self.terminal.print("  detectors   \(detectors.isEmpty ? "none" : detectors.joined(separator: ", "))")
        let counts = ["Hits", "Delivered", "Denied", "Dropped"].map { "\(own.count($0)) \($0.lowercased())" }
        self.terminal.print("  events      \(counts.joined(separator: ", "))")
        if let last = Self.lastEvent(own) {
            self.terminal.print(
                "  last event  \(last.detector) at \(Moment(boottime: last.time).line), epoch \(last.epoch), peak \(rounded(last.peak))"
            )
        }
        for denial in lately.denials {
            let times = denial.count == 1 ? "once" : "\(denial.count) times"
            self.terminal.print(
                "  refused     \(denial.reason) \(times), last \(Moment(boottime: denial.time).line), epoch \(denial.epoch)"
            )
        }
    }

    private func printJSON(_ own: [String: Value], _ lately: [String: Value]) {
        var line = JSONLine()
        line.add("app", own.text("AppId"))
        line.add("state", own.text("State"))
        line.add("state_cause", own.text("StateCause"))
        line.add("state_since_us", own.count("StateSince"), on: .boottime)
        line.add("identity", own.text("Identity"))
        line.add("usage", own.text("Usage"))
        line.add("app_file", own.text("AppFile"))
        line.add("durable", own["Durable"] == .boolean(true))
        line.add("grants", own.lines("Grants"))
        line.add("activities", own.lines("Activities"))
        line.add(
            "sessions",
            Self.sessions(own).map { session in
                var entry = JSONLine()
                entry.add("class", session.name)
                entry.add("state", session.state)
                entry.add("share", session.share)
                entry.add("silenced", session.isSilenced)
                return entry
            })
        line.add(
            "assertions",
            Self.assertions(own).map { assertion in
                var entry = JSONLine()
                entry.add("name", assertion.name)
                if let remaining = assertion.remaining { entry.add("remaining_us", remaining.microseconds) }
                return entry
            })
        let remaining = own.count("BackgroundTimeRemaining")
        if remaining < .max { line.add("background_time_remaining_us", remaining) }
        line.add("overruns", own.count("Overruns"))
        line.add("task_identifiers", own.lines("TaskIdentifiers"))
        line.add("tasks", TasksCommand.rows(own).map(\.json))
        line.add("task_outcomes", TasksCommand.outcomes(own).map(\.json))
        line.add("launches", own.count("Launches"))
        line.add("launch_failures", own.count("LaunchFailures"))
        let last = Self.lastLaunch(own)
        if !last.isEmpty { line.add("last_launch", last.launchJSON) }
        line.add("detectors", Self.detectors(own))
        for name in ["Hits", "Delivered", "Denied", "Dropped"] { line.add(name.lowercased(), own.count(name)) }
        if let last = Self.lastEvent(own) {
            var event = JSONLine()
            event.add("detector", last.detector)
            event.add("t_us", last.time, on: .boottime)
            event.add("epoch", last.epoch)
            event.add("peak", last.peak)
            line.add("last_event", event)
        }
        line.add("denials", lately.denials.map(\.json))
        self.terminal.print(line.text)
    }

    // MARK: What the answers hold

    /// How loud a session may be, of which a broker may say any number.
    static func loudness(_ share: Double) -> String { share == 1 ? "" : ", at \(rounded(share * 100, 0))%" }

    private static func sessions(
        _ own: [String: Value]
    ) -> [(name: String, state: String, share: Double, isSilenced: Bool)] {
        own.rows("Sessions").map { session in
            (
                session.text(HeldKey.sessionClass), session.text(HeldKey.state), session.number(HeldKey.share),
                session.flag(HeldKey.isSilenced)
            )
        }
    }

    /// Why it is in its state.
    private static func cause(_ own: [String: Value]) -> String {
        switch own.text("StateCause") {
        case "came": "it registered"
        case "left": "it is not on the bus"
        case "told": "somebody said so"
        case "foreground": "another app came to the foreground, or it did"
        case "lock": "the screen was locked or unlocked"
        case "grace": "nothing kept it going"
        case "overrun": "it did not end an assertion or a task in time"
        case "task": "a task of its was begun"
        case "launched": "it is launched for something"
        case "frozen": "it cannot run, because its processes are frozen, or it can again"
        case "player": "its player plays"
        case let other: other
        }
    }

    /// The last launch that is over, as `LastLaunch` shows it.
    private static func lastLaunch(_ own: [String: Value]) -> [String: Value] { own["LastLaunch"]?.asOptions ?? [:] }

    private static func launches(_ own: [String: Value]) -> String {
        let last = Self.lastLaunch(own)
        var text = "\(own.count("Launches")), \(own.count("LaunchFailures")) failed"
        if !last.isEmpty {
            text +=
                ", last for \(last.text(LaunchKey.reason)) at \(Moment(boottime: last.count(LaunchKey.time)).line): \(last.text(LaunchKey.result))"
        }
        return text
    }

    /// The assertions it holds; no time for one of which nothing is used.
    private static func assertions(_ own: [String: Value]) -> [(name: String, remaining: TimeSpan?)] {
        own.rows("Assertions").map { assertion in
            let key = HeldKey.remaining
            let left = assertion[key].map { _ in TimeSpan(microseconds: Int64(clamping: assertion.count(key))) }
            return (assertion.text(HeldKey.name), left)
        }
    }

    private static func detectors(_ own: [String: Value]) -> [String] {
        own.structures("Detectors").compactMap { fields in
            guard fields.count == 2, case .string(let name) = fields[0] else { return nil }
            return name
        }
    }

    private static func lastEvent(
        _ own: [String: Value]
    ) -> (epoch: UInt64, time: UInt64, detector: String, peak: Double)? {
        guard case .structure(let fields) = own["LastEvent"], fields.count == 6, case .uint64(let sequence) = fields[0],
            sequence > 0, case .uint64(let epoch) = fields[1], case .uint64(let time) = fields[2],
            case .string(let detector) = fields[3], case .double(let peak) = fields[4]
        else { return nil }
        return (epoch, time, detector, peak)
    }
}
