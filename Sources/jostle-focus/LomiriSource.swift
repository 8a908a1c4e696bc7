import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion

/// Ubuntu Touch's shell, which says of a process whether it has the focus, but not when that changes.
///
/// It stops apps that are not used and lets them go on when they are: those signals are what it is asked after, so that nothing is asked
/// while nothing changes. They name processes; what is in front is the shell's answer alone.
/// Not `Sendable`: it belongs to the thread of its loop.
final class LomiriSource: FocusSource {
    let name = "lomiri"
    let desk: DeskLink
    private var front: FrontProcess
    private let bus: Connection
    private let names: NameWatch
    private let log: Log
    /// The unique name of who answers, under which of the two names it is known.
    private var shell: (owner: String, names: Names)?
    private var owners: [String?] = [nil, nil]
    private var tokens: [NameWatch.Token] = []
    /// Processes that may be in front.
    private var candidates = FrontCandidates()
    /// A round of questions is under way, and how many of its answers are not there yet.
    private var waiting = 0
    private var found: UInt32?
    /// A question of the round was not answered: then it is not known that nobody is in front.
    private var isInDoubt = false
    /// Something changed since the round began.
    private var isStale = false
    /// When to ask again because of a doubt.
    private var patience = RetryPatience()
    private var timer: EventLoop.TimerID?

    /// What a shell is called, and who tells of apps beside it.
    private struct Names: Sendable {
        let focus: String
        let focusPath: ObjectPath
        let launch: StaticString
    }

    /// Ubuntu's names, and those of its successor.
    private static let known = [
        Names(
            focus: "com.lomiri.Shell.FocusInfo", focusPath: ObjectPath(literal: "/com/lomiri/Shell/FocusInfo"),
            launch: "com.lomiri.LomiriAppLaunch"),
        Names(
            focus: "com.canonical.Unity.FocusInfo", focusPath: ObjectPath(literal: "/com/canonical/Unity/FocusInfo"),
            launch: "com.canonical.UbuntuAppLaunch"),
    ]
    /// What is said of an app when it may have come to the front or left it.
    private static let members: [StaticString] = ["ApplicationPaused", "ApplicationResumed"]

    init(_ desk: DeskLink, on bus: Connection, _ names: NameWatch, log: Log) {
        self.desk = desk
        self.front = FrontProcess(desk)
        self.bus = bus
        self.names = names
        self.log = log
    }

    deinit { self.stop() }

    func start() {
        for (index, known) in Self.known.enumerated() {
            for member in Self.members {
                self.bus.addMatch("type='signal',interface='\(known.launch)',member='\(member)',path='/'")
                self.bus.onSignal(known.launch, member) { [weak self] message in
                    guard let self, let (_, _, processes) = try? message.read(String.self, String.self, [UInt64].self)
                    else { return }
                    self.add(processes)
                }
            }
            self.tokens.append(
                self.names.follow(known.focus, ownRule: true) { [weak self] owner in
                    self?.owners[index] = owner
                    self?.ownerChanged()
                })
        }
    }

    func stop() {
        for token in self.tokens { self.names.unfollow(token) }
        self.tokens = []
        self.bus.loop.cancel(&self.timer)
    }

    private func ownerChanged() {
        let index = self.owners.firstIndex { $0 != nil }
        let owner = index.flatMap { self.owners[$0] }
        guard owner != self.shell?.owner else { return }
        if self.shell != nil { self.front.leave() }
        (self.waiting, self.isStale, self.candidates) = (0, false, FrontCandidates())
        self.patience = RetryPatience()
        self.shell = nil
        guard let index, let owner else { return }
        self.shell = (owner, Self.known[index])
        self.desk.begin()
        self.ask()
    }

    /// These processes' app was stopped, or goes on. Anybody can send such a signal.
    private func add(_ processes: [UInt64]) {
        self.candidates.add(processes)
        self.ask()
    }

    /// Asks after every process, one round at a time.
    private func ask() {
        guard let shell else { return }
        guard self.waiting == 0 else {
            self.isStale = true
            return
        }
        self.isStale = false
        self.isInDoubt = false
        self.found = nil
        self.patience.tried()
        self.bus.loop.cancel(&self.timer)
        let candidates = self.candidates.beginRound()
        guard !candidates.isEmpty else { return self.finish() }
        self.waiting = candidates.count
        let target = CallTarget(shell.owner, shell.names.focusPath, shell.names.focus)
        for process in candidates {
            self.bus.call(target, "isPidFocused", process, autoStart: false) { [weak self] result in
                guard let self, self.shell?.owner == shell.owner, self.waiting > 0 else { return }
                do throws(BusError) {
                    if try result.take().read(reply: Bool.self) { self.found = process }
                } catch {
                    self.isInDoubt = self.isInDoubt || error.isForTheMoment
                }
                self.waiting -= 1
                if self.waiting == 0 { self.finish() }
            }
        }
    }

    private func finish() {
        if self.found == nil, self.isInDoubt {
            self.patience.failed(at: DeskLink.now())
            self.bus.loop.set(&self.timer, at: self.patience.nextTry?.microseconds) { [weak self] in self?.ask() }
        } else {
            self.patience = RetryPatience()
            if let found { self.candidates.confirm(found) }
            self.front.set(self.found)
            self.desk.complete()
        }
        if self.isStale { self.ask() }
    }
}
