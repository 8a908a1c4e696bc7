/// Work that may wait: done in steps, for a bounded time in each round of the loop, one job after the other.
///
/// Between two turns the loop looks at its descriptors and timers, so whatever is urgent waits for one turn and one step at
/// most. A job is one piece of such work; jobs take turns step by step, so none waits for another to end.
///
/// Not `Sendable`: it belongs to the loop's thread.
package final class Turns {
    /// Does a little, and tells whether more is left.
    package typealias Step = () -> Bool

    /// A function in an array is wrapped anew each time it is put there; in a struct it is not.
    private struct Job {
        let step: Step
    }

    private unowned let loop: EventLoop
    private var jobs: [Job] = []
    /// The job whose step is next.
    private var next = 0
    private var isDue = false
    private var turn: () -> Void = {}

    /// How long a turn may take before the next step begins, in µs.
    package static let budget: Int64 = 2_000

    init(on loop: EventLoop) {
        self.loop = loop
        self.turn = { [unowned self] in self.take() }
    }

    /// Begins a job. Its first step runs in the next turn, never before this returns.
    package func add(_ step: @escaping Step) {
        self.jobs.append(Job(step: step))
        self.schedule()
    }

    /// Begins a job, and runs `done` after its last step.
    package func add(_ step: @escaping Step, then done: @escaping () -> Void) {
        self.add {
            if step() { return true }
            done()
            return false
        }
    }

    private func schedule() {
        guard !self.isDue else { return }
        self.isDue = true
        self.loop.defer(self.turn)
    }

    private func take() {
        self.isDue = false
        let end = Clock.monotonic.now() + Self.budget
        repeat {
            guard !self.jobs.isEmpty else { return }
            if self.next >= self.jobs.count { self.next = 0 }
            // By index: a step may begin other jobs, which go to the end.
            let index = self.next
            if self.jobs[index].step() { self.next = index + 1 } else { self.jobs.remove(at: index) }
        } while Clock.monotonic.now() < end
        if !self.jobs.isEmpty { self.schedule() }
    }
}

@available(*, unavailable)
extension Turns: Sendable {}
