import Loop
import MQTT
import TestSupport
import Testing

@Suite struct ClientTests {
    /// A client, and what it heard.
    private final class Line {
        let client: Client
        var events: [Client.Event] = []

        init(_ settings: ConnectionSettings, on loop: EventLoop) throws {
            self.client = try Client(settings, on: loop)
            self.client.onEvent = { [unowned self] in self.events.append($0) }
        }

        var welcome: Welcome? {
            self.events.lazy.compactMap { if case .connected(let welcome) = $0 { welcome } else { nil } }.first
        }
        var arrived: [Publication] {
            self.events.compactMap { if case .arrived(let publication) = $0 { publication } else { nil } }
        }
        var acknowledged: [Int32] {
            self.events.compactMap { if case .acknowledged(let number, reason: _) = $0 { number } else { nil } }
        }
        var isSubscribed: Bool { self.events.contains { if case .subscribed = $0 { true } else { false } } }
        var end: MQTTProblem? {
            self.events.lazy.compactMap { if case .ended(let problem) = $0 { problem } else { nil } }.first
        }
    }

    private let loop: EventLoop
    private let server: MQTTServer

    init() throws {
        self.loop = try EventLoop()
        self.server = try MQTTServer()
    }

    private func wait(_ what: String, until isSo: () -> Bool) throws {
        var isLate = false
        let timer = self.loop.schedule(after: 20_000_000) { isLate = true }
        defer { self.loop.cancel(timer) }
        try self.loop.run(until: { isSo() || isLate })
        try #require(isSo(), "\(what) within 20 s; the server says: \(self.server.log)")
    }

    private func settings(_ name: String) -> ConnectionSettings {
        ConnectionSettings(host: "localhost", port: self.server.port, client: name)
    }

    private func connected(_ settings: ConnectionSettings) throws -> Line {
        let line = try Line(settings, on: self.loop)
        try line.client.connect(to: "127.0.0.1")
        try self.wait("a welcome") { line.welcome != nil || line.end != nil }
        try #require(line.welcome != nil, "\(String(describing: line.end))")
        return line
    }

    @Test func aMessageArrivesWithAllThatIsSaidOfIt() throws {
        let reader = try self.connected(self.settings("reader"))
        try reader.client.subscribe(to: "a/#")
        try self.wait("a subscription") { reader.isSubscribed }
        let writer = try self.connected(self.settings("writer"))
        var properties = MessageProperties()
        properties.isText = true
        properties.contentType = "application/json"
        properties.expiry = 3_600
        properties.responseTopic = "answer/1"
        properties.correlation = [0, 1, 255]
        properties.user = [UserProperty("epoch", "17"), UserProperty("sequence", "4"), UserProperty("epoch", "18")]
        let sent = Publication("a/b", Array("{}".utf8), properties)
        let number = try writer.client.publish(sent)
        try self.wait("the message") { !reader.arrived.isEmpty && writer.acknowledged == [number] }
        var expected = sent
        // The server counts down.
        expected.properties.expiry = reader.arrived[0].properties.expiry
        #expect(reader.arrived == [expected])
        #expect((3_590...3_600).contains(expected.properties.expiry ?? 0))
    }

    /// What takes long to compare is not handed on. What comes behind it is.
    @Test func whatTakesLongToCompareIsLeftOut() throws {
        let reader = try self.connected(self.settings("reader"))
        try reader.client.subscribe(to: "#")
        try self.wait("a subscription") { reader.isSubscribed }
        let writer = try self.connected(self.settings("writer"))
        let marks = "e" + String(repeating: "\u{301}", count: 100) + String(repeating: "\u{327}", count: 100)
        var properties = MessageProperties()
        properties.contentType = marks
        properties.responseTopic = marks
        properties.user = [UserProperty(marks, "1"), UserProperty("epoch", marks), UserProperty("epoch", "17")]
        _ = try writer.client.publish(Publication(marks, []))
        _ = try writer.client.publish(Publication("a", [], properties))
        try self.wait("the message") { !reader.arrived.isEmpty && writer.acknowledged.count == 2 }
        #expect(reader.arrived.map(\.topic) == ["a"])
        let found = reader.arrived[0].properties
        #expect(found.contentType == nil && found.responseTopic == nil)
        #expect(found.user == [UserProperty("epoch", "17")])
        // However many are left out, no more are looked at than of others.
        properties.user = Array(repeating: UserProperty(marks, "1"), count: 32) + [UserProperty("epoch", "17")]
        _ = try writer.client.publish(Publication("b", [], properties))
        try self.wait("another message") { reader.arrived.count == 2 }
        #expect(reader.arrived[1].properties.user.isEmpty)
    }

    @Test func theServerSaysHowMuchItTakes() throws {
        let line = try self.connected(self.settings("line"))
        #expect(line.welcome?.receiveMaximum == MQTTServer.receiveMaximum)
        #expect(line.welcome?.hasSession == false)
    }

    @Test func aSessionIsThereAgain() throws {
        var settings = self.settings("lasting")
        settings.sessionExpiry = 600
        let first = try self.connected(settings)
        #expect(first.welcome?.hasSession == false)
        first.client.disconnect()
        try self.wait("the end") { first.end != nil }
        #expect(try self.connected(settings).welcome?.hasSession == true)
    }

    @Test func theWillIsSaidForWhoIsKilled() throws {
        let reader = try self.connected(self.settings("reader"))
        try reader.client.subscribe(to: "presence")
        try self.wait("a subscription") { reader.isSubscribed }
        var settings = self.settings("dying")
        settings.will = Publication("presence", Array("gone".utf8), isRetained: true)
        var dying: Line? = try self.connected(settings)
        #expect(dying?.welcome != nil)
        dying = nil
        try self.wait("the will") { !reader.arrived.isEmpty }
        #expect(reader.arrived.first?.payload == Array("gone".utf8))
    }

    @Test func whatIsNotThereIsAnEnd() throws {
        try self.server.kill()
        let line = try Line(self.settings("line"), on: self.loop)
        do {
            try line.client.connect(to: "127.0.0.1")
            try self.wait("the end") { line.end != nil }
        } catch let problem as MQTTProblem {
            #expect(problem.description.contains("127.0.0.1"))
        }
        #expect(line.welcome == nil)
    }

    /// At one address of a server nobody answers, as where a network has no way there: it may be reached at the next.
    @Test func anAddressWhereNobodyAnswersIsNotTheLast() throws {
        let silent = try BackgroundProgram(tool: [
            "python3", "-c",
            "import socket,sys,time;s=socket.create_server(('127.0.0.2',int(sys.argv[1])));print('there',flush=True);time.sleep(600)",
            "\(self.server.port)",
        ])
        _ = try silent.waitForLine(timeout: .seconds(30)) { $0 == "there" }
        // The server, too, has no more than that, on a machine that is busy.
        func connect(to addresses: String..., patience: Int64 = 4_000_000) throws -> Client {
            try Client.connected(self.settings("line"), to: addresses, on: self.loop, patience: patience)
        }
        let client = try connect(to: "127.0.0.2", "127.0.0.1")
        _ = try client.subscribe(to: "anything")
        #expect(throws: MQTTProblem("it does not answer")) { _ = try connect(to: "127.0.0.2", patience: 100_000) }
        #expect(throws: MQTTProblem("nobody knows where it is")) { _ = try connect() }
        withExtendedLifetime(silent) {}
    }

    @Test func aServerThatIsKilledIsAnEnd() throws {
        let line = try self.connected(self.settings("line"))
        try self.server.kill()
        try self.wait("the end") { line.end != nil }
    }

    /// What does not answer, and what takes long, keeps nobody from anything else.
    @Test func aServerThatSaysNothingKeepsNobody() throws {
        try self.server.stop()
        let line = try Line(self.settings("line"), on: self.loop)
        let start = Clock.monotonic.now()
        try line.client.connect(to: "127.0.0.1")
        #expect(Clock.monotonic.now() - start < 1_000_000)
        var ticks = 0
        func tick() {
            ticks += 1
            if ticks < 20 { self.loop.once(after: 5_000) { tick() } }
        }
        tick()
        let rounds = self.loop.rounds
        try self.wait("ticks") { ticks == 20 }
        // Nor does it spin.
        #expect(self.loop.rounds - rounds < 60)
        #expect(line.welcome == nil && line.end == nil)
        try self.server.goOn()
        try self.wait("a welcome") { line.welcome != nil }
    }

    @Test func manyMessagesComeInOrder() throws {
        let reader = try self.connected(self.settings("reader"))
        try reader.client.subscribe(to: "n")
        try self.wait("a subscription") { reader.isSubscribed }
        let writer = try self.connected(self.settings("writer"))
        let window = Int(MQTTServer.receiveMaximum)
        var next = 0
        while next < 500 {
            while next < 500, next - writer.acknowledged.count < window {
                _ = try writer.client.publish(Publication("n", Array("\(next)".utf8)))
                next += 1
            }
            let before = writer.acknowledged.count
            try self.wait("acknowledgements") { writer.acknowledged.count > before }
        }
        try self.wait("all messages") { reader.arrived.count == 500 }
        #expect(reader.arrived.map { String(decoding: $0.payload, as: UTF8.self) } == (0..<500).map { "\($0)" })
    }
}

/// With certificates on both sides.
@Suite struct SecureClientTests {
    @Test(arguments: [
        ("localhost", "127.0.0.1", true, true), ("other.example", "127.0.0.1", true, false),
        ("localhost", "127.0.0.1", false, false),
    ])
    func onlyWhoIsCertifiedIsSpokenTo(_ host: String, _ address: String, _ isOurs: Bool, _ isTaken: Bool) throws {
        let loop = try EventLoop()
        let server = try MQTTServer(isSecure: true)
        var settings = ConnectionSettings(host: host, port: server.port, client: "device")
        settings.tls = ConnectionSettings.TLS(
            authorities: server.authority, certificate: isOurs ? server.certificate(of: "device") : nil,
            key: isOurs ? server.key(of: "device") : nil)
        var welcome: Welcome?
        var end: MQTTProblem?
        let client = try Client(settings, on: loop)
        client.onEvent = { event in
            if case .connected(let found) = event { welcome = found }
            if case .ended(let problem) = event { end = problem }
        }
        var isLate = false
        loop.once(after: 20_000_000) { isLate = true }
        let before = loop.rounds
        do {
            try client.connect(to: address)
            try loop.run(until: { welcome != nil || end != nil || isLate })
        } catch let problem as MQTTProblem {
            end = problem
        }
        #expect((welcome != nil) == isTaken, "\(String(describing: end)); \(server.log)")
        #expect((end == nil) == isTaken)
        // The handshake waits for its other side, and does not ask again and again.
        #expect(loop.rounds - before < 100)
    }

    /// A key that wants a passphrase is not asked for, and it is said what is wrong with what is there.
    @Test(arguments: [("locked", "TLS: "), ("other", "TLS: ")])
    func whatIsWrongWithAKeyIsSaid(_ name: String, _ words: String) throws {
        let loop = try EventLoop()
        let server = try MQTTServer(isSecure: true)
        let made = try Tool.run([
            "sh", "-c",
            "cd \(server.directory) && openssl ec -aes256 -passout pass:x -in device.key -out locked.key "
                + "&& openssl ecparam -name prime256v1 -genkey -noout -out other.key",
        ])
        try #require(made.status == 0, "\(made.stderr)")
        var settings = ConnectionSettings(host: "localhost", port: server.port, client: "device")
        settings.tls = ConnectionSettings.TLS(
            authorities: server.authority, certificate: server.certificate(of: "device"), key: server.key(of: name))
        let client = try Client(settings, on: loop)
        let problem = #expect(throws: MQTTProblem.self) { try client.connect(to: "127.0.0.1") }
        #expect(problem?.description.hasPrefix(words) ?? false, "\(String(describing: problem))")
    }
}
