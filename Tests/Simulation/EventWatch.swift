import Arbitration
import BrokerCore
import Journal
import Motion

/// Knows what became of each event, as far as somebody sees who only watches; and says what must never be.
struct EventWatch {
    /// An event of an app, whatever its number.
    struct Key: Hashable {
        let app: AppID
        let epoch: UInt64
        let time: Timestamp
        let detector: String

        init(_ app: AppID, _ content: EventContent) {
            self.app = app
            self.epoch = content.epoch
            self.time = content.time
            self.detector = content.detector
        }

        init(_ app: AppID, _ event: Event) { self.init(app, event.content) }
    }

    private struct Meaning: Hashable {
        let app: AppID
        let sequence: UInt64
        let epoch: UInt64
    }

    /// What is due to an app of a user; `nil`: nobody's yet.
    struct Box: Hashable {
        let app: AppID
        let user: UInt32?
    }

    private struct Record {
        /// Whose it is, once that is known.
        var box: Box?
        var sequence: UInt64
        var wantsAck: Bool
        /// How often this broker sent it.
        var sent = 0
        var isRestored = false
        var end: EventEnd?
        /// Which signals those were: the first of all, and the last.
        var first: Int?
        var last = 0
        /// What kind of end that was, when it was.
        var isOver: Bool { self.end != nil }
        /// The app may have it.
        var isOut: Bool { self.sent > 0 || self.isRestored }
        /// How often of that in another queue; `nil`: it was in no other.
        var sentBefore: Int?
        /// The app may know its number.
        var isSeen: Bool { self.sent > self.sentBefore ?? 0 || self.isRestored && self.sentBefore == nil }
    }

    /// An app that leaves, what of it that it had to answer ended with that, and what others have since.
    private struct Departure {
        let app: AppID
        var removed: [Key] = []
        var revoked: Set<UInt64> = []
    }

    /// Numbers of one queue that its app was sent or told.
    private struct Numbers {
        /// All up to here.
        private(set) var floor: UInt64 = 0
        /// Above that.
        private var others: Set<UInt64> = []
        /// What came from the disk took numbers in between, which nobody who only watches can tell.
        var isLoose = false

        mutating func add(_ number: UInt64) {
            guard number > self.floor else { return }
            self.others.insert(number)
            while self.others.remove(self.floor + 1) != nil { self.floor += 1 }
        }

        mutating func skip(to number: UInt64) {
            while self.floor < number {
                self.floor += 1
                self.others.remove(self.floor)
            }
            while self.others.remove(self.floor + 1) != nil { self.floor += 1 }
        }

        /// It was not sent after all.
        mutating func remove(_ number: UInt64) {
            if number <= self.floor {
                if number < self.floor { self.others.formUnion(number + 1...self.floor) }
                self.floor = number - 1
            } else {
                self.others.remove(number)
            }
        }

        /// Those up to a number that are missing.
        func holes(upTo last: UInt64) -> [UInt64] {
            last <= self.floor ? [] : (self.floor + 1...last).filter { !self.others.contains($0) }
        }

        func has(_ number: UInt64) -> Bool { number <= self.floor || self.others.contains(number) }
    }

    // Of this broker.
    private var records: [Key: Record] = [:]
    private var numbers: [Box: Numbers] = [:]
    /// What is in an app's hands in a call, by the number of the launch.
    private var calls: [UInt64: Call] = [:]
    private var departure: Departure?
    /// The call whose answer is taken now.
    private var answeredCall: Set<Key> = []
    /// Its number, and those of which it told that they do not come.
    private var answeredMissing: (launch: UInt64, numbers: [UInt64])?
    /// What is to outlive the broker since an app came last.
    private var born: Set<Key> = []
    /// Launches that began since then.
    private var begun: Set<UInt64> = []
    /// For which the disk had no room.
    private var leftOut: Set<Row> = []
    /// Acknowledged, and perhaps on the disk yet.
    private var settling: Set<Key> = []
    /// The answer that is taken now.
    private var answer: (box: Box, name: EventName)?
    /// And whether its app has what it names.
    private var isHonest = false
    /// What each app has read since it came.
    private var lately: [AppID: Set<Key>] = [:]

    // Of all lives.
    /// Acknowledged, and on no disk any more.
    private var settled: Set<Key> = []
    /// On the disk, and neither had nor ended yet as far as was seen.
    private var owed: Set<Key> = []
    /// What apps have read, and what they mean by a name: after a restart the same may be another event's.
    private var had: Set<Key> = []
    private var meanings: [Meaning: Key] = [:]
    /// What is wrong, first of all.
    private(set) var finding: String?
    /// What was seen, so that lives in which nothing happens are seen, too.
    private(set) var counts = Counts()

    private struct Call {
        var box: Box
        var keys: [Key]
        /// The numbers that the app was handed them under; `nil`: those of another queue.
        var sequences: [UInt64?]
        /// Numbers of which the app was told that it does not get them.
        var missing: [UInt64]
        /// Somebody was called.
        var isMade = false
    }

    struct Counts: Equatable {
        var sent = 0
        var handedOver = 0
        var again = 0
        var gaps = 0
        var acknowledged = 0
        var otherEnds = 0
        var committed = 0
        var restored = 0
    }

    private mutating func find(_ what: String) { self.finding = self.finding ?? what }

    // MARK: On the way to the app

    /// A number is the next of its app, or was told before.
    mutating func sent(_ event: Event, to box: Box, at now: Timestamp) {
        self.counts.sent += 1
        let key = self.goesOut(event, to: box, at: now)
        let number = self.counts.sent
        let first = self.records[key]?.first
        self.records[key]?.first = first ?? number
        self.records[key]?.last = number
        if !event.isRedelivered || self.numbers[box]?.has(event.sequence) != true {
            self.expect(event.sequence, box)
            self.numbers[box, default: Numbers()].add(event.sequence)
        }
        if !event.wantsAck { self.owed.remove(key) }
    }

    private mutating func goesOut(_ event: Event, to box: Box, isCalled: Bool = false, at now: Timestamp) -> Key {
        let (key, app) = (Key(box.app, event), box.app)
        if self.settled.contains(key) { self.find("\(app) \(event.sequence): acknowledged for good, and sent again") }
        if event.ends <= now { self.find("\(app) \(event.sequence): sent when it was too old") }
        var record = self.records[key] ?? Record(sequence: event.sequence, wantsAck: event.wantsAck)
        if record.isOver { self.find("\(app) \(event.sequence): sent after its end") }
        // What is called for may be what is on its way back yet.
        if isCalled ? record.isOut && !event.isRedelivered : event.isRedelivered != record.isOut {
            self.find(
                "\(app) \(event.sequence): redelivered is \(event.isRedelivered), sent \(record.sent) times before")
        }
        if event.isRedelivered { self.counts.again += 1 }
        // Behind what was its user's own it has another number.
        let isFirst = record.isRestored && record.sent == 0 || record.sent == record.sentBefore
        if isFirst { record.sequence = event.sequence }
        if record.sequence != event.sequence { self.find("\(app): \(record.sequence) is \(event.sequence) now") }
        if let user = record.box?.user, user != box.user {
            self.find("\(app) \(event.sequence): is user \(user)'s, and goes to another")
        }
        record.box = box
        record.sent += 1
        self.records[key] = record
        return key
    }

    /// All numbers before one were sent or told.
    private mutating func expect(_ number: UInt64, _ box: Box) {
        let (app, numbers) = (box.app, self.numbers[box] ?? Numbers())
        if numbers.isLoose { return }
        if numbers.has(number) { self.find("\(app) \(number): sent or told before") }
        if numbers.floor + 1 < number {
            let hole = (numbers.floor + 1..<number).first { !numbers.has($0) }
            // It may have that in its hands, as nobody's and under another number.
            let isCalled = self.calls.values.contains { $0.box == box && $0.sequences.contains(nil) }
            if let hole, !isCalled { self.find("\(app) \(number): before it, \(hole) was neither sent nor told") }
        }
    }

    mutating func sent(_ mark: Mark, to box: Box) {
        guard case .gap(let gap) = mark else { return }
        self.counts.gaps += 1
        let losses = gap.losses
        if UInt64(losses.dropped) + UInt64(losses.expired) + UInt64(losses.removed) != gap.last - gap.first + 1 {
            self.find("\(box.app): \(gap) does not add up")
        }
        for number in gap.first...gap.last {
            self.expect(number, box)
            self.numbers[box, default: Numbers()].add(number)
        }
    }

    /// The app has a queue, whose last number is this one.
    mutating func begin(_ box: Box, last: UInt64) {
        // It is new also when its first was decided by its app's coming.
        let isNew = self.born.contains { self.records[$0].map { $0.box == box && $0.sequence == 1 } ?? false }
        guard last == 0 || isNew else { return }
        self.numbers[box] = nil
        // What it was called for went with the queue, unless it was called at once.
        self.calls = self.calls.filter { $0.value.box != box || self.begun.contains($0.key) }
        for call in self.calls.values where call.box == box {
            for case let number? in call.sequences { self.numbers[box, default: Numbers()].add(number) }
        }
    }

    /// What was nobody's is a user's now, who had a queue of his own, or had none.
    mutating func passes(_ app: AppID, to user: UInt32, hadOwn: Bool) {
        let nobodys = self.numbers.removeValue(forKey: Box(app: app, user: nil))
        let box = Box(app: app, user: user)
        if !hadOwn {
            self.numbers[box] = nobodys
            // What he was called for of a queue before went with that.
            self.calls = self.calls.filter { $0.value.box != box }
        }
        // What somebody had to take behind his own is his.
        for (key, record) in self.records where record.box == Box(app: app, user: nil) && record.sentBefore == nil {
            // Also what is over, or it would count as what another has had when he comes again.
            if hadOwn { self.records[key]?.sentBefore = record.sent } else { self.records[key]?.box = box }
        }
        for (number, call) in self.calls where call.box == Box(app: app, user: nil) {
            self.calls[number]?.box = box
            // Behind his own they have other numbers, which may look the same.
            if hadOwn {
                self.calls[number]?.missing = []
                self.calls[number]?.sequences = call.keys.map { _ in nil }
            }
        }
    }

    /// The queue of an app that reads is empty: it was told of all numbers.
    mutating func isEmpty(_ box: Box, last: UInt64) {
        let (app, numbers) = (box.app, self.numbers[box] ?? Numbers())
        let floor = numbers.floor
        if floor < last, !numbers.isLoose {
            self.find("\(app): \(floor + 1) to \(last) were neither sent nor told, and nothing is left to tell")
        }
    }

    /// An app reads an event.
    mutating func reads(_ event: Event, _ app: AppID) {
        self.had.insert(Key(app, event))
        self.lately[app, default: []].insert(Key(app, event))
        self.meanings[Meaning(app: app, sequence: event.sequence, epoch: event.epoch)] = Key(app, event)
    }

    /// An app leaves. What it read before counts for what it subscribes from; who comes next answers what it has read itself.
    mutating func leaves(_ app: AppID) { self.lately[app] = nil }

    // MARK: On the way back

    /// Begins to watch what an answer does. Returns what it has to end.
    ///
    /// - Parameter isSince: It is what an app subscribes from.
    mutating func begin(answer name: EventName, of box: Box, isSince: Bool) -> [Key] {
        self.answer = (box, name)
        let named = self.records.first {
            $0.value.sequence == name.sequence && $0.key.epoch == name.epoch && $0.value.box == box
        }
        let meant = self.meanings[Meaning(app: box.app, sequence: name.sequence, epoch: name.epoch)]
        self.isHonest =
            named.map { $0.key == meant && (isSince || self.lately[box.app]?.contains($0.key) == true) } ?? false
        guard let target = named?.value, target.wantsAck, target.isOut, !target.isOver else { return [] }
        // What was sent later, or not as a signal, it need not have; nor what another broker did not send, to which it may answer.
        let order = target.first ?? 0
        func isCovered(_ record: Record) -> Bool {
            record.sequence <= name.sequence && record.wantsAck && record.isOut && !record.isOver
                && record.first != nil && record.last <= order && (!target.isRestored || record.isRestored)
                && record.box == box
        }
        return self.records.compactMap { isCovered($0.value) ? $0.key : nil }
    }

    mutating func endAnswer(_ due: [Key]) {
        self.answer = nil
        self.isHonest = false
        for key in due where self.records[key]?.end != .acknowledged {
            self.find("\(key.app) \(self.records[key]?.sequence ?? 0): its acknowledgement was not taken")
        }
    }

    mutating func ended(_ event: Event, of app: AppID, _ end: EventEnd, at now: Timestamp) {
        let key = Key(app, event)
        var record = self.records[key] ?? Record(sequence: event.sequence, wantsAck: event.wantsAck)
        if let old = record.end { self.find("\(app) \(event.sequence): \(old), and then \(end)") }
        switch end {
        case .acknowledged:
            self.counts.acknowledged += 1
            if !record.isOut { self.find("\(app) \(event.sequence): acknowledged, and was never sent") }
            let isCovered = self.answer.map { $0.box.app == app && $0.name.sequence >= event.sequence } ?? false
            if self.answer != nil, self.isHonest, !self.had.contains(key), !record.isRestored {
                self.find("\(app) \(event.sequence): acknowledged, and the app never had it")
            }
            if !isCovered, !self.answeredCall.contains(key) {
                self.find("\(app) \(event.sequence): acknowledged by nobody")
            }
            self.settling.insert(key)
            // Who has it knows its number, also when that was another queue's.
            let call = isCovered ? nil : self.calls.values.first { $0.keys.contains(key) }
            if let box = isCovered ? record.box : call?.box {
                self.numbers[box, default: Numbers()].add(event.sequence)
            }
        case .expired:
            self.counts.otherEnds += 1
            if event.ends > now { self.find("\(app) \(event.sequence): expired before its time") }
        case .removed:
            self.counts.otherEnds += 1
            if event.wantsAck, self.departure?.app == app { self.departure?.removed.append(key) }
        case .sent, .dropped, .launchFailed, .unkept: self.counts.otherEnds += 1
        }
        record.end = end
        self.records[key] = record
        self.owed.remove(key)
        // What was handed over under another number was not seen under this one.
        for call in self.calls.values where end != .acknowledged {
            guard let index = call.keys.firstIndex(of: key), call.sequences[index] != event.sequence else { continue }
            self.numbers[record.box ?? call.box]?.remove(event.sequence)
        }
    }

    // MARK: Leaving

    /// An app leaves with the input that is taken in.
    mutating func departs(_ app: AppID) {
        if !app.isAnonymous { self.departure = Departure(app: app) }
    }

    /// Something was decided, by which another app may have what this one had.
    mutating func takes(_ verdict: Verdict) {
        guard self.departure != nil else { return }
        switch verdict.reason {
        case .silent, .passed, .left, .launchFailed: self.departure?.revoked.insert(verdict.epoch)
        default: break
        }
        if let inherited = verdict.contest?.inherits { self.departure?.revoked.insert(inherited) }
    }

    /// That input is done with. Who leaves has removed nothing, so that what it did not answer is due to it, or another's.
    mutating func hasDeparted() {
        guard let departure = self.departure else { return }
        self.departure = nil
        for key in departure.removed where !departure.revoked.contains(key.epoch) {
            self.find("\(key.app) \(self.records[key]?.sequence ?? 0): removed, and its app only left")
        }
    }

    // MARK: Calls

    /// An app is handed events in the call that launches it: what waits for it, in order, and how many it does not get.
    mutating func called(
        _ launch: Launch, _ handover: Handover, _ box: Box, besides known: Set<Key> = [], at now: Timestamp
    ) {
        guard let last = handover.events.last?.sequence else { return }
        self.begun.insert(launch.number)
        var before: UInt64 = 0
        var keys: [Key] = []
        for event in handover.events {
            if event.sequence <= before { self.find("\(box.app) \(event.sequence): handed over behind \(before)") }
            before = event.sequence
            if known.contains(Key(box.app, event)) {
                keys.append(Key(box.app, event))
                continue
            }
            self.counts.handedOver += 1
            let key = self.goesOut(event, to: box, isCalled: true, at: now)
            keys.append(key)
            // What came before it as a signal may be lost with a connection.
            self.records[key]?.first = nil
            self.numbers[box, default: Numbers()].add(event.sequence)
        }
        let holes = (self.numbers[box] ?? Numbers()).holes(upTo: last)
        self.calls[launch.number] = Call(
            box: box, keys: keys, sequences: handover.events.map(\.sequence), missing: holes)
    }

    /// Just before somebody is called, what has ended since it was taken is left out of what is handed over, and what has come back goes with
    /// it; `nil`: all of it is left out.
    mutating func settles(_ launch: Launch, with left: Handover?, at now: Timestamp) {
        guard var call = self.calls[launch.number] else { return }
        let kept = Set((left?.events ?? []).map { Key(launch.app, $0) })
        let events = zip(call.keys, call.sequences)
        let (out, stays) = (events.filter { !kept.contains($0.0) }, events.filter { kept.contains($0.0) })
        for (key, sequence) in out where self.records[key]?.isOver != true {
            self.find("\(call.box.app) \(sequence ?? 0): left out of a call, and is not over")
        }
        (call.keys, call.sequences) = (out.map(\.0), out.map(\.1))
        if !out.isEmpty { self.takeBack(call, isUnseen: true) }
        guard let left, let last = left.events.last?.sequence else { return self.calls[launch.number] = nil }
        (call.keys, call.sequences) = (stays.map(\.0), stays.map(\.1))
        // By numbers of another queue nothing is known of what is missing here.
        if !call.sequences.contains(nil) {
            self.called(launch, left, call.box, besides: Set(call.keys), at: now)
            // What was lost when it was taken may be told beside it by now.
            if out.isEmpty {
                let had = Set(left.events.map(\.sequence))
                self.calls[launch.number]?.missing = call.missing.filter { !had.contains($0) }
            }
            let (numbers, missing) = (self.numbers[call.box] ?? Numbers(), self.calls[launch.number]?.missing ?? [])
            if !numbers.isLoose, UInt64(missing.count) != left.missing {
                self.find(
                    "\(call.box.app): \(left.missing) events are said to be missing before \(last), not \(missing)")
            }
        } else {
            self.calls[launch.number] = call
        }
    }

    /// Somebody is called with what was handed over.
    mutating func isMade(_ launch: Launch) { self.calls[launch.number]?.isMade = true }

    /// Begins to watch what the answer to a call does.
    mutating func begin(call launch: Launch) {
        guard let call = self.calls[launch.number] else { return }
        self.answeredCall = Set(call.keys)
        let missing = call.missing.filter { self.numbers[call.box]?.has($0) != true }
        self.answeredMissing = (launch.number, missing)
        for number in missing { self.numbers[call.box, default: Numbers()].add(number) }
    }

    mutating func endCall() {
        self.answeredCall = []
        self.answeredMissing = nil
    }

    /// A call is over.
    mutating func ended(_ launch: Launch, _ result: LaunchResult) {
        guard let call = self.calls.removeValue(forKey: launch.number) else { return }
        switch result {
        case .needless: break
        case .postponed: self.takeBack(call, isUnseen: true)
        case .done:
            for key in call.keys where self.records[key]?.isOver == false {
                self.find("\(call.box.app) \(self.records[key]?.sequence ?? 0): answered in a call, and is not over")
            }
        case .failed(let failure):
            // The answer came when its time was over, and told nothing.
            if let (number, missing) = self.answeredMissing, number == launch.number {
                for number in missing { self.numbers[call.box]?.remove(number) }
            }
            // Whoever was not there, or not called, has not seen it.
            self.takeBack(call, isUnseen: failure == .unknown || failure == .notStarted || !call.isMade)
        }
    }

    /// What an app was to have in a call waits again.
    private mutating func takeBack(_ call: Call, isUnseen: Bool) {
        for (key, sequence) in zip(call.keys, call.sequences) {
            guard var record = self.records[key] else { continue }
            // What has another number by now has not been seen under that.
            let isRenumbered = record.sequence != sequence
            if isUnseen {
                record.sent -= 1
                // It may have got another number meanwhile.
                record.sentBefore = record.sentBefore.map { min($0, record.sent) }
            }
            self.records[key] = record
            guard record.isOver ? isUnseen && !isRenumbered : isUnseen || isRenumbered else { continue }
            if isRenumbered || !record.isSeen {
                self.numbers[record.isOver ? call.box : record.box ?? call.box]?.remove(record.sequence)
            }
        }
    }

    // MARK: The disk

    /// An event is to outlive the broker: it is known whose it is, and under which number.
    mutating func persists(_ stored: StoredEvent) {
        let key = Key(stored.app, stored.event)
        if self.records[key] == nil { self.born.insert(key) }
        var record =
            self.records[key] ?? Record(sequence: stored.event.sequence, wantsAck: stored.event.wantsAck)
        if let user = record.box?.user, user != stored.user {
            self.find("\(stored.app) \(stored.event.sequence): is user \(user)'s, and is kept for another")
        }
        let box = Box(app: stored.app, user: stored.user)
        record.box = box
        record.sequence = stored.event.sequence
        // What is in the app's hands under another number.
        if self.calls.values.contains(where: { $0.keys.contains(key) }) {
            self.numbers[box, default: Numbers()].add(stored.event.sequence)
        }
        self.records[key] = record
    }

    /// The disk has room for an event, or has none: then it is not there after the broker, unless it was before.
    mutating func isKept(_ stored: StoredEvent, _ isKept: Bool) {
        let row = Row(stored)
        if isKept { self.leftOut.remove(row) } else { self.leftOut.insert(row) }
        if !isKept, self.owed.contains(row.key) {
            self.find("\(stored.app) \(stored.event.sequence): was on the disk, and there is no room for it any more")
        }
    }

    /// An app comes.
    mutating func handsOn() { (self.born, self.begun) = ([], []) }

    /// An app has come: what was kept for it, and what was nobody's, is its own now, and nothing else but what its coming decided.
    mutating func handedOn(_ before: [StoredEvent], to box: Box, _ after: [StoredEvent]) {
        let owned = Set(after.lazy.filter { $0.app == box.app && $0.user == box.user }.map { Key(box.app, $0.event) })
        let kept = before.filter { $0.app == box.app && ($0.user == nil || $0.user == box.user) }
        for stored in kept {
            let key = Key(stored.app, stored.event)
            if owned.contains(key) || self.records[key]?.isOver == true { continue }
            if self.records[key].map({ !$0.wantsAck && $0.sent > 0 }) == true { continue }
            self.find("\(box.app) \(stored.event.sequence): was kept for it, and is not there when it comes")
        }
        let known = Set(kept.lazy.map { Key($0.app, $0.event) })
        if let other = owned.subtracting(known).subtracting(self.born).first {
            self.find("\(box.app): has \(other), which was not kept for it")
        }
    }

    /// All that was handed over is on the disk: these are, and the queues say that those are due.
    mutating func committed(_ rows: some Collection<DueEvent>, due: [StoredEvent]) {
        let rows = Set(rows.map { Row($0) })
        let due = Set(due.lazy.filter { !$0.app.isAnonymous }.map { Row($0) })
        self.counts.committed += rows.count
        if rows != due {
            if let lost = due.subtracting(rows).subtracting(self.leftOut).first {
                self.find("\(lost.key.app): is due for good, and not on the disk: \(lost)")
            }
            if let left = rows.subtracting(due).first {
                self.find("\(left.key.app): is on the disk, and not due: \(left)")
            }
        }
        self.owed.formUnion(rows.lazy.map(\.key))
        self.settled.formUnion(self.settling)
        self.settling = []
    }

    /// An event on the disk, and whose it is there.
    private struct Row: Hashable {
        let key: Key
        let user: UInt32?

        init(_ stored: StoredEvent) {
            self.key = Key(stored.app, stored.event)
            self.user = stored.user
        }

        init(_ due: DueEvent) {
            self.key = Key(due.app, due.content)
            self.user = due.user
        }
    }

    /// The disk has lost all: nothing that was on it is owed.
    mutating func diskLost() { self.owed = [] }

    /// What was on the disk is about to be taken in. These have given out numbers since; and these are here, whoever had what is
    /// nobody's.
    mutating func restoring(_ events: [StoredEvent], numbered: Set<Box>, here: [Box]) {
        self.counts.restored += events.count
        let known = numbered.union(self.records.values.compactMap(\.box))
        var taken: [Box: Set<UInt64>] = [:]
        // What is there as nobody's and as somebody's is his.
        let owned = Set(events.lazy.filter { $0.user != nil }.map { Key($0.app, $0.event) })
        for stored in events where stored.user != nil || !owned.contains(Key(stored.app, stored.event)) {
            var box = Box(app: stored.app, user: stored.user)
            if stored.user == nil, let other = here.first(where: { $0.app == stored.app }) { box = other }
            // What two brokers gave the same number gets another.
            let isFirst = taken[box, default: []].insert(stored.event.sequence).inserted
            if known.contains(box) || !isFirst || box.user != stored.user {
                self.numbers[box, default: Numbers()].isLoose = true
            } else {
                // The numbers before it were the other broker's to tell.
                self.numbers[box, default: Numbers()].skip(to: stored.event.sequence)
            }
            let key = Key(stored.app, stored.event)
            var record = self.records[key] ?? Record(sequence: stored.event.sequence, wantsAck: stored.event.wantsAck)
            record.isRestored = true
            record.box = record.box ?? box
            self.records[key] = record
        }
    }

    /// It was taken in: each of it is due now, by these numbers, or has gone out, or has ended.
    mutating func restored(_ events: [StoredEvent], due: [StoredEvent]) {
        var left: [Key: UInt64] = [:]
        for stored in due { left[Key(stored.app, stored.event)] = stored.event.sequence }
        for stored in events {
            let key = Key(stored.app, stored.event)
            if let sequence = left[key] {
                self.records[key]?.sequence = sequence
            } else if let record = self.records[key], !record.isOver, record.wantsAck || record.sent == 0 {
                self.find("\(key.app): was on the disk, and is lost: \(key)")
            }
        }
    }

    /// A broker ends, and another begins with what is on the disk.
    mutating func brokerEnds() {
        self.records = [:]
        self.numbers = [:]
        self.calls = [:]
        self.answeredCall = []
        self.settling = []
        self.leftOut = []
        self.answer = nil
    }

    /// Everybody has read everything and has had time to.
    mutating func end() {
        if let lost = self.owed.first {
            self.find("\(lost.app): was on the disk, and nobody has seen it again: \(lost)")
        }
    }
}
