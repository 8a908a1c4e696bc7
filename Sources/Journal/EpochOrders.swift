/// Epochs that are to be reserved: the first ones, and more.
struct EpochOrders: Sendable {
    /// Where the first epochs must not begin before; `nil` when they are reserved.
    private(set) var floor: UInt64?
    /// How far epochs are to be reserved.
    private(set) var wanted: UInt64?

    init(floor: UInt64? = nil) { self.floor = floor }

    var isEmpty: Bool { self.floor == nil && self.wanted == nil }

    /// Orders more, up to this one.
    mutating func extend(to end: UInt64) { self.wanted = end }

    /// Has the first ones begin behind one that was given out.
    mutating func begin(behind last: UInt64) {
        if let floor = self.floor { self.floor = max(floor, last &+ 1) }
    }

    /// The first ones are reserved.
    mutating func firstIsDone() { self.floor = nil }

    /// The others are as well.
    mutating func extendIsDone() { self.wanted = nil }

    /// Takes in what comes later.
    mutating func merge(_ later: EpochOrders) {
        self.floor = later.floor ?? self.floor
        self.wanted = later.wanted ?? self.wanted
    }
}
