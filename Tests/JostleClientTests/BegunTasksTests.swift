import Testing

@testable import JostleClient

@Suite struct BegunTasksTests {
    private func task(_ name: String) -> JostleApp.RunningTask {
        JostleApp.RunningTask(identifier: name, attempt: 1, deadline: 0)
    }

    @Test func tasksComeInOrder() {
        var tasks = BegunTasks()
        #expect(tasks.next() == nil)
        tasks.begin(self.task("a"))
        tasks.begin(self.task("b"))
        #expect(tasks.next() == self.task("a"))
        #expect(!tasks.isEmpty)
        #expect(tasks.next() == self.task("b"))
        #expect(tasks.isEmpty)
    }

    /// What is said to be done is the one that was handed out, and not the one that was begun since.
    @Test func theLastOneIsTheOneThatWasHandedOut() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        #expect(tasks.last == nil)
        _ = tasks.next()
        tasks.begin(self.task("b"))
        tasks.finish()
        #expect(tasks.last == "a")
        _ = tasks.next()
        #expect(tasks.last == "b")
    }

    @Test func onlyTheTaskUnderWayExpires() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        tasks.begin(self.task("b"))
        _ = tasks.next()
        tasks.expire()
        #expect(tasks.isExpiring)
        tasks.finish()
        #expect(!tasks.isExpiring)
        tasks.expire()
        _ = tasks.next()
        #expect(!tasks.isExpiring)
        tasks.expire()
        // Nothing is begun: what is under way goes on.
        #expect(tasks.next() == nil)
        #expect(tasks.isExpiring)
    }
}
