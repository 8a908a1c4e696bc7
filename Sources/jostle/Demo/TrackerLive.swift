import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// The part of `jostle demo tracker` that virtual time cannot show: a tracker that is killed, between real processes on a
/// real bus. The journey is played from where reports follow each other.
final class TrackerLive {
    private let stage: DemoStage
    private var relaunch = TrackerStory.Relaunch()
    private var isTracking = false
    private var hasReported = false
    /// What a slow machine may take for anything.
    private static let patience = TimeSpan.seconds(20)
    private static let program = "example-tracker"

    init(loop: EventLoop) {
        self.stage = DemoStage(motion: DemoStory.rest, on: loop)
    }

    /// Kills the tracker once it has reported, and returns what became of it.
    func run(_ journey: SampleBlock, _ excerpt: TrackerStory.Excerpt) throws(CommandFailure) -> TrackerStory.Relaunch {
        self.stage.onServiceLine = { [self] in self.heardAgain($0) }
        defer { self.stage.strike() }
        let app = TrackerStory.tracker.name
        try self.stage.open(keepsState: true)
        try self.stage.write(policy: TrackerStory.relaunchPolicy)
        try self.stage.write(app: app, TrackerStory.appFile)
        try self.stage.write(service: app, Self.program, [app])
        try self.stage.write(journey: journey, from: excerpt.start, speed: excerpt.speed)
        try self.stage.build()
        // The user starts it, and turns to something else.
        let tracker = try self.stage.startApp("the tracker", Self.program, [app]) { [self] line in
            if line == "tracking" { self.isTracking = true }
            if line.hasPrefix("report: ") { self.hasReported = true }
        }
        try self.stage.wait(until: { self.isTracking })
        try self.stage.tellBroker("SetForeground", "")
        guard try self.stage.wait(atMost: Self.patience, until: { self.hasReported }) else {
            throw CommandFailure(.no, "not as it should be: the tracker reports nothing")
        }
        try self.stage.kill(tracker)
        // It says that it was launched, does its work, and then answers; with the answer the broker knows. Each look is a call.
        if try self.stage.wait(atMost: Self.patience, until: { self.relaunch.reports > 0 }) {
            let end = Clock.monotonic.now() + Self.patience.microseconds
            while self.relaunch.recordedResult.isEmpty, Clock.monotonic.now() < end { try self.askBroker() }
        }
        return self.relaunch
    }

    /// A line of the tracker that the bus has started.
    private func heardAgain(_ line: String) {
        let reason = "launched: "
        // It is called again for each report that follows.
        if line.hasPrefix(reason), self.relaunch.reason == nil {
            self.relaunch.reason = String(line.dropFirst(reason.count))
        }
        if line.hasPrefix("report: ") { self.relaunch.reports += 1 }
    }

    /// What the broker says of the same launch.
    private func askBroker() throws(CommandFailure) {
        let object = Path.app(TrackerStory.tracker.name)
        let last = try self.stage.property("LastLaunch", of: object, InterfaceName.app).asOptions
        (self.relaunch.recordedReason, self.relaunch.recordedResult) = (
            last.text(LaunchKey.reason), last.text(LaunchKey.result)
        )
    }
}
