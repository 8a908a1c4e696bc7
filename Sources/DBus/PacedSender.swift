/// Sends signals to single peers and never more than they take.
///
/// A peer that is stopped costs the bus at most `FlowWindow.limit` bytes and the other peers nothing.
/// Not `Sendable`: it belongs to the thread of its connection's loop.
package final class PacedSender {
    /// One peer we send to, by its unique name.
    package final class Peer {
        package let name: String
        package fileprivate(set) var window = FlowWindow()
        fileprivate var isWaiting = false

        fileprivate init(_ name: String) { self.name = name }
    }

    private unowned let connection: Connection
    private var openPings = 0
    /// Peers for which a ping is due and too many were open.
    private var waiting: [Peer] = []

    /// The system bus allows 128 pending replies to a connection; half of them are left for other calls.
    package static let pingLimit = 64
    /// A peer that does not answer for so long gives its place among the open pings to another.
    private static let pingTimeout: Int32 = 30_000

    package init(on connection: Connection) {
        self.connection = connection
    }

    package func peer(_ uniqueName: String) -> Peer { Peer(uniqueName) }

    /// Sends a signal of about `size` bytes, or leaves it out because the peer does not read or the bus does not take it.
    package func signal(
        from path: ObjectPath, _ interface: StaticString, _ member: StaticString, to peer: Peer, size: Int,
        _ body: (inout WireWriter) -> Void
    ) -> Bool {
        guard self.connection.canSend else { return false }
        let verdict = peer.window.offer(size, mayPing: self.openPings < Self.pingLimit)
        if verdict != .drop {
            self.connection.signal(from: path, interface, member, to: peer.name, body)
        }
        switch verdict {
        case .send: break
        case .sendAndPing: self.ping(peer)
        case .drop: break
        }
        if peer.window.needsPing { self.request(peer) }
        return verdict != .drop
    }

    /// Pings now if there is room, and otherwise as soon as there is.
    private func request(_ peer: Peer) {
        guard self.openPings >= Self.pingLimit else {
            peer.window.pingSent()
            return self.ping(peer)
        }
        guard !peer.isWaiting else { return }
        peer.isWaiting = true
        self.waiting.append(peer)
    }

    private func ping(_ peer: Peer) {
        self.openPings += 1
        let target = CallTarget(peer.name, Self.anyPath, "org.freedesktop.DBus.Peer")
        self.connection.call(target, "Ping", timeout: Self.pingTimeout, autoStart: false) {
            [weak self, weak peer] result in
            self?.pingEnded(peer, result)
        }
    }

    private func pingEnded(_ peer: Peer?, _ result: consuming CallResult) {
        self.openPings -= 1
        if let peer {
            switch consume result {
            case .success: peer.window.pingAnswered()
            case .failure(let error):
                // An error from the peer itself is an answer; silence and absence are none.
                let silent = [
                    BusError.noReply("").name, BusError.disconnected("").name, "org.freedesktop.DBus.Error.Timeout",
                ]
                if silent.contains(error.name) || error.isServiceMissing {
                    peer.window.pingFailed()
                } else {
                    peer.window.pingAnswered()
                }
            }
        }
        while self.openPings < Self.pingLimit, !self.waiting.isEmpty {
            let next = self.waiting.removeFirst()
            next.isWaiting = false
            if next.window.needsPing {
                next.window.pingSent()
                self.ping(next)
            }
        }
    }

    private static let anyPath = ObjectPath(literal: "/")
}
