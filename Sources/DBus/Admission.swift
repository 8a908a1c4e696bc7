import Glibc
import Motion

/// How far the bus has let a connection in, and under which names.
struct Admission {
    private(set) var state = Connection.State.closed
    /// Our name on the bus; empty until it has greeted us.
    private(set) var uniqueName = ""
    /// The names to be asked for, in this order.
    private(set) var names: [Name]
    /// Which of the successive connections this is.
    private(set) var generation: UInt64 = 0
    /// All names were ours once.
    private(set) var hasServed = false
    /// Whose the bus was that greeted us first; `nil`: none did, or the kernel does not say.
    private var host: UInt32?
    /// Whose the one is that is open.
    private var opened: UInt32?

    /// A name that we are to own.
    struct Name {
        let text: String
        /// Told why we have not got it: we serve without it, too, and wait for it while it is another's. `nil`: we do not.
        let orElse: ((BusError) -> Void)?
    }

    init(names: [String]) {
        self.names = names.map { Name(text: $0, orElse: nil) }
    }

    /// From the greeting on the bus knows our match rules; before it they only wait to be told.
    var isGreeted: Bool { !self.uniqueName.isEmpty }

    /// Asks for one more name from the next opening on, without which we serve as well.
    mutating func ownIfFree(_ name: String, orElse: @escaping (BusError) -> Void) {
        self.names.append(Name(text: name, orElse: orElse))
    }

    /// Whether whoever listens may be the bus that was there before. Where its socket stands in a place for all, as in /tmp, anybody
    /// may listen once it is gone. Root and our own user can do anything to us as it is: a stranger who greeted us first does not
    /// keep us from their bus.
    func mayBeBus(of user: UInt32?) -> Bool {
        self.host == nil || self.host == user || user == UserShares.root || user == getuid()
    }

    /// The next connection begins, to a bus of this user's.
    mutating func begin(with user: UInt32?) {
        self.state = .opening
        self.generation += 1
        self.opened = user
    }

    mutating func greeted(as name: String) {
        self.uniqueName = name
        if self.host == nil { self.host = self.opened }
    }

    /// The bus has given us all names.
    mutating func complete() {
        self.state = .ready
        self.hasServed = true
    }

    mutating func end() {
        self.state = .closed
        self.uniqueName = ""
    }
}
