import DBus
import DaemonSupport
import FleetCore
import Journal
import Loop
import MQTT
import Motion
import Protocol

/// Owns what a bridge is made of, and carries between the bus, the journal and the server what the courier decides.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class BridgeService {
    private let configuration: BridgeConfiguration
    private let topics: FleetTopics
    private let loop: EventLoop
    private let log: Log
    private let app: BrokerApp
    private let journal: JournalLink
    private let server: ServerLink
    private let filter: JournalFilter
    private var memory: Memory
    private var courier: Courier
    /// Which message is which, by the library's numbers.
    private var tickets: [Int32: Courier.Ticket] = [:]
    private var greeting: Greeting?
    private var pumping = Pumping()
    private let links: Links
    private var online: Int64 = 0
    /// A connection was made, or a journal opened, since memory was given back.
    private var owesMemory = false

    /// How long a server may take to say what it remembers, in µs.
    private static let markPatience: Int64 = 3_000_000
    /// How long a mark may be behind, in µs and in rows.
    private static let markPause: Int64 = 5_000_000
    private static let markRows: Int64 = 1_024
    /// How long what is kept on the disk may be behind.
    private static let keepPause: Int64 = 1_000_000

    /// What is told of states, and what comes from outside.
    private struct Links {
        let states: StateLinks
        let down: DownLinks
    }

    /// What is not known yet of a server that has just taken us.
    private struct Greeting {
        var position: Int32?
        var timer: EventLoop.TimerID?
    }

    /// When we look next for what is to be read and sent.
    private struct Pumping {
        var isDue = false
        /// For what waits for a time.
        var timer: EventLoop.TimerID?
    }

    /// What was known of the journal when we began.
    private enum Origin {
        /// There was no bridge before.
        case new
        /// There was one, and nobody knows how far it came.
        case lost
        /// It is known how far it came at least.
        case stale
        case known
    }

    /// What is kept of how far we came, and what of it is on the disk.
    private struct Memory {
        var file: StateFile
        var state: BridgeState
        /// Known, too, once the place in a journal was found.
        var origin: Origin
        /// There was a journal when we began.
        var hadJournal: Bool
        var marked: PositionMessage?
        var timer: EventLoop.TimerID?
        var markTimer: EventLoop.TimerID?
        /// It is known where to go on in the journal that is open, or was last.
        var isPlaced = false
        /// The server of this connection was asked how far it remembers, or need not be.
        var hasAsked = false
    }

    init(_ configuration: BridgeConfiguration, _ places: BridgePlaces, _ daemon: Daemon) throws {
        let topics = FleetTopics(device: configuration.device ?? places.device)
        let file = try StateFile(in: places.state, log: daemon.log)
        let (origin, state) = try Self.origin(of: file.read())
        self.configuration = configuration
        self.topics = topics
        self.loop = daemon.loop
        self.log = daemon.log
        self.app = BrokerApp(configuration.detectors, on: daemon.bus, daemon.loop, log: daemon.log)
        self.journal = JournalLink(places.journal, on: daemon.loop, log: daemon.log)
        self.server = ServerLink(on: daemon.loop, log: daemon.log) {
            try ServerSettings.make(configuration, places, topics)
        }
        self.filter = JournalFilter(publish: configuration.publish, hasDetectors: !configuration.detectors.isEmpty)
        self.links = Links(
            states: StateLinks(configuration.publish, topics, in: places.state, on: daemon),
            down: try DownLinks(configuration, places, topics, daemon, self.server))
        self.memory = Memory(file: file, state: state, origin: origin, hadJournal: places.hasJournal)
        self.courier = Courier(
            Courier.Settings(
                topics: topics, app: BrokerApp.name, window: configuration.window,
                expiry: UInt32(clamping: configuration.expiry.microseconds / 1_000_000),
                waitsForConsumer: configuration.acknowledge != nil), from: state)
    }

    private static func origin(of kept: StateFile.Kept) -> (Origin, BridgeState) {
        switch kept {
        case .nothing: (.new, Self.freshState())
        case .unusable: (.lost, Self.freshState())
        case .stale(let state): (.stale, state)
        case .state(let state): (.known, state)
        }
    }

    /// Rows of a journal are told apart from those of another by when we began with it.
    private static func freshState() -> BridgeState {
        BridgeState(
            stream: String(Clock.wallClock(), radix: 36), epoch: 0, last: nil,
            events: BridgeState.Table(ledger: RowLedger(cursor: 0), sentThrough: 0),
            verdicts: BridgeState.Table(ledger: RowLedger(cursor: 0), sentThrough: 0), isMarked: false)
    }

    func start() {
        self.app.onEvent = { [unowned self] in self.heard($0) }
        self.app.onBroker = { [unowned self] isThere in
            if isThere { self.journal.look() }
            self.links.down.brokerChanged(self.app.broker)
        }
        self.links.down.onDetectors = { [unowned self] in self.app.change($0) }
        self.journal.onChange = { [unowned self] in
            self.links.states.decided()
            self.journalGrew()
        }
        self.links.states.onSensors = { [unowned self] in self.links.down.sensors($0) }
        self.journal.onOpen = { [unowned self] in
            // It may have grown before it could be opened.
            self.links.states.decided()
            self.journalOpened()
        }
        self.server.onEvent = { [unowned self] in self.heard($0) }
        self.links.states.onMessage = { [unowned self] message in
            self.courier.say(message)
            self.pumpSoon()
        }
        self.links.states.counters = { [unowned self] in (self.courier.counters, self.courier.events.waiting) }
        self.noteBeginning()
        self.journal.start()
        self.links.down.start()
        self.server.start()
    }

    /// Before there is a journal the bus brings what will stand in it: whoever is killed then is to find it there, sent or not.
    private func noteBeginning() {
        guard self.memory.origin == .new, !self.memory.hadJournal else { return }
        self.memory.state.events.sentThrough = JournalTrack.reserve
        self.memory.file.write(self.memory.state)
    }

    func busCame() { self.app.busCame() }
    func busLeft() { self.app.busLeft() }

    func stop() {
        if self.server.isConnected {
            // One that waits for its turn is not sent any more.
            self.memory.marked = nil
            if let mark = self.nextMark() { self.publish(mark) }
            self.publish(self.presence(isOnline: false))
        }
        self.server.stop()
        self.links.states.stop()
        if self.memory.isPlaced { self.keep(isEnd: true) }
    }

    // MARK: The journal

    /// Finds the place in a journal again, or that it is another one. It is tried again when the journal cannot be read now.
    private func journalOpened() {
        self.memory.isPlaced = false
        guard let newest = self.newestRows(), let isAnew = self.findPlace(newest) else { return self.journalFailed() }
        if isAnew {
            // Nothing of before holds, whether or not it can be read now what stands here.
            self.memory.state.events = self.courier.events.state(self.memory.state.events.sentThrough)
            self.memory.state.verdicts = self.courier.verdicts.state(self.memory.state.verdicts.sentThrough)
        }
        // What was sent by now came from the bus, and its rows were not known.
        if self.courier.counters.sent > 0 { self.memory.state.sentSoon(behind: newest.event) }
        self.memory.isPlaced = true
        self.memory.origin = .known
        self.keep()
        // Who goes on where it was has asked the server, and would only send again what that has.
        if self.server.isConnected, isAnew || !self.memory.hasAsked { self.begin() }
        self.journalGrew()
        self.owesMemory = true
        self.settle()
    }

    /// Has the courier begin where it is to go on; false when it goes on where it was, `nil` when that cannot be found out now.
    private func findPlace(_ newest: (event: Int64, verdict: Int64)) -> Bool? {
        let (state, unknown) = (self.memory.state, self.memory.origin == .stale ? newest : nil)
        switch self.memory.origin {
        case .new:
            // What was before the first life of a bridge nobody waits for; a journal that began later is all of that life.
            let isOlder = self.memory.hadJournal
            self.courier.begin(
                state.stream, events: isOlder ? newest.event : 0, verdicts: isOlder ? newest.verdict : 0)
        case .lost:
            guard let rows = self.rowsToResend() else { return nil }
            self.log.notice("how far we came is not known; what was sent in the last minutes is sent again")
            self.courier.begin(state.stream, events: rows.event, verdicts: rows.verdict, unknownThrough: newest)
        case .known, .stale:
            guard let isSame = self.isSameJournal(newest) else { return nil }
            if let unknown { self.courier.mayHaveSent(through: unknown) }
            if isSame { return false }
            guard
                let rows = self.journal.ask({ feed throws(JournalFailure) in try feed.rows(before: state.epoch + 1) })
            else { return nil }
            self.log.warning("the journal is another one than it was: what it had and was not sent is lost")
            let stream = Self.freshState().stream
            self.courier.begin(stream, events: rows.event, verdicts: rows.verdict, unknownThrough: unknown)
            (self.memory.state.stream, self.memory.state.isMarked) = (stream, false)
            (self.memory.state.last, self.memory.state.lastVerdict) = (nil, nil)
        }
        return true
    }

    /// The row at the cursor tells: in another journal something else stands there, or nothing. `nil`: it cannot be read now.
    private func isSameJournal(_ newest: (event: Int64, verdict: Int64)) -> Bool? {
        guard !self.courier.hasSeen(moreThanEvent: newest.event, verdict: newest.verdict) else { return false }
        let state = self.memory.state
        for (table, kept, last) in [
            (JournalTable.event, state.events, state.last), (.verdict, state.verdicts, state.lastVerdict),
        ] {
            guard kept.ledger.cursor > 0, let last else { continue }
            guard let names = self.names(in: kept.ledger.cursor, of: table) else { return nil }
            if let name = names.first, name != last { return false }
        }
        return true
    }

    /// What stands in a row of the journal; `nil`: it cannot be read now.
    private func names(in row: Int64, of table: JournalTable) -> [EventName]? {
        self.journal.ask { feed throws(JournalFailure) in
            switch table {
            case .event:
                try feed.events(row...row, limit: 1).map {
                    EventName(app: $0.app, epoch: $0.epoch, sequence: $0.sequence)
                }
            case .verdict:
                try feed.judgements(row...row, limit: 1).map { EventName(app: $0.app, epoch: $0.epoch, sequence: 0) }
            }
        }
    }

    private func journalGrew() {
        guard self.journal.isOpen else { return }
        guard self.memory.isPlaced else { return self.journalOpened() }
        guard self.server.isConnected else { return }
        guard let newest = self.newestRows() else { return self.journalFailed() }
        // Where rows count anew those that were done before are no more.
        guard !self.courier.hasSeen(moreThanEvent: newest.event, verdict: newest.verdict) else {
            return self.journalOpened()
        }
        self.courier.grew(newestEvent: newest.event, newestVerdict: newest.verdict)
        self.pumpSoon()
    }

    private func journalFailed() {
        self.courier.readFailed(at: self.now)
        self.pumpSoon()
    }

    private func newestRows() -> (event: Int64, verdict: Int64)? {
        self.journal.ask { feed throws(JournalFailure) in try feed.newest() }
    }

    /// The last rows that are too old to be sent again to whoever may not have them.
    private func rowsToResend() -> (event: Int64, verdict: Int64)? {
        let since = Clock.wallClock() - self.configuration.resend.microseconds
        return self.journal.ask { feed throws(JournalFailure) in try feed.rows(olderThan: since) }
    }

    // MARK: The broker

    private func heard(_ event: EventCodec.Body) {
        self.links.down.happened(event.detector)
        self.courier.arrived(
            EventMessage(
                name: EventName(app: BrokerApp.name, epoch: event.epoch, sequence: event.sequence),
                detector: event.detector, peak: event.peak, time: event.time.microseconds, wall: Clock.wallClock(),
                generation: event.generation, isSimulated: event.isSimulated), at: self.now)
        self.pumpSoon()
    }

    // MARK: The server

    private func heard(_ event: ServerLink.Event) {
        switch event {
        case .connected(let welcome): self.welcomed(welcome)
        case .disconnected: self.parted()
        case .acknowledged(let number, let reason):
            if reason >= 128 { self.log.warning("the server refuses a message: \(MQTTProblem.reason(reason))") }
            if self.links.down.take(answer: number, isTaken: reason < 128) { return }
            guard let ticket = self.tickets.removeValue(forKey: number) else { return }
            if MQTTProblem.isForNow(reason) {
                self.courier.refused(ticket, at: self.now, chance: UInt64.random(in: 0 ... .max))
            } else {
                self.courier.acknowledged(ticket, isHeard: !MQTTProblem.isForNobody(reason))
            }
            self.progressed()
            self.settle()
            self.pumpSoon()
        case .subscribed(let number):
            guard self.greeting?.position == number else { return }
            // What it remembers follows at once, or there is nothing.
            self.waitForMark()
        case .arrived(let publication): self.arrived(publication)
        }
    }

    private func welcomed(_ welcome: Welcome) {
        self.online = Clock.wallClock()
        self.owesMemory = true
        self.tickets = [:]
        let newest = self.newestRows()
        self.courier.connected(
            at: self.now, receiveMaximum: Int(welcome.receiveMaximum), newestEvent: newest?.event,
            newestVerdict: newest?.verdict
        ) { name in
            guard let newest else { return false }
            return self.journal.ask { feed throws(JournalFailure) in
                try feed.has(name.app, epoch: name.epoch, sequence: name.sequence, upTo: newest.event)
            } ?? false
        }
        self.courier.say(self.presence(isOnline: true))
        if self.isTelling || self.configuration.allow.isAnything { self.courier.say(self.birth) }
        self.links.states.tellAll()
        self.links.down.connected()
        if let consumer = self.configuration.acknowledge {
            self.server.subscribe(to: self.topics.acknowledgement(of: consumer))
        }
        if self.memory.isPlaced { self.begin() }
        // It may be another one by now, or not have been readable when it was opened.
        self.journalGrew()
        self.pumpSoon()
    }

    /// Asks the server how far it remembers, if it has something to remember.
    private func begin() {
        self.endGreeting()
        self.memory.hasAsked = true
        guard self.isTelling, self.memory.state.isMarked else {
            self.courier.hasFoundOut()
            // From now on it can be seen what it forgets.
            self.mark()
            return self.keep()
        }
        self.greeting = Greeting(position: self.server.subscribe(to: self.topics.position))
    }

    private func endGreeting() {
        if let timer = self.greeting?.timer { self.loop.cancel(timer) }
        self.greeting = nil
    }

    private func waitForMark() {
        if let timer = self.greeting?.timer { self.loop.cancel(timer) }
        self.greeting?.timer = self.loop.schedule(after: Self.markPatience) { [unowned self] in self.forgotAll() }
    }

    private func parted() {
        self.endGreeting()
        self.tickets = [:]
        // What the server has of it is to be seen.
        (self.memory.marked, self.memory.hasAsked) = (nil, false)
        self.links.down.disconnected()
        self.courier.disconnected(at: self.now)
        if self.memory.isPlaced { self.keep() }
    }

    private func arrived(_ publication: Publication) {
        if self.links.down.take(publication) { return }
        let value = publication.value
        guard let value else { return self.log.info("\(printable(publication.topic)): what came cannot be read") }
        if publication.topic == self.topics.position { return self.remembered(PositionMessage(value)) }
        if let consumer = self.configuration.acknowledge,
            publication.topic == self.topics.acknowledgement(of: consumer),
            let stored = AcknowledgementMessage(value)
        {
            self.courier.stored(stored.name, at: self.now)
            self.progressed()
            self.pumpSoon()
        }
    }

    /// The server says how far it remembers.
    private func remembered(_ position: PositionMessage?) {
        guard self.greeting != nil else { return }
        guard let position, position.stream == self.memory.state.stream else { return self.forgotAll() }
        self.endGreeting()
        if position.events.cursor < self.courier.events.ledger.cursor {
            self.log.info("the server remembers up to row \(position.events.cursor); what is behind it is sent again")
        }
        self.courier.remembers(events: position.events, verdicts: position.verdicts)
        self.pumpSoon()
    }

    /// The server remembers nothing of us, although we left a mark.
    private func forgotAll() {
        // What is sent again stands in the journal: until that can be read, what is past waits, and no other mark is left.
        guard let rows = self.rowsToResend() else { return self.waitForMark() }
        self.endGreeting()
        self.log.notice("the server remembers nothing of us; what was sent in the last minutes is sent again")
        self.courier.remembers(
            events: RowLedger(cursor: rows.event), verdicts: RowLedger(cursor: rows.verdict))
        self.pumpSoon()
    }

    // MARK: Sending

    /// Whether anything is told but presence.
    private var isTelling: Bool {
        let publish = self.configuration.publish
        return !self.configuration.detectors.isEmpty || publish.events != nil || publish.verdicts != nil
    }

    private func presence(isOnline: Bool) -> Outgoing {
        Outgoing(
            self.topics.presence, PresenceMessage(isOnline: isOnline, since: isOnline ? self.online : nil).value,
            isRetained: true)
    }

    private var birth: Outgoing {
        BirthMessage.make(self.configuration, self.topics, stream: self.memory.state.stream)
    }

    private func pumpSoon() {
        guard !self.pumping.isDue else { return }
        self.pumping.isDue = true
        self.loop.defer { [unowned self] in
            self.pumping.isDue = false
            self.pump()
        }
    }

    private func pump(at time: Timestamp) {
        self.loop.set(&self.pumping.timer, at: time.microseconds, on: .boottime) { [unowned self] in
            self.pumpSoon()
        }
    }

    /// Reads and sends as much as there is room for.
    private func pump() {
        guard self.server.isConnected else { return }
        // What cannot be read may not be what is in its place any more.
        if self.courier.retry(at: self.now) { self.journal.look() }
        self.read()
        if self.memory.isPlaced { self.reserve() }
        while let (ticket, message) = self.courier.nextSend(at: self.now) {
            switch self.publish(message) {
            case .sent(let number): self.tickets[number] = ticket
            case .unsayable: self.courier.acknowledged(ticket)
            case .parted: return
            }
        }
        self.progressed()
        if let until = self.courier.waitsUntil(at: self.now) { self.pump(at: until) }
        if self.mayRead, self.courier.canReadMore { self.pumpSoon() }
    }

    /// Where the journal is gone, nothing is asked for until there is one.
    private var mayRead: Bool { self.memory.isPlaced && self.journal.isOpen }

    /// Reads no more than a few stretches of the journal: a turn is not longer.
    private func read() {
        guard self.mayRead else { return }
        for _ in 0..<4 {
            guard let request = self.courier.nextRead() else { break }
            if let stretch = self.journal.read(request, telling: self.filter) {
                self.courier.take(stretch, for: request)
            } else {
                self.courier.readFailed(request.table, at: self.now)
            }
        }
    }

    private var now: Timestamp { Timestamp(microseconds: Clock.boottime.now()) }

    private enum Published {
        case sent(Int32)
        /// No connection will ever take it.
        case unsayable
        /// There is no connection any more, which is told soon.
        case parted
    }

    /// Publishes a message.
    @discardableResult
    private func publish(_ message: Outgoing) -> Published {
        var properties = MessageProperties()
        let format = self.configuration.format
        if message.value != nil {
            properties.contentType = format.contentType
            properties.isText = format == .json
        }
        properties.expiry = message.expiry
        properties.user = message.properties.map { UserProperty($0.name, $0.value) }
        do throws(MQTTProblem) {
            return .sent(
                try self.server.publish(
                    Publication(
                        message.topic, message.value.map(format.bytes) ?? [], isRetained: message.isRetained, properties
                    )))
        } catch {
            guard error.isOfMessage else { return .parted }
            self.log.warning("a message cannot be sent: \(error)")
            return .unsayable
        }
    }

    // MARK: Keeping

    /// Writes down what may be sent, before it is.
    private func reserve() {
        var isDue = false
        if let through = self.courier.events.reservation(beyond: self.memory.state.events.sentThrough) {
            self.memory.state.events.sentThrough = through
            isDue = true
        }
        if let through = self.courier.verdicts.reservation(beyond: self.memory.state.verdicts.sentThrough) {
            self.memory.state.verdicts.sentThrough = through
            isDue = true
        }
        if isDue { self.keep() }
    }

    /// Sees to it that the disk and the server learn how far we are.
    private func progressed() {
        guard self.memory.isPlaced else { return }
        let position = self.courier.position
        let state = self.memory.state
        if position.events != state.events.ledger || position.verdicts != state.verdicts.ledger,
            self.memory.timer == nil
        {
            self.memory.timer = self.loop.schedule(after: Self.keepPause) { [unowned self] in
                self.keep()
                self.settle()
            }
        }
        guard self.isTelling, self.server.isConnected, self.greeting == nil, position != self.memory.marked else {
            return
        }
        let behind =
            self.memory.marked.map {
                max(position.events.cursor - $0.events.cursor, position.verdicts.cursor - $0.verdicts.cursor)
            } ?? 0
        if behind >= Self.markRows { return self.mark() }
        guard self.memory.markTimer == nil else { return }
        self.memory.markTimer = self.loop.schedule(after: Self.markPause) { [unowned self] in self.mark() }
    }

    /// Gives memory back when a connection has been made, or a journal opened, and what was owed to the server is there: to shake
    /// hands, to read configuration and to catch up take much more of the program than to rest.
    private func settle() {
        guard self.owesMemory, self.greeting == nil, self.memory.timer == nil, self.memory.markTimer == nil,
            self.memory.isPlaced ? self.courier.isIdle : self.tickets.isEmpty
        else { return }
        self.owesMemory = false
        // Not within what somebody else is in the midst of.
        self.loop.defer { FreeMemory.forgetWhatRan() }
    }

    /// Leaves the server a mark of how far we are.
    private func mark() {
        self.loop.cancel(&self.memory.markTimer)
        guard let mark = self.nextMark() else { return }
        self.courier.say(mark)
        self.pumpSoon()
    }

    /// The mark that is to be left; `nil`: the one that was stands, or nobody knows yet which that is.
    private func nextMark() -> Outgoing? {
        guard self.isTelling, self.server.isConnected, self.greeting == nil, self.memory.isPlaced else { return nil }
        let position = self.courier.position
        guard position != self.memory.marked else { return nil }
        self.memory.marked = position
        self.memory.state.isMarked = true
        return Outgoing(self.topics.position, position.value, isRetained: true)
    }

    /// Writes down how far we are.
    private func keep(isEnd: Bool = false) {
        self.loop.cancel(&self.memory.timer)
        // What stands in another journal says nothing of how far we came in this one.
        guard self.memory.isPlaced else { return }
        let (courier, state) = (self.courier, self.memory.state)
        // Who ends in order knows what was sent, unless something of it was not answered.
        let isKnown = isEnd && courier.leavesNoDoubt
        self.memory.state.note(
            events: courier.events.state(isKnown ? 0 : state.events.sentThrough),
            verdicts: courier.verdicts.state(isKnown ? 0 : state.verdicts.sentThrough)
        ) { table, row in self.names(in: row, of: table) }
        self.memory.file.write(self.memory.state)
    }
}

@available(*, unavailable)
extension BridgeService: Sendable {}
