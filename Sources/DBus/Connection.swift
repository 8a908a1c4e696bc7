import CDBus
import Glibc
package import Loop
package import Motion

/// A private connection to a message bus, driven by an event loop.
///
/// It outlives the bus: when the bus goes away, `onLost` is called, and with a retry policy the connection comes back
/// by itself, with the same objects, match rules and names, and `onReady` is called again. Nothing blocks: opening,
/// the greeting and the names are answered on the loop.
///
/// Not `Sendable`: it belongs to the thread of its loop.
@safe
package final class Connection {
    package enum Retry: Sendable {
        /// A lost bus stays lost.
        case never
        /// Try again, at first soon and then ever less often, at most this many microseconds apart.
        case upTo(microseconds: Int64)
    }

    package enum State: Equatable, Sendable {
        case closed
        /// Connected to the socket; the bus has not greeted us yet or has not given us our names.
        case opening
        case ready
    }

    /// What keeps us from a bus that was there before.
    package enum Obstacle: Sendable {
        case name
        case stranger
    }

    package let loop: EventLoop
    package let address: BusAddress
    package var state: State { self.admission.state }
    /// Our name on the bus; empty until it has greeted us.
    package var uniqueName: String { self.admission.uniqueName }
    /// Greeted, and owner of all names asked for.
    package var onReady: () -> Void = {}
    /// The bus is gone, and with it every peer, claim and pending call. Told also when it goes before it greeted us, unless
    /// that was a try to reach it again.
    package var onLost: () -> Void = {}
    /// The bus greeted us but will not give us a name. There is no retry: somebody else does our work.
    package var onRefused: (BusError) -> Void = { _ in }
    /// A bus that came back will not give us a name that we had, or another user than before listens in its place. We try again, as
    /// we do for the bus itself.
    package var onHeldUp: (Obstacle, BusError) -> Void = { _, _ in }
    /// Errors that answer no call: the bus could not deliver a signal or reply of ours.
    package var undeliverable: UInt64 { self.pending.undeliverable }
    /// Replies that were not believed: they came from somebody who was not asked.
    package var refusedReplies: UInt64 { self.pending.refused }
    /// Which of the successive connections this is. Unique names and serials mean nothing beyond one.
    var generation: UInt64 { self.admission.generation }

    private var wire: PrivateConnection?
    let objects = ObjectTree()
    /// Follows those we call and those who call us.
    private lazy var peers = NameWatch(on: self)
    private lazy var pending = PendingCalls(self.loop, self.peers)
    private(set) lazy var incoming = IncomingCalls(on: self, self.peers)
    private let signals: SignalRules
    private var matches = MatchRules()
    private var admission: Admission
    private var retries: Retries
    private var dispatching = DispatchTurn()

    private static let disconnected = SignalName("org.freedesktop.DBus.Local", "Disconnected")
    /// How long closing may wait for the bus to take what we sent.
    private static let flushLimit: Int64 = 1_000_000
    /// How long a loop with other things to do may wait for room at a bus, in µs. Anybody can have a bus take nobody: by opening very many
    /// connections and never saying who he is, or by listening where one was. A bus of this machine that has room takes us at once, one
    /// of another machine after its messages have come and gone.
    private static let openingLimit: (near: Int64, far: Int64) = (25_000, 250_000)
    /// Messages handled before other descriptors and timers get their turn.
    private static let dispatchBatch = 64
    /// Bytes that wait for the bus to take them before we stop sending.
    package static let sendLimit = 4 << 20

    package init(to address: BusAddress, on loop: EventLoop, names: [String] = [], retry: Retry = .never) {
        self.address = address
        self.loop = loop
        self.admission = Admission(names: names)
        self.retries = Retries(retry, on: loop)
        self.signals = SignalRules(on: loop)
        self.dispatching.run { [weak self] in self?.dispatch() }
        // They refer to us weakly, and that cannot begin when we end.
        self.pending.onUndeliverable = { [incoming = self.incoming] error, serial in
            incoming.undelivered(serial, error)
        }
    }

    deinit {
        self.retries.cancel()
        self.drop()
        self.objects.retireAll()
    }

    /// Asks for one more name from the next opening on. While it is another's, or not for us, we serve without it: `orElse` is told, and
    /// the bus gives it to us when the other leaves.
    package func ownIfFree(_ name: String, orElse: @escaping (BusError) -> Void) {
        // Changed apart: an array that grows in place would have every message that looks at the rest be checked for it.
        var admission = self.admission
        admission.ownIfFree(name, orElse: orElse)
        self.admission = admission
    }

    package var isReady: Bool { self.state == .ready }

    // MARK: Life

    /// Connects. The greeting follows on the loop.
    ///
    /// - Parameter limit: How long that may wait for a bus that has no room for one more connection, in µs; `nil`: as long as a loop may
    ///   that has other things to do.
    package func open(within limit: Int64? = nil) throws(BusError) {
        guard self.state == .closed, self.wire == nil else { return }
        let wait = BoundedWait(
            limit ?? (self.address.isNear ? Self.openingLimit.near : Self.openingLimit.far))
        defer { wait.cancel() }
        do throws(BusError) {
            try self.connect()
        } catch {
            guard error.hasFailed, wait.isOver else { throw error }
            throw .limitsExceeded("the \(self.address) has no room for one more connection")
        }
        self.greet()
    }

    private func connect() throws(BusError) {
        let address = try self.address.resolve()
        let wire = try PrivateConnection(to: address)
        let user = wire.descriptor.flatMap(SocketPeer.user)
        guard self.admission.mayBeBus(of: user) else {
            wire.close()
            let error = BusError.failed("another user listens at \(address) than before")
            self.onHeldUp(.stranger, error)
            throw error
        }
        self.wire = wire
        self.admission.begin(with: user)
        // SAFETY: all callbacks run on this thread while we are alive; `drop` takes them back.
        unsafe wire.install(
            connectionFilter, hasStatus: dispatchStatus, Unmanaged.passUnretained(self).toOpaque(), on: self.loop
        ) { [signals = self.signals] in signals.took(of: $0) }
        self.scheduleDispatch()
    }

    /// Leaves the bus for good. Whatever waits to be sent is written out first.
    package func close() {
        // A bus that does not read must not keep us for ever.
        if self.state == .ready { self.wire?.flush(for: Self.flushLimit) }
        self.retries.cancel()
        self.drop()
    }

    private func drop() {
        self.admission.end()
        guard let wire = self.wire else { return }
        self.wire = nil
        self.signals.forgetDoubt()
        self.incoming.endAll()
        self.pending.endAll()
        // SAFETY: as it was installed.
        unsafe wire.end(connectionFilter, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Connects, or tries again until it can, as after a loss. Returns false when the bus is not there yet.
    package func openOrRetry() -> Bool {
        do throws(BusError) {
            try self.open()
            return true
        } catch {
            self.scheduleRetry()
            return false
        }
    }

    /// Connects to a bus that is there, or tries again as after a loss: one that has no room for us has it later.
    package func openIfThere() throws(BusError) {
        do throws(BusError) {
            try self.open()
        } catch {
            guard error.isOverLimit else { throw error }
            self.scheduleRetry()
        }
    }

    private func greet() {
        self.callBus("Hello") { [weak self] result in
            guard let self, self.state == .opening else { return }
            do throws(BusError) {
                let name = try result.take().read(reply: String.self)
                self.admission.greeted(as: name)
                self.wire?.setUniqueName(name)
            } catch {
                return self.lose()
            }
            for text in self.matches.texts { self.callBus("AddMatch", text) }
            self.requestNames(self.admission.names[...])
        }
    }

    /// Names come last, one after the other: whoever sees a name finds everything behind it in place.
    private func requestNames(_ names: ArraySlice<Admission.Name>) {
        guard let name = names.first else {
            self.admission.complete()
            self.retries.succeeded()
            self.peers.refresh()
            return self.onReady()
        }
        let flags = UInt32(name.orElse != nil ? 0 : DBUS_NAME_FLAG_DO_NOT_QUEUE)
        self.callBus("RequestName", name.text, flags) { [weak self] result in
            guard let self, self.state == .opening else { return }
            do throws(BusError) {
                let answer = try result.take().read(reply: UInt32.self)
                guard answer == DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER || answer == DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER
                else {
                    throw .failed("the name \(name.text) is taken: another instance runs on the \(self.address)")
                }
                self.requestNames(names.dropFirst())
            } catch {
                guard self.state == .opening, error.name != BusError.disconnected("").name else { return }
                if let orElse = name.orElse {
                    orElse(error)
                    return self.requestNames(names.dropFirst())
                }
                if self.admission.hasServed, self.retries.isWanted {
                    self.lose()
                    return self.onHeldUp(.name, error)
                }
                self.close()
                self.onRefused(error)
            }
        }
    }

    fileprivate func lose() {
        guard self.state != .closed else { return }
        // Whoever had no bus since the last loss hears of no other one.
        let isNews = self.state == .ready || !self.retries.hasBegun
        self.drop()
        // Before the handler, which may close the connection and with it end the retries.
        self.scheduleRetry()
        if isNews { self.onLost() }
    }

    private func scheduleRetry() {
        guard self.state == .closed else { return }
        self.retries.schedule { [weak self] in
            guard let self, self.state == .closed else { return }
            do throws(BusError) {
                try self.open()
            } catch {
                self.scheduleRetry()
            }
        }
    }

    // MARK: Objects and signals

    package func export(_ object: ExportedObject) {
        object.connection = self
        self.objects.insert(object)
    }

    /// Takes an object off the bus for good: it lets go of whatever stands behind it.
    package func unexport(_ object: ExportedObject) {
        self.objects.remove(object.path)
        object.retire()
    }

    /// Runs `handler` for every signal of this name that arrives, from whomever: unicast signals need no match rule and
    /// can be forged, so the handler must look at the sender.
    package func onSignal(
        _ interface: StaticString, _ member: StaticString, _ handler: @escaping (borrowing Message) -> Void
    ) {
        self.signals.add(SignalName(interface, member), handler)
    }

    /// Runs `handler` for every signal that no rule took, for tools that watch everything.
    package func onOtherSignal(_ handler: @escaping (borrowing Message) -> Void) { self.signals.setOther(handler) }

    /// Has `body` told, for good, when signals to us or answers to what we asked may have been lost on the way, because somebody sends us more
    /// than the bus keeps; and whether that is over. Whoever goes by what he heard asks anew how things are.
    package func whenInDoubt(_ body: @escaping (_ isOver: Bool) -> Void) { self.signals.whenInDoubt(body) }

    /// Asks the bus for broadcasts. The same text may be asked for several times and given back as often.
    package func addMatch(_ text: String) {
        if self.matches.add(text), self.admission.isGreeted { self.callBus("AddMatch", text) }
    }

    package func removeMatch(_ text: String) {
        if self.matches.remove(text), self.admission.isGreeted { self.callBus("RemoveMatch", text) }
    }

    /// Sends a signal: to one peer, or to everybody who asked for it. False: it was left out, as the bus does not take what we send.
    @discardableResult
    package func signal(
        from path: ObjectPath, _ interface: StaticString, _ member: StaticString, to destination: String? = nil,
        _ body: (inout WireWriter) -> Void
    ) -> Bool {
        guard self.canSend, let header = SignalHeader(from: path, interface, member, to: destination) else {
            return false
        }
        self.send(header.take(body))
        return true
    }

    /// False while the bus is away or far behind in taking what we send.
    package var canSend: Bool { self.state == .ready && self.backlog < Self.sendLimit }

    /// Bytes that the bus has not taken yet.
    var backlog: Int { self.wire?.backlog ?? 0 }

    @discardableResult
    func send(_ message: borrowing Message) -> UInt32 { self.wire?.send(message) ?? 0 }

    /// Sends a call and hands its reply to `then`.
    @discardableResult
    func send(
        _ message: borrowing Message, timeout: Int32, takesDescriptors: Bool = false, isKept: Bool = false,
        then: @escaping (consuming CallResult) -> Void
    ) -> SentCall? {
        guard self.wire != nil else {
            self.afterRound { then(.failure(.disconnected("not connected to the \(self.address)"))) }
            return nil
        }
        let callee = Callee(message.destination ?? DBUS_SERVICE_DBUS)
        self.pending.prepare(for: callee)
        return self.pending.add(
            self.send(message), to: callee, timeout: timeout, takesDescriptors: takesDescriptors, isKept: isKept,
            then: then)
    }

    /// Sends a call once more under the serial that it has, if it is under way.
    func send(_ message: borrowing Message, as call: SentCall) {
        guard self.pending.waits(for: call) else { return }
        // SAFETY: `raw` is live and was not sent; libdbus gives a serial of its own only to what has none.
        unsafe dbus_message_set_serial(message.raw, call.serial)
        self.send(message)
    }

    /// Tells whose connection a caller's is; at once, if that is known.
    package func user(of sender: String, then: @escaping (Result<UInt32, BusError>) -> Void) {
        self.incoming.identity(of: sender) { then($0.map(\.user)) }
    }

    /// Tells who stands behind a caller's connection; at once, if that is known.
    package func identity(of sender: String, then: @escaping (CallerAnswer) -> Void) {
        self.incoming.identity(of: sender, then: then)
    }

    /// Has it looked from now on whether those who call are in a sandbox, once for each connection. Where that cannot be seen now, it is
    /// looked again with the next call.
    package func lookForSandboxes(
        _ find: @escaping (ConnectionCredentials) throws(BusError) -> CallerIdentity.Sandbox?
    ) {
        self.incoming.unknown.findSandbox = find
    }

    /// What there is for all who call, and who has it.
    package var usage: [LimitUsage] { self.incoming.usage + [self.objects.usage] }

    /// Runs `work` after the messages and timers that are due now.
    package func afterRound(_ work: @escaping () -> Void) { self.loop.defer(work) }

    // MARK: Dispatch

    fileprivate func scheduleDispatch() {
        if let turn = self.dispatching.ask() { self.loop.defer(turn) }
    }

    /// Handles a bounded number of messages, so that timers run under a flood.
    private func dispatch() {
        self.dispatching.begin()
        if self.dispatchBatch() { self.scheduleDispatch() }
    }

    /// Tells whether more remain.
    private func dispatchBatch() -> Bool {
        guard let wire = self.wire else { return false }
        return wire.dispatch(atMost: Self.dispatchBatch) { wire.isSame(as: self.wire) }
    }

    /// Reads and handles what has come in, for so many microseconds at most.
    ///
    /// A round of the loop reads little, lest one descriptor starve the others. Under a flood what is urgent would lie behind
    /// it in the bus, whose own queue for us is longer than ours.
    package func readOn(for microseconds: Int64) {
        let end = Clock.monotonic.now() + microseconds
        while let wire = self.wire, let descriptor = wire.descriptor {
            let bytes = SocketQueue.waiting(descriptor)
            guard bytes > 0 else { return }
            self.signals.took(of: bytes)
            wire.read()
            _ = self.dispatchBatch()
            guard Clock.monotonic.now() < end else { return }
        }
    }

    /// Bytes that the bus has not read, wherever they wait.
    var underWay: Int { self.backlog + (self.wire?.descriptor.map(SocketQueue.unread) ?? 0) }

    fileprivate func handle(_ raw: OpaquePointer) -> DBusHandlerResult {
        // SAFETY: libdbus lends a live message.
        let message = unsafe Message(retaining: raw)
        if message.hasDescriptors, !self.pending.asksForDescriptors(message) { self.signals.tookDescriptors() }
        switch unsafe Message.kind(of: raw) {
        case .call: self.incoming.take(MethodCall(message, on: self))
        case .signal: self.handleSignal(message)
        case .reply, .error: self.pending.take(message)
        case .unknown: break
        }
        return DBUS_HANDLER_RESULT_HANDLED
    }

    private func handleSignal(_ message: borrowing Message) {
        // SAFETY: a signal has both names, or libdbus would not have taken it; they live as long as the message.
        guard let interface = unsafe dbus_message_get_interface(message.raw),
            let member = unsafe dbus_message_get_member(message.raw)
        else { return }
        if unsafe Self.disconnected.fits(interface, member), message.path == DBUS_PATH_LOCAL {
            let generation = self.generation
            return self.afterRound { [weak self] in
                if let self, self.generation == generation { self.lose() }
            }
        }
        unsafe self.signals.tell(message, interface, member)
    }
}

private let dispatchStatus: DBusDispatchStatusFunction = { _, status, context in
    guard status == DBUS_DISPATCH_DATA_REMAINS, let context = unsafe context else { return }
    unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().scheduleDispatch()
}

/// The one filter of a connection.
private let connectionFilter: DBusHandleMessageFunction = { _, message, context in
    guard let message = unsafe message, let context = unsafe context else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    return unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().handle(message)
}
