import DBus
import Loop
import Protocol
import TestSupport
import Testing

@testable import JostleClient

/// What an app does when its broker leaves and another comes.
@Suite(.serialized) struct ReturnTests {
    /// A bus, an app on it, and the broker that is there now.
    private final class Scene {
        let bus: PrivateBus
        let loop: EventLoop
        let app: JostleApp
        private(set) var broker: BrokerDouble
        /// What the app was told.
        private(set) var changes: [Bool] = []
        private(set) var refusals: [JostleError] = []
        private(set) var events: [MotionEvent] = []

        /// Connects the app.
        init() throws {
            self.bus = try PrivateBus()
            self.loop = try EventLoop()
            self.broker = try BrokerDouble(on: self.bus, self.loop)
            self.app = JostleApp(app: "org.example.App", on: .address(self.bus.address), loop: self.loop)
            self.app.onBrokerChange = { [unowned self] in self.changes.append($0) }
            self.app.onRefusal = { [unowned self] in self.refusals.append($0) }
            self.app.onEvent = { [unowned self] in self.events.append($0) }
            try self.app.connect()
        }

        deinit {
            self.broker.leave()
            self.bus.stop()
        }

        /// Runs the loop until something is so.
        func until(_ what: String, _ isDone: () -> Bool) throws {
            let deadline = ContinuousClock.now + .seconds(30)
            while !isDone() {
                guard ContinuousClock.now < deadline else { throw Failure("\(what) did not come to pass") }
                try self.loop.runOnce(timeout: 50_000)
            }
        }

        /// The broker leaves, and the app knows.
        func leave() throws {
            let told = self.changes.count
            self.broker.leave()
            try self.until("the app hears that the broker left") { self.changes.count > told }
        }

        /// Another broker comes, which answers the next call of each of these methods with an error.
        func comeBack(_ errors: [String: BusError] = [:]) throws {
            self.broker = try BrokerDouble(on: self.bus, self.loop)
            self.broker.errors = errors
        }

        func untilItIsBack() throws { try self.until("the app hears of its broker") { self.changes.last == true } }

        /// The broker that is there begins a task, and the app has it.
        func begin(_ task: String) throws {
            var isTaken: Bool?
            self.broker.run(task) { isTaken = $0 }
            try self.until("the app takes the task") { isTaken != nil }
            #expect(isTaken == true)
        }
    }

    // MARK: It is told again

    /// Nothing that the bus or the clock says is a word of the broker's.
    @Test(arguments: zip(0..<3, [BusError.noReply("late"), .disconnected("left"), .noReply("late")]))
    func aBrokerThatDoesNotAnswerIsAskedAgain(_ place: Int, _ error: BusError) throws {
        let scene = try Scene()
        try scene.app.subscribe()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack([["Register", "Subscribe", "AddDetectors"][place]: error])
        try scene.untilItIsBack()
        let all = ["Register", "Subscribe", "AddDetectors jolt"]
        #expect(scene.broker.calls == Array(all[...place]) + all)
        #expect(scene.changes == [false, true] && scene.refusals.isEmpty)
    }

    @Test func onlyTheBrokersOwnWordIsARefusal() throws {
        let scene = try Scene()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack(["AddDetectors": .accessDenied("not any more")])
        try scene.until("the app hears the refusal") { !scene.refusals.isEmpty }
        #expect(scene.refusals.map(\.kind) == [.refused] && scene.refusals[0].isFinal && scene.changes == [false])
        #expect(scene.broker.calls == ["Register", "AddDetectors jolt"])
    }

    /// A full disk, a limit or an object that is gone is told once, and does not leave the app without its events for good.
    @Test(arguments: [BusError.failed("the disk is full"), .limitsExceeded("enough"), .unknownObject("gone")])
    func whatIsRefusedForTheMomentIsAskedForAgain(_ error: BusError) throws {
        let scene = try Scene()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack(["Register": error, "AddDetectors": error])
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register", "Register", "AddDetectors jolt", "Register", "AddDetectors jolt"])
        #expect(scene.refusals == [JostleError(error)] && !JostleError(error).isFinal)
        #expect(scene.changes == [false, true])
    }

    /// One that took the app, and left before it took its detectors, was never back.
    @Test func thatItIsGoneIsToldOnce() throws {
        let scene = try Scene()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack(["AddDetectors": .limitsExceeded("enough")])
        try scene.until("the app hears the refusal") { !scene.refusals.isEmpty }
        scene.broker.leave()
        try scene.comeBack()
        try scene.untilItIsBack()
        #expect(scene.changes == [false, true])
    }

    /// Whoever did not ask to be told waits for no event that cannot come.
    @Test func aRefusalThatNobodyHearsEndsTheRun() throws {
        let scene = try Scene()
        scene.app.onRefusal = nil
        try scene.leave()
        try scene.comeBack(["Register": .identityMismatch("another's")])
        var refusal: JostleError?
        do throws(JostleError) {
            try scene.app.run(for: .seconds(30))
        } catch {
            refusal = error
        }
        #expect(refusal?.name == "org.jostle.Error.IdentityMismatch")
    }

    /// One that left without an answer is not waited for, and the next one is asked once.
    @Test func whoLeavesIsNotAskedAgain() throws {
        let scene = try Scene()
        try scene.leave()
        try scene.comeBack(["Register": .noReply("late")])
        try scene.until("the app asks") { !scene.broker.calls.isEmpty }
        scene.broker.leave()
        try scene.comeBack()
        try scene.untilItIsBack()
        // Later than the app would have asked the one that left.
        var isOver = false
        scene.loop.once(after: 1_100_000) { isOver = true }
        try scene.until("the time is over") { isOver }
        try scene.app.subscribe()
        #expect(scene.broker.calls == ["Register", "Subscribe"])
        #expect(scene.changes == [false, true] && scene.refusals.isEmpty)
    }

    /// It may wait for what is kept for it, to be launched, or for what it registered for good.
    @Test func anAppWithoutDetectorsRegistersAgain() throws {
        let scene = try Scene()
        try scene.leave()
        try scene.comeBack()
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register"])
        #expect(scene.changes == [false, true])
    }

    /// An app with a detector, and a broker that came back and is being told of it.
    private func sceneOfABrokerThatIsBeingTold() throws -> Scene {
        let scene = try Scene()
        try scene.app.subscribe()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack()
        try scene.until("the broker is asked for what it kept") { scene.broker.calls.last == "Subscribe" }
        return scene
    }

    /// What is in force is what the app asked for last, and not what it had before.
    @Test func whatIsReplacedWhileTheBrokerIsToldStaysReplaced() throws {
        let scene = try self.sceneOfABrokerThatIsBeingTold()
        try scene.app.add([Detector("jolt", preset: "tap")])
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register", "Subscribe", "AddDetectors jolt", "AddDetectors jolt"])
        #expect(scene.broker.detectors == ["jolt": ["preset": .string("tap")]])
    }

    @Test func whatIsRemovedWhileTheBrokerIsToldStaysRemoved() throws {
        let scene = try self.sceneOfABrokerThatIsBeingTold()
        try scene.app.remove(["jolt"])
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register", "Subscribe", "AddDetectors jolt", "RemoveDetectors jolt"])
        #expect(scene.broker.detectors.isEmpty)
    }

    /// A broker that has refused is asked again after a second: behind what it has not answered yet, and with that.
    @Test func aBrokerIsNotAskedAgainBesideAChange() throws {
        let scene = try Scene()
        try scene.app.add([Detector("jolt", preset: "shake")])
        try scene.leave()
        try scene.comeBack(["AddDetectors": .limitsExceeded("enough")])
        try scene.until("the app hears the refusal") { !scene.refusals.isEmpty }
        scene.broker.pause = 1_500_000
        try scene.app.add([Detector("jolt", preset: "tap")])
        #expect(scene.broker.calls == ["Register", "AddDetectors jolt", "AddDetectors jolt"])
        scene.broker.pause = 0
        try scene.untilItIsBack()
        #expect(scene.broker.calls.suffix(2) == ["Register", "AddDetectors jolt"] && scene.broker.calls.count == 5)
        #expect(scene.broker.detectors == ["jolt": ["preset": .string("tap")]])
    }

    // MARK: What it was done with meanwhile

    @Test func whatWasAnsweredWithoutABrokerIsDone() throws {
        let scene = try Scene()
        scene.app.answersByItself = false
        try scene.app.subscribe()
        scene.broker.send(1)
        try scene.until("the event is there") { !scene.events.isEmpty }
        try scene.leave()
        scene.app.acknowledge(scene.events[0])
        try scene.comeBack()
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register", "Subscribe since 1"])
        scene.app.answersByItself = true
        scene.broker.send(1, isRedelivered: true)
        try scene.until("the copy is answered") { scene.broker.calls.last == "Ack 1" }
        #expect(scene.events.map(\.sequence) == [1])
    }

    /// What an app names at its start as done with is named to each broker, also before it has answered anything.
    @Test func whatWasDoneInAnEarlierRunIsNamedToTheNextBroker() throws {
        let scene = try Scene()
        try scene.app.subscribe(since: MotionEvent.Name(sequence: 7, epoch: 70))
        try scene.leave()
        try scene.comeBack()
        try scene.untilItIsBack()
        #expect(scene.broker.calls == ["Register", "Subscribe since 7"])
    }

    /// It greets, and says of no name whose it is.
    @Test func aBusThatDoesNotSayWhetherThereIsABrokerIsNotWaitedForForEver() throws {
        let bus = try PrivateBus()
        defer { bus.stop() }
        let path = "\(bus.directory)/faulty"
        let script = Programs.source("Tests/Scripts/faulty-bus.py")
        let faulty = try BackgroundProgram(tool: ["python3", script, path, "ownerless", "\(bus.directory)/bus"])
        _ = try faulty.waitForLine { $0 == "listening" }
        let link = BrokerLink(app: "org.example.App", on: .address("unix:path=\(path)"), loop: try EventLoop())
        for _ in 0..<2 {
            #expect(throws: BusError.noReply("no answer from the bus at unix:path=\(path)")) {
                try link.open(within: 200)
            }
        }
        #expect(faulty.end == nil)
    }

    // MARK: A task that it was at

    @Test func aTaskIsNotEndedWithoutABroker() throws {
        let scene = try Scene()
        try scene.begin("refresh")
        #expect(try scene.app.nextTask()?.identifier == "refresh")
        try scene.leave()
        let isInTime = try scene.app.finishTask(success: true)
        #expect(!isInTime)
    }

    private func sceneOfATaskThatOutlivedItsBroker() throws -> Scene {
        let scene = try Scene()
        try scene.begin("refresh")
        #expect(try scene.app.nextTask()?.identifier == "refresh")
        try scene.leave()
        try scene.comeBack()
        try scene.untilItIsBack()
        return scene
    }

    /// The broker that is there began another, and is told nothing of the one before.
    @Test func whatOutlivedItsBrokerIsNotTakenForAnother() throws {
        let scene = try self.sceneOfATaskThatOutlivedItsBroker()
        try scene.begin("tidy-up")
        let isRefreshInTime = try scene.app.finishTask(success: true)
        #expect(!isRefreshInTime && scene.broker.calls == ["Register"])
        #expect(try scene.app.nextTask()?.identifier == "tidy-up")
        let isInTime = try scene.app.finishTask(success: false)
        #expect(isInTime && scene.broker.calls == ["Register", "TaskDone cancelled"])
    }

    @Test func whatIsDoneIsDoneForTheBrokerThatBeganItAgain() throws {
        let scene = try self.sceneOfATaskThatOutlivedItsBroker()
        try scene.begin("refresh")
        let isInTime = try scene.app.finishTask(success: true)
        #expect(isInTime && scene.broker.calls == ["Register", "TaskDone done"])
    }
}
