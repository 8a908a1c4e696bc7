import DBus
import Loop
import Motion
import Protocol

/// Keeps the way to the broker: the connection to the bus, whose the broker's name is, and our object there.
///
/// The connection comes back by itself, and the name is followed from `open` on. Only what the owner of that name says about our
/// object is heard. Not `Sendable`: it belongs to the thread of its loop.
final class BrokerLink {
    /// What becomes of the broker.
    enum Change {
        /// It is gone, and our object with it, if we had one. Until this is told, calls still go there.
        case leaves
        /// It is there, and knows nothing of us, or not all.
        case comes
        /// It did not do what it was told again. Unless that is final, it comes again later.
        case refuses(BusError)
    }

    /// Told of the broker's comings and goings.
    var onChange: (Change) -> Void = { _ in }

    private let loop: EventLoop
    private let connection: Connection
    private let names: NameWatch
    /// The broker's unique name.
    private var broker: String?
    private var isBrokerKnown = false
    private var following: NameWatch.Token?
    /// Our object at the broker, once registered there.
    private var object: ObjectPath?
    /// When a broker is asked again that did not take us, and what does so. A change of the owner ends both.
    private var patience = RetryPatience()
    private var timer: EventLoop.TimerID?
    /// The broker is being told again what the app asked for.
    private var isTellingAgain = false
    /// What the broker is told again is being changed, and whether there is one to be told when that is done.
    private var changing = (isUnderWay: false, isFollowed: false)
    private var forgeries: UInt64 = 0

    /// - Parameter app: the name to own on the bus, if it is not empty.
    init(app: String, on bus: JostleApp.Bus, loop: EventLoop) {
        let address: BusAddress =
            switch bus {
            case .session: .session
            case .system: .system
            case .address(let text): .address(text)
            }
        self.loop = loop
        self.connection = Connection(
            to: address, on: loop, names: app.isEmpty ? [] : [app], retry: .upTo(microseconds: 2_000_000))
        self.names = NameWatch(on: self.connection)
        self.connection.onReady = { [unowned self] in self.names.refresh() }
        self.connection.onLost = { [unowned self] in self.names.forgetAll() }
    }

    deinit { self.loop.cancel(&self.timer) }

    // MARK: Who is there

    /// Connects to the bus, and learns whether the broker is there.
    ///
    /// - Parameter limit: how long the bus may take to say that, in milliseconds.
    func open(within limit: Int32 = Connection.callTimeout) throws(BusError) {
        try self.connection.openAndWait()
        // Who could not connect may try again.
        if self.following == nil {
            self.following = self.names.follow(BusName.broker, ownRule: true) { [unowned self] in
                self.brokerChanged($0)
            }
        }
        guard try self.wait(within: limit, until: { self.isBrokerKnown }) else {
            throw .noReply("no answer from the \(self.connection.address)")
        }
    }

    /// Waits for the broker, which the bus starts if it can.
    private func startBroker() throws(BusError) {
        guard !self.isBrokerThere else { return }
        let bus = CallTarget(
            "org.freedesktop.DBus", ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus")
        _ = try self.connection.callAndWait(bus, "StartServiceByName", BusName.broker, UInt32(0))
        let isThere = try self.wait(within: Connection.callTimeout, until: { self.isBrokerThere })
        guard isThere else { throw .disconnected("the broker left") }
    }

    private var isBrokerThere: Bool { self.broker != nil }

    /// Handles what happens until something is so.
    func wait(until isDone: () -> Bool) throws(BusError) {
        do throws(SystemError) {
            try self.loop.run(until: isDone)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// The same, for so many milliseconds at most. False when they are over.
    private func wait(within limit: Int32, until isDone: () -> Bool) throws(BusError) -> Bool {
        var isLate = false
        let timer = self.loop.schedule(after: Int64(limit) * 1_000) { isLate = true }
        defer { self.loop.cancel(timer) }
        try self.wait { isLate || isDone() }
        return isDone()
    }

    private func brokerChanged(_ owner: String?) {
        if self.broker != nil { self.onChange(.leaves) }
        self.isBrokerKnown = true
        self.broker = owner
        self.object = nil
        self.patience = RetryPatience()
        self.loop.cancel(&self.timer)
        self.isTellingAgain = false
        self.changing.isFollowed = false
        if owner != nil { self.comes() }
    }

    /// The broker is to be told all again: when what it is told is as it will be.
    private func comes() {
        guard !self.changing.isUnderWay else { return self.changing.isFollowed = true }
        self.onChange(.comes)
    }

    /// Takes in why the broker did not do what it is told again. A refusal is final when asking again cannot help; after anything
    /// else the broker comes again later, unless it leaves before. Each reason is told once, and none when the broker did not
    /// answer, as when everybody comes at once.
    private func failed(_ error: BusError) {
        self.isTellingAgain = false
        guard !error.isFinal else { return self.onChange(.refuses(error)) }
        let told = self.patience.refusal
        let reason = error.isBusMissing ? told : error.name
        self.patience.failed(reason, at: Timestamp(microseconds: Clock.monotonic.now()))
        self.loop.set(&self.timer, at: self.patience.nextTry?.microseconds) { [weak self] in self?.comes() }
        if reason != told { self.onChange(.refuses(error)) }
    }

    /// How much later than that a call has no answer the bus may tell that whoever was called has left, in ms.
    private static let delay: Int32 = 1_000

    /// Registers with the broker, which the bus starts if it can, and waits until that is done.
    ///
    /// - Parameter onMissing: called before a broker is waited for, where the bus can start none. Without it nobody is waited for, also
    ///   not one that follows a broker that leaves before it answers.
    func enroll(_ registration: Registration, orWaiting onMissing: (() -> Void)?) throws(BusError) {
        while true {
            try self.meetBroker(onMissing)
            let asked = self.broker
            do throws(BusError) {
                return try self.register(registration)
            } catch {
                guard onMissing != nil, error.isBusMissing || error.isServiceMissing,
                    try self.wait(within: Self.delay, until: { self.broker != asked })
                else { throw error }
                // One that the bus starts, and that leaves each time, is not started as fast as it leaves.
                _ = try self.wait(within: Self.delay, until: { self.isBrokerThere })
            }
        }
    }

    /// Has the broker started, or waits for it if it is to.
    private func meetBroker(_ onMissing: (() -> Void)?) throws(BusError) {
        do throws(BusError) {
            return try self.startBroker()
        } catch {
            guard let onMissing, error.isServiceMissing else { throw error }
            onMissing()
        }
        try self.wait { self.isBrokerThere }
    }

    /// Registers, and waits until that is done.
    private func register(_ registration: Registration) throws(BusError) {
        guard let broker else { throw .disconnected("the broker left") }
        let object = try Self.object(
            in: self.connection.callAndWait(
                Self.root(of: broker), "Register", registration.app, registration.options))
        // Another one may have come since this one answered.
        if self.broker == broker { self.object = object }
    }

    /// Whether the broker that is there has an object of ours.
    var isRegistered: Bool { self.object != nil }

    /// Registers again; `then` runs when that is done, unless the broker is another one by then.
    func register(_ registration: Registration, then: @escaping () -> Void) {
        guard let broker else { return }
        self.isTellingAgain = true
        self.connection.call(Self.root(of: broker), "Register", registration.app, registration.options) {
            [weak self] result in
            guard let self, self.broker == broker else { return }
            do throws(BusError) {
                self.object = try Self.object(in: result.take())
            } catch {
                return self.failed(error)
            }
            then()
        }
    }

    private static func root(of broker: String) -> CallTarget {
        CallTarget(broker, Path.broker, InterfaceName.broker.description)
    }

    private static func object(in reply: consuming Message) throws(BusError) -> ObjectPath {
        try reply.read(reply: ObjectPath.self, [String: Value].self).0
    }

    // MARK: Calls of our object

    /// Our object at the broker that is there now.
    private func target() throws(BusError) -> CallTarget {
        guard let broker, let object else { throw .disconnected("not registered with the broker") }
        return CallTarget(broker, object, InterfaceName.app.description)
    }

    /// Calls a method of our object, and waits for the answer.
    func ask<each Argument: WireValue>(
        _ member: String, _ arguments: repeat each Argument
    ) throws(BusError) -> Message {
        try self.connection.callAndWait(try self.target(), member, repeat each arguments)
    }

    /// Calls a method of our object and goes on; `then` runs with what is answered, and not where nothing is.
    func ask<each Argument: WireValue, Answer: WireValue>(
        _ member: String, _ arguments: repeat each Argument, as type: Answer.Type, then: @escaping (Answer) -> Void
    ) {
        guard let target = try? self.target() else { return }
        self.connection.call(target, member, repeat each arguments) { result in
            if let answer = try? result.take().read(reply: type) { then(answer) }
        }
    }

    /// What a property of our object says now.
    func property(_ name: String) throws(BusError) -> Value {
        let target = try self.target()
        let properties = CallTarget(target.name, target.path, "org.freedesktop.DBus.Properties")
        return try self.connection.callAndWait(properties, "Get", InterfaceName.app.description, name)
            .read(reply: Value.self)
    }

    /// Tells the broker again what it was told before; `then` runs when it took that, unless it is another one by then.
    func tellAgain<each Argument: WireValue>(
        _ member: String, _ arguments: repeat each Argument, then: @escaping () -> Void
    ) {
        guard let target = try? self.target() else { return }
        self.connection.call(target, member, repeat each arguments) { [weak self] result in
            guard let self, self.broker == target.name else { return }
            do throws(BusError) {
                _ = try result.take()
            } catch {
                return self.failed(error)
            }
            then()
        }
    }

    /// The broker was told again all that it was told before.
    func endTellingAgain() { self.isTellingAgain = false }

    /// Asks the broker to change what it is told again, when it is told nothing of that; `then` takes the change down. Until that is done it is
    /// told nothing again: what was before would come behind what it is asked now, and take its place.
    func change<each Argument: WireValue>(
        _ member: String, _ arguments: repeat each Argument, then: () -> Void
    ) throws(BusError) -> Message {
        // Without an object there is nothing to wait for: whoever asks is refused.
        try self.wait { !self.isTellingAgain || !self.isRegistered }
        self.changing.isUnderWay = true
        defer { self.endChange() }
        let answer = try self.ask(member, repeat each arguments)
        then()
        return answer
    }

    private func endChange() {
        let isFollowed = self.changing.isFollowed
        self.changing = (isUnderWay: false, isFollowed: false)
        if isFollowed { self.onChange(.comes) }
    }

    /// Calls a method of our object that has no answer; nobody, while we are not registered.
    func tell<each Argument: WireValue>(_ member: String, _ arguments: repeat each Argument) {
        guard let target = try? self.target() else { return }
        self.connection.tell(target, member, repeat each arguments)
    }

    // MARK: What the broker says

    /// Runs `handler` for signals of the broker about our object that `read` can read. Anybody can send us signals of these names:
    /// all others are counted, and not heard.
    func hear<Body>(
        _ member: StaticString, _ read: @escaping (borrowing Message) -> Body?, _ handler: @escaping (Body) -> Void
    ) {
        self.connection.onSignal(InterfaceName.app, member) { [unowned self] message in
            guard self.isOurs(message), let body = read(message) else { return self.countForgery() }
            handler(body)
        }
    }

    private func isOurs(_ message: borrowing Message) -> Bool {
        guard let broker, let object else { return false }
        return message.isFrom(broker) && message.isAt(object)
    }

    /// Lets others call an object of ours. Anybody can: it asks who did.
    func export(_ object: ExportedObject) { self.connection.export(object) }

    /// Whether a call is the broker's.
    func isFromBroker(_ call: MethodCall) -> Bool { call.sender == self.broker }

    /// Takes note of something that pretended to come from the broker.
    func countForgery() { self.forgeries &+= 1 }

    /// What pretended to come from the broker or the bus, and replies of others than were asked.
    var refusedMessages: UInt64 { self.forgeries &+ self.names.forgeries &+ self.connection.refusedReplies }
}

@available(*, unavailable)
extension BrokerLink: Sendable {}
