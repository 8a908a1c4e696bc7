import BusGrammar

/// Sees how long the daemons take for a sign of life, again and again.
final class Watch {
    private let peer: Peer
    private let daemons: [String]
    /// When the Pings that are under way were sent, and to whom.
    private var asked: [UInt32: Int64] = [:]
    private var next: Int64 = 0
    private(set) var answered = 0
    /// In microseconds.
    private(set) var longest: Int64 = 0

    private static let every: Int64 = 50_000

    init(_ address: String, _ daemons: [String]) {
        (self.peer, self.daemons) = (Peer(address), daemons)
    }

    /// Who has a name: a daemon of ours, which is there.
    static func owner(of name: String, at address: String) -> String {
        let peer = Peer(address)
        var message = BusMessage.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner")
        message.signature = "s"
        message.body.string(name)
        let serial = peer.queue(message)
        guard let (head, body) = peer.answer(to: serial, within: 10_000), head.kind == 2 else {
            fail("nobody has \(name)")
        }
        return String(decoding: body.dropFirst(4).dropLast(), as: UTF8.self)
    }

    func look() {
        let time = now()
        self.take(at: time)
        guard self.asked.isEmpty, time >= self.next else { return }
        self.next = time + Self.every
        for name in self.daemons {
            self.asked[self.peer.queue(.call(name, "/", "org.freedesktop.DBus.Peer", "Ping"))] = time
        }
        self.peer.write()
    }

    private func take(at time: Int64) {
        self.peer.write()
        self.peer.read()
        while let (head, _) = self.peer.next() {
            guard let sent = self.asked.removeValue(forKey: head.answers) else { continue }
            if head.kind == 2 { self.answered += 1 }
            self.longest = max(self.longest, time - sent)
        }
        // One that does not come counts, too.
        for sent in self.asked.values { self.longest = max(self.longest, time - sent) }
    }

    /// The last look: all are answered, or it took so long.
    func finish() {
        self.next = 0
        for _ in 0..<2 {
            let end = now() + 10_000_000
            repeat { self.look() } while !self.asked.isEmpty && now() < end
        }
    }
}
