/// A sliding window of constant size whatever the rate: 32 slices, each holding a few sums.
///
/// It covers between 31/32 and the whole of its length. Layout: the index of the newest slice, then the fields of each.
enum SlicedWindow {
    static let slices = 32

    static func size(fields: Int) -> Int { 1 + self.slices * fields }

    /// Fills a column with what a window holds at each look.
    static func take(
        _ operation: Operation, over length: Double, _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int,
        _ state: inout MutableSpan<Double>, _ base: Int, _ times: Span<Int64>
    ) {
        for look in 0..<times.count {
            // SAFETY: as in `Evaluation.run`.
            let value = columns[unchecked: a &+ look]
            columns[unchecked: to &+ look] =
                value.isNaN ? .nan : self.take(operation, over: length, value, &state, base, Double(times[look]))
        }
    }

    private static func take(
        _ operation: Operation, over length: Double, _ value: Double, _ state: inout MutableSpan<Double>, _ base: Int,
        _ now: Double
    ) -> Double {
        func advance(_ fields: Int, empty: Double = 0) -> Int {
            self.advance(&state, at: base, fields: fields, now: now, length: length, empty: empty)
        }
        switch operation {
        case .mean, .rms:
            let place = advance(2)
            state[place] += operation == .mean ? value : value * value
            state[place + 1] += 1
            let (sum, looks) = self.sums(state, at: base)
            let mean = sum / looks
            return operation == .mean ? mean : mean.squareRoot()
        case .peak:
            let place = advance(1, empty: .nan)
            if !(state[place] >= value.magnitude) { state[place] = value.magnitude }
            return self.largest(state, at: base)
        case .range:
            let place = advance(2, empty: .nan)
            if !(state[place] >= value) { state[place] = value }
            if !(state[place + 1] >= -value) { state[place + 1] = -value }
            let (largest, smallest) = self.largests(state, at: base)
            return largest + smallest
        case .fraction:
            let started = base + self.size(fields: 2)
            if state[started].isNaN { state[started] = now }
            let place = advance(2)
            state[place] += value
            state[place + 1] += 1
            guard now - state[started] >= length else { return 0 }
            let (trues, looks) = self.sums(state, at: base)
            return trues / looks
        default:
            let before = base + self.size(fields: 1)
            let place = advance(1)
            if value > 0, !(state[before] > 0) { state[place] += 1 }
            state[before] = value
            return self.sum(state, at: base)
        }
    }

    /// Drops what is too old and returns where the fields of the present slice stand.
    private static func advance(
        _ state: inout MutableSpan<Double>, at base: Int, fields: Int, now: Double, length: Double, empty: Double
    ) -> Int {
        let slice = (now / (length / Double(self.slices))).rounded(.down)
        let last = state[base]
        // Also when time seems to stand still beyond the precision of a Double: nothing is dropped then.
        if last.isNaN || slice - last >= Double(self.slices) {
            self.clear(&state, at: base, fields: fields, 0..<self.slices, empty)
            state[base] = slice
        } else if slice > last {
            // Where they go round the end they stand in two pieces.
            let first = self.place(last) + 1
            let end = first + Int(slice - last)
            self.clear(&state, at: base, fields: fields, first..<min(end, self.slices), empty)
            if end > self.slices { self.clear(&state, at: base, fields: fields, 0..<end - self.slices, empty) }
            state[base] = slice
        }
        return base + 1 + self.place(state[base]) * fields
    }

    /// Empties slices that follow each other, in one go: at a low rate a look is many of them after the last.
    @inline(__always)
    private static func clear(
        _ state: inout MutableSpan<Double>, at base: Int, fields: Int, _ slices: Range<Int>, _ empty: Double
    ) {
        let first = base + 1
        let range = first + slices.lowerBound * fields..<first + slices.upperBound * fields
        precondition(first >= 1 && range.upperBound <= state.count)
        // SAFETY: the range is within what there is.
        for index in range { unsafe state[unchecked: index] = empty }
    }

    /// The sum of windows that hold one field.
    private static func sum(_ state: borrowing MutableSpan<Double>, at base: Int) -> Double {
        let sums = self.fold(state, at: base, fields: 1, from: .zero) { $0 + $1 }
        let (first, second) = self.sums(of: sums)
        return first + second
    }

    /// The sums of windows that hold two fields.
    ///
    /// Every fourth slice is added up by itself: a sum of Doubles depends on the order.
    private static func sums(_ state: borrowing MutableSpan<Double>, at base: Int) -> (Double, Double) {
        self.sums(of: self.fold(state, at: base, fields: 2, from: .zero) { $0 + $1 })
    }

    /// The largest value of windows that hold one field; slices without one are not numbers and lose.
    private static func largest(_ state: borrowing MutableSpan<Double>, at base: Int) -> Double {
        let (first, second) = self.largests(
            of: self.fold(state, at: base, fields: 1, from: SIMD8(repeating: -.infinity), self.larger))
        return max(first, second)
    }

    /// The largest values of windows that hold two fields.
    private static func largests(_ state: borrowing MutableSpan<Double>, at base: Int) -> (Double, Double) {
        self.largests(of: self.fold(state, at: base, fields: 2, from: SIMD8(repeating: -.infinity), self.larger))
    }

    /// What is not a number is not larger.
    private static func larger(_ a: SIMD8<Double>, _ b: SIMD8<Double>) -> SIMD8<Double> {
        a.replacing(with: b, where: b .> a)
    }

    private static func sums(of eight: SIMD8<Double>) -> (Double, Double) {
        ((eight[0] + eight[2]) + (eight[4] + eight[6]), (eight[1] + eight[3]) + (eight[5] + eight[7]))
    }

    private static func largests(of eight: SIMD8<Double>) -> (Double, Double) {
        (max(eight[0], eight[2], eight[4], eight[6]), max(eight[1], eight[3], eight[5], eight[7]))
    }

    /// Joins the fields of all slices, eight at a time.
    @inline(__always)
    private static func fold(
        _ state: borrowing MutableSpan<Double>, at base: Int, fields: Int, from start: SIMD8<Double>,
        _ join: (SIMD8<Double>, SIMD8<Double>) -> SIMD8<Double>
    ) -> SIMD8<Double> {
        let bytes = state.span.extracting(base + 1..<base + self.size(fields: fields)).bytes
        var joined = start
        for index in 0..<self.slices / 8 * fields {
            // SAFETY: there are four times eight numbers for each field, and any bits are numbers.
            let eight = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: index &* MemoryLayout<SIMD8<Double>>.stride, as: SIMD8<Double>.self)
            joined = join(joined, eight)
        }
        return joined
    }

    /// No window is so short, and no time so late, that the number of a slice is none.
    private static func place(_ slice: Double) -> Int { Int(slice) % self.slices }
}
