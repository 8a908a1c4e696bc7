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

    /// Notes that the core is told something.
    mutating func noteInput(at arrival: Timestamp) { self.lastInput = arrival }

    /// When a sleep that nobody announced began, if there was one; it ended now.
    mutating func sleep(until arrival: Timestamp) -> Timestamp? {
        self.sleepWatch.take(.now).map { max(self.lastInput, arrival - $0) }
    }

    /// Notes that a sleep is over that was announced.
    mutating func noteAwake() { self.sleepWatch.note(.now) }

    /// The local time, if somebody goes by it and it is news: rules are asked only when something happens, so that nothing need
    /// wake us for it.
    mutating func newMinute() -> Int? { self.followsMinutes ? self.localMinute.news(at: Clock.wallClock()) : nil }

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
