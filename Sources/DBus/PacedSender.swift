import CDBus
import Glibc
import Loop
import Motion

/// Sends signals to single peers and never more than they take.
///
/// A peer that is stopped costs the bus at most `FlowWindow.limit` bytes and the other peers nothing. A ping has no time
/// limit: the bus remembers every call until it is answered or one side is gone, so another ping to a silent peer would cost another
/// place. Where the answer may have been lost the same ping is sent again, under the same serial: a bus that still has its place refuses
/// that. When all places are taken that a peer may have, by others of its user that may never answer, it still gets a window's
/// worth of bytes every `patience`, on the word that it reads.
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
        /// The ping that has a place.
        fileprivate var ping: Ping?
        /// How many bytes it was believed to have read, as its answer may be lost.
        fileprivate var believed = 0
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
        var call: SentCall?
        /// How often it was sent without anything having come of that yet.
        var asks = 1
        /// It was sent again: how many answers are to come is known only when nothing is on its way.
        var isRepeated = false
    }

    private weak var connection: Connection?
    /// Who has how many pings open.
    private var pings: UserShares
    private var lastPing: UInt64 = 0
    /// Those whose ping has a place, by name.
    private var asked: [String: Peer] = [:]
    /// Peers for which a ping is due and too many were open, in order of asking.
    private var waiting: [Waiting] = []
    /// Peers that are to be told of room and of which no open ping will tell.
    private var refused: [Waiting] = []
    private var timer: EventLoop.TimerID?
    /// Asks again those that were asked more than once.
    private var askTimer: EventLoop.TimerID?
    private var isAskTimerSet = false
    private var askPause: Int64
    /// Until then answers may be lost, however often one asks.
    private var doubtEnds: Int64 = 0
    private let mostBelieved: Int
    private let loop: EventLoop
    private let patience: Int64

    /// What a bus needs to keep a message, besides its bytes: of small ones it keeps more than is in them.
    package static let overhead = 256
    /// The system bus allows 128 pending replies to a connection; half of them are left for other calls.
    package static let pingLimit = 64
    /// Peers that wait for a ping; beyond it the dead are swept out.
    private static let sweepAfter = 256
    /// How soon, and how seldom in the end, those are asked again that were asked more than once, in times of patience.
    private static let askPauses: ClosedRange<Int64> = 8...600
    /// How long doubt goes on that is not said to be over, in µs: it is told each two seconds.
    private static let doubtLasts = 2 * Intake.pause + 1_000_000
    /// How many bytes a peer gets besides while doubt goes on: at 50 Hz, samples for five minutes.
    package static let mostBelieved = 8 << 20

    /// - Parameters:
    ///   - patience: microseconds after which a peer that cannot be asked is believed to read.
    ///   - pings: how many may be open at a time.
    ///   - mostBelieved: bytes that a peer gets besides while its answers may be lost.
    package init(
        on connection: Connection, patience: Int64 = 1_000_000, pings: Int = PacedSender.pingLimit,
        mostBelieved: Int = PacedSender.mostBelieved
    ) {
        self.connection = connection
        self.pings = UserShares(limit: pings, reserve: 0)
        self.loop = connection.loop
        self.patience = patience
        self.askPause = patience * Self.askPauses.lowerBound
        self.mostBelieved = mostBelieved
        connection.whenInDoubt { [weak self] isOver in self?.doubted(isOver: isOver) }
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
        if self.doubtEnds != 0, !peer.isRefused { self.believe(peer) }
        return connection
    }

    private func hasPlace(for peer: Peer) -> Bool { peer.ping != nil || self.pings.room(for: peer.user) > 0 }

    private func mayPing(_ peer: Peer) -> Bool { peer.waitingSince == nil && self.hasPlace(for: peer) }

    /// Counts bytes that went to a peer by another way, which asks `hasRoom` before it takes more.
    package func count(_ bytes: Int, to peer: Peer) {
        if let since = peer.waitingSince { self.trust(peer, since) }
        if self.doubtEnds != 0, !peer.isRefused { self.believe(peer) }
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
        if peer.ping != nil {
            self.pingAgain(peer)
        } else if self.connection != nil, self.pings.take(1, for: peer.user) {
            self.sendPing(to: peer)
        }
    }

    private static func target(of peer: Peer) -> CallTarget {
        CallTarget(peer.name, Self.anyPath, "org.freedesktop.DBus.Peer")
    }

    private func sendPing(to peer: Peer) {
        self.asked[peer.name] = peer
        self.lastPing += 1
        let number = self.lastPing
        peer.ping = Ping(number: number, user: peer.user)
        let call = self.connection?.callAndKeep(Self.target(of: peer), "Ping") { [weak self] result in
            self?.pingEnded(number, peer, result)
        }
        peer.ping?.call = call
    }

    private func pingAgain(_ peer: Peer) {
        guard let call = peer.ping?.call else { return }
        peer.ping?.asks += 1
        peer.ping?.isRepeated = true
        self.connection?.callAgain(call, Self.target(of: peer), "Ping")
    }

    private func pingEnded(_ number: UInt64, _ peer: Peer, _ result: consuming CallResult) {
        guard let ping = peer.ping, ping.number == number else { return }
        switch consume result {
        case .success: self.pingAnswered(peer)
        case .failure(let error):
            // The bus did not hand it on again: it waits for the answer to what it handed on before, or has no room there for now.
            guard !ping.isRepeated || !(error.isDenied || error.isOverLimit) else {
                peer.ping?.asks = max(1, ping.asks - 1)
                return
            }
            self.pingFailed(peer, error)
        }
        self.pingWhoWaits()
    }

    /// It keeps its place while another answer may come: who holds one back has it until he gives that, or leaves.
    private func pingAnswered(_ peer: Peer) {
        peer.ping?.asks -= 1
        if let ping = peer.ping, ping.asks > 0 { self.askLater() } else { self.forgetPing(of: peer) }
        peer.believed = 0
        peer.flow.pingAnswered()
        self.look(at: peer)
    }

    private func forgetPing(of peer: Peer) {
        guard let ping = peer.ping else { return }
        peer.ping = nil
        self.pings.giveBack(1, for: ping.user)
        ping.call?.finish()
        if self.asked[peer.name] === peer { self.asked[peer.name] = nil }
    }

    private var inOrder: [Peer] { self.asked.sorted { $0.key < $1.key }.map(\.value) }

    // MARK: Doubt

    /// Asks all once more that have not answered, because their answers may have been lost: the bus tells only who gave one. While doubt goes on
    /// those are lost, too, however often one asks: who was asked is believed to read, up to a bound.
    private func doubted(isOver: Bool) {
        self.doubtEnds = isOver ? 0 : Clock.monotonic.now() + Self.doubtLasts
        if !self.isAskTimerSet { self.askPause = self.patience * Self.askPauses.lowerBound }
        for peer in self.inOrder where peer.flow.isPingOpen {
            self.pingAgain(peer)
            guard !isOver else { continue }
            let isRefused = peer.isRefused
            self.believe(peer)
            if isRefused, !peer.isRefused { peer.tellOfRoom() }
        }
        if !self.asked.isEmpty { self.askLater() }
    }

    /// Believes who has had most of what he may. An answer begins that anew. Who was refused is to be told of it by whoever calls this.
    private func believe(_ peer: Peer) {
        guard peer.flow.isPingOpen, peer.isRefused || peer.flow.unconfirmed > peer.flow.limit / 2,
            peer.believed < self.mostBelieved, Clock.monotonic.now() < self.doubtEnds
        else { return }
        peer.believed += peer.flow.unconfirmed
        self.trust(peer)
    }

    private func askLater() {
        guard !self.isAskTimerSet else { return }
        self.isAskTimerSet = true
        self.loop.set(&self.askTimer, after: self.askPause) { [weak self] in self?.askWhoWasAskedAgain() }
    }

    /// Asks those of whom it is not known how many answers are to come, or whether they are still there. By now all has come that was on its way:
    /// if somebody holds an answer back, the bus says that it waits for it, and otherwise the next answer is the last.
    private func askWhoWasAskedAgain() {
        self.isAskTimerSet = false
        self.askPause = min(2 * self.askPause, self.patience * Self.askPauses.upperBound)
        for peer in self.inOrder where peer.ping?.isRepeated == true {
            if !peer.flow.isPingOpen { peer.ping?.asks = 0 }
            self.pingAgain(peer)
            self.askLater()
        }
    }

    private func pingFailed(_ peer: Peer, _ error: BusError) {
        if error.isServiceMissing {
            self.forgetPing(of: peer)
            peer.flow.pingFailed()
            (peer.isGone, peer.isRefused) = (true, false)
        } else if error.isOverLimit {
            // The bus has no place for the ping, so the peer cannot be asked for now.
            self.forgetPing(of: peer)
            peer.flow.pingFailed()
            peer.waitingSince = Clock.monotonic.now()
            self.look(at: peer)
        } else if [BusError.noReply("").name, BusError.disconnected("").name].contains(error.name) {
            // It left, or the bus did. Asked at once, what fails at once would be asked for ever.
            self.forgetPing(of: peer)
            peer.flow.pingFailed()
            if peer.isRefused { self.wait(for: peer) }
        } else {
            // An answer all the same; or a bus whose policy forbids us to ask, which we take for one.
            self.pingAnswered(peer)
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
