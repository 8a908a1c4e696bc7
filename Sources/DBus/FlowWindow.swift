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
    private(set) package var unconfirmed = 0
    /// Bytes among them that were sent after the open ping.
    private var sincePing = 0
    private(set) package var isPingOpen = false
    /// Messages left out, ever.
    private(set) package var dropped: UInt64 = 0

    /// A ping is due after this many bytes.
    package static let pingAfter = 64 << 10
    /// With this many bytes out and a ping open, messages are left out.
    package static let limit = 256 << 10

    package init() {}

    /// Asks whether a message of `bytes` may go. `mayPing` is false while too many pings are open elsewhere.
    package mutating func offer(_ bytes: Int, mayPing: Bool = true) -> Verdict {
        guard self.unconfirmed + bytes <= Self.limit else {
            self.dropped += 1
            return .drop
        }
        self.unconfirmed += bytes
        if self.isPingOpen {
            self.sincePing += bytes
            return .send
        }
        guard self.unconfirmed >= Self.pingAfter, mayPing else { return .send }
        self.isPingOpen = true
        self.sincePing = 0
        return .sendAndPing
    }

    /// True when a ping should go out now: one was due and could not be sent.
    package var needsPing: Bool { !self.isPingOpen && self.unconfirmed >= Self.pingAfter }

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
    }

    /// The ping came to nothing (the peer is gone, or too slow); the bytes stay unconfirmed.
    package mutating func pingFailed() {
        guard self.isPingOpen else { return }
        self.isPingOpen = false
        self.sincePing = 0
    }
}
