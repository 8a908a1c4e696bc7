import Motion
import SensorCore
import Testing

/// What waits for its turn, or behind something of the same connection.
@Suite struct WaitingTests {
    private static let (hog, guest): (UInt32, UInt32) = (1_000, 1_001)

    @Test func usersHaveTurns() {
        var turns = UserTurns<String>()
        for number in 0..<3 { turns.add("h\(number)", of: Self.hog) }
        for number in 0..<2 { turns.add("g\(number)", of: Self.guest) }
        var order: [String] = []
        while order.count < 3, let (name, _) = turns.next(where: { _ in true }) { order.append(name) }
        #expect(order == ["h0", "g0", "h1"])
        // Whoever may have nothing now keeps his turn, and others go on.
        turns.add("h3", of: Self.hog)
        #expect(turns.next { $0 == Self.hog }?.element == "h2")
        #expect(turns.next { $0 == 7 } == nil && !turns.isEmpty)
        #expect(turns.next(where: { _ in true })?.element == "g1")
        #expect(turns.takeAll() == ["h3"] && turns.isEmpty)
    }

    @Test func aConnectionWaitsInItsOrderAndHasItsLimit() {
        var lines = WaitingLines<Int>()
        #expect(!lines.isOpen("a") && lines.add(0, of: "a") == false)
        lines.open("a", of: Self.guest)
        for number in 0..<SensorLimits.waiting { #expect(lines.add(number, of: "a") == true) }
        #expect(lines.add(99, of: "a") == false)
        #expect(lines.close("a") == Array(0..<SensorLimits.waiting))
        #expect(!lines.isOpen("a") && lines.close("a") == [])
    }

    /// However many connections a user has.
    @Test func oneUserLeavesOthersRoom() {
        let shares = SensorLimits.allWaiting
        var lines = WaitingLines<Int>(shares)
        var waiting = 0
        for number in 0..<200 {
            lines.open("hog \(number)", of: Self.hog)
            for _ in 0..<SensorLimits.waiting where lines.add(0, of: "hog \(number)") { waiting += 1 }
        }
        #expect(waiting == shares.share)
        lines.open("guest", of: Self.guest)
        for _ in 0..<SensorLimits.waiting { #expect(lines.add(1, of: "guest") == true) }
        // What goes leaves its place.
        for number in 0..<200 { _ = lines.close("hog \(number)") }
        lines.open("again", of: Self.hog)
        #expect(lines.add(2, of: "again") == true)
    }

    /// Those who are not known yet have one share, and what they have counts in their user's once he is known.
    @Test func whoIsKnownPaysForHimself() {
        var lines = WaitingLines<Int>(UserShares(limit: 64, reserve: 0))
        for name in ["a", "b"] { lines.open(name, of: nil) }
        for number in 0..<32 { #expect(lines.add(number, of: "a") == true) }
        #expect(lines.add(0, of: "b") == false)
        #expect(lines.setUser(Self.guest, of: "a") == [])
        for number in 0..<16 { #expect(lines.add(number, of: "b") == true) }
        // There is room for half of what the other one leaves, and he has it all.
        #expect(lines.setUser(Self.guest, of: "b") == Array(0..<16))
        #expect(lines.close("b") == [] && lines.close("a") == Array(0..<32))
    }

    /// Who found no place at a sensor is remembered beside a user who is refused over and over.
    @Test func theLatestOfEachUserAreKnown() {
        var latest = LatestOfUsers<String>(SensorLimits.refused)
        latest.add("guest", of: Self.guest)
        for number in 0..<1_000 { latest.add("hog \(number)", of: Self.hog) }
        let known = latest.takeAll { _ in true }
        #expect(known.first == "guest" && known.last == "hog 999")
        #expect(known.count > SensorLimits.refused.share / 2 && known.count <= SensorLimits.refused.limit)
        #expect(latest.takeAll { _ in true } == [])
    }
}
