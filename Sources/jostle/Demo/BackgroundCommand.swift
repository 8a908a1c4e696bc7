import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle demo background`: who still hears a shake behind another app and behind the lock, between real processes.
final class BackgroundCommand {
    private let loop: EventLoop
    private let terminal: Terminal
    private let isJSON: Bool
    private let stage: DemoStage
    /// Where the windows are, if there are any.
    private let desktop: DemoDesktop?
    private var story: BackgroundStory
    /// Who says what is in front, while somebody does: it takes its word back by leaving.
    private var shell: Connection?
    /// What is going on, while something is.
    private var scene: (place: BackgroundStory.Place, shake: DemoStory.Shake)?
    private var listening: Set<String> = []

    static let desktop = CommandOption.flag(
        "desktop", "background: with windows on a screen that nobody sees, by sway and jostle-focus")

    init(isJSON: Bool, isDesktop: Bool, terminal: Terminal, loop: EventLoop) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.loop = loop
        self.stage = DemoStage(motion: DemoStory.rest, on: loop)
        self.desktop = isDesktop ? DemoDesktop(on: self.stage) : nil
        self.story = isDesktop ? .desktop : BackgroundStory()
    }

    func run() throws(CommandFailure) {
        defer {
            self.shell?.close()
            self.stage.strike()
        }
        try self.build()
        if !self.isJSON { self.opening() }
        for place in self.story.places {
            try self.go(to: place)
            for shake in BackgroundStory.shakes {
                try self.shake(shake, in: place)
                self.report(shake, in: place)
            }
        }
        let differences = self.story.differences()
        guard differences.isEmpty else {
            throw CommandFailure(.no, "not as the article reports it: \(differences.joined(separator: "; "))")
        }
        if !self.isJSON { self.closing() }
    }

    // MARK: The stage

    private func build() throws(CommandFailure) {
        try self.desktop?.check()
        try self.stage.open()
        try self.stage.write(policy: BackgroundStory.policy)
        for app in self.story.apps where app.hasRight {
            try self.stage.write(app: app.id, BackgroundStory.appFile)
        }
        try self.stage.build()
        for app in self.story.apps {
            try self.stage.startApp("the \(app.title)", "example-background", app.arguments) { [self] line in
                self.heard(line, from: app)
            }
        }
        try self.stage.wait(until: { self.listening.count == self.story.apps.count })
        try self.desktop?.build(of: self.story.apps.map(\.id))
    }

    /// A line of an app: that it listens, or an event.
    private func heard(_ line: String, from app: BackgroundStory.App) {
        if line == "listening" {
            self.listening.insert(app.id)
            return
        }
        guard let scene, let detector = line.split(separator: " ").first else {
            return self.stage.fail("the \(app.title) said '\(printable(line))' while nothing moved")
        }
        self.story.arrived(String(detector), at: app, in: scene.place, during: scene.shake)
    }

    // MARK: Places

    /// Brings the apps to where they are to be, as the user would: from the foreground, by another app, the lock, or both.
    private func go(to place: BackgroundStory.Place) throws(CommandFailure) {
        try self.stage.tellBroker("SetLock", LockState.unlocked.rawValue)
        if let desktop {
            if case .app(let id) = place.inFront { try desktop.show(id) } else { try desktop.showNothing() }
        } else {
            try self.endReport()
            if case .app(let id) = place.inFront { try self.report(inFront: id) }
        }
        if place.isLocked { try self.stage.tellBroker("SetLock", LockState.locked.rawValue) }
    }

    /// Until somebody says again what is in front, every app counts as being there.
    private func endReport() throws(CommandFailure) {
        if let shell {
            _ = try? shell.callAndWait(DemoStage.broker, "ForgetWindows", noOptions)
            shell.close()
        }
        self.shell = nil
        repeat {
            try self.stage.rest(.milliseconds(5))
        } while try self.stage.property("ForegroundReported") == .boolean(true)
    }

    /// Says what is in front, from a connection of its own.
    private func report(inFront app: String) throws(CommandFailure) {
        guard let bus = self.stage.bus else { return }
        let shell = Connection(to: bus.address, on: self.loop)
        self.shell = shell
        do throws(BusError) {
            try shell.openAndWait()
            _ = try shell.callAndWait(DemoStage.broker, "SetForeground", app, noOptions)
        } catch {
            throw CommandFailure(error, service: "the broker")
        }
    }

    // MARK: Shakes

    /// Plays a shake and the quiet after it, in which rests end.
    private func shake(_ shake: DemoStory.Shake, in place: BackgroundStory.Place) throws(CommandFailure) {
        self.scene = (place, shake)
        try self.stage.move(shake.motion)
        try self.stage.rest(DemoStory.shakeLength + DemoStory.quiet)
        self.scene = nil
    }

    // MARK: What people see

    private static let width = 22

    private static func padded(_ text: String, _ width: Int = width) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func opening() {
        let words =
            self.desktop == nil
            ? [
                "Apps that listen to the accelerometer (their own detector) and to the system's shake, as real processes on a private",
                "bus: gentle ones from 2.3 g on, hard ones from 3.5 g on. Two play a sound all the while, and may: that is their right.",
            ]
            : [
                "Two apps with windows on a screen that nobody sees, as real processes: sway has the windows, and jostle-focus tells the",
                "broker which of them is in front. Each listens to the accelerometer (its own detector) from 2.3 g on and to the system's",
                "shake. The second plays a sound all the while, and may: that is its right.",
            ]
        let title = self.desktop == nil ? "where they are" : "who is in front"
        let columns =
            Self.padded(title) + Self.padded("shake", 8) + self.story.apps.map { Self.padded($0.title) }.joined()
        for line in words + ["", columns] { self.terminal.print(line) }
    }

    private func report(_ shake: DemoStory.Shake, in place: BackgroundStory.Place) {
        if self.isJSON { return self.printJSON(shake, place) }
        let cells = self.story.apps.map { app in
            let got = app.detectors.filter { self.story.hasArrived($0, at: app, in: place, during: shake) }
            return got.isEmpty ? "-" : got.map { $0 == "system.shake" ? "system" : "own" }.joined(separator: ", ")
        }
        self.terminal.print(
            Self.padded(place.name) + Self.padded("\(shake.name)", 8) + cells.map { Self.padded($0) }.joined())
    }

    private func printJSON(_ shake: DemoStory.Shake, _ place: BackgroundStory.Place) {
        for app in self.story.apps {
            for detector in app.detectors {
                var line = JSONLine()
                line.add("place", place.name)
                line.add("shake", shake.name)
                line.add("app", app.id)
                line.add("right", app.hasRight)
                line.add("detector", detector)
                line.add("received", self.story.hasArrived(detector, at: app, in: place, during: shake))
                self.terminal.print(line.text)
            }
        }
    }

    private func closing() {
        for line in [
            "",
            "As the article reports it: listening to the accelerometer works in the background, locked, and both, as long as the",
            "app has some right; without one it hears nothing there. The system's shake reaches the app in front alone, whatever",
            "right another one has.",
        ] { self.terminal.print(line) }
    }
}
