import CMosquitto
import CResolved
import Glibc
package import Loop
import Motion

/// One connection to an MQTT server, driven by a loop.
///
/// Nothing here waits: the address is numeric, the socket and the handshake do not block, and what the library would do in a
/// thread of its own is done when the descriptor is ready. What still takes its time is reading the files of certificates, which
/// is done in `connect`, and the arithmetic of a handshake (a few ms).
///
/// A client is used for one connection. Whoever connects again makes another: so no message waits inside the library for a
/// connection that may come, and what is to be sent again is its owner's to decide.
///
/// Not `Sendable`: it belongs to the thread of its loop.
@safe
package final class Client {
    package enum Event: Sendable {
        case connected(Welcome)
        /// The server has a message, by the number that `publish` gave it; 128 and above: it refuses it.
        case acknowledged(Int32, reason: Int32)
        case subscribed(Int32, granted: [Int32])
        case arrived(Publication)
        /// It is over, and why.
        case ended(MQTTProblem)
    }

    /// Told what happens, in order, never from within a call of ours.
    package var onEvent: (Event) -> Void = { _ in }

    private let settings: ConnectionSettings
    private let loop: EventLoop
    private let handle: OpaquePointer
    private var events: [Event] = []
    /// A second descriptor of the library's socket: it closes its own when it likes, and what is watched must be open.
    private var socket: OwnedDescriptor?
    private var registration: EventLoop.Registration?
    private var isConnected = false
    private var interest: EventLoop.Interest = []
    private var timer: EventLoop.TimerID?
    private var isTelling = false
    private var isOver = false
    /// Room for what is to be done when a server has taken all that there is.
    private var ballast: UnsafeMutableRawPointer?
    /// When something was written last, and read, in the time of the loop's clock.
    private var last = (read: Int64(0), write: Int64(0))
    /// After how many seconds without a word the server is asked: what we wanted, or what it says instead.
    private var keepAliveSeconds: UInt16

    private static let isReady = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.rawValue

    /// So many packets are read before others have their turn.
    private static let packetsPerTurn: Int32 = 64
    /// How long the network may keep what was sent without a sign of the other side, in ms.
    private static let patience: Int32 = 20_000
    /// How long a server may take until it has taken us, in µs.
    package static let answerPatience: Int64 = 20_000_000
    /// A server that takes less than this, in bytes, takes next to nothing of what there is to say.
    package static let smallestPacket: UInt32 = 4_096
    /// However often a server wants a sign of life, it gets none more often than each so many seconds.
    private static let shortestKeepAlive: UInt16 = 5

    /// So much room is kept, in bytes; while nobody touches it, it takes no memory.
    private static let ballastBytes = 2 << 20

    package init(_ settings: ConnectionSettings, on loop: EventLoop) throws(MQTTProblem) {
        guard Self.isReady else { throw MQTTProblem("the library cannot begin") }
        // SAFETY: the texts live for the call, which copies them.
        guard let handle = unsafe mosquitto_new(settings.client, settings.sessionExpiry == 0, nil) else {
            throw .of(MOSQ_ERR_ERRNO.rawValue, while: "make a client")
        }
        self.settings = settings
        self.keepAliveSeconds = settings.keepAlive
        self.loop = loop
        unsafe self.handle = handle
        // SAFETY: it is freed once, when it is needed or with us, and nobody reads it.
        unsafe self.ballast = settings.mostMemory == nil ? nil : malloc(Self.ballastBytes)
        unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        self.listen()
    }

    deinit {
        if let timer { self.loop.cancel(timer) }
        if let registration { self.loop.cancel(registration) }
        self.socket = nil
        // SAFETY: the handle is ours, and none of its callbacks runs: they run within calls of ours.
        unsafe mosquitto_destroy(self.handle)
        // SAFETY: nobody else has it, and it is forgotten when it is freed before.
        unsafe free(self.ballast)
    }

    // MARK: Beginning

    /// Begins to connect to a numeric address of the server.
    package func connect(to address: String) throws(MQTTProblem) {
        try self.configure()
        // SAFETY: the texts live for the call, which copies them.
        guard unsafe CResolved_answer(self.settings.host, address) == 0 else {
            throw MQTTProblem("the name of the server is too long")
        }
        defer { CResolved_answer(nil, nil) }
        // SAFETY: the handle is alive; so in all that follows. The text lives for the call.
        let result = unsafe mosquitto_connect_bind_async(
            self.handle, self.settings.host, Int32(self.settings.port), Int32(self.settings.keepAlive), nil)
        guard result == MOSQ_ERR_SUCCESS.rawValue || result == MOSQ_ERR_CONN_PENDING.rawValue else {
            throw self.refusal ?? .of(result, while: "connect to \(address)")
        }
        let now = Clock.boottime.now()
        self.last = (read: now, write: now)
        let theirs = unsafe mosquitto_socket(self.handle)
        guard theirs >= 0 else { throw MQTTProblem("connect to \(address): the socket is gone") }
        self.impose(patienceOn: theirs)
        do throws(SystemError) {
            let raw = try systemCall("fcntl") { fcntl(theirs, F_DUPFD_CLOEXEC, 0) }
            self.socket = OwnedDescriptor(adopting: raw)
            self.interest = [.read, .write]
            self.registration = try self.loop.watch(raw, for: self.interest) { [unowned self] in self.ready($0) }
        } catch {
            throw MQTTProblem("\(error)")
        }
        self.timer = self.loop.schedule(after: Self.answerPatience, on: .boottime) { [unowned self] in self.timePassed()
        }
    }

    /// What is said before it connects.
    private func configure() throws(MQTTProblem) {
        let settings = self.settings
        try self.set(MOSQ_OPT_PROTOCOL_VERSION, Int32(MQTT_PROTOCOL_V5), "protocol version")
        try self.set(MOSQ_OPT_RECEIVE_MAXIMUM, Int32(settings.receiveMaximum), "receive maximum")
        // How much is on its way is our owner's to decide: nothing is to wait in the library.
        try self.set(MOSQ_OPT_SEND_MAXIMUM, 65_535, "send maximum")
        try self.set(MOSQ_OPT_TCP_NODELAY, 1, "no delay")
        if settings.user != nil || settings.password != nil {
            // SAFETY: the handle is alive, and the texts live for the call; so in all that follows.
            try MQTTProblem.check(
                unsafe mosquitto_username_pw_set(self.handle, settings.user, settings.password), while: "user")
        }
        if let tls = settings.tls { try self.configure(tls) }
        if let will = settings.will { try self.configure(will) }
        var properties = PropertyList()
        if settings.sessionExpiry > 0 {
            try properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, number: settings.sessionExpiry)
        }
        if let largest = settings.largestPacket {
            try properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, number: largest)
        }
        // The way to connect that does not block takes no properties. The one that does keeps them before it finds that it
        // has no host, and connects to nothing.
        let result = unsafe mosquitto_connect_bind_v5(self.handle, nil, 1, 60, nil, properties.raw)
        guard result == MOSQ_ERR_INVAL.rawValue else { throw .of(result, while: "properties of the connection") }
    }

    private func configure(_ tls: ConnectionSettings.TLS) throws(MQTTProblem) {
        if tls.authorities == nil { try self.set(MOSQ_OPT_TLS_USE_OS_CERTS, 1, "authorities of the system") }
        // The library wants a place of authorities, or that of the system's.
        let directory = tls.authorities == nil ? "/etc/ssl/certs" : nil
        let result =
            tls.mayAsk
            ? unsafe mosquitto_tls_set(self.handle, tls.authorities, directory, tls.certificate, tls.key, nil)
            : unsafe mosquitto_tls_set(
                self.handle, tls.authorities, directory, tls.certificate, tls.key, { _, _, _, _ in -1 })
        try MQTTProblem.check(result, while: "certificates")
    }

    private func configure(_ will: Publication) throws(MQTTProblem) {
        let properties = try PropertyList(will.properties)
        // The library takes the list over when it takes the will.
        let list = unsafe properties.release()
        let result = unsafe mosquitto_will_set_v5(
            self.handle, will.topic, Int32(will.payload.count), will.payload, will.quality.rawValue, will.isRetained,
            list)
        guard result == MOSQ_ERR_SUCCESS.rawValue else {
            var list = unsafe list
            unsafe mosquitto_property_free_all(&list)
            throw .of(result, while: "will")
        }
    }

    private func set(_ option: mosq_opt_t, _ value: Int32, _ name: String) throws(MQTTProblem) {
        try MQTTProblem.check(unsafe mosquitto_int_option(self.handle, option, value), while: name)
    }

    /// Has the kernel end the connection when nobody takes what was sent.
    private func impose(patienceOn socket: Int32) {
        var patience = Self.patience
        // SAFETY: the value lives for the call. Where it is not known the keep-alive finds out, only later.
        _ = unsafe setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &patience, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Saying

    /// Sends a message, and returns the number by which it is acknowledged.
    package func publish(_ publication: Publication) throws(MQTTProblem) -> Int32 {
        guard let count = Int32(exactly: publication.payload.count) else {
            throw MQTTProblem("the message is too long")
        }
        let properties = try PropertyList(publication.properties)
        var number: Int32 = 0
        let result = unsafe mosquitto_publish_v5(
            self.handle, &number, publication.topic, count, publication.payload, publication.quality.rawValue,
            publication.isRetained, properties.raw)
        try self.check(result, while: "publish to \(publication.topic)")
        self.wrote()
        return number
    }

    /// Asks for the messages of some topics.
    ///
    /// - Parameter withoutOwn: Not for those that we send ourselves.
    @discardableResult
    package func subscribe(
        to topic: String, quality: Publication.Quality = .atLeastOnce, withoutOwn: Bool = false
    ) throws(MQTTProblem) -> Int32 {
        var number: Int32 = 0
        let options = withoutOwn ? Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue) : 0
        try self.check(
            unsafe mosquitto_subscribe_v5(self.handle, &number, topic, quality.rawValue, options, nil),
            while: "subscribe to \(topic)")
        self.wrote()
        return number
    }

    /// Says good-bye: the will is not said. `ended` follows.
    package func disconnect() {
        _ = unsafe mosquitto_disconnect_v5(self.handle, Int32(MQTT_RC_NORMAL_DISCONNECTION.rawValue), nil)
        self.wrote()
        self.loop.defer { [weak self] in self?.tell() }
    }

    /// What cannot be said because there is no connection any more is the end of it, which is told when the caller is done.
    private func check(_ result: Int32, while action: String) throws(MQTTProblem) {
        guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
        let problem = MQTTProblem.of(result, while: action)
        if !problem.isOfMessage, result != MOSQ_ERR_NOMEM.rawValue {
            self.end(problem)
            self.loop.defer { [weak self] in self?.tell() }
        }
        throw problem
    }

    private func wrote() {
        self.last.write = Clock.boottime.now()
        self.lookForMore()
    }

    // MARK: The loop

    private func ready(_ readiness: EventLoop.Readiness) {
        guard !self.isOver else { return }
        // In a handshake the library goes on where it reads, and what is to be written waits for that: each does both then.
        let isBeginning = !self.isConnected
        if isBeginning || !readiness.isDisjoint(with: [.read, .hangUp, .failed]) {
            self.last.read = Clock.boottime.now()
            self.end(unless: unsafe mosquitto_loop_read(self.handle, Self.packetsPerTurn))
            if let most = self.settings.mostMemory, FreeMemory.held > most { self.end(Self.tooMuch) }
        }
        if !self.isOver, isBeginning || readiness.contains(.write) {
            self.end(unless: unsafe mosquitto_loop_write(self.handle, 1))
        }
        self.lookForMore()
        self.tell()
    }

    /// Waits until there is room, if there is something to write.
    private func lookForMore() {
        guard !self.isOver, let registration else { return }
        // Until the server took us there is always something to write, and it may be its turn: with the first room that there is
        // the handshake begins, and from then on each of its steps is an answer to something that we read.
        let wants = unsafe self.isConnected && mosquitto_want_write(self.handle)
        let wanted: EventLoop.Interest = wants ? [.read, .write] : .read
        guard wanted != self.interest else { return }
        self.interest = wanted
        do throws(SystemError) {
            try self.loop.update(registration, for: wanted)
        } catch {
            self.end(MQTTProblem("\(error)"))
        }
    }

    private var keepAlive: Int64 { Int64(self.keepAliveSeconds) * 1_000_000 }

    /// Has the library ask the server whether it is there, when nothing was said for so long; it wakes nobody else.
    private func timePassed() {
        guard !self.isOver, let timer else { return }
        guard self.isConnected else {
            self.end(MQTTProblem("the server does not answer"))
            return self.tell()
        }
        let due = min(self.last.write, self.last.read) + self.keepAlive
        let now = Clock.boottime.now()
        guard due <= now else { return self.loop.reschedule(timer, at: due) }
        self.last.write = now
        self.end(unless: unsafe mosquitto_loop_misc(self.handle))
        self.lookForMore()
        self.tell()
        if !self.isOver { self.loop.reschedule(timer, after: self.keepAlive) }
    }

    private func end(unless result: Int32) {
        guard result != MOSQ_ERR_SUCCESS.rawValue, result != MOSQ_ERR_CONN_PENDING.rawValue else { return }
        self.end(self.refusal ?? Self.ending(result))
    }

    /// Why a connection ended, by the library's code, or by the server's reason, which are 128 and above.
    private static func ending(_ code: Int32) -> MQTTProblem {
        let action = "the connection ended"
        if code >= 128 { return MQTTProblem("\(action): \(MQTTProblem.reason(code))", code: code) }
        // The library asks for as much memory as a packet says that it is long.
        return code == MOSQ_ERR_NOMEM.rawValue ? self.tooMuch : .of(code, while: action)
    }

    private static let tooMuch = MQTTProblem("the server sends more than we can keep")

    private func end(_ problem: MQTTProblem) {
        guard !self.isOver else { return }
        self.isOver = true
        if problem == Self.tooMuch { self.makeRoom() }
        self.loop.cancel(&self.registration)
        self.socket = nil
        self.loop.cancel(&self.timer)
        self.events.append(.ended(problem))
    }

    /// There may be no memory left to read what came, and Swift ends a program that gets none.
    private func makeRoom() {
        // SAFETY: nobody else has it, and it is forgotten at once.
        unsafe free(self.ballast)
        unsafe self.ballast = nil
        self.events.removeAll { if case .arrived = $0 { true } else { false } }
    }

    /// Tells what came; a handler may do whatever it likes, also let go of us.
    private func tell() {
        guard !self.isTelling else { return }
        self.isTelling = true
        defer { self.isTelling = false }
        while !self.events.isEmpty {
            var events: [Event] = []
            swap(&events, &self.events)
            for event in events { self.onEvent(event) }
        }
    }

    // MARK: What the library tells

    private func listen() {
        // What is wrong with a certificate or a key it says there, and nowhere else; and all else that it does.
        unsafe mosquitto_log_callback_set(self.handle) { _, object, _, text in
            guard let text = unsafe text else { return }
            unsafe Client.of(object)?.noted(String(cString: text))
        }
        // SAFETY: the object handed to each is this one, which lives as long as the handle; so in all that follows. Nothing of
        // the arguments is kept.
        unsafe mosquitto_connect_v5_callback_set(self.handle) { _, object, reason, flags, properties in
            unsafe Client.of(object)?.welcomed(reason, flags, properties)
        }
        unsafe mosquitto_disconnect_v5_callback_set(self.handle) { _, object, reason, _ in
            unsafe Client.of(object)?.wasDisconnected(reason)
        }
        unsafe mosquitto_publish_v5_callback_set(self.handle) { _, object, number, reason, _ in
            unsafe Client.of(object)?.events.append(.acknowledged(number, reason: reason))
        }
        unsafe mosquitto_subscribe_v5_callback_set(self.handle) { _, object, number, count, granted, _ in
            let all = unsafe UnsafeBufferPointer(start: granted, count: Int(count))
            unsafe Client.of(object)?.events.append(.subscribed(number, granted: Array(all)))
        }
        unsafe mosquitto_message_v5_callback_set(self.handle) { _, object, message, properties in
            guard let message = unsafe message else { return }
            unsafe Client.of(object)?.arrived(message.pointee, properties)
        }
    }

    @unsafe
    private static func of(_ object: UnsafeMutableRawPointer?) -> Client? {
        unsafe object.map { unsafe Unmanaged<Client>.fromOpaque($0).takeUnretainedValue() }
    }

    @unsafe
    private func welcomed(_ reason: Int32, _ flags: Int32, _ properties: OpaquePointer?) {
        guard reason == 0 else {
            return self.refusal = MQTTProblem("the server refuses us: \(MQTTProblem.reason(reason))", code: reason)
        }
        guard !self.isConnected else { return self.end(MQTTProblem("the server takes us a second time")) }
        let welcome = unsafe Welcome(
            hasSession: flags & 1 != 0,
            receiveMaximum: PropertyReading.short(properties, MQTT_PROP_RECEIVE_MAXIMUM) ?? .max,
            largestPacket: PropertyReading.long(properties, MQTT_PROP_MAXIMUM_PACKET_SIZE))
        if let problem = Self.problem(of: welcome) { return self.end(problem) }
        // Without it a message could only be sent and forgotten.
        guard unsafe PropertyReading.byte(properties, MQTT_PROP_MAXIMUM_QOS) != 0 else {
            return self.end(MQTTProblem("the server acknowledges nothing"))
        }
        if let wanted = unsafe PropertyReading.short(properties, MQTT_PROP_SERVER_KEEP_ALIVE), wanted > 0 {
            self.keepAliveSeconds = max(Self.shortestKeepAlive, wanted)
        }
        self.isConnected = true
        unsafe mosquitto_log_callback_set(self.handle, nil)
        if let timer { self.loop.reschedule(timer, after: self.keepAlive) }
        self.events.append(.connected(welcome))
    }

    /// Why a server that takes us is none that anything can be said to.
    private static func problem(of welcome: Welcome) -> MQTTProblem? {
        if let largest = welcome.largestPacket, largest < Self.smallestPacket {
            return MQTTProblem("the server takes no more than \(largest) bytes at a time")
        }
        return nil
    }

    /// Why the server did not take us, or we not the server, which says more than that the connection ended.
    private var refusal: MQTTProblem?

    /// The library notes something. Of what is wrong with TLS the first is why: `OpenSSL Error[0]: error:CODE:LIBRARY:FUNCTION:REASON`.
    private func noted(_ line: String) {
        guard self.refusal == nil, line.hasPrefix("OpenSSL Error"), let reason = line.split(separator: ":").last else {
            return
        }
        self.refusal = MQTTProblem("TLS: \(reason)", code: Int32(MOSQ_ERR_TLS.rawValue))
    }

    private func wasDisconnected(_ reason: Int32) {
        if let refusal { return self.end(refusal) }
        if reason == MOSQ_ERR_SUCCESS.rawValue { return self.end(MQTTProblem("we said good-bye")) }
        self.end(Self.ending(reason))
    }

    @unsafe
    private func arrived(_ message: mosquitto_message, _ properties: OpaquePointer?) {
        guard let topic = unsafe message.topic, let quality = unsafe Publication.Quality(rawValue: message.qos) else {
            return
        }
        let count = unsafe Int(message.payloadlen)
        guard count <= Int(self.settings.largestPacket ?? .max) else {
            return self.end(MQTTProblem("the server sends a message of \(count) bytes"))
        }
        let name = unsafe String(cString: topic)
        // Whoever compares it would be kept for seconds. Nothing of ours is called so.
        guard name.isStreamSafe else { return }
        let payload = unsafe UnsafeRawBufferPointer(start: message.payload, count: count)
        let publication = unsafe Publication(
            name, Array(payload), quality: quality, isRetained: message.retain,
            PropertyReading.message(properties))
        self.events.append(.arrived(publication))
    }
}

@available(*, unavailable)
extension Client: Sendable {}
