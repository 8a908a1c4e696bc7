import Arbitration
import BrokerCore
import Motion

/// Knows what became of each event, as far as somebody sees who only watches; and says what must never be.
struct EventWatch {
    /// An event of an app, whatever its number.
    struct Key: Hashable {
        let app: AppID
        let epoch: UInt64
        let time: Timestamp
        let detector: String

        init(_ app: AppID, _ event: Event) {
            self.app = app
            self.epoch = event.epoch
            self.time = event.time
            self.detector = event.detector
        }
    }

    private struct Record {
        var sequence: UInt64
        var wantsAck: Bool
        /// How often this broker sent it.
        var sent = 0
        var isRestored = false
        var end: EventEnd?
        /// What kind of end that was, when it was.
        var isOver: Bool { self.end != nil }
        /// The app may have it.
        var isOut: Bool { self.sent > 0 || self.isRestored }
    }

    /// Numbers of one queue that its app was sent or told.
    private struct Numbers {
        /// All up to here.
        var floor: UInt64 = 0
        /// Above that.
        var others: Set<UInt64> = []
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

        func has(_ number: UInt64) -> Bool { number <= self.floor || self.others.contains(number) }
    }

    // Of this broker.
    private var records: [Key: Record] = [:]
    private var numbers: [AppID: Numbers] = [:]
    /// Acknowledged, and perhaps on the disk yet.
    private var settling: Set<Key> = []
    /// The answer that is taken now.
    private var answer: (app: AppID, name: EventName)?

    // Of all lives.
    /// Acknowledged, and on no disk any more.
    private var settled: Set<Key> = []
    /// On the disk, and neither had nor ended yet as far as was seen.
    private var owed: Set<Key> = []
    /// What is wrong, first of all.
    private(set) var finding: String?
    /// What was seen, so that lives in which nothing happens are seen, too.
    private(set) var counts = Counts()

    struct Counts: Equatable {
        var sent = 0
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
    mutating func sent(_ event: Event, to app: AppID, at now: Timestamp) {
        let key = Key(app, event)
        self.counts.sent += 1
        if self.settled.contains(key) { self.find("\(app) \(event.sequence): acknowledged for good, and sent again") }
        if event.ends <= now { self.find("\(app) \(event.sequence): sent when it was too old") }
        var record = self.records[key] ?? Record(sequence: event.sequence, wantsAck: event.wantsAck)
        if record.isOver { self.find("\(app) \(event.sequence): sent after its end") }
        if event.isRedelivered != record.isOut {
            self.find(
                "\(app) \(event.sequence): redelivered is \(event.isRedelivered), sent \(record.sent) times before")
        }
        if event.isRedelivered { self.counts.again += 1 }
        if record.isRestored, record.sent == 0 { record.sequence = event.sequence }
        if record.sequence != event.sequence { self.find("\(app): \(record.sequence) is \(event.sequence) now") }
        record.sent += 1
        self.records[key] = record
        if !event.isRedelivered {
            self.expect(event.sequence, app)
            self.numbers[app, default: Numbers()].add(event.sequence)
        }
        if !event.wantsAck { self.owed.remove(key) }
    }

    /// All numbers before one were sent or told.
    private mutating func expect(_ number: UInt64, _ app: AppID) {
        let numbers = self.numbers[app] ?? Numbers()
        if numbers.isLoose { return }
        if numbers.has(number) { self.find("\(app) \(number): sent or told before") }
        if numbers.floor + 1 < number {
            let hole = (numbers.floor + 1..<number).first { !numbers.has($0) }
            if let hole { self.find("\(app) \(number): before it, \(hole) was neither sent nor told") }
        }
    }

    mutating func sent(_ mark: Mark, to app: AppID) {
        guard case .gap(let gap) = mark else { return }
        self.counts.gaps += 1
        let losses = gap.losses
        if UInt64(losses.dropped) + UInt64(losses.expired) + UInt64(losses.removed) != gap.last - gap.first + 1 {
            self.find("\(app): \(gap) does not add up")
        }
        for number in gap.first...gap.last {
            self.expect(number, app)
            self.numbers[app, default: Numbers()].add(number)
        }
    }

    /// The app has a queue, whose last number is this one.
    mutating func begin(_ app: AppID, last: UInt64) {
        if last == 0 { self.numbers[app] = nil }
    }

    /// The queue of an app that reads is empty: it was told of all numbers.
    mutating func isEmpty(_ app: AppID, last: UInt64) {
        let numbers = self.numbers[app] ?? Numbers()
        let floor = numbers.floor
        if floor < last, !numbers.isLoose {
            self.find("\(app): \(floor + 1) to \(last) were neither sent nor told, and nothing is left to tell")
        }
    }

    // MARK: On the way back

    /// Begins to watch what an answer does. Returns what it has to end.
    mutating func begin(answer name: EventName, of app: AppID) -> [Key] {
        self.answer = (app, name)
        let named = self.records.first {
            $0.key.app == app && $0.value.sequence == name.sequence && $0.key.epoch == name.epoch
        }
        guard let target = named?.value, target.wantsAck, target.isOut, !target.isOver else { return [] }
        return self.records.filter {
            $0.key.app == app && $0.value.wantsAck && $0.value.isOut && !$0.value.isOver
                && $0.value.sequence <= name.sequence
        }.map(\.key)
    }

    mutating func endAnswer(_ due: [Key]) {
        self.answer = nil
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
            if self.answer?.app != app || self.answer.map({ $0.name.sequence < event.sequence }) == true {
                self.find("\(app) \(event.sequence): acknowledged by nobody")
            }
            self.settling.insert(key)
        case .expired:
            self.counts.otherEnds += 1
            if event.ends > now { self.find("\(app) \(event.sequence): expired before its time") }
        case .sent, .dropped, .removed, .launchFailed, .unkept: self.counts.otherEnds += 1
        }
        record.end = end
        self.records[key] = record
        self.owed.remove(key)
    }

    // MARK: The disk

    /// All that was handed over is on the disk: these are, and the queues say that those are due.
    mutating func committed(_ rows: [StoredEvent], due: [StoredEvent]) {
        let rows = Set(rows.map { Key($0.app, $0.event) })
        let due = Set(due.lazy.filter { !$0.app.isAnonymous }.map { Key($0.app, $0.event) })
        self.counts.committed += rows.count
        if let lost = due.subtracting(rows).first {
            self.find("\(lost.app): is due for good, and not on the disk: \(lost)")
        }
        if let left = rows.subtracting(due).first { self.find("\(left.app): is on the disk, and not due: \(left)") }
        self.owed.formUnion(rows)
        self.settled.formUnion(self.settling)
        self.settling = []
    }

    /// The disk has lost all: nothing that was on it is owed.
    mutating func diskLost() { self.owed = [] }

    /// What was on the disk is about to be taken in. These apps have given out numbers since.
    mutating func restoring(_ events: [StoredEvent], numbered: Set<AppID>) {
        self.counts.restored += events.count
        let known = numbered.union(self.records.keys.map(\.app))
        var taken: [AppID: Set<UInt64>] = [:]
        for stored in events {
            // What two brokers gave the same number gets another.
            let isFirst = taken[stored.app, default: []].insert(stored.event.sequence).inserted
            if known.contains(stored.app) || !isFirst {
                self.numbers[stored.app, default: Numbers()].isLoose = true
            } else {
                // The numbers before it were the other broker's to tell.
                self.numbers[stored.app, default: Numbers()].skip(to: stored.event.sequence)
            }
            let key = Key(stored.app, stored.event)
            var record = self.records[key] ?? Record(sequence: stored.event.sequence, wantsAck: stored.event.wantsAck)
            record.isRestored = true
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
        self.settling = []
        self.answer = nil
    }

    /// Everybody has read everything and has had time to.
    mutating func end() {
        if let lost = self.owed.first {
            self.find("\(lost.app): was on the disk, and nobody has seen it again: \(lost)")
        }
    }
}
