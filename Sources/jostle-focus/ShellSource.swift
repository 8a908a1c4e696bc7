import DBus
import DaemonSupport
import FocusCore
import Loop
import Protocol

/// The windows of a desktop shell that tells us of them, by a script or an extension of ours that runs in it.
///
/// Only the owner of the shell's bus name is listened to.
/// Not `Sendable`: it belongs to the thread of its loop.
final class ShellSource: FocusSource {
    let name: String
    let desk: DeskLink
    private let shell: Shell
    private let bus: Connection
    private let names: NameWatch
    private let loop: EventLoop
    private let log: Log
    private var token: NameWatch.Token?
    /// The shell's unique name, while it is on the bus.
    private var owner: String?
    /// Windows are being told.
    private var isTelling = false
    /// When to say that nobody tells.
    private var patience: EventLoop.TimerID?
    /// When to ask KWin again.
    private var retry: EventLoop.TimerID?

    /// Which shell it is, and how it is brought to tell.
    enum Shell: Sendable {
        case kwin
        case gnome

        var busName: String {
            switch self {
            case .kwin: "org.kde.KWin"
            case .gnome: "org.gnome.Shell"
            }
        }

        fileprivate var name: String {
            switch self {
            case .kwin: "kwin"
            case .gnome: "gnome"
            }
        }

        fileprivate var remedy: String {
            switch self {
            case .kwin: "KWin has not run the script"
            case .gnome:
                "GNOME Shell does not run the extension: gnome-extensions enable jostle-focus@jostle.org, and log in anew if "
                    + "it does not know it yet"
            }
        }
    }

    /// How long a shell may take to begin, in µs.
    private static let patience: Int64 = 10_000_000
    /// How often it is asked, and how long after the first time, in µs; each pause is twice the one before.
    private static let attempts = 7
    private static let firstPause: Int64 = 50_000

    init(_ shell: Shell, _ desk: DeskLink, on bus: Connection, _ names: NameWatch, loop: EventLoop, log: Log) {
        self.shell = shell
        self.name = shell.name
        self.desk = desk
        self.bus = bus
        self.names = names
        self.loop = loop
        self.log = log
    }

    deinit { self.stop() }

    func start() {
        self.token = self.names.follow(self.shell.busName, ownRule: true) { [weak self] in self?.ownerChanged($0) }
        self.patience = self.loop.schedule(at: .max) { [weak self] in self?.loseHope() }
    }

    func stop() {
        if let token { self.names.unfollow(token) }
        if let patience { self.loop.cancel(patience) }
        (self.token, self.patience) = (nil, nil)
        self.stopRetry()
        // It would call us with the next window that changes, and the bus start whoever is called.
        if let owner, self.shell == .kwin { KWinScript.unload(from: owner, on: self.bus) }
        self.owner = nil
    }

    private func ownerChanged(_ owner: String?) {
        self.left()
        self.stopRetry()
        self.owner = owner
        guard let owner else { return }
        if let patience { self.loop.reschedule(patience, at: Clock.monotonic.now() + Self.patience) }
        switch self.shell {
        // It may have told before we knew who it is.
        case .gnome:
            self.bus.signal(from: Path.focus, ShellPort.interface, "Wanted", to: owner) {
                [String: Value]().write(to: &$0)
            }
        case .kwin: self.load(into: owner, attempt: 1)
        }
    }

    /// Has KWin run the script. It has its name before it takes scripts, so it is asked a few times.
    private func load(into owner: String, attempt: Int) {
        KWinScript.load(into: owner, on: self.bus) { [weak self] problem in
            guard let self, self.owner == owner else { return }
            guard attempt < Self.attempts else {
                return self.log.warning("\(self.name): KWin does not take the script: \(problem)")
            }
            let pause = Self.firstPause << Int64(attempt - 1)
            self.retry = self.loop.schedule(at: Clock.monotonic.now() + pause) { [weak self] in
                self?.stopRetry()
                if self?.owner == owner { self?.load(into: owner, attempt: attempt + 1) }
            }
        }
    }

    private func stopRetry() {
        self.loop.cancel(&self.retry)
    }

    private func loseHope() {
        guard self.owner != nil, !self.isTelling else { return }
        self.log.notice("\(self.name): \(self.shell.remedy)")
    }

    // MARK: What the shell tells

    func isFrom(_ sender: String) -> Bool { sender == self.owner }

    func put(_ window: String, _ claims: WindowClaims, _ state: WindowState) {
        self.begin()
        self.desk.put(window, claims, isInFront: state == .front, isHidden: state == .hidden)
    }

    func close(_ window: String) { self.desk.close(window) }

    func said() {
        self.begin()
        self.desk.complete()
    }

    /// The shell, or what tells in it, is gone.
    func left() {
        guard self.isTelling else { return }
        self.isTelling = false
        self.desk.leave()
    }

    private func begin() {
        guard !self.isTelling else { return }
        self.isTelling = true
        self.desk.begin()
    }
}
