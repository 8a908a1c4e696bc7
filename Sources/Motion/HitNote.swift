/// What a hit says besides its peak, in two bytes: hits are many, and few have more to say.
@frozen
public struct HitNote: Hashable, Sendable {
    /// As it travels and is stored; 0 is nothing.
    public var rawValue: UInt16

    /// Makes a note from what was stored.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Nothing besides.
    @inlinable
    public static var none: HitNote { HitNote(rawValue: 0) }

    /// What a note means.
    package enum Meaning: Hashable, Sendable {
        case nothing
        /// A geofence was entered or left; the peak is the distance from its centre in m.
        case entered, left
        /// A stay began or ended; the peak is how long it has lasted in s.
        case arrived, departed
        /// The peak is the distance since the last report in m.
        case moved
        /// The same, and the filter in force is so many metres.
        case movedThrough(filter: Int)
    }

    /// Bit of the notes that hold a filter.
    private static let filterBit: UInt16 = 0x8000

    package init(_ meaning: Meaning) {
        switch meaning {
        case .nothing: self.rawValue = 0
        case .entered: self.rawValue = 1
        case .left: self.rawValue = 2
        case .arrived: self.rawValue = 3
        case .departed: self.rawValue = 4
        case .moved: self.rawValue = 5
        case .movedThrough(let filter): self.rawValue = Self.filterBit | UInt16(max(0, min(filter, 0x7FFF)))
        }
    }

    /// `nothing` also for what no version of us has written.
    package var meaning: Meaning {
        switch self.rawValue {
        case 1: .entered
        case 2: .left
        case 3: .arrived
        case 4: .departed
        case 5: .moved
        case Self.filterBit...: .movedThrough(filter: Int(self.rawValue & ~Self.filterBit))
        default: .nothing
        }
    }

    /// What happened, in a word: `enter`, `leave`, `arrive`, `depart`; `nil` for what is no change of state.
    package var transition: String? {
        switch self.meaning {
        case .entered: "enter"
        case .left: "leave"
        case .arrived: "arrive"
        case .departed: "depart"
        case .nothing, .moved, .movedThrough: nil
        }
    }

    /// The distance that a peak is, in m.
    package func distance(_ peak: Double) -> Double? {
        switch self.meaning {
        case .entered, .left, .moved, .movedThrough: peak
        case .nothing, .arrived, .departed: nil
        }
    }

    /// The length of the stay that a peak is.
    package func stay(_ peak: Double) -> TimeSpan? {
        switch self.meaning {
        case .arrived, .departed: TimeSpan(seconds: peak)
        case .nothing, .entered, .left, .moved, .movedThrough: nil
        }
    }

    /// The filter in force, in m.
    package var filter: Double? {
        if case .movedThrough(let filter) = self.meaning { Double(filter) } else { nil }
    }
}
