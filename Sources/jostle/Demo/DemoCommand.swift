import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle demo`: the documented case between real processes on a real bus; its other acts have files of their own.
final class DemoCommand {
    private static let acts = ["background", "fleet", "pomodoro", "refresh", "tracker"]

    static let syntax = CommandSyntax(
        "demo", "show the documented case on a private bus: two apps, two shakes, without a policy and with one",
        reaching: .ownBus,
        options: [CommonOption.json, BackgroundCommand.desktop, PomodoroCommand.length, TrackerCommand.track],
        arguments: [
            CommandArgument(
                acts.joined(separator: "|"),
                "instead: who hears a shake behind another app and behind the lock; three devices, a server and an operator; "
                    + "which timers outlive their time in the background, in virtual time or --live; a feed that refreshes itself there; or what a tracker "
                    + "gets of a journey, and that it is started again when it was killed",
                .optional, naming: .oneOf(acts))
        ],
        trailing: CommandArgument(
            "COMMAND",
            "with fleet: no story, but this command beside three devices of which one denies what it is shaken",
            .list, naming: .program),
        action: { try DemoCommand.play($0) })

    private static func play(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        let (isJSON, terminal, loop) = (invocation.isJSON, invocation.terminal, invocation.loop)
        let act = arguments.positionals.first
        if act != "tracker", arguments.has(TrackerCommand.track) {
            throw UsageProblem("demo: --track goes with tracker")
        }
        if act != "pomodoro", arguments.has(PomodoroCommand.length) {
            throw UsageProblem("demo: --live goes with pomodoro")
        }
        let isDesktop = arguments.has(BackgroundCommand.desktop)
        if act != "background", isDesktop { throw UsageProblem("demo: --desktop goes with background") }
        let words = arguments.trailing
        if act != "fleet", !words.isEmpty { throw UsageProblem("demo: a command goes with fleet") }
        switch act {
        case nil: try DemoCommand(isJSON: isJSON, terminal: terminal, loop: loop).run()
        case "background":
            try BackgroundCommand(isJSON: isJSON, isDesktop: isDesktop, terminal: terminal, loop: loop).run()
        case "fleet":
            let demo = FleetDemo(isJSON: isJSON, terminal: terminal, loop: loop)
            if words.isEmpty { try demo.run() } else { try demo.run(words) }
        case "refresh": try RefreshCommand(isJSON: isJSON, terminal: terminal, loop: loop).run()
        case "pomodoro":
            let work = try arguments.value(of: PomodoroCommand.length)
            try PomodoroCommand(isJSON: isJSON, terminal: terminal, loop: loop, work: work).run()
        case "tracker":
            let file = arguments.value(of: TrackerCommand.track)
            try TrackerCommand(file: file, isJSON: isJSON, terminal: terminal, loop: loop).run()
        case let word?:
            throw UsageProblem(
                "demo: there is no act '\(printable(word))', there are background, fleet, pomodoro, refresh and tracker"
            )
        }
    }

    private let terminal: Terminal
    private let isJSON: Bool
    private let stage: DemoStage
    private var screen: DemoScreen
    private var story = DemoStory(.broadcast)
    private var watching: Set<String> = []

    init(isJSON: Bool, terminal: Terminal, loop: EventLoop) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.stage = DemoStage(motion: DemoStory.rest, on: loop)
        self.screen = DemoScreen(terminal)
    }

    func run() throws(CommandFailure) {
        defer { self.stage.strike() }
        try self.stage.open()
        try self.stage.build()
        if !self.isJSON { self.screen.opening() }
        for app in DemoStory.apps {
            try self.stage.startApp(
                "the \(app.title)", "jostle",
                ["watch", "shake.planar,threshold=\(app.threshold)g", "--app", app.id, "--json"]
            ) { [self] in self.heard($0, from: app) }
        }
        try self.stage.wait(until: { self.watching.count == DemoStory.apps.count })
        try self.watchSensor()
        try self.act(.broadcast)
        try self.putPolicyInForce()
        try self.act(.exclusive)
    }

    /// Plays both shakes under some rules, and says whether they went as they should.
    private func act(_ rules: DemoStory.Rules) throws(CommandFailure) {
        self.story = DemoStory(rules)
        // Half a second of rest to look at, then the shakes.
        try self.stage.rest(.milliseconds(500))
        for shake in DemoStory.shakes { try self.shake(shake) }
        self.report()
        let differences = self.story.differences
        guard differences.isEmpty else {
            throw CommandFailure(.no, "not as it should be: \(differences.joined(separator: "; "))")
        }
    }

    /// Gives the broker the policy of the second act, as an administrator would.
    private func putPolicyInForce() throws(CommandFailure) {
        if !self.isJSON { self.screen.policy(DemoStory.policy) }
        try self.stage.write(policy: DemoStory.policy)
        try self.stage.tellBroker("Reload")
    }

    /// Claims the samples for the drawing, beside the broker.
    private func watchSensor() throws(CommandFailure) {
        guard let bus = self.stage.bus else { return }
        let path = Path.sensor(SensorDescription.accelerometer)
        bus.onSignal(InterfaceName.sensor, "Samples") { [self] message in
            guard message.isAt(path), !self.isJSON else { return }
            _ = SampleCodec.read(message, channels: 3) { _, times, values in
                for index in times.indices {
                    let time = Timestamp(microseconds: times[index])
                    self.screen.sample(at: time, x: values[3 * index], y: values[3 * index + 1])
                }
            }
        }
        do throws(BusError) {
            _ = try bus.callAndWait(DemoStage.accelerometer, "Claim", SensorPace(rate: 50).options)
        } catch {
            throw CommandFailure(error, service: "the sensor reader")
        }
    }

    /// Plays a shake and the quiet after it, and asks the broker what became of it.
    private func shake(_ shake: DemoStory.Shake) throws(CommandFailure) {
        self.story.shakeBegins(at: Timestamp(microseconds: Clock.boottime.now()))
        if !self.isJSON { self.screen.shakeBegins(shake) }
        try self.stage.move(shake.motion)
        try self.stage.rest(DemoStory.shakeLength + DemoStory.quiet)
        for app in DemoStory.apps { try self.explain(app) }
    }

    /// Asks for the last verdict of an app.
    private func explain(_ app: DemoStory.App) throws(CommandFailure) {
        guard let bus = self.stage.bus else { return }
        let options: [String: Value] = ["app": .string(app.id)]
        do throws(BusError) {
            let verdicts = try bus.callAndWait(DemoStage.broker, "Explain", UInt64(0), options)
                .read(reply: [[String: Value]].self)
            for verdict in verdicts {
                let told = DemoStory.Verdict(app: app, verdict)
                // One that it had before is told already.
                if !self.story.verdicts.contains(told) { self.story.explained(told) }
            }
        } catch {
            // Nothing was decided about it yet.
            if error.name != BusError.notFound("").name { throw CommandFailure(error, service: "the broker") }
        }
    }

    /// A line of a subscriber: what is in force, or an event.
    private func heard(_ line: String, from app: DemoStory.App) {
        if line.hasPrefix("{\"watching\"") {
            self.watching.insert(app.id)
            return
        }
        guard let time = Self.number("t_us", in: line), let delay = Self.number("delay_us", in: line),
            let peak = Self.number("peak", in: line)
        else { return self.stage.fail("the \(app.title) said '\(printable(line))'") }
        let arrival = DemoStory.Arrival(
            app: app.id, time: Timestamp(microseconds: Int64(time)), peak: peak, delay: Int64(delay))
        self.story.arrived(arrival)
        if !self.isJSON { self.screen.arrived(arrival, at: app) }
    }

    /// A number in a line that we wrote ourselves.
    private static func number(_ key: String, in line: String) -> Double? {
        let pattern = "\"\(key)\":"
        var start = line.startIndex
        while start < line.endIndex, !line[start...].hasPrefix(pattern) { start = line.index(after: start) }
        guard start < line.endIndex else { return nil }
        let value = line[line.index(start, offsetBy: pattern.count)...].prefix { $0 != "," && $0 != "}" }
        return Double(value).flatMap { $0.magnitude < 4.0e18 ? $0 : nil }
    }

    private func report() {
        guard self.isJSON else {
            self.screen.closing(self.story)
            let hard = DemoStory.shakes[DemoStory.shakes.count - 1]
            let denied = DemoStory.apps.compactMap { self.story.verdict(of: hard, for: $0) }
                .filter { $0.reason != "S5.sent" }
            denied.forEach { self.screen.explanation($0) }
            return
        }
        for shake in DemoStory.shakes {
            for app in DemoStory.apps {
                let arrivals = self.story.arrivals(of: shake, at: app)
                var line = JSONLine()
                line.add("policy", self.story.rules.rawValue)
                line.add("shake", shake.name)
                line.add("app", app.id)
                line.add("received", !arrivals.isEmpty)
                if let first = arrivals.first { line.add("delay_us", first.delay) } else { line.addNull("delay_us") }
                let verdict = self.story.verdict(of: shake, for: app)
                for (key, word) in [("reason", verdict?.reason), ("decided_by", verdict?.decidedBy)] {
                    if let word, !word.isEmpty { line.add(key, word) } else { line.addNull(key) }
                }
                self.terminal.print(line.text)
            }
        }
    }
}

extension DemoStory.Verdict {
    /// A verdict as the broker explains it.
    fileprivate init(app: DemoStory.App, _ verdict: [String: Value]) {
        self.init(
            app: app.id, time: Timestamp(wire: verdict.count(VerdictKey.time)) ?? .zero,
            reason: verdict.text(VerdictKey.reason),
            winner: verdict.text(VerdictKey.winner), decidedBy: verdict.text(VerdictKey.decidedBy),
            text: Array(verdict.lines(VerdictKey.text).dropFirst()))
    }
}
