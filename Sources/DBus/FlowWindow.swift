/// How much we have sent to one peer that it has not yet been seen to take.
///
/// Every so often the sender pings the peer. Messages between two connections keep their order, so the answer says that
/// all that was sent before the ping has been read; nothing is asked of the peer but what libdbus does for it.
package struct FlowWindow: Equatable, Sendable {
    package enum Verdict: Equatable, Sendable {
        case send
        /// Send, then ping the peer.
        case sendAndPing
        /// The peer does not read: leave this message out.
        case drop
    }

    /// Bytes sent since the last answered ping was sent.
    package private(set) var unconfirmed = 0
    /// Bytes among them that were sent after the open ping.
    private var sincePing = 0
    package private(set) var isPingOpen = false
    /// True after a message was left out, until room was made.
    private var isFull = false
    /// Messages left out, ever.
    package private(set) var dropped: UInt64 = 0

    /// With this many bytes out, messages are left out.
    package var limit: Int

    /// A ping is due after this many bytes, or after half of what may be out.
    package static let pingAfter = 64 << 10
    /// What may be out, unless it is said.
    package static let limit = 256 << 10

    package init(limit: Int = FlowWindow.limit) {
        self.limit = limit
    }

    /// Bytes that may be sent now.
    package var room: Int { max(0, self.limit - self.unconfirmed) }

    /// Whether anything may be sent now: also beyond the limit while nothing is out.
    package var takesMore: Bool { self.unconfirmed == 0 || self.room > 0 }

    /// Asks whether a message of `bytes` may go. `mayPing` is false while too many pings are open elsewhere.
    ///
    /// A message beyond the limit goes when nothing else is out, or it never would.
    package mutating func offer(_ bytes: Int, mayPing: Bool = true) -> Verdict {
        guard self.unconfirmed == 0 || bytes <= self.limit - self.unconfirmed else {
            self.dropped += 1
            self.isFull = true
            return .drop
        }
        return self.add(bytes, mayPing: mayPing)
    }

    /// Takes note of a message of `bytes` that goes whether there is room or not. Never says that it is to be left out.
    package mutating func add(_ bytes: Int, mayPing: Bool = true) -> Verdict {
        self.unconfirmed += bytes
        if self.isPingOpen {
            self.sincePing += bytes
            return .send
        }
        guard self.needsPing, mayPing else { return .send }
        self.pingSent()
        return .sendAndPing
    }

    /// True when a ping is due and none is open.
    package var needsPing: Bool {
        !self.isPingOpen && (self.isFull || self.unconfirmed >= max(1, min(Self.pingAfter, self.limit / 2)))
    }

    /// A ping goes out that `offer` did not ask for.
    package mutating func pingSent() {
        self.isPingOpen = true
        self.sincePing = 0
    }

    /// The peer answered: all that went before the ping has been read.
    package mutating func pingAnswered() {
        guard self.isPingOpen else { return }
        self.isPingOpen = false
        self.unconfirmed = self.sincePing
        self.sincePing = 0
        self.isFull = false
    }

    /// The ping came to nothing, as when the peer is gone; the bytes stay unconfirmed.
    package mutating func pingFailed() {
        guard self.isPingOpen else { return }
        self.isPingOpen = false
        self.sincePing = 0
    }

    /// Takes what is out for read, because the peer cannot be asked for now.
    package mutating func assumeRead() {
        guard !self.isPingOpen else { return }
        self.unconfirmed = 0
        self.isFull = false
    }

    /// Takes what is out for read although the peer was asked and has not answered.
    package mutating func trust() {
        self.unconfirmed = 0
        self.sincePing = 0
        self.isFull = false
    }
}
