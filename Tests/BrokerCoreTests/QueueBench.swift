@testable import Arbitration
import BrokerCore
import Motion

/// A queue with a clock in milliseconds, and everything it said as short lines.
struct QueueBench {
    var queue: EventQueue
    var now: Int64 = 0
    /// What goes out from now on comes back, after so many bytes.
    var room: Int?
    private(set) var said: [String] = []
    /// What really went out.
    private(set) var sent: [Event] = []
    private(set) var marks: [Mark] = []
    private(set) var ended: [(event: Event, end: EventEnd)] = []
    private(set) var persisted: [Event] = []
    private(set) var forgotten: [Event] = []
    private var epoch: UInt64 = 0

    init(keeping bytes: Int = 1 << 20, isSubscribed: Bool = true) {
        self.queue = EventQueue(keeping: bytes, isSubscribed: isSubscribed)
    }

    /// What a test's event takes.
    static let bytes = 281

    var time: Timestamp { Timestamp.zero + .milliseconds(self.now) }

    /// What was said since the last time.
    mutating func take() -> [String] {
        defer { self.said = [] }
        return self.said
    }

    mutating func add(
        _ reliability: Reliability = .bestEffort, lifespan: Int64 = 3_000, kind: DeliveryKind = .live,
        _ durability: Durability = .volatile, detector: String = "d", answerBy: Int64? = nil, epoch: UInt64? = nil,
        since start: Int64? = nil
    ) {
        var terms = DeliveryTerms()
        terms.reliability = reliability
        terms.lifespan = .milliseconds(lifespan)
        terms.kind = kind
        terms.durability = durability
        self.epoch = epoch ?? self.epoch + 1
        let delivery = Delivery(
            app: AppHandle(0), id: AppID("a"), epoch: self.epoch, generation: 1,
            hit: Hit(detector: DetectorID(0), time: self.time, peak: 1), detector: detector, route: .live,
            terms: terms, strength: 0, answerBy: answerBy.map { Timestamp.zero + .milliseconds($0) })
        self.perform { queue, now, actions in
            let start = start.map { Timestamp.zero + .milliseconds($0) } ?? now
            let (event, goesAtOnce) = queue.add(delivery, isSimulated: false, since: start, at: now, &actions)
            if goesAtOnce { actions.append(.send(event)) }
        }
    }

    mutating func pass(to time: Int64) {
        self.now = max(self.now, time)
        self.perform { $0.pump(at: $1, &$2) }
    }

    /// Acknowledges by number; the epoch of a test's event is its number, unless it is said.
    mutating func ack(_ sequence: UInt64, epoch: UInt64? = nil) -> EventQueue.AckVerdict {
        var verdict = EventQueue.AckVerdict.unknown
        let name = EventName(sequence: sequence, epoch: epoch ?? sequence)
        self.perform { verdict = $0.acknowledge(name, at: $1, &$2) }
        return verdict
    }

    /// The app has read; so many bytes go.
    mutating func read(_ bytes: Int = .max) {
        self.room = bytes == .max ? nil : bytes
        self.perform { $0.resume(at: $1, room: bytes, &$2) }
    }

    mutating func perform(_ body: (inout EventQueue, Timestamp, inout [QueueAction]) -> Void) {
        var actions: [QueueAction] = []
        body(&self.queue, self.time, &actions)
        while !actions.isEmpty {
            var returned: [QueueAction] = []
            for action in actions { self.perform(action, &returned) }
            actions = returned
        }
    }

    private mutating func perform(_ action: QueueAction, _ returned: inout [QueueAction]) {
        switch action {
        case .send(let event):
            guard self.takes(event.bytes) else { return self.queue.takeBack(event, at: self.time, &returned) }
            self.queue.went(event, &returned)
            self.sent.append(event)
            self.said.append("send \(event.sequence)\(event.isRedelivered ? " again" : "")")
        case .mark(let mark):
            guard self.takes(Mark.bytes) else { return self.queue.takeBack(mark) }
            self.marks.append(mark)
            switch mark {
            case .gap(let gap):
                let losses = gap.losses
                self.said.append(
                    "gap \(gap.first)-\(gap.last) \(losses.dropped)/\(losses.expired)/\(losses.removed)")
            case .caughtUp(let mark): self.said.append("caught up \(mark.last)")
            }
        case .persist(let event):
            self.persisted.append(event)
            self.said.append("persist \(event.sequence)")
        case .forget(let event):
            self.forgotten.append(event)
            self.said.append("forget \(event.sequence)")
        // That is said by the sending itself.
        case .ended(_, .sent), .failed: break
        case .ended(let event, let end):
            self.ended.append((event, end))
            self.said.append("\(event.sequence) \(end.reason.name)")
        }
    }

    /// As the sender does it: once something came back, all that follows does.
    private mutating func takes(_ bytes: Int) -> Bool {
        if self.queue.isHeld { return false }
        guard let room else { return true }
        guard bytes <= room else { return false }
        self.room = room - bytes
        return true
    }
}
