import DBus
package import EventLoop
import Motion
import Protocol

/// A connection to the broker as one app.
///
///     let client = try JostleClient(app: "org.example.Player")
///     client.onEvent = { event in print(event.detector, event.peak) }
///     try client.connect()
///     try client.add([Detector("skip", preset: "shake")])
///     try client.run()
///
/// An event that wants an answer is acknowledged when `onEvent` returns, unless `answersByItself` is switched off.
///
/// If the broker goes and comes back, or the bus does, the client registers again with all its detectors.
///
/// Not `Sendable`: use it from one thread. `run` drives it; a program with a loop of its own watches `descriptor` and
/// calls `dispatch` when it is readable.
public final class JostleClient {
    /// Which bus the broker is on.
    public enum Bus: Hashable, Sendable {
        /// The user's session bus.
        case session
        /// The system bus.
        case system
        /// A bus at this address.
        case address(String)
    }

    /// Called with every event.
    public var onEvent: (MotionEvent) -> Void = { _ in }
    /// Called with the numbers of events that we do not get, before the next one that we get.
    public var onGap: (EventGap) -> Void = { _ in }
    /// Called when all that was kept for us when we subscribed has come, with the number of the last such event.
    public var onCaughtUp: (UInt64) -> Void = { _ in }
    /// Whether events that want an answer are acknowledged when `onEvent` returns, and copies of them left unheard.
    public var answersByItself = true
    /// Whether the detectors are to outlive the app and the broker; to be said before `connect`. For apps whose app file says
    /// what they want motion for.
    public var isDurable = false
    /// Called when the broker is there with all our detectors (`true`) and when it is gone (`false`).
    public var onBrokerChange: (Bool) -> Void = { _ in }
    /// Called when an assertion ends soon, with its name and how long it still lasts.
    ///
    /// A handler makes no calls of the client's: have it `stop`, and go on after `run`.
    public var onExpiring: (_ assertion: String, _ remaining: Duration) -> Void = { _, _ in }
    /// Called when the broker started or resumed us for something; while it is set, we can be. The broker is answered when
    /// it returns, and the events are acknowledged with that.
    ///
    /// A handler makes no calls of the client's: have it `stop`, and go on after `run`.
    public var onLaunch: ((Launch) -> Void)?
    /// Called when one of our sessions stands otherwise beside those of other apps.
    public var onSession: (SessionChange) -> Void = { _ in }
    /// Called when the broker came back and does not take our detectors any more.
    public var onRefusal: (JostleError) -> Void = { _ in }

    let loop: EventLoop
    let connection: Connection
    private let names: NameWatch
    private let app: String
    /// The broker's unique name; only its events count.
    private(set) var broker: String?
    private var isBrokerKnown = false
    /// Our object at the broker, once registered there.
    private(set) var object: ObjectPath?
    private var detectors: [Detector] = []
    private var isRunning = false
    var forgeries: UInt64 = 0
    /// What came while a call waited for its answer: whoever called learns the answer first.
    var early: [Arrival] = []
    var isCalling = false
    /// The event that `onEvent` is at.
    var current: MotionEvent?
    /// Events that we answered lately.
    var answered: [MotionEvent.Name] = []
    /// Tasks that the broker has begun and nobody has taken.
    var begunTasks: [RunningTask] = []
    /// We run tasks, which is reason enough to register again.
    var hasTasks = false
    /// The time of the task that is under way ends soon: break it off.
    public internal(set) var isTaskExpiring = false
    /// Events are asked for one by one: those that came and were not yet, and the one that was asked for last.
    var isSequenced = false
    var heard: [MotionEvent] = []
    var given: MotionEvent?
    /// We subscribed, and do so again when the broker comes back.
    private var isSubscribed = false

    /// Signals that pretended to be events of ours or to come from the bus, and replies of others than were asked. None was heard.
    public var refusedMessages: UInt64 { self.forgeries &+ self.names.forgeries &+ self.connection.refusedReplies }

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter app: the app id, a well-known bus name that the client will own. Without one it is anonymous and
    ///   gets live events only.
    public convenience init(app: String = "", on bus: Bus = .session) throws(JostleError) {
        do throws(SystemError) {
            self.init(app: app, on: bus, loop: try EventLoop())
        } catch {
            throw JostleError(kind: .failed, name: "", message: "\(error)")
        }
    }

    /// The same on a loop that has other things to do too.
    package init(app: String, on bus: Bus, loop: EventLoop) {
        self.loop = loop
        let address: BusAddress =
            switch bus {
            case .session: .session
            case .system: .system
            case .address(let text): .address(text)
            }
        self.app = app
        self.connection = Connection(
            to: address, on: self.loop, names: app.isEmpty ? [] : [app], retry: .upTo(microseconds: 2_000_000))
        self.names = NameWatch(on: self.connection)
        self.connection.onSignal(InterfaceName.app, "Event") { [unowned self] in self.receivedEvent($0) }
        self.connection.onSignal(InterfaceName.app, "Gap") { [unowned self] in self.receivedGap($0) }
        self.connection.onSignal(InterfaceName.app, "CaughtUp") { [unowned self] in self.receivedCaughtUp($0) }
        self.connection.onSignal(InterfaceName.app, "SessionChanged") { [unowned self] in
            self.receivedSession($0)
        }
        self.connection.onSignal(InterfaceName.app, "AssertionExpiring") { [unowned self] in
            self.receivedExpiring($0)
        }
        self.connection.onSignal(InterfaceName.app, "TaskExpiring") { [unowned self] in
            self.receivedTaskExpiring($0)
        }
        if !app.isEmpty { self.exportReceiver() }
        self.connection.onReady = { [unowned self] in self.names.refresh() }
        self.connection.onLost = { [unowned self] in self.names.forgetAll() }
    }

    /// Connects to the bus and registers with the broker, which the bus starts if it can.
    public func connect() throws(JostleError) {
        // What we are launched for comes as soon as we have our name, and waits until we are registered.
        self.isCalling = true
        defer { self.callEnded() }
        do throws(BusError) {
            // The broker would say the same, but the bus is asked for the name first, and each bus has its own words.
            guard self.app.isEmpty || AppID.isValid(self.app) else {
                throw .invalidConfiguration(
                    "'\(printable(self.app))' is no app id: give a well-known bus name, or nothing")
            }
            try self.connection.openAndWait()
            _ = self.names.follow(BusName.broker, ownRule: true) { [unowned self] in self.brokerChanged($0) }
            try self.wait { self.isBrokerKnown }
            if self.broker == nil {
                let bus = CallTarget(
                    "org.freedesktop.DBus", ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus")
                _ = try self.connection.callAndWait(bus, "StartServiceByName", BusName.broker, UInt32(0))
                try self.wait { self.broker != nil }
            }
            try self.registerAndWait()
        } catch {
            throw JostleError(error)
        }
    }

    /// Adds detectors, all or none, and returns what is in force for them.
    @discardableResult
    public func add(_ detectors: [Detector]) throws(JostleError) -> [EffectiveDetector] {
        let rows = try self.ask { (connection, target) throws(BusError) in
            try connection.callAndWait(target, "AddDetectors", detectors.map(\.request.wire))
                .read(reply: [Structure<String, [String: Value]>].self)
        }
        let names = Set(detectors.map(\.name))
        self.detectors.removeAll { names.contains($0.name) }
        self.detectors += detectors
        return rows.map { EffectiveDetector($0.fields.0, $0.fields.1) }
    }

    /// Removes detectors by name.
    public func remove(_ names: [String]) throws(JostleError) {
        _ = try self.ask { (connection, target) throws(BusError) in
            _ = try connection.callAndWait(target, "RemoveDetectors", names)
        }
        self.detectors.removeAll { names.contains($0.name) }
    }

    /// Asks the broker about our own object; events that come meanwhile wait.
    func ask<Answer>(
        _ body: (Connection, CallTarget) throws(BusError) -> Answer
    ) throws(JostleError) -> Answer {
        self.isCalling = true
        defer { self.callEnded() }
        do throws(BusError) {
            return try body(self.connection, try self.target())
        } catch {
            throw JostleError(error)
        }
    }

    /// Asks for the events that are kept for us and not yet expired, in order; `onCaughtUp` follows them. Call it before
    /// `add`, or what happens in between comes first.
    ///
    /// - Parameter event: the last event that we are done with, of an earlier run.
    /// - Returns: how many events are kept.
    @discardableResult
    public func subscribe(since event: MotionEvent.Name? = nil) throws(JostleError) -> UInt64 {
        try self.ask { (connection, target) throws(BusError) in
            let reply = try connection.callAndWait(
                target, "Subscribe", SubscribeOptions.options(since: event.map { ($0.sequence, $0.epoch) }))
            self.isSubscribed = true
            let results = try reply.read(reply: [String: Value].self)
            return if case .uint64(let count) = results[SubscribeOptions.kept] { count } else { 0 }
        }
    }

    // MARK: Running

    /// Handles events until `stop`.
    public func run() throws(JostleError) { try self.run(until: { false }) }

    /// Handles events for some time, or until `stop`.
    public func run(for time: Duration) throws(JostleError) {
        let (seconds, attoseconds) = time.components
        let span = TimeSpan.seconds(seconds) + TimeSpan(microseconds: attoseconds / 1_000_000_000_000)
        var isOver = false
        let timer = self.loop.schedule(after: span.microseconds) { isOver = true }
        defer { self.loop.cancel(timer) }
        try self.run(until: { isOver })
    }

    /// Handles events until something is so, or until `stop`.
    func run(until isDone: () -> Bool) throws(JostleError) {
        self.isRunning = true
        do throws(BusError) {
            try self.wait { !self.isRunning || isDone() }
        } catch {
            throw JostleError(error)
        }
    }

    /// Ends `run`; to be called from a handler.
    public func stop() { self.isRunning = false }

    /// Readable when `dispatch` has something to do.
    public var descriptor: Int32 { self.loop.descriptor }

    /// Handles what has come in, without waiting.
    public func dispatch() throws(JostleError) {
        do throws(SystemError) {
            _ = try self.loop.runOnce(timeout: 0)
        } catch {
            throw JostleError(kind: .failed, name: "", message: "\(error)")
        }
    }

    private func wait(until isDone: () -> Bool) throws(BusError) {
        do throws(SystemError) {
            try self.loop.run(until: isDone)
        } catch {
            throw .failed("\(error)")
        }
    }

    // MARK: The broker

    func target() throws(BusError) -> CallTarget {
        guard let broker, let object else { throw .disconnected("not registered with the broker") }
        return CallTarget(broker, object, InterfaceName.app.description)
    }

    private var registration: [String: Value] { self.isDurable ? ["durable": .boolean(true)] : [:] }

    private func registerAndWait() throws(BusError) {
        guard let broker else { throw .disconnected("the broker left") }
        let root = CallTarget(broker, Path.broker, InterfaceName.broker.description)
        let reply = try self.connection.callAndWait(root, "Register", self.app, self.registration)
        let (object, _) = try reply.read(reply: ObjectPath.self, [String: Value].self)
        self.object = object
    }

    private func brokerChanged(_ owner: String?) {
        let isReturn = self.isBrokerKnown && owner != nil && self.object == nil && self.isAtWork
        if self.broker != nil, self.object != nil { self.onBrokerChange(false) }
        self.isBrokerKnown = true
        self.broker = owner
        self.object = nil
        guard isReturn || (owner != nil && self.isAtWork) else { return }
        self.registerAgain()
    }

    /// There is something that only a broker that knows us does.
    private var isAtWork: Bool { !self.detectors.isEmpty || self.hasTasks }

    /// The broker came back and knows nothing of us.
    private func registerAgain() {
        guard let broker else { return }
        let root = CallTarget(broker, Path.broker, InterfaceName.broker.description)
        self.connection.call(root, "Register", self.app, self.registration) { [weak self] result in
            guard let self, self.broker == broker else { return }
            do throws(BusError) {
                let (object, _) = try result.take().read(reply: ObjectPath.self, [String: Value].self)
                self.object = object
                if self.isSubscribed { self.subscribeAgain(try self.target()) }
                self.addAgain(try self.target(), DetectorBatch.split(self.detectors.map(\.request))[...])
            } catch {
                self.onRefusal(JostleError(error))
            }
        }
    }

    private func subscribeAgain(_ target: CallTarget) {
        let last = self.answered.last.map { ($0.sequence, $0.epoch) }
        self.connection.call(target, "Subscribe", SubscribeOptions.options(since: last)) { [weak self] result in
            do throws(BusError) {
                _ = try result.take()
            } catch {
                self?.onRefusal(JostleError(error))
            }
        }
    }

    /// Adds the detectors that were there before, a call at a time.
    private func addAgain(_ target: CallTarget, _ batches: ArraySlice<ArraySlice<DetectorRequest>>) {
        guard let batch = batches.first else { return self.onBrokerChange(true) }
        self.connection.call(target, "AddDetectors", batch.map(\.wire)) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                _ = try result.take()
                self.addAgain(target, batches.dropFirst())
            } catch {
                self.onRefusal(JostleError(error))
            }
        }
    }
}

extension JostleError {
    init(_ error: BusError) {
        let kind: Kind
        switch error.name {
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.LimitsExceeded",
            "org.jostle.Error.IdentityMismatch":
            kind = .refused
        case "org.jostle.Error.InvalidConfiguration", "org.jostle.Error.NotFound",
            "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.BadAddress":
            kind = .invalid
        default:
            kind = error.isServiceMissing || error.isBusMissing ? .noService : .failed
        }
        // The bus's own words are about service files, which few people know.
        let isAbsent = ["ServiceUnknown", "NameHasNoOwner"].contains {
            error.name == "org.freedesktop.DBus.Error." + $0
        }
        self.init(
            kind: kind, name: error.name,
            message: isAbsent ? "the broker (\(BusName.broker)) is not running" : error.message)
    }
}

extension EffectiveDetector {
    /// Of what is in force only times are such numbers.
    private static func text(_ value: Value) -> String {
        if case .uint64(let count) = value {
            TimeSpan(microseconds: Int64(clamping: count)).text
        } else {
            value.plainText
        }
    }

    init(_ name: String, _ options: [String: Value]) {
        self.name = name
        self.warnings = []
        self.settings = []
        for (key, value) in options.sorted(by: { $0.key < $1.key }) {
            if key == "warnings", case .array(_, let values) = value {
                self.warnings = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            } else {
                self.settings.append(Setting(key: key, value: Self.text(value)))
            }
        }
    }
}
