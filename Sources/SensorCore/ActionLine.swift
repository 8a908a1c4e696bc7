/// What a sensor's hub wants done, in its order: what an action brings about comes behind all that was wanted before, and is done by
/// whoever is at it already.
package struct ActionLine: Sendable {
    /// Where the hub puts what it wants.
    package var wanted: [SensorAction] = []
    private var done = 0
    private var isAtWork = false

    package init() {}

    /// Whether there is something to do, and nobody at it: then it is to be taken by `next` until that says that there is no more.
    package mutating func begin() -> Bool {
        guard !self.isAtWork, !self.wanted.isEmpty else { return false }
        self.isAtWork = true
        return true
    }

    /// Takes what is to be done next.
    package mutating func next() -> SensorAction? {
        guard self.done < self.wanted.count else {
            self.wanted.removeAll(keepingCapacity: true)
            self.done = 0
            self.isAtWork = false
            return nil
        }
        defer { self.done += 1 }
        return self.wanted[self.done]
    }
}
