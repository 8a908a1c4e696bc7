package import EventLoop
package import PolicyFiles

extension EventLoop {
    /// Reads files in turns, with the pauses that reading asks for, and then does something else.
    package func read(_ step: @escaping () -> PolicyLoading.Progress, then done: @escaping () -> Void) {
        self.turns.add { [unowned self] in
            switch step() {
            case .more: return true
            case .wait(let pause): self.once(after: pause) { [unowned self] in self.read(step, then: done) }
            case .done: done()
            }
            return false
        }
    }
}
