/// What was measured in turn, ours and the baseline's: the machine's moods hit both alike.
struct Pairs: Sendable {
    private(set) var ours: [Double] = []
    private(set) var baselines: [Double] = []

    /// Which way round the ratio is told.
    enum Direction: Sendable {
        /// Our cost in baselines.
        case cost
        /// How often our cost goes into the baseline's.
        case saving
    }

    mutating func add(ours: Double, baseline: Double) {
        self.ours.append(ours)
        self.baselines.append(baseline)
    }

    private func ratios(_ direction: Direction) -> [Double] {
        zip(self.ours, self.baselines).map { direction == .cost ? Figure.ratio($0, $1) : Figure.ratio($1, $0) }
    }

    /// The median of the ratios, not the ratio of the medians: each ratio is of two neighbours in time.
    func ratio(_ direction: Direction) -> Double { self.ratios(direction).median }

    /// How far the ratios lie apart, as `Figure` tells it; `nil` of one.
    private func spread(_ direction: Direction) -> Double? {
        let ratios = self.ratios(direction)
        guard ratios.count > 1, let least = ratios.min(), let most = ratios.max() else { return nil }
        return (most - least) / 2 / ratios.median
    }

    func figure(
        _ name: String, _ unit: String, _ direction: Direction = .cost, within budget: Budget? = nil
    ) -> Figure {
        Figure(
            name: name, unit: unit, value: self.ours.median, baseline: self.baselines.median,
            ratio: self.ratio(direction), spread: self.spread(direction), budget: budget)
    }
}

extension [Double] {
    /// The middle value, or the mean of the two in the middle; NaN of nothing.
    var median: Double {
        let ordered = self.sorted()
        guard let first = ordered.first else { return .nan }
        guard ordered.count > 1 else { return first }
        let middle = ordered.count / 2
        return ordered.count.isMultiple(of: 2) ? (ordered[middle - 1] + ordered[middle]) / 2 : ordered[middle]
    }
}
