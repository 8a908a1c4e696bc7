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

    private var raw: OpaquePointer?
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
    /// Bytes of messages that may wait in memory for us to read them. libdbus stops reading the socket beyond it.
    private static let receiveLimit = 8 << 20
    /// Bytes that wait for the bus to take them before we stop sending.
    package static let sendLimit = 4 << 20

    package init(to address: BusAddress, on loop: EventLoop, names: [String] = [], retry: Retry = .never) {
        unsafe self.raw = nil
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
        guard unsafe self.state == .closed && self.raw == nil else { return }
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
        // SAFETY: a private connection is ours alone; libdbus validates the address.
        let opened = try unsafe withDBusError { unsafe dbus_connection_open_private(address, $0) }
        guard let raw = unsafe opened else { throw .failed("cannot open \(address)") }
        let user = unsafe Self.descriptor(of: raw).flatMap { SocketPeer.user(of: $0) }
        guard self.admission.mayBeBus(of: user) else {
            // SAFETY: nobody else knows of it. A private connection is closed before its last reference goes.
            unsafe dbus_connection_close(raw)
            unsafe dbus_connection_unref(raw)
            let error = BusError.failed("another user listens at \(address) than before")
            self.onHeldUp(.stranger, error)
            throw error
        }
        unsafe self.raw = raw
        self.admission.begin(with: user)
        unsafe self.install(on: raw)
    }

    /// Leaves the bus for good. Whatever waits to be sent is written out first.
    package func close() {
        if self.state == .ready { self.flush() }
        self.retries.cancel()
        self.drop()
    }

    /// Writes out what waits to be sent. A bus that does not read must not keep us for ever.
    private func flush() {
        guard let raw = unsafe self.raw else { return }
        let deadline = Clock.monotonic.now() + Self.flushLimit
        // SAFETY: the connection is open. Nothing is dispatched here.
        while unsafe dbus_connection_has_messages_to_send(raw) != 0, Clock.monotonic.now() < deadline {
            guard unsafe dbus_connection_read_write(raw, 100) != 0 else { return }
        }
    }

    private func drop() {
        self.admission.end()
        guard let raw = unsafe self.raw else { return }
        unsafe self.raw = nil
        self.signals.forgetDoubt()
        self.incoming.endAll()
        self.pending.endAll()
        // SAFETY: the functions must not outlive us. A private connection is closed before its last reference goes, or
        // libdbus aborts; closing takes the watches and timeouts off the loop.
        unsafe dbus_connection_set_dispatch_status_function(raw, nil, nil, nil)
        unsafe dbus_connection_remove_filter(raw, connectionFilter, Unmanaged.passUnretained(self).toOpaque())
        unsafe dbus_connection_close(raw)
        unsafe dbus_connection_set_watch_functions(raw, nil, nil, nil, nil, nil)
        unsafe dbus_connection_set_timeout_functions(raw, nil, nil, nil, nil, nil)
        unsafe dbus_connection_unref(raw)
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

    private func install(on raw: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // SAFETY: all callbacks run on this thread while we are alive; `drop` takes them back.
        unsafe dbus_connection_set_exit_on_disconnect(raw, 0)
        unsafe dbus_connection_set_max_received_size(raw, Self.receiveLimit)
        unsafe dbus_connection_set_max_received_unix_fds(raw, 64)
        // A Ping is a call like others: answered by libdbus, a flood of them would come before whatever we send.
        unsafe dbus_connection_set_route_peer_messages(raw, 1)
        unsafe installWatches(on: raw, self.loop) { [signals = self.signals] in signals.took(of: $0) }
        invariant(unsafe dbus_connection_add_filter(raw, connectionFilter, context, nil) != 0, "out of memory")
        unsafe dbus_connection_set_dispatch_status_function(
            raw,
            { _, status, context in
                guard status == DBUS_DISPATCH_DATA_REMAINS, let context = unsafe context else { return }
                unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().scheduleDispatch()
            }, context, nil)
        self.scheduleDispatch()
    }

    private func greet() {
        self.callBus("Hello") { [weak self] result in
            guard let self, self.state == .opening else { return }
            do throws(BusError) {
                let name = try result.take().read(reply: String.self)
                self.admission.greeted(as: name)
                // SAFETY: the name comes from the bus and is valid.
                unsafe dbus_bus_set_unique_name(self.raw, name)
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
    var backlog: Int {
        guard let raw = unsafe self.raw else { return 0 }
        // SAFETY: the connection is open.
        return unsafe dbus_connection_get_outgoing_size(raw)
    }

    @discardableResult
    func send(_ message: borrowing Message) -> UInt32 {
        guard let raw = unsafe self.raw else { return 0 }
        var serial: UInt32 = 0
        // SAFETY: libdbus takes a reference of its own. It fails only when memory is out.
        invariant(unsafe dbus_connection_send(raw, message.raw, &serial) != 0, "out of memory")
        return serial
    }

    /// Sends a call and hands its reply to `then`.
    @discardableResult
    func send(
        _ message: borrowing Message, timeout: Int32, takesDescriptors: Bool = false, isKept: Bool = false,
        then: @escaping (consuming CallResult) -> Void
    ) -> SentCall? {
        guard unsafe self.raw != nil else {
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

    private func scheduleDispatch() {
        if let turn = self.dispatching.ask() { self.loop.defer(turn) }
    }

    /// Handles a bounded number of messages, so that timers run under a flood.
    private func dispatch() {
        self.dispatching.begin()
        if self.dispatchBatch() { self.scheduleDispatch() }
    }

    /// Tells whether more remain.
    private func dispatchBatch() -> Bool {
        guard let raw = unsafe self.raw else { return false }
        // SAFETY: a handler may close the connection; our reference keeps the memory until we are done.
        unsafe dbus_connection_ref(raw)
        defer { unsafe dbus_connection_unref(raw) }
        for _ in 0..<Self.dispatchBatch {
            guard unsafe self.raw == raw else { return false }
            let status = unsafe dbus_connection_dispatch(raw)
            invariant(status != DBUS_DISPATCH_NEED_MEMORY, "out of memory")
            guard status == DBUS_DISPATCH_DATA_REMAINS else { return false }
        }
        return true
    }

    /// Reads and handles what has come in, for so many microseconds at most.
    ///
    /// A round of the loop reads little, lest one descriptor starve the others. Under a flood what is urgent would lie behind
    /// it in the bus, whose own queue for us is longer than ours.
    package func readOn(for microseconds: Int64) {
        let end = Clock.monotonic.now() + microseconds
        while let raw = unsafe self.raw, let descriptor {
            let bytes = SocketQueue.waiting(descriptor)
            guard bytes > 0 else { return }
            self.signals.took(of: bytes)
            // SAFETY: the connection is open. It reads what is there and does not wait.
            _ = unsafe dbus_connection_read_write(raw, 0)
            _ = self.dispatchBatch()
            guard Clock.monotonic.now() < end else { return }
        }
    }

    /// Bytes that the bus has not read, wherever they wait.
    var underWay: Int { self.backlog + (self.descriptor.map(SocketQueue.unread) ?? 0) }

    private var descriptor: Int32? {
        guard let raw = unsafe self.raw else { return nil }
        return unsafe Self.descriptor(of: raw)
    }

    private static func descriptor(of raw: OpaquePointer) -> Int32? {
        var descriptor: Int32 = -1
        // SAFETY: the connection is open, and the descriptor stays its own.
        return unsafe dbus_connection_get_unix_fd(raw, &descriptor) != 0 ? descriptor : nil
    }

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

/// The one filter of a connection.
private let connectionFilter: DBusHandleMessageFunction = { _, message, context in
    guard let message = unsafe message, let context = unsafe context else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    return unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().handle(message)
}
