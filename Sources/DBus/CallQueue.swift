/// Calls that wait to be served: of each sender in their order, and of all senders in turn.
///
/// A sender has a bounded number outstanding, whether they wait, are being served or wait for their answer. When too many
/// bytes wait in all, whoever has most of them loses his latest calls. A sender that is held, because he does not read
/// what he is answered, is passed over.
package struct CallQueue<Call> {
    private struct Entry {
        let call: Call
        let bytes: Int
    }

    private struct Sender {
        var waiting: [Entry] = []
        /// Of the calls that wait.
        var bytes = 0
        /// Calls that wait, and calls that were taken and have not ended.
        var outstanding = 0
        var isHeld = false
    }

    private var senders: [String: Sender] = [:]
    /// Who has calls waiting and is not held, in the order of their turns.
    private var ring: [String] = []
    private var bytes = 0

    package init() {}

    /// No call waits that could be taken.
    package var isIdle: Bool { self.ring.isEmpty }

    package func waiting(of sender: String) -> Int { self.senders[sender]?.waiting.count ?? 0 }

    package func outstanding(of sender: String) -> Int { self.senders[sender]?.outstanding ?? 0 }

    /// Counts a call that is served without waiting. False: its sender has too many outstanding.
    package mutating func begin(_ sender: String) -> Bool {
        guard self.outstanding(of: sender) < CallLimits.outstanding else { return false }
        self.senders[sender, default: Sender()].outstanding += 1
        return true
    }

    /// Takes in a call that is to wait. Returns what has to be refused for it: this call, or others'.
    package mutating func offer(_ call: Call, from sender: String, bytes: Int) -> [Call] {
        let cost = bytes + CallLimits.overhead
        guard self.begin(sender) else { return [call] }
        var refused: [Call] = []
        while self.bytes + cost > CallLimits.waitingBytes {
            // By name among equals, so that the same is decided every time.
            let heaviest = self.senders.max { ($0.value.bytes, $0.key) < ($1.value.bytes, $1.key) }
            guard let heaviest, heaviest.key != sender, heaviest.value.bytes > self.waitingBytes(of: sender) + cost
            else {
                self.ended(sender)
                return refused + [call]
            }
            refused.append(self.takeLast(of: heaviest.key))
        }
        self.senders[sender]?.waiting.append(Entry(call: call, bytes: cost))
        self.senders[sender]?.bytes += cost
        self.bytes += cost
        if self.waiting(of: sender) == 1, self.senders[sender]?.isHeld == false { self.ring.append(sender) }
        return refused
    }

    private func waitingBytes(of sender: String) -> Int { self.senders[sender]?.bytes ?? 0 }

    private mutating func takeLast(of sender: String) -> Call {
        guard let entry = self.senders[sender]?.waiting.popLast() else { preconditionFailure("nothing waits") }
        self.took(entry, of: sender)
        self.ended(sender)
        if self.waiting(of: sender) == 0 { self.ring.removeAll { $0 == sender } }
        return entry.call
    }

    private mutating func took(_ entry: Entry, of sender: String) {
        self.senders[sender]?.bytes -= entry.bytes
        self.bytes -= entry.bytes
    }

    /// Takes the next call, of the sender whose turn it is. `ended` must follow.
    package mutating func next() -> Call? {
        guard let sender = self.ring.first, let entry = self.senders[sender]?.waiting.removeFirst() else { return nil }
        self.took(entry, of: sender)
        self.ring.removeFirst()
        if self.waiting(of: sender) > 0 { self.ring.append(sender) }
        return entry.call
    }

    /// A call that was taken, or served without waiting, was answered or needs no answer.
    package mutating func ended(_ sender: String) {
        guard let outstanding = self.senders[sender]?.outstanding else { return }
        self.senders[sender]?.outstanding = outstanding - 1
        self.forgetIfIdle(sender)
    }

    private mutating func forgetIfIdle(_ sender: String) {
        if let state = self.senders[sender], state.outstanding == 0, !state.isHeld { self.senders[sender] = nil }
    }

    // MARK: Held senders

    package func isHeld(_ sender: String) -> Bool { self.senders[sender]?.isHeld ?? false }

    /// Passes a sender over until he is released.
    package mutating func hold(_ sender: String) {
        guard !self.isHeld(sender) else { return }
        self.senders[sender, default: Sender()].isHeld = true
        self.ring.removeAll { $0 == sender }
    }

    package mutating func release(_ sender: String) {
        guard self.isHeld(sender) else { return }
        self.senders[sender]?.isHeld = false
        if self.waiting(of: sender) > 0 { self.ring.append(sender) }
        self.forgetIfIdle(sender)
    }

    /// Forgets the calls of a sender who left. Those that were taken still end.
    package mutating func drop(_ sender: String) -> [Call] {
        guard let state = self.senders[sender] else { return [] }
        self.bytes -= state.bytes
        self.ring.removeAll { $0 == sender }
        self.senders[sender] = nil
        let left = state.outstanding - state.waiting.count
        if left > 0 { self.senders[sender] = Sender(outstanding: left) }
        return state.waiting.map(\.call)
    }

    /// Forgets everything.
    package mutating func dropAll() -> [Call] {
        defer { self = CallQueue() }
        return self.senders.sorted { $0.key < $1.key }.flatMap { $0.value.waiting.map(\.call) }
    }
}

/// How much a connection keeps of what others ask of it. Part of what `Limits` shows.
package enum CallLimits {
    /// Calls of one sender that have no answer yet.
    package static let outstanding = 128
    /// Bytes of calls that wait to be served, of all senders.
    package static let waitingBytes = 4 << 20
    /// What a call is taken to cost besides its bytes.
    static let overhead = 512
    /// Bytes of answers that one sender need not have read; beyond it he is not served.
    package static let unreadBytes = FlowWindow.limit

    /// Names as `Limits` shows them.
    package static let table: [String: UInt64] = [
        "calls-per-caller": UInt64(outstanding),
        "waiting-call-bytes": UInt64(waitingBytes),
        "unread-answer-bytes": UInt64(unreadBytes),
    ]
}
