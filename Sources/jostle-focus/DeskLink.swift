import FocusCore
import Loop
import Motion

/// One source's desk, with a clock: what is told in one round of the loop becomes one report at most.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class DeskLink {
    private var desk = Desk()
    private let loop: EventLoop
    private let naming: Naming
    /// Where reports go.
    var onReport: (Desk.Report) -> Void = { _ in }
    private var timer: EventLoop.TimerID?
    private var isDue = false

    init(on loop: EventLoop, _ naming: Naming) {
        self.loop = loop
        self.naming = naming
        self.timer = loop.schedule(at: .max) { [weak self] in self?.step() }
        naming.onChange { [weak self] in self?.rename() }
    }

    deinit { if let timer { self.loop.cancel(timer) } }

    /// A display is there, whose windows are told until `complete`.
    func begin() { self.change { $0.begin() } }
    func complete() { self.change { $0.complete() } }

    /// The display is gone.
    func leave() {
        let now = Self.now()
        self.change { $0.leave(at: now) }
    }

    /// A window is there, or says something else.
    func put(_ id: String, _ claims: WindowClaims, isHidden: Bool) {
        let app = self.naming.app(of: claims)
        self.change { $0.put(id, claims, as: app, isHidden: isHidden) }
    }

    /// The same, with whether it is in front.
    func put(_ id: String, _ claims: WindowClaims, isInFront: Bool, isHidden: Bool) {
        let app = self.naming.app(of: claims)
        self.change { $0.put(id, claims, as: app, isInFront: isInFront, isHidden: isHidden) }
    }

    func close(_ id: String) { self.change { $0.close(id) } }
    func setFront(_ ids: [String]) { self.change { $0.setFront(ids) } }
    func contains(_ id: String) -> Bool { self.desk.contains(id) }
    func list(after number: UInt64) -> [Desk.Listed] { self.desk.list(after: number) }

    private func rename() {
        let naming = self.naming
        // One process may have thousands of windows.
        var processes = Naming.Processes()
        self.change { $0.rename { naming.app(of: $0, among: &processes) } }
    }

    private func change(_ change: (inout Desk) -> Void) {
        change(&self.desk)
        guard !self.isDue else { return }
        self.isDue = true
        self.loop.defer { [weak self] in self?.step() }
    }

    private func step() {
        self.isDue = false
        let report = self.desk.step(at: Self.now())
        if let timer { self.loop.reschedule(timer, at: self.desk.deadline?.microseconds ?? .max) }
        if let report { self.onReport(report) }
    }

    static func now() -> Timestamp { Timestamp(microseconds: Clock.monotonic.now()) }
}
