import Glibc
import Loop

/// Who hears which of the signals that arrive, and who is told that some may not have arrived.
///
/// A class: a handler may add rules while it is at work, or hear another signal.
/// Not `Sendable`: it belongs to the thread of its connection's loop.
final class SignalRules {
    typealias Handler = (borrowing Message) -> Void

    private struct Rule {
        let signal: SignalName
        let handler: Handler
    }

    private var rules: [Rule] = []
    private var other: Handler?
    private let loop: EventLoop
    private var intake = Intake()
    /// Those who are told when we doubt.
    private var doubters: [(_ isOver: Bool) -> Void] = []
    /// Runs when it is to be asked how things are.
    private var timer: EventLoop.TimerID?

    init(on loop: EventLoop) { self.loop = loop }

    func add(_ signal: SignalName, _ handler: @escaping Handler) {
        self.rules.append(Rule(signal: signal, handler: handler))
    }

    /// Says who hears what no rule takes.
    func setOther(_ handler: @escaping Handler) { self.other = handler }

    /// Runs the handlers of a signal with these names.
    ///
    /// SAFETY: the caller lends two terminated strings.
    @unsafe
    func tell(_ message: borrowing Message, _ interface: UnsafePointer<CChar>, _ member: UnsafePointer<CChar>) {
        var isTaken = false
        for rule in self.rules where unsafe rule.signal.fits(interface, member) {
            rule.handler(message)
            isTaken = true
        }
        if !isTaken { self.other?(message) }
    }

    // MARK: What may not have arrived

    func whenInDoubt(_ body: @escaping (_ isOver: Bool) -> Void) { self.doubters.append(body) }

    /// Some of so many bytes are about to be read.
    func took(of bytes: Int) {
        if self.intake.took(of: bytes, at: Clock.monotonic.now()) { self.askLater() }
    }

    /// Descriptors came that nobody asked for.
    func tookDescriptors() {
        if self.intake.tookDescriptors() { self.askLater() }
    }

    private func askLater() {
        self.loop.set(&self.timer, after: Intake.pause) { [weak self] in self?.ask() }
    }

    private func ask() {
        let isOver = self.intake.ask()
        if !isOver { self.askLater() }
        for body in self.doubters { body(isOver) }
    }

    /// The connection ended. Of the next one everything is asked anyway.
    func forgetDoubt() {
        self.intake = Intake()
        self.loop.cancel(&self.timer)
    }
}

/// The name of a signal, to be compared without asking libdbus for each comparison.
struct SignalName {
    private let interface: StaticString
    private let member: StaticString

    init(_ interface: StaticString, _ member: StaticString) {
        self.interface = interface
        self.member = member
    }

    /// SAFETY: the caller lends two terminated strings.
    @unsafe
    func fits(_ interface: UnsafePointer<CChar>, _ member: UnsafePointer<CChar>) -> Bool {
        unsafe self.member.withCString { unsafe strcmp($0, member) == 0 }
            && self.interface.withCString { unsafe strcmp($0, interface) == 0 }
    }
}
