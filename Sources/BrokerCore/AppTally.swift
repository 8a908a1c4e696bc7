package import Arbitration
package import Motion

/// What became of an app since it is here: the events it got, and why it did not get others.
package struct AppTally {
    /// Events sent to it.
    package private(set) var delivered: UInt64 = 0
    /// Times that it was refused, by policy or because another app was to react.
    package private(set) var denied: UInt64 = 0
    /// Events sent to it again.
    package private(set) var redelivered: UInt64 = 0
    /// Times that it was told of events it does not get.
    package private(set) var gaps: UInt64 = 0
    /// The last event that was due to it.
    package private(set) var lastEvent: Event?
    /// The last one that it has had. What waits for it, or gave way or grew too old before, it never had.
    package private(set) var lastHad: (time: Timestamp, epoch: UInt64)?
    /// How its launches went.
    package internal(set) var launches = LaunchRecord()
    /// By the number of the reason; empty before the first.
    private var counts: [Count] = []

    private struct Count {
        var count: UInt64 = 0
        var time = Timestamp.zero
        var epoch: UInt64 = 0
    }

    /// How often an app was refused for one reason, and when it last was.
    package struct Denial: Equatable, Sendable {
        package var reason: Reason
        package var count: UInt64
        /// The time of the last hit that was refused.
        package var time: Timestamp
        package var epoch: UInt64
    }

    /// It is to get an event, or would if that were not too late.
    mutating func expect(_ event: Event?) { self.lastEvent = event }

    /// It has an event that it was to be launched for, or that it had before.
    mutating func had(_ event: Event) {
        if self.lastEvent.map({ $0.time < event.time }) ?? true { self.lastEvent = event }
        self.noteHad(event)
    }

    private mutating func noteHad(_ event: Event) {
        if self.lastHad.map({ $0.time < event.time }) ?? true { self.lastHad = (event.time, event.epoch) }
    }

    mutating func sent(_ event: Event) {
        self.noteHad(event)
        if event.isRedelivered { self.redelivered &+= 1 } else { self.delivered &+= 1 }
    }

    /// It took so many events in a call.
    mutating func handedOver(_ count: Int) { self.delivered &+= UInt64(count) }

    mutating func toldGap() { self.gaps &+= 1 }

    /// Takes in a reason for which it got no event, or none more, so many times.
    mutating func count(_ reason: Reason, epoch: UInt64, at time: Timestamp, times: UInt64 = 1) {
        guard !reason.isDelivered else { return }
        switch reason.stage {
        case .identity, .alive, .rule, .limits, .group: self.denied &+= times
        case .delivery: break
        }
        if self.counts.isEmpty { self.counts = Array(repeating: Count(), count: Reason.allCases.count) }
        let index = Int(reason.rawValue)
        self.counts[index] = Count(count: self.counts[index].count &+ times, time: time, epoch: epoch)
    }

    /// Why it last got no event. For lists that are read again and again: nothing is sorted, and nothing allocated.
    package var lastDenial: Reason? {
        var last: (index: Int, time: Timestamp, epoch: UInt64)?
        for (index, one) in self.counts.enumerated() where one.count > 0 {
            if last.map({ ($0.time, $0.epoch) < (one.time, one.epoch) }) ?? true { last = (index, one.time, one.epoch) }
        }
        return last.flatMap { Reason(rawValue: UInt8($0.index)) }
    }

    /// Why it got no event, the latest first.
    package var denials: [Denial] {
        zip(Reason.allCases, self.counts).compactMap { reason, count in
            count.count == 0
                ? nil : Denial(reason: reason, count: count.count, time: count.time, epoch: count.epoch)
        }.sorted { ($0.time, $0.epoch) > ($1.time, $1.epoch) }
    }
}
