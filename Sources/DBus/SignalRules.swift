import Glibc

/// Who hears which of the signals that arrive.
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
