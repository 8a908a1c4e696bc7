/// The turn in which a connection handles what has been read: one at a time, however often it is asked for.
struct DispatchTurn {
    /// Made once: a function made anew for each turn would need memory each time.
    private var work: () -> Void = {}
    private var isDue = false

    /// Says what a turn does; it calls `begin` first.
    mutating func run(_ work: @escaping () -> Void) { self.work = work }

    /// What is to run after the present round of the loop; `nil` when that is under way.
    mutating func ask() -> (() -> Void)? {
        guard !self.isDue else { return nil }
        self.isDue = true
        return self.work
    }

    /// The turn begins: the next may be asked for.
    mutating func begin() { self.isDue = false }
}
