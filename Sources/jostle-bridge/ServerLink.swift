import DaemonSupport
import FleetCore
import Loop
import MQTT
import Motion

/// Keeps a connection to the server: resolves its name, tries its addresses, and comes back after a while when it is gone.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class ServerLink {
    enum Event {
        case connected(Welcome)
        case disconnected
        case acknowledged(Int32, reason: Int32)
        case subscribed(Int32)
        case arrived(Publication)
    }

    var onEvent: (Event) -> Void = { _ in }
    private(set) var isConnected = false

    private let loop: EventLoop
    private let log: Log
    /// Made anew for each connection: secrets may have changed.
    private let settings: () throws -> ConnectionSettings
    private var times = ReconnectTimes()
    private var resolution: Resolution?
    private var addresses: [String] = []
    private var client: Client?
    private var timer: EventLoop.TimerID?
    /// What was wrong the last time: it is said once.
    private var trouble: String?
    private var hearing = Hearing()

    /// What the server was asked to let us hear on this connection.
    private struct Hearing {
        /// Topics without an answer, by the numbers of the questions.
        var asked: [Int32: String] = [:]
        /// What it lets us not hear for now, and when it is asked again.
        var refused: [String] = []
        var timer: EventLoop.TimerID?
        var pause = Hearing.firstPause

        static let (firstPause, longestPause): (Int64, Int64) = (2_000_000, 120_000_000)
    }

    init(on loop: EventLoop, log: Log, _ settings: @escaping () throws -> ConnectionSettings) {
        self.loop = loop
        self.log = log
        self.settings = settings
    }

    func start() { self.resolve() }

    /// Says good-bye.
    func stop() {
        self.client?.disconnect()
        self.client = nil
        self.isConnected = false
    }

    // MARK: Saying

    func publish(_ publication: Publication) throws(MQTTProblem) -> Int32 {
        guard self.isConnected, let client else { throw MQTTProblem("there is no connection") }
        return try client.publish(publication)
    }

    @discardableResult
    func subscribe(to topic: String) -> Int32? {
        guard self.isConnected, let client else { return nil }
        do throws(MQTTProblem) {
            let number = try client.subscribe(to: topic, withoutOwn: true)
            self.hearing.asked[number] = topic
            return number
        } catch {
            self.log.warning("\(error)")
            return nil
        }
    }

    /// Who has not got what it asked for hears nothing on this connection, however long that lasts: it asks again, after a pause that grows.
    private func answered(_ number: Int32, _ granted: [Int32]) {
        guard let topic = self.hearing.asked.removeValue(forKey: number),
            let reason = granted.first(where: { $0 >= 128 })
        else { return }
        let pause = self.hearing.pause
        if pause == Hearing.firstPause {
            self.log.warning("the server lets us not hear '\(topic)': \(MQTTProblem.reason(reason))")
        }
        guard MQTTProblem.isForNow(reason) else { return }
        self.hearing.refused.append(topic)
        self.loop.set(&self.hearing.timer, after: pause, on: .boottime) { [unowned self] in self.askAgain() }
    }

    private func askAgain() {
        let topics = self.hearing.refused
        self.hearing.refused = []
        self.hearing.pause = min(2 * self.hearing.pause, Hearing.longestPause)
        for topic in topics { self.subscribe(to: topic) }
    }

    // MARK: Connecting

    private func resolve() {
        let settings: ConnectionSettings
        do {
            settings = try self.settings()
        } catch {
            return self.failed("\(error)")
        }
        self.resolution = Resolution(of: settings.host, on: self.loop) { [unowned self] addresses in
            self.resolution = nil
            guard !addresses.isEmpty else { return self.failed("nobody knows where \(settings.host) is") }
            self.addresses = addresses
            self.tryNext(settings)
        }
    }

    private func tryNext(_ settings: ConnectionSettings) {
        guard !self.addresses.isEmpty else { return self.failed(self.trouble ?? "the server cannot be reached") }
        let address = self.addresses.removeFirst()
        do throws(MQTTProblem) {
            let client = try Client(settings, on: self.loop)
            client.onEvent = { [unowned self] in self.heard($0, settings) }
            try client.connect(to: address)
            self.client = client
        } catch {
            self.addresses.isEmpty ? self.failed(error.description) : self.tryNext(settings)
        }
    }

    private func heard(_ event: Client.Event, _ settings: ConnectionSettings) {
        switch event {
        case .connected(let welcome):
            self.isConnected = true
            self.addresses = []
            self.trouble = nil
            self.times.connected(at: self.now)
            self.log.info("connected to \(settings.host)")
            self.onEvent(.connected(welcome))
        case .acknowledged(let number, let reason): self.onEvent(.acknowledged(number, reason: reason))
        case .subscribed(let number, let granted):
            self.answered(number, granted)
            self.onEvent(.subscribed(number))
        case .arrived(let publication): self.onEvent(.arrived(publication))
        case .ended(let problem): self.ended(problem, settings)
        }
    }

    private func ended(_ problem: MQTTProblem, _ settings: ConnectionSettings) {
        // It still tells us this.
        if let client { self.loop.defer { _ = client } }
        self.client = nil
        guard self.isConnected else {
            // Another address may do.
            return self.addresses.isEmpty ? self.failed(problem.description) : self.tryNext(settings)
        }
        self.isConnected = false
        self.loop.cancel(&self.hearing.timer)
        self.hearing = Hearing()
        self.onEvent(.disconnected)
        self.failed(problem.description)
    }

    private var now: Timestamp { Timestamp(microseconds: Clock.boottime.now()) }

    private func failed(_ problem: String) {
        let pause = self.times.failed(at: self.now, chance: UInt64.random(in: 0 ... .max))
        if problem != self.trouble { self.log.warning("no server: \(problem); trying again from time to time") }
        self.trouble = problem
        self.loop.set(&self.timer, after: pause.microseconds, on: .boottime) { [unowned self] in self.resolve() }
    }
}

@available(*, unavailable)
extension ServerLink: Sendable {}
