/// For each threshold below a value: the largest value since it was crossed. Constant time by crossing, none by threshold.
///
/// Lower thresholds have been below the value for longer, so their peaks are the larger ones: a ladder of steps with
/// rising keys and falling peaks.
struct PeakLadder {
    private struct Step {
        /// Keys from here to the next step's share the peak.
        var key: Double
        var peak: Double
    }

    private var steps: [Step] = []
    /// Steps that are still few.
    private var few = 64

    var isLong: Bool { self.steps.count > self.few }

    /// Joins the steps between which there is no key, as `hasKey` tells of a range.
    mutating func shorten(_ hasKey: (Double, Double) -> Bool) {
        var kept = 0
        for index in self.steps.indices {
            let isLast = index + 1 == self.steps.count
            guard isLast || hasKey(self.steps[index].key, self.steps[index + 1].key) else { continue }
            self.steps[kept] = self.steps[index]
            kept += 1
        }
        self.steps.removeLast(self.steps.count - kept)
        self.few = max(64, 2 * kept)
    }

    mutating func clear() { self.steps.removeAll(keepingCapacity: true) }

    /// The peak of the highest thresholds: a value above it changes the ladder.
    var top: Double? { self.steps.last?.peak }

    mutating func rise(from old: Double, to value: Double) {
        var key = old
        while let last = self.steps.last, last.peak <= value {
            key = last.key
            self.steps.removeLast()
        }
        self.steps.append(Step(key: key, peak: value))
    }

    mutating func fall(to value: Double) {
        while let last = self.steps.last, last.key >= value { self.steps.removeLast() }
    }

    func peak(of key: Double) -> Double? {
        var (low, high) = (0, self.steps.count)
        while low < high {
            let middle = (low + high) / 2
            if self.steps[middle].key <= key { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? self.steps[low - 1].peak : nil
    }
}

/// For each threshold above a value: when the value was last above it. Constant time by move, none by threshold.
///
/// Higher thresholds have been above the value for longer: steps with falling keys and rising times.
struct FallLadder {
    private struct Step {
        /// Keys below this and not below the next step's share the time.
        var key: Double
        var time: Int64
    }

    private var steps: [Step] = []
    /// Steps that are still few.
    private var few = 64

    var isLong: Bool { self.steps.count > self.few }

    /// The value fell from `old`, which it had at `time`.
    mutating func fall(from old: Double, at time: Int64) {
        self.steps.append(Step(key: old, time: time))
    }

    mutating func rise(to value: Double) {
        while let last = self.steps.last, last.key <= value { self.steps.removeLast() }
    }

    /// When the value was last above a key that it is not above now.
    func time(of key: Double) -> Int64? {
        var (low, high) = (0, self.steps.count)
        while low < high {
            let middle = (low + high) / 2
            if self.steps[middle].key > key { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? self.steps[low - 1].time : nil
    }

    /// Drops the steps that stand for no key above `value`, as `hasKey` tells of a range.
    mutating func shorten(above value: Double, _ hasKey: (Double, Double) -> Bool) {
        var kept = 0
        for index in self.steps.indices {
            let low = index + 1 < self.steps.count ? self.steps[index + 1].key : value
            guard hasKey(low, self.steps[index].key) else { continue }
            self.steps[kept] = self.steps[index]
            kept += 1
        }
        self.steps.removeLast(self.steps.count - kept)
        self.few = max(64, 2 * kept)
    }
}

/// The largest value of a quantity since any of a few marks: suffix maxima, merged as the value rises.
struct PeakHistory {
    private struct Step {
        var since: Int64
        var peak: Double
    }

    /// Steps beyond this are merged at the old end, where a peak may then be too large; it takes a signal that falls
    /// at every mark.
    static let most = 64
    private var steps: [Step] = []
    /// How many conditions need it.
    private(set) var users = 0

    mutating func look(_ value: Double) {
        var merged: Int64?
        while let last = self.steps.last, last.peak <= value {
            merged = last.since
            self.steps.removeLast()
        }
        if let merged { self.steps.append(Step(since: merged, peak: value)) }
    }

    /// A condition became true at this look, whose value `look` has seen.
    mutating func begin(at time: Int64, _ value: Double) {
        self.users += 1
        if let last = self.steps.last, last.peak <= value { return }
        if self.steps.count == Self.most { self.steps.remove(at: 1) }
        self.steps.append(Step(since: time, peak: value))
    }

    mutating func end() {
        self.users -= 1
        if self.users <= 0 {
            self.users = 0
            self.steps.removeAll(keepingCapacity: true)
        }
    }

    func peak(since time: Int64) -> Double? {
        var index = self.steps.count
        while index > 0 {
            index -= 1
            if self.steps[index].since <= time { return self.steps[index].peak }
        }
        return nil
    }
}
