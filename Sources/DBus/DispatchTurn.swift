import EventLoop

/// The turn in which a connection handles what has been read: one at a time, however often it is asked for.
struct DispatchTurn {
    private let loop: EventLoop
    /// Made once: a function made anew for each turn would need memory each time.
    private var work: () -> Void = {}
    private var isDue = false

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Says what a turn does; it calls `begin` first.
    mutating func run(_ work: @escaping () -> Void) { self.work = work }

    /// Asks for a turn after the present round of the loop, if none is due.
    mutating func schedule() {
        guard !self.isDue else { return }
        self.isDue = true
        self.loop.defer(self.work)
    }

    /// The turn begins: the next may be asked for.
    mutating func begin() { self.isDue = false }
}
