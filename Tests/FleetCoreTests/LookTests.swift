import FleetCore
import Motion
import Testing

@Suite struct LookTests {
    private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(microseconds: milliseconds * 1_000) }

    private func look() -> Look { Look(at: self.at(0), atMost: .seconds(10)) }

    /// A server that is slow to bring what it keeps is waited for.
    @Test func withoutTheMarkItTakesLonger() {
        var look = self.look()
        #expect(look.step(at: self.at(0)) == .wait(.seconds(1)))
        #expect(look.step(at: self.at(400)) == .wait(.milliseconds(600)))
        look.heard(isKept: true, at: self.at(600))
        #expect(look.step(at: self.at(1_000)) == .wait(.milliseconds(600)))
        #expect(look.step(at: self.at(1_600)) == .done)
    }

    @Test func theMarkAndAQuietTimeEndIt() {
        var look = self.look()
        look.heard(isKept: true, at: self.at(600))
        look.marked()
        #expect(look.step(at: self.at(600)) == .wait(.milliseconds(300)))
        // Not every server keeps to the order.
        look.heard(isKept: true, at: self.at(800))
        #expect(look.step(at: self.at(900)) == .wait(.milliseconds(200)))
        #expect(look.step(at: self.at(1_100)) == .done)
    }

    /// Devices that say something all the time do not keep it from ending.
    @Test(arguments: [false, true]) func whatIsSaidNowIsNoPartOfIt(isMarked: Bool) {
        var look = self.look()
        if isMarked { look.marked() }
        for time in stride(from: 0, through: 2_000, by: 50) { look.heard(isKept: false, at: self.at(Int64(time))) }
        #expect(look.step(at: self.at(2_000)) == .done)
    }

    /// Whoever keeps more and more is not listened to without end, and what was heard is not taken for all.
    @Test func itEndsInAnyCase() {
        var look = self.look()
        look.marked()
        for time in stride(from: 0, through: 9_900, by: 100) { look.heard(isKept: true, at: self.at(Int64(time))) }
        #expect(look.step(at: self.at(9_900)) == .wait(.milliseconds(100)))
        #expect(look.step(at: self.at(10_000)) == .late)
    }
}
