import FocusCore
import Loop
import Motion

/// Tells the broker of which apps something is true, with a clock.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class RollLink {
    private let loop: EventLoop
    private let reporter: Reporter<AppList>
    private var roll: AppRoll
    private var timer: EventLoop.TimerID?
    private var isDue = false
    /// Those of which it is true now.
    var apps: () -> Set<AppID> = { [] }

    init(on loop: EventLoop, _ reporter: Reporter<AppList>, pace: TimeSpan) {
        self.loop = loop
        self.reporter = reporter
        self.roll = AppRoll(pace: pace)
        self.timer = loop.schedule(at: .max) { [weak self] in self?.step() }
    }

    deinit { if let timer { self.loop.cancel(timer) } }

    /// They may be others than before.
    func change() {
        guard !self.isDue else { return }
        self.isDue = true
        self.loop.defer { [weak self] in self?.step() }
    }

    private func step() {
        self.isDue = false
        let list = self.roll.step(self.apps(), at: DeskLink.now())
        if let timer { self.loop.reschedule(timer, at: self.roll.deadline?.microseconds ?? .max) }
        if let list { self.reporter.add(list) }
    }
}
