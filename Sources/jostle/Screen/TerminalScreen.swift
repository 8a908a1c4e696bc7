import Glibc
import Loop

/// The terminal while something is drawn on it: a screen of its own, which gives way to what was there before, and the keys.
///
/// Not `Sendable`: it belongs to the command that opened it. Whoever opens it closes it, however the command ends.
final class TerminalScreen {
    private let terminal: Terminal
    private let loop: EventLoop
    private var keys = KeyReader()
    private var watch: EventLoop.Registration?
    /// Runs when an escape stays alone.
    private var timer: EventLoop.TimerID?
    /// How the terminal handled keys before.
    private var earlier: termios?
    private var isOpen = false
    /// Whether a picture is about to be drawn.
    private var isStale = false
    /// What is to be seen: lines, each in its place.
    var picture: () -> [String] = { [] }
    /// A key was pressed.
    var onKey: (KeyStroke) -> Void = { _ in }
    /// Nobody looks any more.
    var onEnd: () -> Void = {}

    /// A terminal sends the rest of a key at once; a person does not type so fast.
    private static let patience: Int64 = 50_000

    init(_ terminal: Terminal, _ loop: EventLoop) {
        self.terminal = terminal
        self.loop = loop
    }

    // MARK: The screen

    func open() {
        self.enter()
        self.redraw()
        do throws(SystemError) {
            try self.loop.onSignals([SIGWINCH]) { [weak self] _ in self?.redraw() }
            try self.loop.onSignals([SIGTSTP]) { [weak self] _ in self?.suspend() }
            try self.loop.onSignals([SIGQUIT]) { [weak self] _ in
                // It ends us as it ever does, but leaves no terminal that nobody can type into.
                self?.leave()
                try? raiseUnblocked(SIGQUIT)
            }
            if isatty(STDIN_FILENO) == 1 {
                self.watch = try self.loop.watch(STDIN_FILENO, for: .read) { [weak self] _ in self?.read() }
            }
        } catch {
            complain("the terminal cannot be watched: \(error)")
        }
    }

    func close() {
        if let watch { self.loop.cancel(watch) }
        if let timer { self.loop.cancel(timer) }
        (self.watch, self.timer) = (nil, nil)
        self.leave()
    }

    /// Says that there is another picture, or that the terminal has lost the one it had.
    ///
    /// It is drawn once everything has been read that came until then: a terminal that is slower than the news misses
    /// pictures, and nobody's key or signal waits for those that nobody would see.
    func redraw() {
        guard self.isOpen, !self.isStale else { return }
        self.isStale = true
        self.loop.defer { [weak self] in self?.draw() }
    }

    private func draw() {
        self.isStale = false
        guard self.isOpen else { return }
        let lines = self.picture().map { "\(self.terminal.shown($0))\u{1B}[K" }
        if !self.terminal.output.write("\u{1B}[H" + lines.joined(separator: "\r\n") + "\u{1B}[J") { self.onEnd() }
    }

    /// Lines that are too long end at the edge, and do not push others down.
    private func enter() {
        guard !self.isOpen else { return }
        self.isOpen = true
        self.setKeys(single: true)
        _ = self.terminal.output.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J")
    }

    private func leave() {
        guard self.isOpen else { return }
        self.isOpen = false
        _ = self.terminal.output.write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        self.setKeys(single: false)
    }

    /// Gives the terminal back until somebody has us go on. Where nobody could, it is ours again at once.
    private func suspend() {
        let wasOpen = self.isOpen
        self.leave()
        try? raiseUnblocked(SIGTSTP)
        guard wasOpen else { return }
        self.enter()
        self.redraw()
    }

    // MARK: The keys

    /// Has keys come one by one and unseen, or as they did before. What ends or stops a program does so as ever.
    private func setKeys(single: Bool) {
        guard isatty(STDIN_FILENO) == 1 else { return }
        // SAFETY: the kernel fills in and reads structures of ours.
        if single {
            var settings = termios()
            guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
            let earlier = settings
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            if Self.set(settings, TCSADRAIN) { self.earlier = earlier }
        } else if let settings = self.earlier {
            // A line that is dead never gets rid of what was written to it.
            _ = Self.set(settings, isTerminated() ? TCSANOW : TCSADRAIN)
            self.earlier = nil
        }
    }

    /// Has the terminal handle keys so; false when it does not.
    ///
    /// Whoever asks for that in the background is stopped, and again each time it is to go on: one that was told to end meanwhile does
    /// without.
    private static func set(_ settings: termios, _ action: Int32) -> Bool {
        var settings = settings
        interruptAtContinuing()
        // SAFETY: the kernel reads a structure of ours.
        while unsafe tcsetattr(STDIN_FILENO, action, &settings) != 0 {
            guard errno == EINTR, !(self.isOthers ? isToldToEnd() : isTerminated()) else { return false }
        }
        return true
    }

    /// Whether others have the terminal, and not whoever may press Ctrl-C to have it back as it was.
    private static var isOthers: Bool {
        let group = tcgetpgrp(STDIN_FILENO)
        return group >= 0 && group != getpgrp()
    }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 256)
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        guard count > 0 else {
            // Nobody types there any more.
            if count == 0 || errno != EINTR, let watch {
                self.loop.cancel(watch)
                self.watch = nil
            }
            return
        }
        self.loop.cancel(&self.timer)
        for key in self.keys.take(bytes[..<count]) { self.onKey(key) }
        guard self.keys.isWaiting else { return }
        self.timer = self.loop.schedule(after: Self.patience) { [weak self] in
            guard let self else { return }
            self.loop.cancel(&self.timer)
            for key in self.keys.flush() { self.onKey(key) }
        }
    }
}
