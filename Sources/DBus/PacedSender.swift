import CDBus
import Glibc
import Loop
import Motion

/// Sends signals to single peers and never more than they take.
///
/// A peer that is stopped costs the bus at most `FlowWindow.limit` bytes and the other peers nothing. A ping has no time
/// limit: the bus remembers every call until it is answered or one side is gone, so another ping to a silent peer costs another
/// place. It is sent where the answer to the first may have been lost. When all places are taken that a peer may have, by others of
/// its user that may never answer, it still gets a window's worth of bytes every `patience`, on the word that it reads.
/// Not `Sendable`: it belongs to the thread of its connection's loop.
package final class PacedSender {
    /// One peer we send to, by its unique name.
    package final class Peer {
        package let name: String
        package var window: FlowWindow { self.flow }
        /// Of this file alone: what other modules may look at directly is checked at each access.
        fileprivate var flow = FlowWindow()
        /// Who is told of room, for as long as they live: several may send to one connection.
        private var listeners: [(owner: Weak, tell: (Int) -> Void)] = []
        /// They are to be told.
        fileprivate var isRefused = false
        /// Since when a ping has been due that could not be sent.
        fileprivate var waitingSince: Int64?
        fileprivate var isQueued = false
        fileprivate var forms = SignalForms()
        /// The bus has said that there is nobody of this name, which no other gets.
        fileprivate var isGone = false
        /// The pings that are open. The answers to all but the last may be lost.
        fileprivate var pings: [Ping] = []
        /// The answer to the last one may be lost, too, and it was not asked once more.
        fileprivate var isLeftInDoubt = false
        /// How often it was believed to read, as its answer may be lost.
        fileprivate var beliefs = 0
        /// In whose share its pings are; root's: anybody's places are for it.
        fileprivate var user = UserShares.root

        private struct Weak {
            weak var object: AnyObject?
        }

        fileprivate init(_ name: String) { self.name = name }

        /// Has `tell` called with the bytes that may be sent, when something was left out and there may be room again.
        ///
        /// - Parameter owner: who wants to know, once, and until it is gone.
        package func onRoom(for owner: AnyObject, _ tell: @escaping (Int) -> Void) {
            self.listeners.removeAll { $0.owner.object == nil || $0.owner.object === owner }
            self.listeners.append((Weak(object: owner), tell))
        }

        fileprivate var isHeard: Bool { self.listeners.contains { $0.owner.object != nil } }

        /// Tells them, each of what those before it have left.
        fileprivate func tellOfRoom() {
            self.isRefused = false
            for listener in self.listeners where listener.owner.object != nil { listener.tell(self.flow.room) }
        }

        /// How much may be sent to it that it has not read.
        package func setLimit(_ bytes: Int) { self.flow.limit = bytes }

        /// Whose it is: peers of one user that do not answer keep no place from those of another. Where we are of that user
        /// ourselves, as on a session bus, there are hardly others.
        package func setUser(_ user: UInt32) { self.user = user == getuid() ? UserShares.root : user }
    }

    private struct Waiting {
        weak var peer: Peer?
    }

    fileprivate struct Ping {
        let number: UInt64
        /// Who has its place.
        let user: UInt32
        let call: SentCall?
    }

    private weak var connection: Connection?
    /// Who has how many pings open.
    private var pings: UserShares
    private var lastPing: UInt64 = 0
    /// Those with an open ping, by name.
    private var asked: [String: Peer] = [:]
    /// Peers for which a ping is due and too many were open, in order of asking.
    private var waiting: [Waiting] = []
    /// Peers that are to be told of room and of which no open ping will tell.
    private var refused: [Waiting] = []
    private var timer: EventLoop.TimerID?
    /// Asks those whom doubt has left.
    private var askTimer: EventLoop.TimerID?
    private var isAskTimerSet = false
    private var askPause: Int64
    private let loop: EventLoop
    private let patience: Int64

    /// What a bus needs to keep a message, besides its bytes: of small ones it keeps more than is in them.
    package static let overhead = 256
    /// The system bus allows 128 pending replies to a connection; half of them are left for other calls.
    package static let pingLimit = 64
    /// Peers that wait for a ping; beyond it the dead are swept out.
    private static let sweepAfter = 256
    /// How many pings one peer may have open.
    private static let mostAsked = 3
    /// How soon, and how seldom in the end, those are asked whom doubt has left, in times of patience.
    private static let askPauses: ClosedRange<Int64> = 8...600
    /// How many windows' worth a peer gets besides while doubt goes on.
    private static let mostBelieved = 4

    /// - Parameters:
    ///   - patience: microseconds after which a peer that cannot be asked is believed to read.
    ///   - pings: how many may be open at a time.
    package init(on connection: Connection, patience: Int64 = 1_000_000, pings: Int = PacedSender.pingLimit) {
        self.connection = connection
        self.pings = UserShares(limit: pings, reserve: 0)
        self.loop = connection.loop
        self.patience = patience
        self.askPause = patience * Self.askPauses.lowerBound
        connection.whenInDoubt { [weak self] isOver in isOver ? self?.askOnceMore() : self?.believe() }
    }

    deinit {
        if let timer { self.loop.cancel(timer) }
        if let askTimer { self.loop.cancel(askTimer) }
    }

    package var openPings: Int { self.pings.taken }

    /// A connection that signals go to. One that was asked and has not answered is the same when it comes again: otherwise it had
    /// a place for each time, and a window.
    package func peer(_ uniqueName: String) -> Peer { self.asked[uniqueName] ?? Peer(uniqueName) }

    /// Sends a signal of about `size` bytes, or leaves it out because the peer does not read or the bus does not take it.
    ///
    /// The signal before it to the same peer, if it had the same name, makes this one cheaper.
    ///
    /// - Parameter likeness: What tells the body from others; `nil`: there are none like it. It makes those much cheaper of which
    ///   several come one behind the other.
    package func signal(
        from path: ObjectPath, _ interface: StaticString, _ member: StaticString, to peer: Peer, size: Int,
        like likeness: BodyLikeness? = nil, _ body: (inout WireWriter) -> Void
    ) -> Bool {
        // Counted as sent, what cannot be sent would wait for an answer for ever.
        guard let connection = self.connection(for: peer),
            peer.forms.prepare(path, interface, member, to: peer.name)
        else { return false }
        let verdict = peer.flow.offer(size + Self.overhead, mayPing: self.mayPing(peer))
        if verdict != .drop {
            guard let message = peer.forms.message(likeness, body) else { return false }
            connection.send(message)
        }
        return self.follow(peer, verdict)
    }

    /// Sends a signal likewise of which only libdbus knows how large it is. It is written only for who has room.
    package func signal(
        from path: ObjectPath, _ interface: StaticString, _ member: StaticString, to peer: Peer,
        _ body: (inout WireWriter) -> Void
    ) -> Bool {
        guard let connection = self.connection(for: peer), self.hasRoom(for: peer),
            let header = SignalHeader(from: path, interface, member, to: peer.name)
        else { return false }
        let message = header.take(body)
        let verdict = peer.flow.offer(message.size + Self.overhead, mayPing: self.mayPing(peer))
        if verdict != .drop { connection.send(message) }
        return self.follow(peer, verdict)
    }

    /// What a signal to a peer can be sent on now; `nil`: the bus takes nothing, or nobody is there.
    private func connection(for peer: Peer) -> Connection? {
        guard !peer.isGone else { return nil }
        guard let connection = self.connection, connection.canSend else {
            self.refuse(peer)
            return nil
        }
        if let since = peer.waitingSince { self.trust(peer, since) }
        return connection
    }

    private func hasPlace(for peer: Peer) -> Bool { self.pings.room(for: peer.user) > 0 }

    private func mayPing(_ peer: Peer) -> Bool { peer.waitingSince == nil && self.hasPlace(for: peer) }

    /// Counts bytes that went to a peer by another way, which asks `hasRoom` before it takes more.
    package func count(_ bytes: Int, to peer: Peer) {
        if let since = peer.waitingSince { self.trust(peer, since) }
        _ = self.follow(peer, peer.flow.add(bytes + Self.overhead, mayPing: self.mayPing(peer)))
    }

    /// Whether more may go to a peer. If not, who asked by `onRoom` is told.
    package func hasRoom(for peer: Peer) -> Bool {
        if peer.flow.takesMore, !peer.isGone { return true }
        self.refuse(peer)
        return false
    }

    /// Believes for now that a peer reads which has been silent for long.
    package func trust(_ peer: Peer) {
        peer.flow.trust()
        peer.isRefused = false
    }

    /// Asks a peer what is to be asked by now. Returns whether it was sent what was offered.
    private func follow(_ peer: Peer, _ verdict: FlowWindow.Verdict) -> Bool {
        if verdict == .sendAndPing {
            self.ping(peer)
        } else if peer.flow.needsPing, peer.waitingSince == nil {
            self.request(peer)
        }
        if verdict == .drop { self.refuse(peer) }
        return verdict != .drop
    }

    // MARK: Word of room

    /// Remembers that a peer is to be told of room. The answer to an open ping will tell, or else time.
    private func refuse(_ peer: Peer) {
        guard peer.isHeard, !peer.isRefused, !peer.isGone else { return }
        peer.isRefused = true
        if !peer.flow.isPingOpen { self.wait(for: peer) }
    }

    private func wait(for peer: Peer) {
        self.refused.append(Waiting(peer: peer))
        guard self.refused.count == 1 else { return }
        self.loop.set(&self.timer, after: self.patience) { [weak self] in self?.patienceEnded() }
    }

    private func patienceEnded() {
        let peers = self.refused.compactMap(\.peer)
        self.refused = []
        for peer in peers where peer.isRefused {
            if let since = peer.waitingSince { self.trust(peer, since) }
            self.look(at: peer)
        }
    }

    /// Tells a peer of room, or sees to it that there will be word of it.
    private func look(at peer: Peer) {
        guard peer.isRefused, !peer.flow.isPingOpen else { return }
        guard peer.isHeard else { return peer.isRefused = false }
        if peer.flow.needsPing, peer.waitingSince == nil { self.request(peer) }
        if peer.flow.isPingOpen { return }
        guard !peer.flow.needsPing else { return self.wait(for: peer) }
        peer.tellOfRoom()
    }

    // MARK: Pings

    /// Believes a peer that could not be asked for long enough.
    private func trust(_ peer: Peer, _ since: Int64) {
        let now = Clock.monotonic.now()
        guard now - since >= self.patience else { return }
        peer.flow.assumeRead()
        peer.waitingSince = peer.isQueued ? now : nil
    }

    /// Pings now if there is a place, and otherwise as soon as there is.
    private func request(_ peer: Peer) {
        guard !peer.isGone else { return }
        guard !self.hasPlace(for: peer) else {
            peer.flow.pingSent()
            return self.ping(peer)
        }
        peer.waitingSince = Clock.monotonic.now()
        peer.isQueued = true
        if self.waiting.count >= Self.sweepAfter { self.waiting.removeAll { $0.peer == nil } }
        self.waiting.append(Waiting(peer: peer))
    }

    private func ping(_ peer: Peer) {
        if self.connection != nil, self.pings.take(1, for: peer.user) { self.sendPing(to: peer, inShareOf: peer.user) }
    }

    private func sendPing(to peer: Peer, inShareOf user: UInt32) {
        guard let connection = self.connection else { return self.pings.giveBack(1, for: user) }
        self.asked[peer.name] = peer
        self.lastPing += 1
        let number = self.lastPing
        let target = CallTarget(peer.name, Self.anyPath, "org.freedesktop.DBus.Peer")
        let call = connection.call(target, "Ping", timeout: Connection.noTimeout, autoStart: false) {
            [weak self] result in
            self?.pingEnded(number, peer, result)
        }
        peer.pings.append(Ping(number: number, user: user, call: call))
    }

    private func pingEnded(_ number: UInt64, _ peer: Peer, _ result: consuming CallResult) {
        guard let index = peer.pings.firstIndex(where: { $0.number == number }) else { return }
        self.pings.giveBack(1, for: peer.pings.remove(at: index).user)
        // Of one that was asked once more the last answer counts.
        if index == peer.pings.endIndex {
            if self.asked[peer.name] === peer { self.asked[peer.name] = nil }
            (peer.isLeftInDoubt, peer.beliefs) = (false, 0)
            switch consume result {
            case .success:
                self.forgetPings(of: peer)
                peer.flow.pingAnswered()
                self.look(at: peer)
            case .failure(let error): self.pingFailed(peer, error)
            }
        }
        self.pingWhoWaits()
    }

    /// What a peer was asked before it has answered, as messages keep their order; or it is gone. With an answer that it drops a bus forgets the
    /// call, and never says anything of it.
    private func forgetPings(of peer: Peer) {
        for ping in peer.pings {
            self.pings.giveBack(1, for: ping.user)
            ping.call?.forget()
        }
        peer.pings = []
    }

    private var inOrder: [Peer] { self.asked.sorted { $0.key < $1.key }.map(\.value) }

    /// Asks all once more that have not answered, because their answers may have been lost: the bus tells only who gave one. Who hangs takes some
    /// more places for that, while half of what his user may have is free. Where there is none now he stays asked: he would be believed to read.
    private func askOnceMore() {
        for peer in self.inOrder {
            let isBelowHalf = self.pings.held(by: peer.user) < self.pings.share / 2
            if peer.pings.count < Self.mostAsked, isBelowHalf, self.hasPlace(for: peer) {
                peer.flow.pingFailed()
                self.request(peer)
            } else {
                peer.isLeftInDoubt = true
            }
        }
        if self.asked.values.contains(where: \.isLeftInDoubt) {
            self.askLater()
        } else {
            self.askPause = self.patience * Self.askPauses.lowerBound
        }
    }

    /// While doubt goes on answers are lost, however often one asks: who was asked, and has had most of what he may, is believed to read a few times.
    private func believe() {
        for peer in self.inOrder {
            peer.isLeftInDoubt = true
            guard peer.beliefs < Self.mostBelieved, peer.isRefused || peer.flow.unconfirmed > peer.flow.limit / 2 else {
                continue
            }
            peer.beliefs += 1
            let isRefused = peer.isRefused
            self.trust(peer)
            if isRefused { peer.tellOfRoom() }
        }
        if !self.asked.isEmpty { self.askLater() }
    }

    private func askLater() {
        guard !self.isAskTimerSet else { return }
        self.isAskTimerSet = true
        self.loop.set(&self.askTimer, after: self.askPause) { [weak self] in self?.askWhoWasLeft() }
    }

    /// Asks those whom doubt has left in the place of what they were asked first. Where that hangs, and is not lost, it has a place with the bus
    /// that is counted no more: so it is done more and more seldom.
    private func askWhoWasLeft() {
        self.isAskTimerSet = false
        self.askPause = min(2 * self.askPause, self.patience * Self.askPauses.upperBound)
        for peer in self.inOrder where peer.isLeftInDoubt {
            peer.isLeftInDoubt = false
            let oldest = peer.pings.removeFirst()
            oldest.call?.forget()
            peer.flow.pingFailed()
            peer.flow.pingSent()
            self.sendPing(to: peer, inShareOf: oldest.user)
        }
    }

    private func pingFailed(_ peer: Peer, _ error: BusError) {
        if error.isServiceMissing {
            self.forgetPings(of: peer)
            peer.flow.pingFailed()
            (peer.isGone, peer.isRefused) = (true, false)
        } else if error.name == BusError.limitsExceeded("").name {
            // The bus has no place for the ping, so the peer cannot be asked for now.
            peer.flow.pingFailed()
            peer.waitingSince = Clock.monotonic.now()
            self.look(at: peer)
        } else if [BusError.noReply("").name, BusError.disconnected("").name].contains(error.name) {
            // It left, or the bus did. Asked at once, what fails at once would be asked for ever.
            self.forgetPings(of: peer)
            peer.flow.pingFailed()
            if peer.isRefused { self.wait(for: peer) }
        } else {
            // An answer all the same; or a bus whose policy forbids us to ask, which we take for one.
            peer.flow.pingAnswered()
            self.look(at: peer)
        }
    }

    /// Pings those in line for whom there is a place now, in their order.
    private func pingWhoWaits() {
        var index = 0
        while index < self.waiting.count, self.openPings < self.pings.limit {
            if let next = self.waiting[index].peer, !self.hasPlace(for: next) {
                index += 1
                continue
            }
            guard let next = self.waiting.remove(at: index).peer else { continue }
            next.waitingSince = nil
            next.isQueued = false
            if next.flow.needsPing, !next.isGone {
                next.flow.pingSent()
                self.ping(next)
            }
        }
    }

    private static let anyPath = ObjectPath(literal: "/")
}
