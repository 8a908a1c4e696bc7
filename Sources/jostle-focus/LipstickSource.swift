import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion

/// Sailfish's shell, which says on the system bus of which process the topmost window is.
///
/// It says nothing of the others, of which none is seen.
/// Not `Sendable`: it belongs to the thread of its loop.
final class LipstickSource: FocusSource {
    let name = "lipstick"
    let desk: DeskLink
    private var front: FrontProcess
    private let bus: Connection
    private let names: NameWatch
    private let log: Log
    /// Lipstick's unique name; only its signals count.
    private var owner: String?
    /// Something was said since it came.
    private var isSaid = false
    /// When to ask again, because it did not answer.
    private var patience = RetryPatience()
    private var timer: EventLoop.TimerID?

    private static let service = "org.nemomobile.lipstick"
    private static let interface: StaticString = "org.nemomobile.compositor"
    private static let rule =
        "type='signal',sender='\(service)',interface='org.nemomobile.compositor',member='privateTopmostWindowProcessIdChanged'"

    init(_ desk: DeskLink, on loop: EventLoop, log: Log) {
        self.desk = desk
        self.front = FrontProcess(desk)
        self.log = log
        self.bus = Connection(
            to: .system, on: loop, names: [], retry: .upTo(microseconds: Daemon.longestRetry))
        self.names = NameWatch(on: self.bus)
        self.bus.onSignal(Self.interface, "privateTopmostWindowProcessIdChanged") { [weak self] message in
            guard let self, let owner = self.owner, message.isFrom(owner), let process = try? message.read(Int32.self)
            else { return }
            self.isSaid = true
            self.tell(process)
        }
    }

    func start() {
        self.bus.whenInDoubt { [unowned self] _ in
            self.isSaid = false
            self.ask()
        }
        self.bus.addMatch(Self.rule)
        _ = self.names.follow(Self.service, ownRule: true) { [weak self] in self?.ownerChanged($0) }
        self.bus.onReady = { [unowned self] in self.names.refresh() }
        self.bus.onLost = { [unowned self] in self.names.forgetAll() }
        if !self.bus.openOrRetry() { self.log.notice("\(self.name): no system bus; waiting for one") }
    }

    func stop() {
        self.bus.loop.cancel(&self.timer)
        self.bus.close()
    }

    private func ownerChanged(_ owner: String?) {
        if self.owner != nil { self.front.leave() }
        self.owner = owner
        self.patience = RetryPatience()
        self.bus.loop.cancel(&self.timer)
        guard owner != nil else { return }
        self.isSaid = false
        self.desk.begin()
        self.ask()
    }

    /// Asks what is in front, until something is said.
    private func ask() {
        guard let owner, !self.isSaid else { return }
        self.patience.tried()
        let compositor = CallTarget(owner, ObjectPath(literal: "/"), Self.interface.description)
        self.bus.call(compositor, "privateTopmostWindowProcessId", autoStart: false) { [weak self] result in
            guard let self, self.owner == owner, !self.isSaid else { return }
            do throws(BusError) {
                self.tell(try result.take().read(reply: Int32.self))
            } catch {
                self.log.warning("lipstick does not say what is in front: \(error)")
                guard error.isForTheMoment else { return }
                self.patience.failed(at: DeskLink.now())
                self.bus.loop.set(&self.timer, at: self.patience.nextTry?.microseconds) { [weak self] in self?.ask() }
            }
        }
    }

    private func tell(_ process: Int32) {
        self.front.set(UInt32(exactly: process).flatMap { $0 > 0 ? $0 : nil })
        self.desk.complete()
    }
}
