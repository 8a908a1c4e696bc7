import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct TurnsTests {
    /// Passes the time of a whole turn, so that the step is the last of it.
    private func outlastATurn() {
        let end = Clock.monotonic.now() + Turns.budget
        while Clock.monotonic.now() < end {}
    }

    @Test func jobsTakeTurnsStepByStep() throws {
        let loop = try EventLoop()
        var steps: [String] = []
        for (name, count) in [("a", 3), ("b", 1), ("c", 2)] {
            var left = count
            loop.turns.add {
                steps.append(name)
                left -= 1
                return left > 0
            }
        }
        #expect(steps.isEmpty)
        try loop.run { steps.count == 6 }
        #expect(steps == ["a", "b", "c", "a", "c", "a"])
        // Nothing is left that would wake the loop.
        #expect(try !loop.runOnce(timeout: 1_000))
    }

    @Test func urgentWorkComesBetweenTurns() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        var order: [String] = []
        let watch = try loop.watch(pipe.reader.raw, for: .read) { _ in
            order.append("urgent")
            _ = drain(pipe.reader.raw)
        }
        for name in ["a", "b", "c"] {
            loop.turns.add {
                order.append(name)
                self.outlastATurn()
                if name == "a" { pipe.fill() }
                return false
            }
        }
        try loop.run { order.count == 4 }
        #expect(order == ["a", "urgent", "b", "c"])
        loop.cancel(watch)
    }

    @Test func aJobMayBeginOthers() throws {
        let loop = try EventLoop()
        var order: [String] = []
        loop.turns.add {
            order.append("first")
            loop.turns.add {
                order.append("second")
                return false
            }
            return order.count < 3
        }
        try loop.run { order.count == 4 }
        #expect(order == ["first", "second", "first", "second"])
    }

    @Test func aJobTellsItsEnd() throws {
        let loop = try EventLoop()
        var order: [String] = []
        var left = 4
        loop.turns.add({
            order.append("step")
            left -= 1
            return left > 0
        }) { order.append("done") }
        loop.turns.add {
            order.append("other")
            return order.count < 4
        }
        try loop.run { order.last == "done" }
        #expect(order == ["step", "other", "step", "other", "step", "step", "done"])
        #expect(try !loop.runOnce(timeout: 1_000))
    }
}
