import FleetCore
import Motion
import Randomness

/// A device, a bridge, a server and a consumer, played from a seed: what happens to them is chance, and what must hold is checked.
struct BridgeLife {
    private static let app = "org.jostle.Bridge"
    private var random: SeededRandom
    private let waitsForConsumer: Bool
    private let isPersistent: Bool

    // The device. Rows below `committed` can be read.
    private var rows: [JournalRow?] = []
    /// What was sent to the bridge and has not come.
    private var bus: [EventMessage] = []
    private var committed = 0
    /// Rows up to this one the journal has no more, and those of which the server knows that.
    private var gone = 0
    private var toldGone: Set<Int64> = []
    /// Since when rows wait to be written: a broker takes half a second at most.
    private var waiting: Timestamp?
    private var epoch: UInt64 = 100
    private var sequence: UInt64 = 0
    private var now = Timestamp(microseconds: 1_000_000)

    // The bridge, and what is on its disk.
    private var courier: Courier
    private var disk: BridgeState
    private var memory: BridgeState
    private var isConnected = false
    private var isGreeting = false

    // The server.
    private struct Message {
        var ticket: Courier.Ticket
        var outgoing: Outgoing
    }
    /// On the wire to it, and the acknowledgements on their way back.
    private var wire: [Message] = []
    private var answers: [Courier.Ticket] = []
    /// Those of them that the server did not take.
    private var refused: Set<Courier.Ticket> = []
    /// What it keeps for a consumer, and until when.
    private struct Kept {
        var outgoing: Outgoing
        var until: Timestamp?
    }
    private struct Server {
        var queue: [Kept] = []
        var mark: PositionMessage?
    }
    private var server = Server()
    private var snapshot = Server()
    private var inFlight = 0
    private static let receiveMaximum = 7
    private static let expiry = 5.0

    // The consumer, which keeps what it got.
    private var stored: [EventName] = []
    private var known: Set<EventName> = []
    private var duplicates = 0
    private var lastOn: [String: (row: Int64, session: Int)] = [:]
    private var session = 0
    private var isSettling = false
    /// What the server has had once.
    private var had: Set<EventName> = []
    private(set) var problems: [String] = []
    private(set) var wasAgain = 0

    init(seed: UInt64, waitsForConsumer: Bool, isPersistent: Bool) {
        self.random = SeededRandom(seed: seed)
        self.waitsForConsumer = waitsForConsumer
        self.isPersistent = isPersistent
        let table = BridgeState.Table(ledger: RowLedger(cursor: 0), sentThrough: 0)
        self.disk = BridgeState(
            stream: "s", epoch: 0, last: nil, events: table, verdicts: table, isMarked: false)
        self.memory = self.disk
        self.courier = Self.courier(self.disk, waitsForConsumer)
    }

    private static func courier(_ state: BridgeState, _ waitsForConsumer: Bool) -> Courier {
        Courier(
            Courier.Settings(
                topics: FleetTopics(device: "d"), app: self.app, window: 16, expiry: UInt32(self.expiry),
                waitsForConsumer: waitsForConsumer), from: state)
    }

    mutating func play(steps: Int) -> [String] {
        for _ in 0..<steps where self.problems.isEmpty { self.step() }
        self.settle()
        return self.problems
    }

    private mutating func step() {
        self.now = self.now + TimeSpan(microseconds: Int64.random(in: 0...200_000, using: &self.random))
        if let waiting, self.now - waiting > .milliseconds(600) { self.commit() }
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<30: self.move()
        case 30..<42: self.commit()
        case 42..<45: self.hear(Int.random(in: 1...3, using: &self.random))
        case 45..<62: self.pump()
        case 62..<74: self.serve(Int.random(in: 1...6, using: &self.random))
        case 74..<82: self.answer()
        case 82..<89: self.consume(Int.random(in: 1...8, using: &self.random))
        case 89..<92: self.connect()
        case 92..<94: self.part()
        case 94..<95: self.killBridge()
        case 95..<96: self.killServer()
        case 96..<97: self.snapshot = self.server
        case 97..<98: self.keep()
        case 98..<99: if self.random.chance(0.3) { self.trim() }
        default: self.mark()
        }
    }

    // MARK: The device

    private mutating func move() {
        self.epoch += 1
        self.waiting = self.waiting ?? self.now
        let row = Int64(self.rows.count + 1)
        let kind = Int.random(in: 0..<4, using: &self.random)
        // Of nobody who is told of.
        guard kind > 0 else { return self.rows.append(nil) }
        let isOwn = kind > 1
        if isOwn { self.sequence += 1 }
        let event = EventMessage(
            name: EventName(
                app: isOwn ? Self.app : "other", epoch: self.epoch, sequence: isOwn ? self.sequence : self.epoch),
            detector: "d", peak: 1, time: self.now.microseconds, wall: row, generation: 1, isSimulated: false)
        self.rows.append(JournalRow(row: row, .event(event)))
        guard isOwn else { return }
        self.bus.append(event)
        // On a busy machine the bus is behind the journal at times.
        if self.random.chance(0.7) { self.hear(.max) }
    }

    /// The bus brings what it has.
    private mutating func hear(_ count: Int) {
        let count = min(count, self.bus.count)
        for event in self.bus.prefix(count) { self.courier.arrived(event, at: self.now) }
        self.bus.removeFirst(count)
    }

    private mutating func commit() {
        self.committed = self.rows.count
        self.waiting = nil
        self.courier.grew(newestEvent: Int64(self.committed), newestVerdict: 0)
    }

    /// The journal is bounded: its oldest rows go.
    private mutating func trim() {
        self.gone = Int.random(in: self.gone...max(self.gone, self.committed - 5), using: &self.random)
    }

    // MARK: The bridge

    private mutating func pump() {
        // What could not be read is tried again by then.
        _ = self.courier.retry(at: Timestamp(microseconds: .max))
        while let request = self.courier.nextRead() {
            guard request.table == .event else {
                self.problems.append("a read of verdicts, of which there are none")
                return
            }
            if self.random.chance(0.02) { return self.courier.readFailed(.event, at: self.now) }
            let last = min(request.last, Int64(self.committed))
            var found: [JournalRow] = []
            let gap = min(Int64(self.gone), last)
            let gaps = gap >= request.first ? [request.first...gap] : []
            var through = max(request.first - 1, gap)
            while through < last, found.count < request.limit {
                through += 1
                if let row = self.rows[Int(through) - 1] { found.append(row) }
            }
            self.courier.take(JournalStretch(rows: found, through: through, gaps: gaps), for: request)
        }
        if let through = self.courier.events.reservation(beyond: self.memory.events.sentThrough) {
            self.memory.events.sentThrough = through
            self.keep()
        }
        while let (ticket, message) = self.courier.nextSend(at: self.now) {
            self.wire.append(Message(ticket: ticket, outgoing: message))
            self.checkAge(message)
            self.inFlight += 1
            if self.inFlight > Self.receiveMaximum { self.problems.append("beyond what the server takes") }
        }
    }

    /// What is live is of use for as long as it says, and no longer.
    private mutating func checkAge(_ message: Outgoing) {
        guard let expiry = message.expiry, let time = message.value?["time_us"]?.integer else { return }
        let left = Self.expiry - Double(self.now.microseconds - time) / 1_000_000
        if left <= 0 || Double(expiry) < left || Double(expiry) - left >= 1 {
            self.problems.append("it says \(expiry) s where \(left) s are left")
        }
    }

    private mutating func keep() {
        self.memory.events = self.courier.events.state(self.memory.events.sentThrough)
        guard let state = BridgeState(bytes: self.memory.bytes), state == self.memory else {
            return self.problems.append("what is kept is not read back: \(self.memory)")
        }
        self.disk = state
    }

    private mutating func mark() {
        guard self.isConnected, !self.isGreeting else { return }
        self.courier.say(Outgoing("mark", self.courier.position.value, isRetained: true))
        self.memory.isMarked = true
    }

    private mutating func connect() {
        guard !self.isConnected else { return self.greet() }
        self.isConnected = true
        self.isGreeting = true
        self.session += 1
        (self.wire, self.answers, self.inFlight) = ([], [], 0)
        let written = Set(self.rows[..<self.committed].compactMap { $0.flatMap { self.name(of: $0) } })
        // At times the journal cannot be read just then.
        let isReadable = self.isSettling || self.random.chance(0.8)
        self.courier.connected(
            at: self.now, receiveMaximum: Self.receiveMaximum, newestEvent: isReadable ? Int64(self.committed) : nil,
            newestVerdict: isReadable ? 0 : nil
        ) { isReadable && written.contains($0) }
        // Where no mark was left there is nothing to wait for.
        if !self.memory.isMarked || self.random.chance(0.5) { self.greet() }
    }

    private func name(of row: JournalRow) -> EventName? {
        if case .event(let event) = row.content { event.name } else { nil }
    }

    /// The server says how far it remembers.
    private mutating func greet() {
        guard self.isGreeting else { return }
        self.isGreeting = false
        guard self.memory.isMarked else {
            self.courier.hasFoundOut()
            self.mark()
            return self.keep()
        }
        // One that remembers nothing gets all of the last minutes, which are all there are.
        let none = RowLedger(cursor: 0)
        self.courier.remembers(events: self.server.mark?.events ?? none, verdicts: none)
    }

    private mutating func part() {
        guard self.isConnected else { return }
        self.isConnected = false
        // Some of what is on the wire comes, and is not answered.
        self.serve(Int.random(in: 0...self.wire.count, using: &self.random))
        (self.wire, self.answers, self.inFlight) = ([], [], 0)
        self.courier.disconnected(at: self.now)
    }

    private mutating func killBridge() {
        if self.isConnected {
            self.isConnected = false
            self.serve(Int.random(in: 0...self.wire.count, using: &self.random))
        }
        (self.wire, self.answers, self.inFlight) = ([], [], 0)
        self.refused = []
        self.memory = self.disk
        self.courier = Self.courier(self.disk, self.waitsForConsumer)
        // A broker gives a new registration its numbers anew; the epoch tells.
        self.sequence = 0
        self.bus = []
        // While nobody is there, nobody is registered; what was begun is written down.
        self.commit()
    }

    // MARK: The server

    private mutating func serve(_ count: Int) {
        for _ in 0..<min(count, self.wire.count) {
            let message = self.wire.removeFirst()
            if message.outgoing.topic == "mark" {
                self.server.mark = message.outgoing.value.flatMap { PositionMessage($0) }
            } else if !self.isSettling, self.random.chance(0.05) {
                self.refused.insert(message.ticket)
            } else {
                self.receive(message.outgoing)
                // Who says what it has stored may be away for longer than what is live is kept.
                let expiry = self.waitsForConsumer ? message.outgoing.expiry : nil
                self.server.queue.append(
                    Kept(outgoing: message.outgoing, until: expiry.map { self.now + .seconds(Int64($0)) }))
            }
            self.answers.append(message.ticket)
        }
    }

    /// Each copy of what was there says that it is one; each topic is in order, but for copies.
    private mutating func receive(_ outgoing: Outgoing) {
        guard !outgoing.topic.hasSuffix("/gap") else { return self.receive(gap: outgoing) }
        guard let value = outgoing.value, let name = AcknowledgementMessage(value)?.name,
            let row = value["wall_us"]?.integer
        else { return self.problems.append("no event: \(outgoing)") }
        let isAgain = outgoing.properties.contains { $0.name == "again" }
        if isAgain { self.wasAgain += 1 }
        if !self.had.insert(name).inserted {
            self.duplicates += 1
            if !isAgain { self.problems.append("a copy that does not say so: row \(row) on \(outgoing.topic)") }
        }
        let isPast = outgoing.properties.contains { $0.name == "past" }
        if isPast != outgoing.topic.contains("/past/") { self.problems.append("past on \(outgoing.topic)") }
        if let last = self.lastOn[outgoing.topic], last.row >= row, last.session == self.session || !isPast, !isAgain {
            self.problems.append("row \(row) comes behind \(last.row) on \(outgoing.topic)")
        }
        self.lastOn[outgoing.topic] = (row, self.session)
    }

    private mutating func receive(gap outgoing: Outgoing) {
        guard let first = outgoing.value?["first"]?.integer, let last = outgoing.value?["last"]?.integer,
            first > 0, first <= last, last <= Int64(self.gone)
        else { return self.problems.append("no gap: \(outgoing)") }
        self.toldGone.formUnion(first...last)
    }

    private mutating func answer() {
        let count = Int.random(in: 0...self.answers.count, using: &self.random)
        for ticket in self.answers.prefix(count) {
            if self.refused.contains(ticket) {
                self.courier.refused(ticket, at: self.now, chance: UInt64.random(in: 0 ... .max, using: &self.random))
            } else {
                self.courier.acknowledged(ticket)
            }
            self.inFlight -= 1
        }
        self.answers.removeFirst(count)
    }

    private mutating func killServer() {
        self.part()
        self.server = self.isPersistent ? self.snapshot : Server()
        self.snapshot = self.isPersistent ? self.snapshot : Server()
    }

    // MARK: The consumer

    private mutating func consume(_ count: Int) {
        let count = min(count, self.server.queue.count)
        for kept in self.server.queue.prefix(count) {
            guard let name = self.name(in: kept) else { continue }
            if self.known.insert(name).inserted { self.stored.append(name) }
            if self.waitsForConsumer, self.isConnected, self.random.chance(0.3) {
                self.courier.stored(name, at: self.now)
            }
        }
        self.server.queue.removeFirst(count)
    }

    /// The event that the consumer gets; `nil`: it is none, or the server has thrown it away.
    private func name(in kept: Kept) -> EventName? {
        if let until = kept.until, until <= self.now { return nil }
        return kept.outgoing.value.flatMap { AcknowledgementMessage($0) }?.name
    }

    // MARK: The end

    /// All are well from here on: what is there comes through, and nothing is left.
    private mutating func settle() {
        guard self.problems.isEmpty else { return }
        self.isSettling = true
        self.hear(.max)
        self.commit()
        self.part()
        self.connect()
        self.greet()
        for _ in 0..<20_000 {
            self.now = self.now + .milliseconds(500)
            self.pump()
            self.serve(.max)
            for ticket in self.answers {
                self.courier.acknowledged(ticket)
                self.inFlight -= 1
            }
            self.answers = []
            while let kept = self.server.queue.first {
                self.server.queue.removeFirst()
                guard let name = self.name(in: kept) else { continue }
                self.known.insert(name)
                if self.waitsForConsumer { self.courier.stored(name, at: self.now) }
            }
            if self.courier.isIdle { break }
        }
        if !self.courier.isIdle { self.problems.append("it does not come to rest") }
        for case .some(let row) in self.rows {
            guard case .event(let event) = row.content, !self.known.contains(event.name),
                !self.toldGone.contains(row.row)
            else { continue }
            self.problems.append("row \(row.row) is lost")
            break
        }
        let cursor = self.courier.events.ledger.cursor
        if cursor != Int64(self.rows.count) { self.problems.append("the cursor is at \(cursor) of \(self.rows.count)") }
    }
}
