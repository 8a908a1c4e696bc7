/// The moment before that a window resembles most, of the first that resemble it nearly as much.
struct Rhythm {
    /// From 0 for none to 1 for samples that repeat.
    private(set) var likeness = 0.0
    /// In ticks.
    private(set) var period = 0.0
    /// After so many ticks the whole motion comes again, arms and all, as far as that is seen.
    private(set) var stride = 0.0

    /// As fast as a runner steps, or as two of these steps are.
    var isFast: Bool { self.period < 9 || (self.period > 12 && self.period < 18) }

    private static let shortest = 4
    private static let longest = 32

    init() {}

    init(likeness: Double, period: Double, stride: Double) {
        self.likeness = likeness
        self.period = period
        self.stride = stride
    }

    /// - Parameters:
    ///   - ticks: Without their mean.
    ///   - squares: The sums of their squares.
    init(_ ticks: Span<SIMD4<Double>>, _ squares: SIMD4<Double>) {
        let count = ticks.count
        var lengths = InlineArray<33, Double>(repeating: 0)
        var vectors = InlineArray<33, Double>(repeating: 0)
        // What is without a partner at either end.
        var (first, last) = (SIMD4<Double>.zero, SIMD4<Double>.zero)
        let longest = min(Self.longest, count / 2)
        for lag in 1...longest {
            first += ticks[lag - 1] * ticks[lag - 1]
            last += ticks[count - lag] * ticks[count - lag]
            guard lag >= Self.shortest else { continue }
            var product = SIMD4<Double>.zero
            for index in 0..<count - lag { product += ticks[index] * ticks[index + lag] }
            let (head, tail) = (squares - last, squares - first)
            lengths[lag] = Self.share(product.w, head.w, tail.w)
            vectors[lag] = Self.share(
                product.x + product.y + product.z, head.x + head.y + head.z, tail.x + tail.y + tail.z)
        }
        let length = Self.period(lengths.span, longest)
        let vector = Self.period(vectors.span, longest)
        self.likeness = max(length.likeness, vector.likeness)
        self.period = length.likeness >= vector.likeness ? length.period : vector.period
        self.stride = vector.likeness >= 0.8 * length.likeness ? vector.period : length.period
    }

    private static func share(_ product: Double, _ head: Double, _ tail: Double) -> Double {
        product / ((max(0, head) * max(0, tail)).squareRoot() + 1e-9)
    }

    private static func period(_ shares: Span<Double>, _ longest: Int)
        -> (likeness: Double, period: Double)
    {
        var best = 0.0
        for lag in Self.shortest + 1..<longest where Self.isPeak(shares, lag) { best = max(best, shares[lag]) }
        guard best > 0 else { return (0, 0) }
        for lag in Self.shortest + 1..<longest where Self.isPeak(shares, lag) {
            if shares[lag] >= 0.8 * best { return (best, Double(lag)) }
        }
        return (0, 0)
    }

    private static func isPeak(_ shares: Span<Double>, _ lag: Int) -> Bool {
        let (before, here, after) = (shares[lag - 1], shares[lag], shares[lag + 1])
        return here >= before && here > after
    }
}
