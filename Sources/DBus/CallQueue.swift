package import Motion

/// Calls that wait to be served: of each sender in their order, of a user's senders in turn, and of all users in turn.
///
/// A sender has a bounded number outstanding, whether they wait, are being served or wait for their answer. When too many
/// bytes wait in all, whichever user has most of them loses the latest calls of the sender who has most. A sender whose
/// user is not known yet counts as a user of his own. A sender that is held, because he does not read what he is answered,
/// is passed over.
package struct CallQueue<Call> {
    private struct Entry {
        let call: Call
        let bytes: Int
    }

    private struct Sender {
        var waiting: [Entry] = []
        /// Calls that wait, and calls that were taken and have not ended.
        var outstanding = 0
        var isHeld = false
        var user: UInt32?
    }

    /// Who answers for what waits. Connections cost nothing, so many of one user get no more than one.
    private enum Payer: Hashable, Comparable {
        case user(UInt32)
        case sender(String)
    }

    /// What waits of one payer; there is none without.
    private struct Account {
        /// Bytes of the calls that wait, of each sender who has some.
        var senders: [String: Int] = [:]
        /// Of all of them.
        var bytes = 0
        /// Those of them who are not held, in the order of their turns.
        var ring: [String] = []
    }

    private var senders: [String: Sender] = [:]
    private var accounts: [Payer: Account] = [:]
    /// Whose account has somebody in its ring, in the order of their turns.
    private var ring: [Payer] = []
    private var bytes = 0

    package init() {}

    /// Bytes that wait, of each user; those of senders whose user is not known yet are together.
    package var waitingBytes: [UInt32: Int] {
        var bytes: [UInt32: Int] = [:]
        for (payer, account) in self.accounts {
            let user = if case .user(let user) = payer { user } else { UserShares.unknown }
            bytes[user, default: 0] += account.bytes
        }
        return bytes
    }

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
    ///
    /// - Parameter user: the sender's, if it is known.
    package mutating func offer(_ call: Call, from sender: String, of user: UInt32? = nil, bytes: Int) -> [Call] {
        let cost = bytes + CallLimits.overhead
        guard self.begin(sender) else { return [call] }
        if let user { self.setUser(user, of: sender) }
        return self.enter([Entry(call: call, bytes: cost)], of: sender, isFirst: false)
    }

    /// Takes calls back that were taken and cannot be ended yet, each with its bytes: they wait before what their sender asked
    /// later. Returns what has to be refused for them.
    package mutating func putBack(_ calls: [(call: Call, bytes: Int)], of sender: String) -> [Call] {
        guard self.senders[sender] != nil else { return calls.map(\.call) }
        let entries = calls.map { Entry(call: $0.call, bytes: $0.bytes + CallLimits.overhead) }
        return self.enter(entries, of: sender, isFirst: true)
    }

    /// Has calls wait that count as their sender's, before or behind his others, and says which are refused.
    private mutating func enter(_ entries: [Entry], of sender: String, isFirst: Bool) -> [Call] {
        var refused: [Call] = []
        for entry in isFirst ? entries.reversed() : entries {
            guard self.makeRoom(for: entry.bytes, of: sender, &refused) else {
                self.ended(sender)
                refused.append(entry.call)
                continue
            }
            let place = isFirst ? 0 : self.waiting(of: sender)
            self.senders[sender]?.waiting.insert(entry, at: place)
            self.charge(sender, with: entry.bytes)
            if self.waiting(of: sender) == 1, !self.isHeld(sender) { self.lineUp(sender) }
        }
        return refused
    }

    /// False: who has most is the sender himself.
    private mutating func makeRoom(for bytes: Int, of sender: String, _ refused: inout [Call]) -> Bool {
        while self.bytes + bytes > CallLimits.waitingBytes {
            guard let heaviest = self.whoMakesRoom(for: bytes, of: sender) else { return false }
            refused.append(self.takeLast(of: heaviest))
        }
        return true
    }

    /// Puts bytes on a sender's account that wait.
    private mutating func charge(_ sender: String, with bytes: Int) {
        let payer = self.payer(of: sender)
        self.accounts[payer, default: Account()].senders[sender, default: 0] += bytes
        self.accounts[payer]?.bytes += bytes
        self.bytes += bytes
    }

    private func payer(of sender: String) -> Payer { self.senders[sender]?.user.map(Payer.user) ?? .sender(sender) }

    /// Whose latest call goes for one of a sender; `nil`: the one that is offered goes, for nobody has more.
    private func whoMakesRoom(for cost: Int, of sender: String) -> String? {
        let own = self.payer(of: sender)
        // By name among equals, so that the same is decided every time.
        let heaviest = self.accounts.max { ($0.value.bytes, $0.key) < ($1.value.bytes, $1.key) }
        if let heaviest, heaviest.key != own, heaviest.value.bytes > (self.accounts[own]?.bytes ?? 0) + cost {
            return Self.heaviest(of: heaviest.value.senders)?.key
        }
        guard let senders = self.accounts[own]?.senders, let heaviest = Self.heaviest(of: senders),
            heaviest.key != sender, heaviest.value > (senders[sender] ?? 0) + cost
        else { return nil }
        return heaviest.key
    }

    private static func heaviest(of senders: [String: Int]) -> (key: String, value: Int)? {
        senders.max { ($0.value, $0.key) < ($1.value, $1.key) }
    }

    private mutating func takeLast(of sender: String) -> Call {
        guard let entry = self.senders[sender]?.waiting.popLast() else { preconditionFailure("nothing waits") }
        if self.waiting(of: sender) == 0 { self.stepOut(sender) }
        self.relieve(sender, of: entry.bytes)
        self.ended(sender)
        return entry.call
    }

    /// Takes bytes off a sender's account that wait no more.
    private mutating func relieve(_ sender: String, of bytes: Int) {
        let payer = self.payer(of: sender)
        self.bytes -= bytes
        self.accounts[payer]?.bytes -= bytes
        if self.waiting(of: sender) > 0 {
            self.accounts[payer]?.senders[sender]? -= bytes
            return
        }
        self.accounts[payer]?.senders[sender] = nil
        if self.accounts[payer]?.senders.isEmpty == true { self.accounts[payer] = nil }
    }

    /// Takes the next call, of the sender whose turn it is among those of the user whose turn it is. `ended` must follow.
    package mutating func next() -> Call? {
        guard let payer = self.ring.first, let sender = self.accounts[payer]?.ring.first,
            let entry = self.senders[sender]?.waiting.removeFirst()
        else { return nil }
        self.ring.removeFirst()
        self.accounts[payer]?.ring.removeFirst()
        if self.waiting(of: sender) > 0 { self.accounts[payer]?.ring.append(sender) }
        if self.accounts[payer]?.ring.isEmpty == false { self.ring.append(payer) }
        self.relieve(sender, of: entry.bytes)
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

    // MARK: Turns

    private mutating func lineUp(_ sender: String) {
        let payer = self.payer(of: sender)
        self.accounts[payer]?.ring.append(sender)
        if self.accounts[payer]?.ring.count == 1 { self.ring.append(payer) }
    }

    private mutating func stepOut(_ sender: String) {
        let payer = self.payer(of: sender)
        guard let place = self.accounts[payer]?.ring.firstIndex(of: sender) else { return }
        self.accounts[payer]?.ring.remove(at: place)
        if self.accounts[payer]?.ring.isEmpty == true { self.ring.removeAll { $0 == payer } }
    }

    /// Whose a sender is. He is remembered while he has calls outstanding, and pays with the others of his user from now on.
    package mutating func setUser(_ user: UInt32, of sender: String) {
        guard let state = self.senders[sender], state.user == nil else { return }
        self.senders[sender]?.user = user
        guard let own = self.accounts.removeValue(forKey: .sender(sender)) else { return }
        var account = self.accounts.removeValue(forKey: .user(user)) ?? Account()
        // He keeps his place unless his user has one.
        if let place = self.ring.firstIndex(of: .sender(sender)) {
            if account.ring.isEmpty { self.ring[place] = .user(user) } else { self.ring.remove(at: place) }
        }
        account.senders[sender] = own.bytes
        account.bytes += own.bytes
        account.ring += own.ring
        self.accounts[.user(user)] = account
    }

    package func user(of sender: String) -> UInt32? { self.senders[sender]?.user }

    // MARK: Held senders

    package func isHeld(_ sender: String) -> Bool { self.senders[sender]?.isHeld ?? false }

    /// Passes a sender over until he is released.
    package mutating func hold(_ sender: String) {
        guard !self.isHeld(sender) else { return }
        self.senders[sender, default: Sender()].isHeld = true
        self.stepOut(sender)
    }

    package mutating func release(_ sender: String) {
        guard self.isHeld(sender) else { return }
        self.senders[sender]?.isHeld = false
        if self.waiting(of: sender) > 0 { self.lineUp(sender) }
        self.forgetIfIdle(sender)
    }

    /// Forgets the calls of a sender who left. Those that were taken still end.
    package mutating func drop(_ sender: String) -> [Call] {
        guard let state = self.senders[sender] else { return [] }
        self.stepOut(sender)
        self.senders[sender]?.waiting = []
        self.relieve(sender, of: state.waiting.reduce(0) { $0 + $1.bytes })
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
    /// Bytes of a call: what it takes to read it keeps all others waiting.
    package static let callBytes = 4 << 20
    /// Bytes of calls that wait to be served, of all senders. Once they are reached, whoever has most makes room; a user counts
    /// once, however many connections he has.
    package static let waitingBytes = 4 << 20
    /// What a call is taken to cost besides its bytes.
    static let overhead = 512
    /// Calls that may wait until it is known whether they are allowed.
    package static let waitingForLeave = UserShares(limit: 256, reserve: 16)
    /// Bytes of answers that one sender need not have read; beyond it he is not served.
    package static let unreadBytes = FlowWindow.limit

    /// Names as `Limits` shows them.
    package static let table: [String: UInt64] = [
        "calls-per-caller": UInt64(outstanding),
        "call-bytes": UInt64(callBytes),
        "waiting-call-bytes": UInt64(waitingBytes),
        "waiting-refusal-bytes": UInt64(waitingBytes),
        "unidentified-call-bytes": UInt64(waitingBytes),
        "unread-answer-bytes": UInt64(unreadBytes),
        "descriptor-answers": UInt64(GivenDescriptors.shares.limit),
        "descriptor-answers-per-user": UInt64(GivenDescriptors.shares.share),
        "calls-waiting-for-leave": UInt64(waitingForLeave.limit),
        "calls-waiting-for-leave-per-user": UInt64(waitingForLeave.share),
    ]
}
