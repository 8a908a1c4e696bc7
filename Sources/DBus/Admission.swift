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

    /// The next connection begins.
    mutating func begin() {
        self.state = .opening
        self.generation += 1
    }

    mutating func greeted(as name: String) { self.uniqueName = name }

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
