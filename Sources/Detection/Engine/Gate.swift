/// What a lane asks of each look for one threshold table: whether sign · slot has gone where something happens. The table's
/// bounds are kept here, so that quiet looks touch no table.
struct Gate {
    let slot: Int32
    let table: Int32
    let sign: Double
    /// A table whose value may glide between keys as long as it stays up to `fireAbove`.
    let isLeading: Bool
    /// Within these bounds nothing changes at all.
    private var lower = -Double.infinity
    private(set) var upper = Double.infinity
    private var fireAbove = Double.infinity
    /// The first look of those asked for last at which a leading table's value must glide.
    private(set) var firstGlide = Int.max

    init(slot: Int32, table: Int32, sign: Double, isLeading: Bool) {
        self.slot = slot
        self.table = table
        self.sign = sign
        self.isLeading = isLeading
    }

    /// True for a value that changes nothing in the table.
    @inline(__always)
    func admits(_ value: Double) -> Bool {
        // An undefined value counts as the lowest of all: where no entry is true, that is no change.
        if self.isLeading { return self.lower == -.infinity && !(value > self.upper) }
        // Written so that an undefined value leaves the bounds.
        return value <= self.upper && value > self.lower
    }

    /// Takes over where the values are that nothing follows from.
    mutating func setBounds(_ lower: Double, _ upper: Double) {
        (self.lower, self.upper) = (lower, upper)
    }

    /// Takes over how a leading table stands.
    mutating func setGlide(at value: Double, lowest: Double, fireAbove: Double) {
        // While some entry is true, every change of the value does something to the ladders.
        self.lower = value <= lowest ? -.infinity : .infinity
        self.upper = lowest
        self.fireAbove = fireAbove
    }

    /// The first of some looks at which something happens, or `end`. Notes from where leading tables glide.
    static func firstLook(
        _ gates: inout [Gate], _ columns: borrowing [Double], stride: Int, from first: Int, to end: Int
    ) -> Int {
        var gates = gates.mutableSpan
        let columns = columns.span
        var end = end
        // SAFETY: the index is below the count, and each gate's slot was given out by the graph.
        for index in 0..<gates.count {
            let column = Int(gates[unchecked: index].slot) &* stride
            let sign = gates[unchecked: index].sign
            guard gates[unchecked: index].isLeading else {
                let (lower, upper) = (gates[unchecked: index].lower, gates[unchecked: index].upper)
                end =
                    sign > 0
                    ? Evaluation.firstOutside(columns, column, lower: lower, upper: upper, from: first, to: end)
                    : Evaluation.firstOutside(
                        columns, column, oppositeLower: lower, oppositeUpper: upper, from: first, to: end)
                continue
            }
            var glide = first
            if gates[unchecked: index].lower == -.infinity {
                glide = Evaluation.firstAbove(
                    columns, column, sign: sign, gates[unchecked: index].upper, from: first, to: end)
            }
            gates[unchecked: index].firstGlide = glide < end ? glide : .max
            if glide < end {
                end = Evaluation.firstAbove(
                    columns, column, sign: sign, gates[unchecked: index].fireAbove, from: glide, to: end)
            }
        }
        return end
    }
}

extension Double {
    /// The value, or the least of all when it is undefined: nothing that is to be exceeded is.
    var orLeast: Double { self.isNaN ? -.infinity : self }
}
