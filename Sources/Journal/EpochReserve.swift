/// Up to where epochs were given out, and which are to be reserved yet.
struct EpochReserve {
    private(set) var orders = EpochOrders()
    /// Up to where epochs were given out, whatever the disk says.
    private(set) var end: UInt64 = 0

    mutating func take(_ later: EpochOrders) { self.orders.merge(later) }

    /// Has the first ones begin behind the last one that the journal knows.
    mutating func begin(behind last: UInt64) { self.orders.begin(behind: last) }

    /// The first ones are reserved.
    mutating func reserved(_ block: EpochBlock?) {
        self.orders.firstIsDone()
        self.end = max(self.end, block?.end ?? 0)
    }

    /// More are reserved, up to this one.
    mutating func extended(to end: UInt64) {
        self.orders.extendIsDone()
        self.end = max(self.end, end)
    }
}
