import DBus
import Protocol
import Testing

@testable import JostleClient

@Suite struct BegunTasksTests {
    private func task(_ name: String) -> JostleApp.RunningTask {
        JostleApp.RunningTask(identifier: name, attempt: 1, deadline: 0)
    }

    @Test func theLastThatWasBegunIsUnderWay() {
        var tasks = BegunTasks()
        #expect(tasks.next() == nil)
        tasks.begin(self.task("a"))
        // The time of the first is over: the broker has one under way.
        tasks.begin(self.task("b"))
        #expect(tasks.next() == self.task("b"))
        #expect(tasks.isEmpty && tasks.name == ["task": .string("b")])
        #expect(tasks.finish(success: true) == .done)
        // It is over.
        #expect(tasks.finish(success: true) == nil)
    }

    @Test func whatIsUnderWayExpires() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        _ = tasks.next()
        tasks.expire()
        #expect(tasks.isExpiring)
        // Nothing is begun: what is under way goes on.
        #expect(tasks.next() == nil)
        #expect(tasks.isExpiring)
        #expect(tasks.finish(success: false) == .cancelled)
        #expect(!tasks.isExpiring)
        tasks.begin(self.task("b"))
        _ = tasks.next()
        #expect(!tasks.isExpiring)
    }

    /// Of its time nothing is left when the app comes to it.
    @Test func whatWaitsExpiresToo() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        _ = tasks.next()
        tasks.begin(self.task("b"))
        #expect(!tasks.isExpiring)
        tasks.expire()
        #expect(tasks.isExpiring)
        #expect(tasks.finish(success: false) == nil)
        #expect(tasks.next() == self.task("b"))
        #expect(tasks.isExpiring)
        #expect(tasks.finish(success: false) == .cancelled)
    }

    /// The broker would take it for the one that it began last.
    @Test func nothingIsSaidOfOneThatAnotherFollowed() {
        for isDone in [true, false] {
            var tasks = BegunTasks()
            tasks.begin(self.task("a"))
            _ = tasks.next()
            tasks.begin(self.task("b"))
            #expect(tasks.finish(success: isDone) == nil)
            #expect(tasks.next() == self.task("b"))
            #expect(tasks.finish(success: isDone) == (isDone ? .done : .cancelled))
        }
    }

    @Test func whatIsDoneIsNotBegunAgain() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        _ = tasks.next()
        tasks.begin(self.task("a"))
        #expect(tasks.finish(success: true) == .done)
        #expect(tasks.isEmpty)
        // What was broken off is.
        tasks.begin(self.task("a"))
        _ = tasks.next()
        tasks.begin(self.task("a"))
        #expect(tasks.finish(success: false) == nil)
        #expect(tasks.next() == self.task("a"))
    }

    @Test func whatABrokerBeganEndsWithIt() {
        var tasks = BegunTasks()
        tasks.begin(self.task("a"))
        tasks.brokerLeaves()
        #expect(tasks.isEmpty)
        tasks.begin(self.task("b"))
        _ = tasks.next()
        tasks.brokerLeaves()
        #expect(tasks.finish(success: true) == nil)
    }
}
