import FleetCore
import Glibc
import Loop
import MQTT
import TestSupport
import Testing

/// Somebody with a lasting session, who takes note of all events.
final class FleetListener {
    let loop: EventLoop
    private let server: MQTTServer
    private var client: Client?
    private(set) var isConnected = false
    private var isSubscribed = false
    /// All messages in order, but for events.
    private(set) var others: [Publication] = []
    private(set) var names: Set<EventName> = []
    private(set) var problems: [String] = []
    /// How many messages of ours the server has answered.
    private var acknowledged = 0
    private(set) var live = 0
    private(set) var past = 0
    private(set) var copies = 0
    private var rows: [String: Int64] = [:]
    /// What came last by connections before: of so many the server may not have heard that they came, and sends them again itself.
    private var unsure: Set<EventName> = []
    private var latest: [EventName] = []
    private var mostUnsure = Int(MQTTServer.receiveMaximum)
    private var lastLive: [String: (epoch: UInt64, sequence: UInt64)] = [:]
    /// Has each event acknowledged to this topic.
    var acknowledges: String?

    private let name: String
    private let topic: String

    /// - Parameters:
    ///   - name: As whom, where the server asks for certificates.
    ///   - topic: What it hears.
    init(_ server: MQTTServer, as name: String = "listener", to topic: String = "jostle/#", on loop: EventLoop? = nil)
        throws
    {
        (self.server, self.name, self.topic) = (server, name, topic)
        self.loop = try loop ?? EventLoop()
    }

    /// The server forgets so many changes when it is killed: it may not know that so much came, and sends it again itself.
    func allow(forgotten changes: Int) { self.mostUnsure = Int(MQTTServer.receiveMaximum) + changes }

    /// Connects, and goes on with its session.
    func connect() throws {
        var settings = ConnectionSettings(host: "localhost", port: self.server.port, client: self.name)
        if self.server.isSecure {
            settings.tls = ConnectionSettings.TLS(
                authorities: self.server.authority, certificate: self.server.certificate(of: self.name),
                key: self.server.key(of: self.name))
        }
        settings.sessionExpiry = 86_400
        settings.receiveMaximum = 500
        let client = try Client(settings, on: self.loop)
        client.onEvent = { [unowned self] in self.heard($0) }
        self.client = client
        self.isSubscribed = false
        self.unsure = Set(self.latest)
        try client.connect(to: "127.0.0.1")
        try self.wait("a welcome") { self.isConnected }
        try client.subscribe(to: self.topic)
        try self.wait("a subscription") { self.isSubscribed }
    }

    func wait(_ what: String, timeout: Int64 = 60_000_000, until isSo: () -> Bool) throws {
        var isLate = false
        let timer = self.loop.schedule(after: timeout) { isLate = true }
        defer { self.loop.cancel(timer) }
        try self.loop.run(until: { isSo() || isLate })
        try #require(isSo(), "\(what) within \(timeout / 1_000) ms; \(self.others.suffix(4).map(\.topic))")
    }

    func run(for microseconds: Int64) throws {
        var isOver = false
        let timer = self.loop.schedule(after: microseconds) { isOver = true }
        defer { self.loop.cancel(timer) }
        try self.loop.run(until: { isOver })
    }

    private func heard(_ event: Client.Event) {
        switch event {
        case .connected: self.isConnected = true
        case .ended: self.isConnected = false
        case .subscribed: self.isSubscribed = true
        case .acknowledged: self.acknowledged += 1
        case .arrived(let publication): self.arrived(publication)
        }
    }

    private func arrived(_ publication: Publication) {
        let value = try? PayloadFormat.read(publication.payload, contentType: publication.properties.contentType)
        guard publication.topic.contains("/event"), let value, let name = AcknowledgementMessage(value)?.name else {
            return self.others.append(publication)
        }
        self.take(name, publication)
        guard let topic = self.acknowledges, let client else { return }
        let bytes = JSONCoding.bytes(
            .fields(["app": .text(name.app), "epoch": .count(name.epoch), "sequence": .count(name.sequence)]))
        _ = try? client.publish(Publication(topic, bytes))
    }

    private func take(_ name: EventName, _ publication: Publication) {
        let properties = publication.properties
        let isPast = publication.topic.hasSuffix("/past/event")
        let isAgain = properties.user("again") != nil
        if self.unsure.remove(name) != nil, !isPast { return }
        self.latest.append(name)
        if self.latest.count > self.mostUnsure { self.latest.removeFirst(self.latest.count - self.mostUnsure) }
        let isNew = self.names.insert(name).inserted
        if !isNew {
            self.copies += 1
            if !isAgain { self.problems.append("a copy that does not say so: \(name) on \(publication.topic)") }
        }
        if properties.user("epoch") != "\(name.epoch)" { self.problems.append("another epoch beside \(name)") }
        if isPast != (properties.user("past") != nil) { self.problems.append("past on \(publication.topic)") }
        if isPast {
            self.past += 1
            guard let row = properties.user("row").flatMap({ Int64($0) }) else {
                return self.problems.append("no row: \(name)")
            }
            if let last = self.rows[publication.topic], row <= last, !isAgain {
                self.problems.append("row \(row) comes behind \(last)")
            }
            self.rows[publication.topic] = row
        } else {
            self.live += 1
            let here = (epoch: name.epoch, sequence: name.sequence)
            if let last = self.lastLive[publication.topic], here <= last, !isAgain {
                self.problems.append("\(here) comes behind \(last) on \(publication.topic)")
            }
            self.lastLive[publication.topic] = here
        }
    }

    /// Hears of other topics, too.
    func subscribe(to topic: String) throws {
        self.isSubscribed = false
        try self.client?.subscribe(to: topic)
        try self.wait("a subscription") { self.isSubscribed }
    }

    /// Says something.
    func publish(_ publication: Publication) throws { _ = try self.client?.publish(publication) }

    /// Wants something of a device or a group.
    func want(_ text: String, of topic: String) throws {
        try self.publish(Publication(topic, Array(text.utf8), isRetained: true))
    }

    /// Says what it has no right to: a server refuses that, or leaves whoever says it.
    func trespass(_ text: String, on topic: String) throws {
        if !self.isConnected { try self.connect() }
        let before = self.acknowledged
        try self.want(text, of: topic)
        try self.wait("an answer") { !self.isConnected || self.acknowledged > before }
        if !self.isConnected { try self.connect() }
    }

    /// The last message of a topic.
    func last(_ topic: String) -> DataValue? {
        self.others.last { $0.topic == topic }.flatMap {
            try? PayloadFormat.read($0.payload, contentType: $0.properties.contentType)
        }
    }
}
