/// What the engine must know of a detector when it changes; nothing that a look reads.
struct DetectorRecord {
    var lane: Int32 = -1
    /// Index into the lane's conditions; -1 for a comparison of its own.
    var compound: Int32 = -1
    /// Index into the lane's formulas.
    var formula: Int32 = -1
    /// Index into those that wait for their first look, while it does.
    var pending: Int32 = -1
    var restMode = RestMode.none
    /// Hits that others like it had held back when it came.
    var heldBefore: UInt32 = 0
    var neededRate = 0.0
    /// How far back in µs a hit reaches for samples at the limit of the range.
    var memory: Int64 = 0

    static let none = DetectorRecord()
}

/// Where a detector, or a comparison of a condition, stands in a threshold table.
struct Seat {
    var key = 0.0
    /// -1 while it waits for its first look.
    var table: Int32 = -1
    var place: Int32 = -1

    static let none = Seat()
}
