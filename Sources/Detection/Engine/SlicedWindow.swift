/// A sliding window of constant size whatever the rate: 32 slices, each holding a few sums.
///
/// It covers between 31/32 and the whole of its length. Layout: the index of the newest slice, then the fields of each.
enum SlicedWindow {
    static let slices = 32

    static func size(fields: Int) -> Int { 1 + self.slices * fields }

    /// Drops what is too old and returns where the fields of the present slice stand.
    static func advance(
        _ state: inout MutableSpan<Double>, at base: Int, fields: Int, now: Double, length: Double, empty: Double
    ) -> Int {
        let slice = (now / (length / Double(self.slices))).rounded(.down)
        let last = state[base]
        // Also when time seems to stand still beyond the precision of a Double: nothing is dropped then.
        if last.isNaN || slice - last >= Double(self.slices) {
            for index in 0..<self.slices * fields { state[base + 1 + index] = empty }
            state[base] = slice
        } else if slice > last {
            var next = last + 1
            while next <= slice {
                let place = base + 1 + self.place(next) * fields
                for index in 0..<fields { state[place + index] = empty }
                next += 1
            }
            state[base] = slice
        }
        return base + 1 + self.place(state[base]) * fields
    }

    /// The sum of a field over all slices.
    static func sum(_ state: borrowing MutableSpan<Double>, at base: Int, fields: Int, field: Int) -> Double {
        var sum = 0.0
        for slice in 0..<self.slices { sum += state[base + 1 + slice * fields + field] }
        return sum
    }

    /// The largest value of a field; slices without one are not numbers and lose.
    static func largest(_ state: borrowing MutableSpan<Double>, at base: Int, fields: Int, field: Int) -> Double {
        var largest = -Double.infinity
        for slice in 0..<self.slices {
            let value = state[base + 1 + slice * fields + field]
            if value > largest { largest = value }
        }
        return largest
    }

    private static func place(_ slice: Double) -> Int {
        let place = slice.truncatingRemainder(dividingBy: Double(self.slices))
        return Int(place < 0 ? place + Double(self.slices) : place)
    }
}
