import BusGrammar

/// One of those who talk: its connection, and what is open between it and the daemons.
final class Guest {
    private(set) var peer: Peer
    private let address: String
    /// Which method each call was of that was not answered yet; `nil`: of none of ours.
    private var asked: [UInt32: Int?] = [:]
    /// Calls that others made to it.
    private var calls: [(serial: UInt32, sender: String)] = []
    /// Which app it registered as.
    var app: String?
    /// It registered without a name.
    var isNameless = false
    /// It takes in what comes.
    var isReading = true

    /// How many calls wait for their answers at most.
    private let most: Int
    private static let mostBacklog = 1 << 20

    init(_ address: String, most: Int) {
        (self.address, self.most) = (address, most)
        self.peer = Peer(address)
    }

    var isFull: Bool { self.asked.count >= self.most || self.peer.backlog > Self.mostBacklog }
    var openCalls: [Int?] { Array(self.asked.values) }

    /// Leaves in the middle of whatever it was at, and comes back as another.
    func leave() {
        self.peer.end()
        self.peer = Peer(self.address)
        self.asked.removeAll()
        self.calls.removeAll()
        self.app = nil
        self.isNameless = false
        self.isReading = true
    }

    /// - Parameter method: Which of ours it is, if any.
    func send(_ message: BusMessage, as method: Int? = nil) {
        let serial = self.peer.queue(message)
        if message.kind == .call, message.wantsAnswer { self.asked[serial] = .some(method) }
    }

    /// Whose call it answers next; those who never called, too.
    func takeCall() -> (serial: UInt32, sender: String)? { self.calls.isEmpty ? nil : self.calls.removeFirst() }

    /// What has come: answers to calls, and whether each was asked for.
    func take(_ tell: (_ head: ReceivedHead, _ body: ArraySlice<UInt8>, _ asked: Int??) -> Void) {
        self.peer.write()
        guard self.isReading else { return }
        self.peer.read()
        while let (head, body) = self.peer.next() {
            if head.kind == 1 { self.calls.append((head.serial, head.sender)) }
            tell(head, body, head.kind == 2 || head.kind == 3 ? self.asked.removeValue(forKey: head.answers) : nil)
        }
    }
}
