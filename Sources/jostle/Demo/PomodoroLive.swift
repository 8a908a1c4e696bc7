import Arbitration
import DBus
import DaemonSupport
import JostleClient
import Loop
import Motion
import Protocol

/// `jostle demo pomodoro --live`: the timers are processes, and all times are as much shorter as a period of work is.
///
/// All eight run beside each other under one broker, whose policy gives each its rights; they work once and have one break.
final class PomodoroLive {
    private let loop: EventLoop
    private let terminal: Terminal
    private let isJSON: Bool
    private let stage: DemoStage
    /// What 25 minutes last.
    private let work: TimeSpan
    private var timers: [Timer]
    /// All was seen; what they say while they are ended is no matter.
    private var isOver = false

    /// Periods that are played: work and a break.
    static let periods = 2

    private struct Timer {
        let rights: PomodoroStory.Rights
        let app: AppID
        var outcome = PomodoroStory.Outcome()
        var isStarted = false
        /// When it was put into the background.
        var left: Timestamp?
        /// It said that its time is over.
        var isOver = false
        /// It began its break.
        var isResting = false
    }

    init(work: TimeSpan, isJSON: Bool, terminal: Terminal, loop: EventLoop) {
        self.work = work
        self.isJSON = isJSON
        self.terminal = terminal
        self.loop = loop
        self.stage = DemoStage(motion: DemoStory.rest, on: loop)
        self.timers = PomodoroStory.Rights.all.enumerated().map { index, rights in
            Timer(rights: rights, app: AppID("org.jostle.Demo.Timer\(index + 1)"))
        }
    }

    /// Plays it; returns what came of each, in the time of the article.
    func run() throws(CommandFailure) -> [PomodoroStory.Outcome] {
        defer { self.stage.strike() }
        try self.stage.open()
        try self.writeFiles()
        try self.stage.build()
        let music = try self.play()
        for index in self.timers.indices { try self.start(index) }
        try self.wait { $0.isStarted && $0.left != nil }
        // Whoever lives reminds; then the user shakes.
        try self.wait { $0.isOver || $0.outcome.reminders == 1 }
        try self.stage.move("shake peak=4g for=800ms")
        try self.wait { $0.isOver || $0.isResting }
        try self.wait { $0.isOver || $0.outcome.reminders == Self.periods }
        for index in self.timers.indices { try self.judge(index) }
        withExtendedLifetime(music) { self.isOver = true }
        return self.timers.map(\.outcome)
    }

    private func wait(until isDone: (Timer) -> Bool) throws(CommandFailure) {
        try self.stage.wait(until: { self.timers.allSatisfy(isDone) })
    }

    // MARK: The stage

    /// A time of the article, as it is here.
    private func shortened(_ span: TimeSpan) -> TimeSpan {
        .milliseconds(Int64((span.seconds / PomodoroStory.work.seconds * self.work.seconds * 1_000).rounded()))
    }

    private func writeFiles() throws(CommandFailure) {
        var policy = """
            [Policy]
            Default=deny

            [App \(PomodoroStory.music)]
            Grants=audio

            [Class playback]
            RequiresGrant=audio

            [Rule foreground]
            WhenState=foreground
            Then=allow

            [Rule background-activity]
            WhenState=background
            WhenActivity=*
            Then=allow

            [Rule background-assertion]
            WhenState=background
            WhenAssertion=yes
            Then=allow

            """
        for timer in self.timers {
            policy += """

                [App \(timer.app)]
                AssertionBudget=\(self.shortened(timer.rights.budget).text)
                Renewal=\(timer.rights.mayRenew ? "yes" : "no")
                Grace=1s

                """
            if timer.rights.mayPlay { policy += "Grants=audio\n" }
        }
        try self.stage.write(policy: policy)
        for app in self.timers.map(\.app) + [PomodoroStory.music] {
            try self.stage.write(app: app.name, "[App]\nUsage=Plays on while you do something else\nModes=audio\n")
        }
    }

    /// The music that the user listens to, in the foreground. It lasts as long as what is returned.
    private func play() throws(CommandFailure) -> JostleApp {
        guard case .address(let address) = self.stage.bus?.address else {
            throw CommandFailure(.no, "the private bus has no address")
        }
        let client = JostleApp(app: PomodoroStory.music.name, on: .address(address), loop: self.loop)
        client.onSession = { [self] in if $0.change != .began { self.timers[0].outcome.isDisturbed = true } }
        do throws(JostleError) {
            try client.connect()
            try client.add([Detector("skip", preset: "shake")])
        } catch {
            throw CommandFailure(error)
        }
        try self.stage.tellBroker("SetForeground", PomodoroStory.music.name)
        return client
    }

    private func start(_ index: Int) throws(CommandFailure) {
        let lengths = [
            ("--work", PomodoroStory.work), ("--break", PomodoroStory.shortBreak), ("--tick", PomodoroStory.tick),
            ("--reserve", PomodoroStory.reserve),
        ]
        let arguments = lengths.flatMap { option, span in [option, "\(self.shortened(span).seconds)"] }
        try self.stage.startApp(
            "a timer", "example-pomodoro", [self.timers[index].app.name] + arguments
        ) { [self] in self.heard($0, from: index) }
    }

    // MARK: What the timers say

    private func heard(_ line: String, from index: Int) {
        guard !self.isOver else { return }
        switch line {
        case "started":
            self.timers[index].isStarted = true
            self.state(of: index) { self.timers[index].left = $1 }
            return
        case "renewed":
            if self.timers[index].outcome.reminders == 0 { self.timers[index].outcome.renewals += 1 }
            return
        case "out of time": self.timers[index].isOver = true
        case "break": self.timers[index].isResting = true
        case _ where line.hasPrefix("reminder "): self.timers[index].outcome.reminders += 1
        case _ where line.hasPrefix("silent: "): self.timers[index].outcome.isMute = true
        case _ where line.hasPrefix("the sound is "): self.timers[index].outcome.isDisturbed = true
        default: return self.stage.fail("\(self.timers[index].app) said '\(printable(line))'")
        }
        guard !self.isJSON else { return }
        self.terminal.print("  \(PomodoroCommand.name(self.timers[index].rights)): \(printable(line))")
    }

    /// Asks the broker what state an app is in, and since when.
    private func state(of index: Int, _ handler: @escaping (_ name: String, _ since: Timestamp) -> Void) {
        let target = CallTarget(
            BusName.broker, Path.app(self.timers[index].app.name), "org.freedesktop.DBus.Properties")
        self.stage.bus?.call(target, "GetAll", InterfaceName.app.description) { [self] result in
            do throws(BusError) {
                let properties = try result.take().read(reply: [String: Value].self)
                handler(properties.text("State"), Timestamp(wire: properties.count("StateSince")) ?? .zero)
            } catch {
                self.stage.fail("the broker does not know \(self.timers[index].app): \(error.message)")
            }
        }
    }

    /// Whether the broker says the same as the timer.
    private func judge(_ index: Int) throws(CommandFailure) {
        var answer: (name: String, since: Timestamp)?
        self.state(of: index) { answer = ($0, $1) }
        try self.stage.wait(until: { answer != nil })
        guard let answer, let left = self.timers[index].left else { return }
        let name = self.timers[index].isOver ? "suspended" : "background"
        guard answer.name == name else {
            throw CommandFailure(.no, "the broker says that \(self.timers[index].app) is \(answer.name), not \(name)")
        }
        guard self.timers[index].isOver else { return }
        let lasted = (answer.since - left).seconds * PomodoroStory.work.seconds / self.work.seconds
        self.timers[index].outcome.suspended = TimeSpan(seconds: (lasted * 10).rounded() / 10)
    }
}
