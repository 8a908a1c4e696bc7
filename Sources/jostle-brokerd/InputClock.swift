import BrokerCore
import Loop
import Motion

/// Stamps inputs, and knows what the core has to hear of the time before each of them.
struct InputClock {
    private var lastArrival = Timestamp.zero
    /// When the core was told something last.
    private var lastInput = Timestamp.zero
    private var sleepWatch = SleepWatch()
    private var localMinute = LocalMinute()
    /// A rule goes by the local time.
    private(set) var followsMinutes = false

    /// The arrival stamp of what happens now. It never decreases.
    mutating func arrival() -> Timestamp {
        self.lastArrival = max(self.lastArrival, Timestamp(microseconds: Clock.boottime.now()))
        return self.lastArrival
    }

    /// What the core has to hear of the time before an input, and the stamp of that: all at once, because each look at a variable of
    /// the service costs a check.
    struct Stamp {
        let arrival: Timestamp
        /// When a sleep that nobody announced began, if there was one; it ended now.
        var sleep: Timestamp?
        /// The local time, if somebody goes by it and it is news.
        var minute: Int?
    }

    /// Stamps an input that comes now.
    ///
    /// - Parameter isAwake: The core does not know of a sleep.
    mutating func input(isAwake: Bool) -> Stamp {
        var stamp = Stamp(arrival: self.arrival())
        if isAwake { stamp.sleep = self.sleepWatch.take(.now).map { max(self.lastInput, stamp.arrival - $0) } }
        // Rules are asked only when something happens, so that nothing need wake us for it.
        if self.followsMinutes { stamp.minute = self.localMinute.news(at: Clock.wallClock()) }
        self.lastInput = stamp.arrival
        return stamp
    }

    /// Notes that a sleep is over that was announced.
    mutating func noteAwake() { self.sleepWatch.note(.now) }

    /// Other rules are in force, which may go by the local time.
    mutating func follow(minutes: Bool) {
        self.followsMinutes = minutes
        self.localMinute.forget()
    }
}

extension SleepWatch.Reading {
    fileprivate static var now: SleepWatch.Reading {
        let before = Clock.monotonic.now()
        let boot = Clock.boottime.now()
        return SleepWatch.Reading(awakeBefore: before, boot: boot, awakeAfter: Clock.monotonic.now())
    }
}
