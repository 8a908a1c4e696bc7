/// A point in time: microseconds of CLOCK_BOOTTIME, or of whatever clock the context names.
///
/// All arithmetic saturates, because a timestamp may come from a peer and must not be able to trap.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since the clock's zero.
    public var microseconds: Int64

    /// Makes a timestamp from microseconds.
    @inlinable
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The timestamp of a `t` from the wire; `nil` when it lies beyond what we compute with (some 146 000 years).
    @inlinable
    public init?(wire: UInt64) {
        guard wire <= UInt64(Int64.max / 2) else { return nil }
        self.microseconds = Int64(wire)
    }

    /// The same point as a `t` for the wire; points before zero become zero.
    @inlinable
    public var wire: UInt64 { UInt64(max(0, self.microseconds)) }

    /// The clock's zero.
    @inlinable
    public static var zero: Timestamp { Timestamp(microseconds: 0) }

    /// Earlier than.
    @inlinable
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// The point a span later.
    @inlinable
    public static func + (a: Timestamp, b: TimeSpan) -> Timestamp {
        Timestamp(microseconds: saturatingSum(a.microseconds, b.microseconds))
    }

    /// The point a span earlier.
    @inlinable
    public static func - (a: Timestamp, b: TimeSpan) -> Timestamp {
        Timestamp(microseconds: saturatingDifference(a.microseconds, b.microseconds))
    }

    /// The span from `b` to `a`.
    @inlinable
    public static func - (a: Timestamp, b: Timestamp) -> TimeSpan {
        TimeSpan(microseconds: saturatingDifference(a.microseconds, b.microseconds))
    }

    /// Whether two points, whichever is earlier, are less than a span apart.
    package func isWithin(_ span: TimeSpan, of other: Timestamp) -> Bool { max(self - other, other - self) < span }
}

/// A length of time in microseconds. Arithmetic saturates.
@frozen
public struct TimeSpan: Hashable, Comparable, Sendable {
    /// The length in microseconds.
    public var microseconds: Int64

    /// Makes a span from microseconds.
    @inlinable
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The span of a number of seconds, rounded to the nearest microsecond; `nil` when that is not finite or too long.
    @inlinable
    public init?(seconds: Double) {
        let value = (seconds * 1_000_000).rounded()
        guard value.magnitude < 4.0e18 else { return nil }
        self.microseconds = Int64(value)
    }

    /// The span in seconds.
    @inlinable
    public var seconds: Double { Double(self.microseconds) / 1_000_000 }

    /// A span of whole milliseconds.
    @inlinable
    public static func milliseconds(_ count: Int64) -> TimeSpan {
        let (value, overflow) = count.multipliedReportingOverflow(by: 1_000)
        return TimeSpan(microseconds: overflow ? (count < 0 ? Int64.min : Int64.max) : value)
    }

    /// A span of whole seconds.
    @inlinable
    public static func seconds(_ count: Int64) -> TimeSpan {
        let (value, overflow) = count.multipliedReportingOverflow(by: 1_000_000)
        return TimeSpan(microseconds: overflow ? (count < 0 ? Int64.min : Int64.max) : value)
    }

    /// No time at all.
    @inlinable
    public static var zero: TimeSpan { TimeSpan(microseconds: 0) }

    /// The span exactly, in the largest unit in which it is whole: `350ms`. Readers of detectors and of policy files take it.
    public var text: String {
        let count = self.microseconds
        let units: [(String, Int64)] = [("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000)]
        for (unit, size) in units where count != 0 && count % size == 0 { return "\(count / size)\(unit)" }
        return count == 0 ? "0" : "\(count)us"
    }

    /// The span as people say it: in the unit that leaves a number from 1 to some hundred.
    package var inWords: String {
        let milliseconds = max(0, self.microseconds) / 1_000
        switch milliseconds {
        case ..<1_000: return "\(milliseconds) ms"
        case ..<120_000: return "\(milliseconds / 1_000).\(milliseconds / 100 % 10) s"
        case ..<7_200_000: return "\(milliseconds / 60_000) min"
        default: return "\(milliseconds / 3_600_000) h"
        }
    }

    /// Shorter than.
    @inlinable
    public static func < (a: TimeSpan, b: TimeSpan) -> Bool { a.microseconds < b.microseconds }

    /// Both spans after each other.
    @inlinable
    public static func + (a: TimeSpan, b: TimeSpan) -> TimeSpan {
        TimeSpan(microseconds: saturatingSum(a.microseconds, b.microseconds))
    }
}

@inlinable
func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 {
    let (value, overflow) = a.addingReportingOverflow(b)
    return overflow ? (b < 0 ? Int64.min : Int64.max) : value
}

@inlinable
func saturatingDifference(_ a: Int64, _ b: Int64) -> Int64 {
    let (value, overflow) = a.subtractingReportingOverflow(b)
    return overflow ? (b < 0 ? Int64.max : Int64.min) : value
}
