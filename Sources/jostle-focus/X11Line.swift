import CXCB
import FocusCore
import Glibc
import Loop

/// What a server answered; empty when it was an error.
struct X11Answer {
    /// Of a property of text.
    var bytes: [UInt8] = []
    /// Of a property of numbers.
    var numbers: [UInt32] = []
    /// Of a name.
    var number: UInt32 = 0
    /// Of whose a window is.
    var process: UInt32?
}

/// What we hear of windows.
enum X11Event {
    case property(window: UInt32, atom: UInt32)
    case destroyed(UInt32)
}

/// What an X server is asked, and what it answers, by libxcb.
///
/// The library has one end of a pair of sockets, and we stand in for the server at the other. So it never waits: it is given
/// whole messages only, and reads at once all that it is given; and it has room for what it writes, because the pair is
/// empty whenever it is flushed, and it is flushed before its own buffer is full.
/// Each request has what is done with its answer, and answers come in order.
/// Not `Sendable`: it belongs to the thread of its loop.
@safe
final class X11Line {
    /// The window behind all others.
    let root: UInt32
    private let relay: X11Relay
    /// Where we stand in for the server.
    private let end: OwnedDescriptor
    private var raw: OpaquePointer?
    private var packet = [UInt64](repeating: 0, count: X11Line.packetWords)
    private var unflushed = 0
    private var requests: [Request] = []
    /// The place of the first one that has no answer yet.
    private var first = 0

    @safe
    private struct Request {
        let sequence: UInt32
        let take: (UnsafeMutableRawPointer?) -> Void
    }

    /// The most requests without an answer, beyond which no windows are asked: what a server that does not read must hold.
    private static let mostOutstanding = 256
    /// The most requests that the library keeps for itself: its buffer has 16 KiB, and none of ours has more than 64 bytes.
    private static let mostUnflushed = 128
    /// As much as the library writes at once.
    private static let packetWords = (16 << 10) / 8
    /// Room for the longest greeting, and for what the kernel needs to keep it.
    private static let room = 416 << 10

    /// This machine's name, as clients that come now tell it: it may have changed.
    static var host: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            // SAFETY: room for the name, which is ended in any case.
            guard let start = buffer.baseAddress, unsafe gethostname(start, 255) == 0 else { return "" }
            unsafe buffer[255] = 0
            return unsafe String(cString: start)
        }
    }

    /// Begins where a server took us in.
    ///
    /// - Parameter root: that of the screen that is looked at.
    static func make(_ greeting: X11Greeting, root: UInt32, through relay: X11Relay) throws(SystemError) -> X11Line {
        try PacketPair(room: self.room).split { (own, given) throws(SystemError) in
            try X11Line(own, given, greeting, root, relay)
        }
    }

    private init(
        _ own: consuming OwnedDescriptor, _ given: consuming OwnedDescriptor, _ greeting: X11Greeting, _ root: UInt32,
        _ relay: X11Relay
    ) throws(SystemError) {
        self.root = root
        self.relay = relay
        let place = own.raw
        self.end = own
        // The library looks for messages before it asks to be taken in. It would take the greeting for a long one, and wait for
        // its rest; a packet of less than 32 bytes it keeps, so the head comes alone.
        try Self.put(greeting.bytes.prefix(X11Greeting.head), into: place)
        try Self.put(greeting.bytes.dropFirst(X11Greeting.head), into: place)
        let descriptor = given.release()
        // SAFETY: the library takes the descriptor over in any case. Where it fails there is nothing to end.
        guard let raw = unsafe xcb_connect_to_fd(descriptor, nil), unsafe xcb_connection_has_error(raw) == 0 else {
            throw SystemError(code: EPROTO, function: "xcb_connect_to_fd")
        }
        unsafe self.raw = raw
        // It asks to be taken in, as the relay did.
        _ = try self.end.receive(packet: &self.packet)
        // Asked before anything else, so that its answer is there when it is looked for.
        unsafe CXCB_ask_for_res(raw)
    }

    deinit { self.close() }

    func close() {
        if let raw = unsafe self.raw { unsafe xcb_disconnect(raw) }
        unsafe self.raw = nil
        self.requests = []
        self.first = 0
    }

    var isBroken: Bool { unsafe self.raw.map { unsafe xcb_connection_has_error($0) != 0 } ?? true }
    var hasRoom: Bool { self.requests.count - self.first < Self.mostOutstanding }

    /// Gives what was asked to the relay.
    func flush() {
        self.unflushed = 0
        guard let raw = unsafe self.raw else { return }
        unsafe xcb_flush(raw)
        do throws(SystemError) {
            while let count = try self.end.receive(packet: &self.packet), count > 0 {
                // SAFETY: no more than the array has, and what came is at its front.
                self.relay.send(unsafe self.packet.withUnsafeBytes { unsafe Array($0.prefix(count)) })
            }
        } catch {
            self.close()
        }
    }

    // MARK: What comes in

    /// Gives whole messages to the library, as much as it reads at once: all of it is to be taken before there is more.
    func put(_ messages: [UInt8]) {
        guard unsafe self.raw != nil else { return }
        do throws(SystemError) {
            try Self.put(messages[...], into: self.end.raw)
        } catch {
            // A part of a message is what the library would wait for the rest of.
            self.close()
        }
    }

    /// The library reads a packet at a time, and has no room for a longer one.
    private static func put(_ bytes: ArraySlice<UInt8>, into end: Int32) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let packet = rest.prefix(X11Messages.longestParcel)
            try systemCall("send") {
                // SAFETY: as many bytes as there are in the slice.
                unsafe packet.withUnsafeBytes {
                    unsafe send(end, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                }
            }
            rest = rest.dropFirst(packet.count)
        }
    }

    /// The next event that means something to us.
    func nextEvent() -> X11Event? {
        while let raw = unsafe self.raw, let event = unsafe xcb_poll_for_event(raw) {
            // SAFETY: ours to free; each kind is read as what it says that it is, and all have 32 bytes.
            defer { unsafe free(event) }
            switch Int32(unsafe event.pointee.response_type & 0x7F) {
            case XCB_PROPERTY_NOTIFY:
                return unsafe event.withMemoryRebound(to: xcb_property_notify_event_t.self, capacity: 1) {
                    unsafe .property(window: $0.pointee.window, atom: $0.pointee.atom)
                }
            case XCB_DESTROY_NOTIFY:
                return unsafe event.withMemoryRebound(to: xcb_destroy_notify_event_t.self, capacity: 1) {
                    unsafe .destroyed($0.pointee.window)
                }
            default: continue
            }
        }
        return nil
    }

    /// Hands on the answers that have come.
    func takeReplies() {
        while let raw = unsafe self.raw, self.first < self.requests.count {
            let request = self.requests[self.first]
            var reply: UnsafeMutableRawPointer?
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            // SAFETY: the request was sent on this connection, and its answer is taken once.
            guard unsafe xcb_poll_for_reply(raw, request.sequence, &reply, &error) != 0 else { break }
            self.first += 1
            unsafe free(error)
            unsafe request.take(reply)
            unsafe free(reply)
        }
        guard self.first > 0 else { return }
        self.requests.removeFirst(min(self.first, self.requests.count))
        self.first = 0
    }

    // MARK: What is asked

    /// Hears of changes of a window.
    ///
    /// - Parameter structure: also of its end.
    func follow(_ window: UInt32, structure: Bool) {
        guard let raw = unsafe self.raw else { return }
        var mask = XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        if structure { mask |= XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue }
        // SAFETY: one value for the one bit of the list. That there is no such window is an event that nobody reads.
        _ = unsafe xcb_change_window_attributes(raw, window, XCB_CW_EVENT_MASK.rawValue, &mask)
        self.asked()
    }

    /// - Parameter words: how much is read of it, in words of four bytes.
    func property(_ atom: UInt32, of window: UInt32, words: UInt32, _ then: @escaping (X11Answer) -> Void) {
        guard let raw = unsafe self.raw else { return }
        // SAFETY: the connection is live.
        let cookie = unsafe xcb_get_property(raw, 0, window, atom, XCB_GET_PROPERTY_TYPE_ANY.rawValue, 0, words)
        unsafe self.expect(cookie.sequence) { reply in
            guard let reply = unsafe reply?.assumingMemoryBound(to: xcb_get_property_reply_t.self) else {
                return then(X11Answer())
            }
            // SAFETY: the library has read a whole answer, of which this is the place of the value. What the server says of
            // the value's length counts as far as so much came.
            let length = unsafe min(
                Int(xcb_get_property_value_length(reply)), Int(reply.pointee.length) * 4, Int(words) * 4)
            guard let start = unsafe xcb_get_property_value(reply), length > 0 else { return then(X11Answer()) }
            let value = unsafe UnsafeRawBufferPointer(start: start, count: length)
            var answer = X11Answer()
            switch unsafe reply.pointee.format {
            case 8: answer.bytes = unsafe Array(value)
            case 32:
                answer.numbers = stride(from: 0, to: length - 3, by: 4).map {
                    unsafe value.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
                }
            default: break
            }
            then(answer)
        }
    }

    /// The number of a name.
    func atom(_ name: String, _ then: @escaping (X11Answer) -> Void) {
        guard let raw = unsafe self.raw else { return }
        // SAFETY: the name lives for the call, which is told its length.
        let cookie = unsafe xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name)
        unsafe self.expect(cookie.sequence) { reply in
            let answer = unsafe reply?.assumingMemoryBound(to: xcb_intern_atom_reply_t.self)
            then(X11Answer(number: unsafe answer?.pointee.atom ?? 0))
        }
    }

    /// Whether the server says of a window whose it is: X-Resource 1.2.
    ///
    /// To be asked after an answer to something has come: then it is known whether the server has the extension.
    func clientVersion(_ then: @escaping (Bool) -> Void) {
        guard let raw = unsafe self.raw else { return }
        // SAFETY: the connection is live. The answer, for which this would wait, came before that to what was asked later.
        guard unsafe CXCB_has_res(raw) != 0 else { return then(false) }
        let cookie = unsafe xcb_res_query_version(raw, 1, 2)
        unsafe self.expect(cookie.sequence) { reply in
            guard let version = unsafe reply?.assumingMemoryBound(to: xcb_res_query_version_reply_t.self) else {
                return then(false)
            }
            then(unsafe (version.pointee.server_major, version.pointee.server_minor) >= (1, 2))
        }
    }

    /// The process whose connection made a window, which the server has from the kernel.
    func client(of window: UInt32, _ then: @escaping (X11Answer) -> Void) {
        guard let raw = unsafe self.raw else { return }
        var wanted = xcb_res_client_id_spec_t(
            client: window, mask: XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID.rawValue)
        // SAFETY: one entry, copied by the call.
        let cookie = unsafe xcb_res_query_client_ids(raw, 1, &wanted)
        unsafe self.expect(cookie.sequence) { reply in
            var answer = X11Answer()
            if let reply = unsafe reply?.assumingMemoryBound(to: xcb_res_query_client_ids_reply_t.self) {
                // SAFETY: the library has read a whole answer; only the first entry is looked at, and of it the first
                // number, if so much came.
                let entries = unsafe xcb_res_query_client_ids_ids_iterator(reply)
                if unsafe reply.pointee.length >= 4, unsafe entries.rem > 0, let entry = unsafe entries.data,
                    unsafe xcb_res_client_id_value_value_length(entry) > 0,
                    let value = unsafe xcb_res_client_id_value_value(entry)
                {
                    answer.process = unsafe value.pointee
                }
            }
            then(answer)
        }
    }

    private func expect(_ sequence: UInt32, _ take: @escaping (UnsafeMutableRawPointer?) -> Void) {
        unsafe self.requests.append(Request(sequence: sequence, take: take))
        self.asked()
    }

    private func asked() {
        self.unflushed += 1
        if self.unflushed == Self.mostUnflushed { self.flush() }
    }
}

@available(*, unavailable)
extension X11Line: Sendable {}
