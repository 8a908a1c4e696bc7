/// What the engine must know of a detector when it changes; nothing that a look reads.
struct DetectorRecord {
    var lane: Int32 = -1
    /// Index into the lane's conditions; -1 for a comparison of its own.
    var compound: Int32 = -1
    /// Index into the lane's formulas.
    var formula: Int32 = -1
    var restMode = RestMode.none
    var neededRate = 0.0
    /// How far back in µs a hit reaches for samples at the limit of the range.
    var memory: Int64 = 0

    static let none = DetectorRecord()
}

/// What a look reads of a table's entry, together so that it costs one cache line.
struct Seat {
    var key = 0.0
    var rest: Int64 = 0
    /// When the rest that runs, or ran last, ends.
    var deadline = Int64.min
    /// The table that holds the entry, and its place there; -1 while it waits for its first look.
    var table: Int32 = -1
    var place: Int32 = -1
    /// Neighbours in the wheel; -1 at the ends.
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The wheel's slot; -1 while no rest runs.
    var slot: Int32 = -1

    static let none = Seat()
}
