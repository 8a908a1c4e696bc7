import Motion
import SensorCore
import Testing

/// What a hub wants done is done in its order, by one.
@Suite struct ActionLineTests {
    @Test func whatIsBroughtAboutComesBehind() {
        var line = ActionLine()
        #expect(line.begin() == false)
        line.wanted = [.stop, .send(ClientID(1))]
        #expect(line.begin() == true)
        #expect(line.next() == .stop)
        // Meanwhile somebody else wants something, and leaves it to whoever is at it.
        line.wanted.append(.send(ClientID(2)))
        #expect(line.begin() == false)
        #expect(line.next() == .send(ClientID(1)))
        #expect(line.next() == .send(ClientID(2)))
        #expect(line.next() == nil)
        #expect(line.begin() == false && line.wanted == [])
        line.wanted.append(.stop)
        #expect(line.begin() == true)
        #expect([line.next(), line.next()] == [.stop, nil])
    }
}
