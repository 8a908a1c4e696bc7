package import Motion

/// Turns a device's own stamps into sample times.
///
/// A stamp may count nanoseconds of some clock in 64 bits, or in fewer, which then begin again. A device whose stamps make
/// no sense, or that has none, gets its times from when its samples arrived.
package struct SampleClock: Sendable {
    /// Further from the arrival than this no honest stamp lies, besides what the device may hold back, unless nobody read for longer.
    package static let tolerance = TimeSpan.seconds(2)

    /// Bits that the stamp has; `nil` when there is none.
    private let bits: Int?
    /// The last time told, because times must rise.
    private var told = Timestamp(microseconds: -1)
    /// Whether the last stamp made sense.
    private var isHonest = false
    /// Stamps that made no sense.
    package private(set) var misdated: UInt64 = 0

    package init(bits: Int?) { self.bits = bits }

    /// What arrived together, and when.
    package struct Arrival: Sendable {
        /// When it arrived, by CLOCK_BOOTTIME.
        package var now: Timestamp
        /// What to add to the device's clock to get CLOCK_BOOTTIME.
        package var offset: TimeSpan
        /// The time between two samples.
        package var period: TimeSpan
        /// How long the oldest may have waited in the device.
        package var held: TimeSpan
        /// When nothing waited to be read; `nil`: just now.
        package var since: Timestamp?

        package init(
            now: Timestamp, offset: TimeSpan = .zero, period: TimeSpan, held: TimeSpan = .zero, since: Timestamp? = nil
        ) {
            self.now = now
            self.offset = offset
            self.period = period
            self.held = held
            self.since = since
        }
    }

    /// The time of a sample that `after` more of the same arrival follow.
    package mutating func time(of stamp: Int64?, after: Int, _ arrival: Arrival) -> Timestamp {
        let (wait, overflow) = arrival.period.microseconds.multipliedReportingOverflow(by: Int64(after))
        var time = arrival.now - TimeSpan(microseconds: overflow ? .max : wait)
        if let stamp, let bits {
            // We, or the whole system, may have slept: what waited meanwhile is as old as it says. A narrow stamp does not say it.
            let read = self.isHonest && bits >= 64 ? min(arrival.now, arrival.since ?? arrival.now) : arrival.now
            let earliest = read - (Self.tolerance + arrival.held)
            let real = Self.unwrapped(stamp, bits, after: earliest - arrival.offset) + arrival.offset
            self.isHonest = real >= earliest && real <= arrival.now + Self.tolerance
            if self.isHonest {
                time = min(real, arrival.now)
            } else {
                self.misdated &+= 1
            }
        }
        // Two readings in one microsecond, or a clock that stood still: still one after the other.
        time = max(time, self.told + TimeSpan(microseconds: 1))
        self.told = time
        return time
    }

    /// A narrow stamp begins again and again: it is taken for the first of its kind that can be true.
    private static func unwrapped(_ stamp: Int64, _ bits: Int, after earliest: Timestamp) -> Timestamp {
        guard bits < 64 else { return self.rounded(stamp) }
        let start = earliest.microseconds &* 1_000
        let mask = (Int64(1) << Int64(bits)) &- 1
        return self.rounded(start &+ ((stamp &- start) & mask))
    }

    /// Nanoseconds to the nearest microsecond.
    private static func rounded(_ nanoseconds: Int64) -> Timestamp {
        let rest = nanoseconds % 1_000
        return Timestamp(microseconds: nanoseconds / 1_000 + (rest >= 500 ? 1 : 0))
    }
}
