import DBus
import Motion
import Testing

@testable import JostleClient

@Suite struct RegistrationTests {
    private func detector(_ name: String, _ preset: String = "shake") -> Detector { Detector(name, preset: preset) }

    @Test func whatIsAskedForAgain() {
        var registration = Registration(app: "org.example.App")
        #expect(registration.batches.isEmpty)
        registration.add([self.detector("a"), self.detector("b")])
        registration.add([self.detector("a", "tap"), self.detector("c")])
        #expect(registration.batches.map { $0.map(\.name) } == [["b", "a", "c"]])
        #expect(registration.batches[0].map { $0.options["preset"] } == [.text("shake"), .text("tap"), .text("shake")])
        registration.remove(["a", "b", "nobody"])
        registration.remove(["c"])
        #expect(registration.batches.isEmpty)
    }

    /// Whatever it asked for: to be called is reason enough.
    @Test func whoWasRegisteredIsToBeAgain() {
        var registration = Registration(app: "org.example.App")
        registration.add([self.detector("a")])
        #expect(!registration.isNeeded)
        registration.begin()
        registration.remove(["a"])
        #expect(registration.isNeeded)
    }

    @Test func manyDetectorsTakeSeveralCalls() {
        var registration = Registration(app: "")
        registration.add((0..<130).map { self.detector("\($0)") })
        #expect(registration.batches.map(\.count) == [64, 64, 2])
    }

    @Test func itSaysWhatItIs() {
        var registration = Registration(app: "org.example.App")
        #expect(registration.options == [:])
        registration.isDurable = true
        #expect(registration.options == ["durable": .boolean(true)])
    }

    @Test(arguments: ["", "org.example.App", "a", "org.example", ".org", "org..example", "org.exa mple"])
    func onlyNamesAreTried(app: String) {
        let isRefused = (try? Registration(app: app).check()) == nil
        #expect(isRefused == !["", "org.example.App", "org.example"].contains(app))
    }
}
