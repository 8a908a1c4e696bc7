/// Says which values are meant: ranges in their order, of which none touches another.
///
/// What a `RangeSet` tells, for what is looked at with every event. The size of a `RangeSet`, and of all that has one in it, is known
/// only when the program runs: whoever looks at a rule had to ask the runtime for it, and to copy by its tables.
struct Ranges<Bound: Comparable & Sendable>: Equatable, Sendable {
    private let ranges: [Range<Bound>]

    init(_ set: RangeSet<Bound>) { self.ranges = Array(set.ranges) }

    var set: RangeSet<Bound> { RangeSet(self.ranges) }
    var isEmpty: Bool { self.ranges.isEmpty }

    func contains(_ value: Bound) -> Bool { self.ranges.contains { $0.contains(value) } }
}
