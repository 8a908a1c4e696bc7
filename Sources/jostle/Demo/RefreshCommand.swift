import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle demo refresh`: a feed that refreshes itself in the background, between real processes on a real bus.
final class RefreshCommand {
    private let terminal: Terminal
    private let isJSON: Bool
    private let stage: DemoStage
    private var story = RefreshStory()
    /// The article's periods are this long at most here.
    private static let patience = TimeSpan.seconds(20)

    init(isJSON: Bool, terminal: Terminal, loop: EventLoop) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.stage = DemoStage(motion: DemoStory.rest, on: loop)
    }

    func run() throws(CommandFailure) {
        defer { self.stage.strike() }
        if !self.isJSON { self.opening() }
        try self.stage.open(keepsState: true)
        try self.stage.write(policy: RefreshStory.policy)
        try self.stage.write(app: RefreshStory.app, RefreshStory.appFile)
        try self.stage.build()
        self.story.start = Timestamp(microseconds: Clock.boottime.now())
        try self.play()
        let differences = self.story.differences
        guard differences.isEmpty else {
            throw CommandFailure(.no, "not as it should be: \(differences.joined(separator: "; "))")
        }
        if !self.isJSON { self.closing() }
    }

    private func play() throws(CommandFailure) {
        try self.stage.startApp(
            "the feed", "example-refresh", [RefreshStory.app, "--slow", "\(RefreshStory.slowRun)"]
        ) { [self] in self.happened($0) }
        try self.wait(for: .submitted)
        try self.act(.left, "SetForeground", "")
        try self.wait(for: .done)
        try self.act(.byHand, "RunTask", RefreshStory.app, "refresh")
        try self.wait(for: .done, 2)
        try self.act(.terminated, "SetState", RefreshStory.app, "terminated")
        try self.stage.rest(RefreshStory.silence)
        try self.act(.opened, "SetForeground", RefreshStory.app)
        try self.wait(for: .brokenOff)
    }

    /// Does something to the app, which is part of the story before the app can answer to it.
    private func act<each T: WireValue>(
        _ word: RefreshStory.Word, _ member: String, _ arguments: repeat each T
    ) throws(CommandFailure) {
        self.happened(word.rawValue)
        try self.stage.tellBroker(member, repeat each arguments)
    }

    private func wait(for word: RefreshStory.Word, _ count: Int = 1) throws(CommandFailure) {
        guard try self.stage.wait(atMost: Self.patience, until: { self.story.has(word, count) }) else {
            throw CommandFailure(.no, "not as it should be: no '\(word.rawValue)'")
        }
    }

    private func happened(_ line: String) {
        // The app goes on until it is ended, and says more in between.
        if self.story.isOver { return }
        let time = Timestamp(microseconds: Clock.boottime.now())
        self.story.add(line, at: time)
        if !self.isJSON {
            let seconds = rounded((time - self.story.start).seconds, 2)
            let isApp = RefreshStory.Word(rawValue: line).map { !RefreshStory.acts.contains($0) } ?? true
            self.terminal.print("\(seconds) s  \(isApp ? "  " : "")\(line)")
        } else {
            var entry = JSONLine()
            entry.add("t_us", (time - self.story.start).microseconds, on: .story)
            entry.add("what", line)
            self.terminal.print(entry.text)
        }
    }

    private func opening() {
        for line in [
            self.terminal.styled("A feed that refreshes itself while nobody looks", .bold), "",
            "It asks for a refresh no sooner than \(RefreshStory.interval.text) from now, and again first thing in each one, which may",
            "take \(RefreshStory.time.text). What is done to it stands at the left, what it says itself a little to the right.",
            "",
        ] { self.terminal.print(line) }
    }

    private func closing() {
        for line in [
            "",
            "As the article says: never before its time, one at a time, told before its time is over, and nothing after the",
            "user ended it until the user opens it again.",
        ] { self.terminal.print(line) }
    }
}
