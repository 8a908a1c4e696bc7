import DaemonSupport
import FleetCore
import Glibc
import Loop
import MQTT
import Motion
import Signatures

/// A connection of an operator's program, and what it heard.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class FleetSession {
    let loop: EventLoop
    private let settings: ConnectionSettings
    private var client: Client
    /// How long the server, or a device that is asked, may take.
    let patience: TimeSpan
    private(set) var book = DeviceBook()
    /// By which what is wanted is signed; what others signed is nothing to us then.
    let key: SigningKey?
    /// Told what a message changed.
    var onChange: (DeviceBook.Change) -> Void = { _ in }
    /// Told of every message.
    var onPublication: (Publication) -> Void = { _ in }

    private var ending: MQTTProblem?
    private var acknowledged: [Int32: Int32] = [:]
    private var granted: [Int32: [Int32]] = [:]
    /// Somebody asked us to end.
    private var isStopped = false
    private let answers = AnswerTopic.of("fleet-" + String(UInt64.random(in: 0 ... .max), radix: 36))
    /// While we look at what the server keeps.
    private var looking: Look?
    private var arrived: [Publication] = []

    /// Connects, and fails when that cannot be done.
    init(_ arguments: Arguments, signingWith key: SigningKey? = nil) throws {
        self.key = key
        self.settings = try ServerOption.settings(arguments)
        self.patience = try arguments.value(of: ServerOption.patience) ?? .seconds(10)
        self.loop = try EventLoop()
        self.client = try Self.connect(self.settings, on: self.loop, self.patience)
        self.client.onEvent = { [unowned self] in self.heard($0) }
        // A terminal that goes ends us, too, unless whoever started us wants it otherwise, as nohup does.
        let signals = [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP])
        try self.loop.onSignals(signals) { [unowned self] signal in
            EndRequest.note(signal)
            self.isStopped = true
        }
    }

    private static func connect(
        _ settings: ConnectionSettings, on loop: EventLoop, _ patience: TimeSpan,
        unless isGivenUp: () -> Bool = { false }
    ) throws(FleetFailure) -> Client {
        do throws(MQTTProblem) {
            return try Client.connected(
                settings, to: addresses(of: settings.host), on: loop, patience: patience.microseconds,
                unless: isGivenUp)
        } catch {
            throw FleetFailure(.noService, "\(settings.host): \(error)")
        }
    }

    private func heard(_ event: Client.Event) {
        switch event {
        case .connected: break
        case .acknowledged(let number, let reason): self.acknowledged[number] = reason
        case .subscribed(let number, let granted): self.granted[number] = granted
        case .arrived(let publication):
            self.looking?.heard(isKept: publication.isRetained, at: self.now)
            if publication.topic == self.answers {
                self.arrived.append(publication)
                self.looking?.marked()
            }
            self.onPublication(publication)
            let change = self.book.take(
                topic: publication.topic, publication.payload, contentType: publication.properties.contentType,
                isSigned: self.key.map { key in { key.isSigned($0.bytes, by: $0.signature) } })
            if let change { self.onChange(change) }
        case .ended(let problem): self.ending = problem
        }
    }

    private var now: Timestamp { Timestamp(microseconds: Clock.monotonic.now()) }

    // MARK: Waiting

    /// Waits until it is so, and fails when the connection ends or somebody stops us.
    func wait(until isSo: () -> Bool) throws {
        try self.loop.run(until: { self.ending != nil || self.isStopped || isSo() })
        if let ending { throw FleetFailure(.noService, "the server: \(ending)") }
        if self.isStopped, !isSo() { throw FleetFailure(.no, "stopped before the end") }
    }

    /// Waits until it is so, but no longer than the time. Returns whether it is.
    func wait(atMost span: TimeSpan, until isSo: () -> Bool) throws -> Bool {
        var isLate = false
        let timer = self.loop.schedule(after: span.microseconds) { isLate = true }
        defer { self.loop.cancel(timer) }
        try self.wait(until: { isLate || isSo() })
        return isSo()
    }

    /// Waits for news, but no longer than a second, and a moment in any case: what thousands of devices say is not looked at for each.
    func waitForNews(until isThere: () -> Bool) throws {
        _ = try self.wait(atMost: .milliseconds(100), until: { false })
        _ = try self.wait(atMost: .milliseconds(900), until: isThere)
    }

    /// Waits until somebody stops us, or the connection ends.
    func waitForEnd(orUntil isSo: () -> Bool) throws {
        try self.loop.run(until: { self.ending != nil || self.isStopped || isSo() })
        if let ending { throw FleetFailure(.noService, "the server: \(ending)") }
    }

    /// How long a server that is gone is waited for, and how often it is tried.
    private static let (comeback, retry) = (TimeSpan.seconds(30), TimeSpan.milliseconds(500))

    /// The connection ended.
    var isOver: Bool { self.ending != nil }

    /// Goes on after somebody stopped us, to put something in order; where the connection ended, with another one.
    func goOn() throws {
        self.isStopped = false
        let end = self.now + Self.comeback
        while self.ending != nil {
            do throws(FleetFailure) {
                self.client = try Self.connect(
                    self.settings, on: self.loop, self.patience, unless: { self.isStopped })
                self.client.onEvent = { [unowned self] in self.heard($0) }
                (self.acknowledged, self.granted, self.ending) = ([:], [:], nil)
            } catch {
                guard self.now < end, !self.isStopped else { throw error }
                try self.rest()
            }
        }
    }

    private func rest() throws {
        var isOver = false
        let timer = self.loop.schedule(after: Self.retry.microseconds) { isOver = true }
        defer { self.loop.cancel(timer) }
        try self.loop.run(until: { isOver || self.isStopped })
    }

    // MARK: Saying

    func subscribe(to topics: [String]) throws {
        for topic in topics {
            guard try self.hears(topic) else {
                throw FleetFailure(.refused, "the server does not let us hear '\(topic)'")
            }
        }
    }

    /// Asks for the messages of a topic. Returns whether the server lets us hear it.
    private func hears(_ topic: String) throws -> Bool {
        let number = try self.client.subscribe(to: topic)
        guard try self.wait(atMost: self.patience, until: { self.granted[number] != nil }) else {
            throw FleetFailure(.noService, "the server does not answer")
        }
        return self.granted[number]?.allSatisfy { $0 < 128 } ?? false
    }

    /// Sends a message, and returns when the server has it.
    func publish(_ publication: Publication) throws {
        guard try self.says(publication) else {
            throw FleetFailure(.refused, "the server does not let us say '\(publication.topic)'")
        }
    }

    /// Sends a message. Returns whether the server, which answered, takes it.
    private func says(_ publication: Publication) throws -> Bool {
        let number = try self.client.publish(publication)
        guard try self.wait(atMost: self.patience, until: { self.acknowledged[number] != nil }) else {
            throw FleetFailure(.noService, "the server does not answer")
        }
        return self.acknowledged[number].map { $0 < 128 } ?? false
    }

    /// Says what is wanted of somebody.
    func publish(_ state: DesiredState, for scope: DesiredScope) throws {
        try self.publish(try self.message(state, on: scope.topic, for: "\(scope)"))
    }

    /// Says what is wanted of a group, and before that keeps what was wanted of it until now. Of what cannot be said nothing is.
    func publish(_ state: DesiredState, behind previous: DesiredState, of group: String) throws {
        let before = try self.message(
            previous, on: DeviceBook.previousTopic(of: group), for: DeviceBook.previousAddressee(of: group))
        let scope = DesiredScope.group(group)
        let message = try self.message(state, on: scope.topic, for: "\(scope)")
        try self.publish(before)
        try self.publish(message)
    }

    /// A state as a message, signed where there is a key.
    private func message(_ state: DesiredState, on topic: String, for addressee: String) throws -> Publication {
        var state = state
        state.addressee = addressee
        var payload = JSONCoding.bytes(state.value)
        if let key {
            payload = JSONCoding.bytes(SignedBundle(bytes: payload, signature: try key.sign(payload)).value)
        }
        guard payload.count <= DesiredLimits.bytes else {
            throw FleetFailure(.usage, "it is longer than \(DesiredLimits.bytes) bytes, which is what a device takes")
        }
        var message = Publication(topic, payload, isRetained: true)
        message.properties.contentType = PayloadFormat.json.contentType
        message.properties.isText = true
        return message
    }

    /// A version above all that are known, for what is wanted next.
    func nextVersion() throws(FleetFailure) -> UInt64 {
        guard let version = self.book.nextVersion else {
            throw FleetFailure(.refused, "devices read no version above the last; nothing was sent")
        }
        return version
    }

    // MARK: Asking

    /// Hears all that the server keeps of devices and groups.
    func look() throws {
        try self.subscribe(to: DeviceBook.topics)
        self.looking = Look(at: self.now, atMost: self.patience)
        defer { self.looking = nil }
        // What we say where we hear it comes behind what is kept. Who may not do that waits longer.
        if try self.hears(self.answers) { _ = try self.says(Publication(self.answers, [])) }
        while let look = self.looking {
            switch look.step(at: self.now) {
            case .wait(let span): _ = try self.wait(atMost: span, until: { self.looking != look })
            case .done: return
            case .late:
                throw FleetFailure(
                    .noService, "the server keeps more than it brings in time; say with --timeout how long it may take")
            }
        }
    }

    /// Asks a device, and waits for what it answers.
    func ask(_ device: String, _ verb: DeviceRequest.Verb, _ question: DataValue) throws -> DeviceAnswer {
        // Whoever is not there is not waited for.
        try self.subscribe(to: [self.answers, FleetTopics(device: device).presence])
        let correlation = Array("\(UInt64.random(in: 0 ... .max))".utf8)
        var message = Publication(FleetTopics(device: device).request(verb.rawValue), JSONCoding.bytes(question))
        message.properties.contentType = PayloadFormat.json.contentType
        message.properties.responseTopic = self.answers
        message.properties.correlation = correlation
        // Who is not there is not to answer tomorrow.
        message.properties.expiry = UInt32(clamping: Int(self.patience.seconds.rounded(.up)))
        try self.publish(message)
        func answer() -> Publication? { self.arrived.first { $0.properties.correlation == correlation } }
        func isAway() -> Bool { self.book.devices[device].map { !$0.isOnline } ?? false }
        _ = try self.wait(atMost: self.patience, until: { answer() != nil || isAway() })
        guard let answer = answer() else {
            let why =
                isAway()
                ? "is not there"
                : self.book.devices[device] == nil ? "is not known to the server; see 'list'" : "does not answer that"
            throw FleetFailure(.noService, "\(device) \(why)")
        }
        guard let value = try? PayloadFormat.read(answer.payload, contentType: answer.properties.contentType),
            let read = DeviceAnswer(value)
        else { throw FleetFailure(.no, "what \(device) answers cannot be read") }
        return read
    }
}

@available(*, unavailable)
extension FleetSession: Sendable {}
