import DBus
import EventLoop
import TestSupport
import Testing

@Suite(.serialized) struct ConnectionTests {
    @Test func greetsOwnsAndAnswers() throws {
        let bus = try PrivateBus()
        let loop = try EventLoop()
        let connection = Connection(to: .address(bus.address), on: loop, names: ["org.example.One"])
        try connection.openAndWait()
        #expect(connection.uniqueName.hasPrefix(":"))
        connection.close()
    }
}
