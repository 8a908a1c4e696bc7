import FleetCore
import Motion
import Randomness
import Testing

@Suite struct CourierTests {
    @Test(arguments: someSeeds(UInt64(1)...120))
    func nothingIsLostWhateverHappens(seed: UInt64) {
        for waits in [false, true] {
            for isPersistent in [false, true] {
                var life = BridgeLife(seed: seed, waitsForConsumer: waits, isPersistent: isPersistent)
                let problems = life.play(steps: 400)
                #expect(problems.isEmpty, "consumer \(waits), persistent \(isPersistent): \(problems.prefix(3))")
            }
        }
    }

    private static func event(_ row: Int64, app: String = "other") -> EventMessage {
        EventMessage(
            name: EventName(app: app, epoch: UInt64(row), sequence: UInt64(row)), detector: "d", peak: 1, time: row,
            wall: row, generation: 1, isSimulated: false)
    }

    private static func courier(cursor: Int64 = 0, window: Int = 8, waitsForConsumer: Bool = false) -> Courier {
        let table = BridgeState.Table(ledger: RowLedger(cursor: cursor), sentThrough: cursor)
        return Courier(
            Courier.Settings(
                topics: FleetTopics(device: "d"), app: "org.jostle.Bridge", window: window, expiry: 60,
                waitsForConsumer: waitsForConsumer),
            from: BridgeState(stream: "s", epoch: 0, last: nil, events: table, verdicts: table, isMarked: false))
    }

    private static func read(_ courier: inout Courier, _ rows: ClosedRange<Int64>, app: String = "other") {
        while let request = courier.nextRead() {
            let range = max(request.first, rows.lowerBound)...max(request.first, min(request.last, rows.upperBound))
            let found = Array(range).prefix(request.limit)
            courier.take(
                JournalStretch(
                    rows: found.map { JournalRow(row: $0, .event(Self.event($0, app: app))) }, through: found.last ?? 0,
                    gaps: []),
                for: request)
        }
    }

    /// A connection is there, and the journal has so many rows of an event each.
    private static func connect(_ courier: inout Courier, newest: Int64, at now: Timestamp = .zero) {
        courier.connected(at: now, receiveMaximum: 8, newestEvent: newest, newestVerdict: 0) { name in
            Int64(clamping: name.sequence) <= newest
        }
    }

    /// What a file or a server says of rows is no row, or a courier can live with it.
    @Test(arguments: [(1 << 62) - 1, 1 << 62, .max] as [Int64])
    func noRowIsTooLarge(_ row: Int64) {
        let table = BridgeState.Table(ledger: RowLedger(cursor: row), sentThrough: row)
        let state = BridgeState(
            stream: "s", epoch: 0, last: nil, events: table, verdicts: table, isMarked: false)
        let isRow = row < RowLedger.mostRows
        #expect((BridgeState(bytes: state.bytes) != nil) == isRow)
        let ahead: DataValue = .list([.list([.integer(5), .integer(row)])])
        let ledger = RowLedger(cursor: 3, ahead)
        #expect((ledger != nil) == isRow)
        let read = RowLedger(cursor: row, .list([]))
        #expect((read != nil) == isRow)
        guard let ledger else { return }
        var courier = Self.courier(cursor: row)
        Self.connect(&courier, newest: row)
        courier.remembers(events: ledger, verdicts: ledger)
        while let request = courier.nextRead() {
            courier.take(JournalStretch(rows: [], through: 0, gaps: []), for: request)
        }
        #expect(courier.isIdle)
    }

    /// Without the event at the cursor another journal, which may soon have as many rows, would be taken for the same.
    @Test func whatStandsAtTheCursorIsKnown() {
        func table(_ row: Int64) -> BridgeState.Table {
            BridgeState.Table(ledger: RowLedger(cursor: row), sentThrough: row + 9)
        }
        func name(_ row: Int64) -> EventName { EventName(app: "a", epoch: UInt64(row) + 10, sequence: UInt64(row)) }
        let none = table(0)
        var state = BridgeState(stream: "s", epoch: 0, last: nil, events: none, verdicts: none, isMarked: false)
        // Where no event was ever told of the verdicts alone tell.
        state.note(events: none, verdicts: table(2)) { _, _ in nil }
        #expect(state.lastVerdict == nil && state.verdicts == none)
        state.note(events: none, verdicts: table(2)) { [name($1)] }
        #expect(state.last == nil && state.lastVerdict == name(2) && state.epoch == 12 && state.verdicts == table(2))
        state.note(events: table(3), verdicts: table(4)) { [name($1)] }
        let known = state
        #expect(known.last == name(3) && known.lastVerdict == name(4) && known.epoch == 14)
        #expect(known.events == table(3) && known.verdicts == table(4) && BridgeState(bytes: known.bytes) == known)
        // One of both cannot be read, neither is asked for, and it is gone.
        state.note(events: table(5), verdicts: table(6)) { table, row in table == .event ? [name(row)] : nil }
        #expect(state == known)
        state.note(events: table(5), verdicts: table(4)) { _, _ in nil }
        #expect(state == known)
        let later = BridgeState.Table(ledger: RowLedger(cursor: 3), sentThrough: 99)
        state.note(events: later, verdicts: table(4)) { _, _ in nil }
        #expect(state.last == name(3) && state.events == later)
        state.note(events: table(7), verdicts: table(4)) { _, _ in [] }
        #expect(state.last == nil && state.lastVerdict == name(4) && state.epoch == 14 && state.events == table(7))
    }

    @Test func whatIsLiveGoesBeforeWhatIsPast() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 1_000)
        courier.hasFoundOut()
        Self.read(&courier, 1...1_000)
        // What is past leaves room.
        var past = 0
        while let (_, message) = courier.nextSend(at: .zero) {
            #expect(message.topic == "jostle/1/d/past/event")
            past += 1
        }
        #expect(past == 6)
        courier.arrived(Self.event(1_001, app: "org.jostle.Bridge"), at: .zero)
        let liveFound = courier.nextSend(at: .zero)
        let live = try #require(liveFound)
        #expect(live.message.topic == "jostle/1/d/event/d")
        #expect(live.message.expiry == 60)
        #expect(!live.message.properties.contains { $0.name == "past" || $0.name == "again" })
    }

    @Test func anEventOfTheBusIsNotSentAgainFromTheJournal() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        let event = Self.event(1, app: "org.jostle.Bridge")
        courier.arrived(event, at: .zero)
        let sentFound = courier.nextSend(at: .zero)
        let sent = try #require(sentFound)
        courier.grew(newestEvent: 1, newestVerdict: 0)
        let requestFound = courier.nextRead()
        let request = try #require(requestFound)
        courier.take(JournalStretch(rows: [JournalRow(row: 1, .event(event))], through: 1, gaps: []), for: request)
        #expect(courier.nextSend(at: .zero) == nil)
        #expect(courier.position.events.cursor == 0)
        courier.acknowledged(sent.ticket)
        #expect(courier.position.events.cursor == 1)
        #expect(courier.isIdle)
    }

    /// What came just before the connection goes out at once and in its order, however much of before there is to read.
    @Test func whatTheJournalHasNotYetIsLive() throws {
        var courier = Self.courier()
        let start = Timestamp(microseconds: 10_000_000)
        // The journal is a second behind.
        for row in 901...1_100 {
            courier.arrived(
                Self.event(Int64(row), app: "org.jostle.Bridge"), at: start + .milliseconds(10 * Int64(row - 901)))
        }
        let now = start + .seconds(2)
        Self.connect(&courier, newest: 1_000, at: now)
        courier.hasFoundOut()
        courier.arrived(Self.event(1_101, app: "org.jostle.Bridge"), at: now)
        var sent: [String?] = []
        while sent.count < 101, let next = courier.nextSend(at: now) {
            #expect(next.message.topic == "jostle/1/d/event/d")
            sent.append(next.message.properties.first { $0.name == "sequence" }?.value)
            courier.acknowledged(next.ticket)
        }
        #expect(sent == (1_001...1_101).map { "\($0)" })
        #expect(courier.nextSend(at: now) == nil)
        // Their rows follow, and say nothing new; what is older is past.
        courier.grew(newestEvent: 1_101, newestVerdict: 0)
        Self.read(&courier, 1...1_101, app: "org.jostle.Bridge")
        let next = courier.nextSend(at: now)
        let past = try #require(next)
        #expect(past.message.topic == "jostle/1/d/past/event")
        #expect(past.message.properties.first { $0.name == "sequence" }?.value == "1")
    }

    /// What is on its way when a connection ends goes first with the next one, as a copy, and what came since behind it.
    @Test func whatWasOnItsWayKeepsItsPlace() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        for row in 1...12 { courier.arrived(Self.event(Int64(row), app: "org.jostle.Bridge"), at: .zero) }
        let first = courier.nextSend(at: .zero)
        let done = try #require(first)
        courier.acknowledged(done.ticket)
        for _ in 0..<5 { _ = courier.nextSend(at: .zero) }
        courier.disconnected(at: .zero)
        courier.arrived(Self.event(13, app: "org.jostle.Bridge"), at: .zero)
        Self.connect(&courier, newest: 2)
        courier.hasFoundOut()
        var sent: [String] = []
        while let next = courier.nextSend(at: .zero) {
            let properties = next.message.properties
            let isAgain = properties.contains { $0.name == "again" }
            sent.append("\(properties.first { $0.name == "sequence" }?.value ?? "")\(isAgain ? " again" : "")")
            courier.acknowledged(next.ticket)
        }
        #expect(sent == ["3 again", "4 again", "5 again", "6 again"] + (7...13).map { "\($0)" })
    }

    /// Without a journal nothing is held back for long, and nothing old is taken for live.
    @Test func whatIsOldIsNotLive() {
        var courier = Self.courier()
        courier.arrived(Self.event(1, app: "org.jostle.Bridge"), at: .zero)
        Self.connect(&courier, newest: 0, at: Timestamp(microseconds: 2_000_000))
        courier.hasFoundOut()
        #expect(courier.nextSend(at: Timestamp(microseconds: 2_000_000)) == nil)
    }

    /// While the server holds back its answers events wait, and when there is room again it is too late for them.
    @Test func whatWaitedTooLongIsNotLive() throws {
        var courier = Self.courier(window: 2)
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        for row in 1...3 { courier.arrived(Self.event(Int64(row), app: "org.jostle.Bridge"), at: .zero) }
        courier.grew(newestEvent: 6, newestVerdict: 0)
        var tickets: [Courier.Ticket] = []
        while let next = courier.nextSend(at: .zero) { tickets.append(next.ticket) }
        #expect(tickets.count == 2)
        let half = Timestamp(microseconds: 30_000_000)
        courier.acknowledged(tickets[0])
        let thirdFound = courier.nextSend(at: half)
        let third = try #require(thirdFound)
        #expect(third.message.topic == "jostle/1/d/event/d")
        #expect(third.message.expiry == 31)
        // The rows of all; 4 to 6 are read as live.
        while let request = courier.nextRead() {
            let rows = (request.first...request.last).map { row in
                JournalRow(row: row, .event(Self.event(row, app: row <= 3 ? "org.jostle.Bridge" : "other")))
            }
            courier.take(JournalStretch(rows: rows, through: request.last, gaps: []), for: request)
        }
        let late = Timestamp(microseconds: 61_000_000)
        courier.acknowledged(tickets[1])
        courier.acknowledged(third.ticket)
        let live = courier.nextSend(at: late)
        #expect(live == nil)
        Self.read(&courier, 1...6)
        for row in 4...6 {
            let pastFound = courier.nextSend(at: late)
            let past = try #require(pastFound)
            #expect(past.message.topic == "jostle/1/d/past/event")
            #expect(past.message.expiry == nil)
            #expect(past.message.properties.first { $0.name == "row" }?.value == "\(row)")
            #expect(!past.message.properties.contains { $0.name == "again" })
            courier.acknowledged(past.ticket)
        }
        #expect(courier.position.events == RowLedger(cursor: 6))
        #expect(courier.isIdle)
    }

    /// A server without room for now: what it refuses stays undone, also where a consumer acknowledges what came behind it, and comes again.
    @Test(arguments: [false, true]) func whatIsRefusedForNowComesAgain(_ waits: Bool) throws {
        var courier = Self.courier(waitsForConsumer: waits)
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        courier.grew(newestEvent: 5, newestVerdict: 0)
        Self.read(&courier, 1...5)
        for row in 1...5 {
            let found = courier.nextSend(at: .zero)
            let next = try #require(found)
            if row < 5 { courier.refused(next.ticket, at: .zero, chance: 0) } else { courier.acknowledged(next.ticket) }
        }
        if waits { courier.stored(Self.event(5).name, at: .zero) }
        #expect(courier.position.events.cursor == 0)
        Self.read(&courier, 1...5)
        let early = courier.nextSend(at: .zero)
        #expect(early == nil)
        let untilFound = courier.waitsUntil(at: .zero)
        let until = try #require(untilFound)
        var rows: [String] = []
        while let next = courier.nextSend(at: until) {
            #expect(next.message.properties.contains { $0.name == "again" })
            rows.append(next.message.properties.first { $0.name == "row" }?.value ?? "")
            courier.acknowledged(next.ticket)
        }
        #expect(rows == ["1", "2", "3", "4"])
        if waits { for row in Int64(1)...4 { courier.stored(Self.event(row).name, at: until) } }
        #expect(courier.position.events == RowLedger(cursor: 5))
    }

    /// Whoever says that it stored a copy may mean the first one, and has nothing of what came between.
    @Test func aCopySpeaksForItselfAlone() throws {
        var courier = Self.courier(waitsForConsumer: true)
        func sendAll() {
            while let next = courier.nextSend(at: .zero) { courier.acknowledged(next.ticket) }
        }
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        courier.grew(newestEvent: 3, newestVerdict: 0)
        Self.read(&courier, 1...3)
        sendAll()
        courier.disconnected(at: .zero)
        Self.connect(&courier, newest: 3)
        courier.hasFoundOut()
        Self.read(&courier, 1...3)
        sendAll()
        courier.grew(newestEvent: 4, newestVerdict: 0)
        Self.read(&courier, 1...4)
        sendAll()
        courier.stored(Self.event(3).name, at: .zero)
        #expect(courier.position.events == RowLedger(cursor: 0, ahead: [3...3]))
        courier.stored(Self.event(4).name, at: .zero)
        #expect(courier.position.events == RowLedger(cursor: 4))
    }

    /// A server keeps what is live for a while only, and not at all where nobody is known to it: what a consumer says when it comes later is
    /// not of that.
    @Test(arguments: [true, false]) func whatTheConsumerCannotHaveComesAgain(_ isHeard: Bool) {
        var courier = Self.courier(waitsForConsumer: true)
        let later = Timestamp.zero + TimeSpan.seconds(isHeard ? 61 : 0)
        func sendAll() -> [Outgoing] {
            var all: [Outgoing] = []
            for _ in 0..<2 {
                Self.read(&courier, 1...3)
                while let next = courier.nextSend(at: later) {
                    all.append(next.message)
                    courier.acknowledged(next.ticket)
                }
            }
            return all
        }
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        courier.grew(newestEvent: 2, newestVerdict: 0)
        Self.read(&courier, 1...2)
        while let next = courier.nextSend(at: .zero) { courier.acknowledged(next.ticket, isHeard: isHeard) }
        courier.grew(newestEvent: 3, newestVerdict: 0)
        let third = sendAll()
        #expect(third.map { $0.value?["epoch"]?.count } == [3])
        courier.stored(Self.event(3).name, at: later)
        #expect(courier.position.events == RowLedger(cursor: 0, ahead: [3...3]))
        let others = sendAll()
        #expect(others.map { $0.value?["epoch"]?.count } == [1, 2])
        #expect(others.allSatisfy { $0.topic == "jostle/1/d/past/event" })
        #expect(others.allSatisfy { $0.properties.contains { $0.name == "again" } })
        for row in Int64(1)...2 { courier.stored(Self.event(row).name, at: later) }
        #expect(courier.position.events == RowLedger(cursor: 3))
    }

    /// A rule in the server may take all that is said, which the server does not count as somebody who is there: whoever has what nobody was
    /// there for gets nothing again for that.
    @Test func whoGetsAllByAnotherRoadGetsItOnce() {
        var courier = Self.courier(waitsForConsumer: true)
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        courier.grew(newestEvent: 3, newestVerdict: 0)
        Self.read(&courier, 1...3)
        while let next = courier.nextSend(at: .zero) { courier.acknowledged(next.ticket, isHeard: false) }
        courier.stored(Self.event(3).name, at: .zero)
        #expect(courier.position.events == RowLedger(cursor: 3))
        Self.read(&courier, 1...3)
        let again = courier.nextSend(at: .zero)
        #expect(again == nil && courier.isIdle)
    }

    /// While the server still keeps what was live, a consumer's word is of that, too.
    @Test func whatTheServerStillKeepsIsStored() {
        var courier = Self.courier(waitsForConsumer: true)
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        courier.grew(newestEvent: 3, newestVerdict: 0)
        Self.read(&courier, 1...3)
        while let next = courier.nextSend(at: .zero) { courier.acknowledged(next.ticket) }
        courier.stored(Self.event(3).name, at: Timestamp.zero + TimeSpan.seconds(59))
        #expect(courier.position.events == RowLedger(cursor: 3))
    }

    /// Each pause is longer than the one before, and what happens now does not wait for any.
    @Test func theMoreOftenItIsRefusedTheLongerItWaits() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 1)
        courier.hasFoundOut()
        Self.read(&courier, 1...1)
        var now = Timestamp.zero
        var pauses: [TimeSpan] = []
        for _ in 0..<4 {
            let found = courier.nextSend(at: now)
            let next = try #require(found)
            courier.refused(next.ticket, at: now, chance: 0)
            Self.read(&courier, 1...1)
            let untilFound = courier.waitsUntil(at: now)
            let until = try #require(untilFound)
            pauses.append(until - now)
            now = until
        }
        #expect(pauses == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)])
        let lastFound = courier.nextSend(at: now)
        let last = try #require(lastFound)
        courier.refused(last.ticket, at: now, chance: 0)
        courier.arrived(Self.event(2, app: "org.jostle.Bridge"), at: now)
        let live = courier.nextSend(at: now)
        #expect(live?.message.topic == "jostle/1/d/event/d")
    }

    private static func verdict(_ row: Int64) -> VerdictMessage {
        VerdictMessage(
            app: "other", epoch: UInt64(row), detector: "d", preset: "shake", reason: "rule", isDelivered: false,
            intensity: 1, rule: nil, place: nil, time: row, wall: row, generation: 1)
    }

    /// It may let nobody write verdicts: what is of before of the other table comes all the same, and what is remembered of the
    /// refused ones is bounded.
    @Test func whatIsRefusedOfOneTableHoldsUpNothingOfTheOther() throws {
        let many = Int64(SentDoubt.most) + 500
        var courier = Self.courier(window: 8)
        courier.connected(at: .zero, receiveMaximum: 8, newestEvent: many, newestVerdict: 0) { _ in true }
        courier.hasFoundOut()
        courier.grew(newestEvent: many, newestVerdict: many)
        func read() {
            while let request = courier.nextRead() {
                let rows = (request.first...request.last).prefix(request.limit).map { row in
                    let content: JournalRow.Content =
                        request.table == .event ? .event(Self.event(row)) : .verdict(Self.verdict(row))
                    return JournalRow(row: row, content)
                }
                courier.take(JournalStretch(rows: rows, through: rows.last?.row ?? 0, gaps: []), for: request)
            }
        }
        var refused: [Courier.Ticket] = []
        read()
        while let next = courier.nextSend(at: .zero) {
            if next.message.topic.contains("event") {
                courier.acknowledged(next.ticket)
            } else {
                courier.refused(next.ticket, at: .zero, chance: 0)
                refused.append(next.ticket)
            }
            read()
        }
        #expect(courier.position.events == RowLedger(cursor: many))
        #expect(refused.count == Int(many) && courier.position.verdicts == RowLedger(cursor: 0))
        let untilFound = courier.waitsUntil(at: .zero)
        #expect(untilFound == .zero + .milliseconds(500))
        var taken: Int64 = 0
        while let next = courier.nextSend(at: .zero + .milliseconds(500)) {
            #expect(next.message.properties.contains { $0.name == "again" })
            courier.acknowledged(next.ticket)
            taken += 1
            read()
        }
        #expect(taken == many && courier.isIdle)
    }

    @Test func whatTheJournalForgotIsTold() throws {
        var courier = Self.courier(cursor: 10)
        Self.connect(&courier, newest: 100)
        courier.hasFoundOut()
        let requestFound = courier.nextRead()
        let request = try #require(requestFound)
        #expect(request.first == 11)
        courier.take(JournalStretch(rows: [], through: 100, gaps: [11...60]), for: request)
        let gapFound = courier.nextSend(at: .zero)
        let gap = try #require(gapFound).message
        #expect(gap.topic == "jostle/1/d/gap")
        #expect(gap.value?["first"]?.integer == 11 && gap.value?["last"]?.integer == 60)
        // As long as the server does not know it, it is told again: by the next connection, and where it was refused for now.
        #expect(courier.position.events.cursor == 10)
        courier.disconnected(at: .zero)
        Self.connect(&courier, newest: 100)
        courier.hasFoundOut()
        for isRefused in [true, false] {
            let requestFound = courier.nextRead()
            let request = try #require(requestFound)
            courier.take(JournalStretch(rows: [], through: request.last, gaps: [11...60]), for: request)
            let now = Timestamp(microseconds: isRefused ? 0 : 3_000_000)
            let againFound = courier.nextSend(at: now)
            let again = try #require(againFound)
            #expect(again.message == gap)
            if isRefused {
                courier.refused(again.ticket, at: now, chance: 0)
            } else {
                courier.acknowledged(again.ticket)
            }
        }
        #expect(courier.position.events.cursor == 100)
        #expect(courier.isIdle && courier.counters.gaps == 1 && courier.counters.sent == 0)
    }

    /// Where the server lets nobody say what is gone, what is there is told all the same.
    @Test func aGapThatIsRefusedHoldsUpNothing() throws {
        var courier = Self.courier(cursor: 10)
        func read() {
            while let request = courier.nextRead() {
                let rows = (request.first...request.last).filter { $0 > 12 }.map { row in
                    JournalRow(row: row, .event(Self.event(row)))
                }
                courier.take(
                    JournalStretch(
                        rows: rows, through: request.last, gaps: request.first <= 12 ? [request.first...12] : []),
                    for: request)
            }
        }
        Self.connect(&courier, newest: 14)
        courier.hasFoundOut()
        read()
        let gapFound = courier.nextSend(at: .zero)
        let gap = try #require(gapFound)
        #expect(gap.message.topic == "jostle/1/d/gap")
        courier.refused(gap.ticket, at: .zero, chance: 0)
        read()
        var epochs: [UInt64?] = []
        while let next = courier.nextSend(at: .zero) {
            epochs.append(next.message.value?["epoch"]?.count)
            courier.acknowledged(next.ticket)
        }
        #expect(epochs == [13, 14] && courier.position.events == RowLedger(cursor: 10, ahead: [13...14]))
        let untilFound = courier.waitsUntil(at: .zero)
        let until = try #require(untilFound)
        let againFound = courier.nextSend(at: until)
        let again = try #require(againFound)
        #expect(again.message == gap.message)
        courier.acknowledged(again.ticket)
        #expect(courier.position.events == RowLedger(cursor: 14) && courier.counters.gaps == 1)
    }

    /// The journal cannot be read when the server takes us: what is there when it can be is of before, whenever it was. Its times may be
    /// those of another boot.
    @Test func whatWasThereBeforeItCouldBeReadIsPast() {
        let table = BridgeState.Table(ledger: RowLedger(cursor: 10), sentThrough: 5_000)
        var courier = Courier(
            Courier.Settings(
                topics: FleetTopics(device: "d"), app: "org.jostle.Bridge", window: 8, expiry: 60,
                waitsForConsumer: false),
            from: BridgeState(stream: "s", epoch: 0, last: nil, events: table, verdicts: table, isMarked: false))
        courier.connected(at: .zero, receiveMaximum: 8, newestEvent: nil, newestVerdict: nil) { _ in false }
        courier.hasFoundOut()
        let early = courier.nextRead()
        #expect(early == nil && !courier.isIdle)
        func told(_ rows: ClosedRange<Int64>) -> [Outgoing] {
            Self.read(&courier, rows)
            var messages: [Outgoing] = []
            while let (ticket, message) = courier.nextSend(at: .zero) {
                messages.append(message)
                courier.acknowledged(ticket)
                Self.read(&courier, rows)
            }
            return messages
        }
        courier.grew(newestEvent: 400, newestVerdict: 10)
        let past = told(11...400)
        #expect(past.count == 390 && Set(past.map(\.topic)) == ["jostle/1/d/past/event"])
        // How much of it the life before had sent is known no better for that.
        #expect(past.allSatisfy { $0.properties.contains { $0.name == "again" } })
        courier.grew(newestEvent: 401, newestVerdict: 10)
        let live = told(401...401)
        #expect(live.map(\.topic) == ["jostle/1/d/apps/other/event/d"])
        #expect(courier.isIdle)
    }

    /// Only where all that was sent is done with may whoever comes next take it that nothing else was.
    @Test func whoEndsInOrderKnowsWhatMayHaveCome() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        #expect(courier.leavesNoDoubt)
        courier.grew(newestEvent: 1, newestVerdict: 0)
        Self.read(&courier, 1...1)
        let sentFound = courier.nextSend(at: .zero)
        _ = try #require(sentFound)
        #expect(!courier.leavesNoDoubt)
        // Whether it came nobody says any more.
        courier.disconnected(at: .zero)
        #expect(!courier.leavesNoDoubt)
        Self.connect(&courier, newest: 1)
        courier.hasFoundOut()
        Self.read(&courier, 1...1)
        let againFound = courier.nextSend(at: .zero)
        let again = try #require(againFound)
        courier.acknowledged(again.ticket)
        #expect(courier.leavesNoDoubt)
        // One of the bus stands in a row that nobody has read.
        courier.arrived(Self.event(2, app: "org.jostle.Bridge"), at: .zero)
        let ownFound = courier.nextSend(at: .zero)
        let own = try #require(ownFound)
        courier.acknowledged(own.ticket)
        #expect(!courier.leavesNoDoubt)
        courier.grew(newestEvent: 2, newestVerdict: 0)
        Self.read(&courier, 2...2, app: "org.jostle.Bridge")
        #expect(courier.leavesNoDoubt && courier.isIdle)
    }

    /// What cannot be read is asked for again after a while, when there is more, and by the next connection; the other table goes on.
    @Test func whatCannotBeReadIsLeftAside() throws {
        var courier = Self.courier()
        let start = Timestamp(microseconds: 10_000_000)
        courier.connected(at: start, receiveMaximum: 8, newestEvent: 10, newestVerdict: 10) { _ in false }
        courier.hasFoundOut()
        let first = courier.nextRead()
        #expect(first?.table == .event)
        courier.readFailed(.event, at: start)
        let otherFound = courier.nextRead()
        let other = try #require(otherFound)
        #expect(other.table == .verdict)
        courier.take(JournalStretch(rows: [], through: 10, gaps: []), for: other)
        let none = courier.nextRead()
        #expect(none == nil)
        #expect(!courier.canReadMore)
        let untilFound = courier.waitsUntil(at: start)
        let until = try #require(untilFound)
        #expect(until - start >= .seconds(1))
        let early = courier.retry(at: start)
        #expect(!early)
        #expect(!courier.canReadMore)
        let due = courier.retry(at: until)
        let again = courier.nextRead()
        #expect(due)
        #expect(again == first)

        courier.readFailed(.event, at: until)
        courier.grew(newestEvent: 11, newestVerdict: 10)
        let grown = courier.nextRead()
        #expect(grown?.table == .event)

        courier.readFailed(.event, at: until)
        courier.disconnected(at: until)
        #expect(courier.waitsUntil(at: until) == nil)
        courier.connected(at: until, receiveMaximum: 8, newestEvent: 11, newestVerdict: 10) { _ in false }
        courier.hasFoundOut()
        #expect(courier.canReadMore)
    }

    /// A journal of which nothing can be read, not even what is newest, is tried again.
    @Test func aJournalThatCannotBeReadIsTriedAgain() throws {
        var courier = Self.courier()
        Self.connect(&courier, newest: 10)
        courier.hasFoundOut()
        courier.readFailed(at: .zero)
        #expect(!courier.canReadMore)
        let untilFound = courier.waitsUntil(at: .zero)
        let until = try #require(untilFound)
        let due = courier.retry(at: until)
        let isOver = !courier.retry(at: until)
        #expect(due && isOver)
        #expect(courier.canReadMore)
    }

    /// Where rows count anew it is another journal: none of them is taken for what stood there before, also not for what is on its way.
    @Test func rowsThatCountAnewAreOthers() throws {
        var courier = Self.courier(cursor: 500)
        Self.connect(&courier, newest: 503)
        courier.hasFoundOut()
        Self.read(&courier, 501...503)
        let sentFound = courier.nextSend(at: .zero)
        let sent = try #require(sentFound)
        #expect(!courier.hasSeen(moreThanEvent: 503, verdict: 500))
        #expect(courier.hasSeen(moreThanEvent: 1, verdict: 500))
        #expect(courier.hasSeen(moreThanEvent: 503, verdict: 1))
        // Another connection does not make it forget that.
        courier.disconnected(at: .zero)
        Self.connect(&courier, newest: 1)
        #expect(courier.hasSeen(moreThanEvent: 1, verdict: 500))
        courier.acknowledged(sent.ticket)

        courier.hasFoundOut()
        Self.read(&courier, 501...503)
        let onItsWayFound = courier.nextSend(at: .zero)
        let onItsWay = try #require(onItsWayFound)
        #expect(onItsWay.message.properties.first { $0.name == "row" }?.value == "501")
        courier.begin("t", events: 0, verdicts: 0)
        courier.hasFoundOut()
        courier.acknowledged(onItsWay.ticket)
        #expect(courier.position.events == RowLedger(cursor: 0))
        courier.grew(newestEvent: 501, newestVerdict: 0)
        var rows: [String] = []
        Self.read(&courier, 1...501)
        while let next = courier.nextSend(at: .zero) {
            let properties = next.message.properties
            if properties.first(where: { $0.name == "stream" })?.value == "t" {
                rows.append(properties.first { $0.name == "row" }?.value ?? "")
            }
            courier.acknowledged(next.ticket)
            Self.read(&courier, 1...501)
        }
        #expect(rows == (1...501).map { "\($0)" })
        #expect(courier.isIdle)
    }

    /// Where it is not known what was sent, each that may have been says so.
    @Test func whatMayHaveBeenSentSaysSo() {
        var courier = Self.courier()
        courier.begin("t", events: 3, verdicts: 0, unknownThrough: (event: 8, verdict: 0))
        Self.connect(&courier, newest: 8)
        courier.hasFoundOut()
        Self.read(&courier, 1...8)
        var sent: [String] = []
        while let next = courier.nextSend(at: .zero) {
            let properties = next.message.properties
            let isAgain = properties.contains { $0.name == "again" }
            let isPast = properties.contains { $0.name == "past" }
            sent.append("\(properties.first { $0.name == "row" }?.value ?? "") \(isAgain) \(isPast)")
            courier.acknowledged(next.ticket)
        }
        #expect(sent == (4...8).map { "\($0) true true" })
    }

    /// A server that takes long gets each state once, and that of now, however often it changed.
    @Test func ofWhatIsKeptOnlyTheNewestWaits() {
        var courier = Self.courier()
        Self.connect(&courier, newest: 0)
        courier.hasFoundOut()
        for round in 0..<10_000 as Range<Int64> {
            for app in ["a", "b"] { courier.say(Outgoing(app, .integer(round), isRetained: true)) }
        }
        courier.say(Outgoing("a", nil, isRetained: true))
        courier.say(Outgoing("past", .integer(1)))
        courier.say(Outgoing("past", .integer(2)))
        var said: [Outgoing] = []
        while let (_, message) = courier.nextSend(at: .zero) { said.append(message) }
        #expect(
            said == [
                Outgoing("a", nil, isRetained: true), Outgoing("b", .integer(9_999), isRetained: true),
                Outgoing("past", .integer(1)), Outgoing("past", .integer(2)),
            ])
    }

    /// An app that changes its state all the time keeps neither what others are at from being told, nor what happens.
    @Test func whoIsRestlessKeepsNothingFromBeingSaid() {
        var courier = Self.courier()
        Self.connect(&courier, newest: 4)
        courier.hasFoundOut()
        Self.read(&courier, 1...4)
        var (sent, number) = ([String](), Int64(0))
        func change() {
            number += 1
            courier.say(Outgoing("restless", .integer(number), isRetained: true))
        }
        for _ in 0..<5_000 { change() }
        courier.say(Outgoing("other", .integer(1), isRetained: true))
        while let next = courier.nextSend(at: .zero), sent.count < 12 {
            if next.message.topic == "restless" { #expect(next.message.value == .integer(number)) }
            sent.append(next.message.properties.first { $0.name == "row" }?.value ?? next.message.topic)
            courier.acknowledged(next.ticket)
            change()
        }
        let first = ["restless", "other", "1", "restless", "2", "restless", "3", "restless", "4"]
        #expect(sent == first + Array(repeating: "restless", count: 3))
    }

    @Test func nothingIsReadOrSentWithoutAConnection() {
        var courier = Self.courier()
        courier.arrived(Self.event(1, app: "org.jostle.Bridge"), at: .zero)
        courier.grew(newestEvent: 10, newestVerdict: 0)
        courier.say(Outgoing("x", nil))
        #expect(courier.nextRead() == nil)
        #expect(courier.nextSend(at: .zero) == nil)
    }
}

@Suite struct RowLedgerTests {
    @Test(arguments: someSeeds(UInt64(1)...100))
    func itKnowsWhatASetKnows(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var ledger = RowLedger(cursor: 0)
        var done: Set<Int64> = []
        for _ in 0..<300 {
            let first = Int64.random(in: 1...120, using: &random)
            let range = first...(first + Int64.random(in: 0...4, using: &random))
            ledger.finish(range)
            done.formUnion(range)
            var cursor: Int64 = 0
            while done.contains(cursor + 1) { cursor += 1 }
            #expect(ledger.cursor == cursor)
            var (open, wrong) = (Int64(131), [Int64]())
            for row in (Int64(1)...130).reversed() {
                if !done.contains(row) { open = row }
                if ledger.isDone(row) != done.contains(row) || ledger.firstOpen(from: row) != open { wrong.append(row) }
            }
            #expect(wrong == [])
            #expect(zip(ledger.ahead, ledger.ahead.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        }
    }

    /// A server cannot say of rows that they are done before they are sent.
    @Test func onlyWhatWasDoneIsRestored() {
        var ledger = RowLedger(cursor: 10, ahead: [13...14, 20...25])
        ledger.restore(RowLedger(cursor: 4, ahead: [6...8, 10...13, 22...(RowLedger.mostRows - 1)]))
        #expect(ledger == RowLedger(cursor: 4, ahead: [6...8, 10...10, 13...13, 22...25]))
        var fresh = RowLedger(cursor: 0)
        fresh.restore(RowLedger(cursor: 0, ahead: [2...9]))
        #expect(fresh == RowLedger(cursor: 0))
        // Nor is what we know less of than it does, or it less than we.
        var behind = RowLedger(cursor: 0, ahead: [3...4, 8...8])
        behind.restore(RowLedger(cursor: 2, ahead: [4...4, 7...9]))
        #expect(behind == RowLedger(cursor: 0, ahead: [4...4, 8...8]))
    }
}
