/// The strongest simple rival: features once for each pace, then all thresholds eight at a time.
struct ThresholdScan {
    private struct Group {
        let share: Double
        let every: Int64
        var bucket: Int64 = -1
        let thresholds: [SIMD8<Double>]
        var fired: [SIMD8<Int64>]
    }

    private var groups: [Group] = []
    private(set) var hits = 0

    init(_ crowd: Crowd) {
        var thresholds: [[Double]] = []
        for index in 0..<crowd.count {
            let group = index % (crowd.features * crowd.paces.count)
            if group == thresholds.count { thresholds.append([]) }
            thresholds[group].append(crowd.threshold(index))
        }
        for (index, own) in thresholds.enumerated() {
            var own = own
            while own.count % 8 != 0 { own.append(.infinity) }
            let vectors = stride(from: 0, to: own.count, by: 8).map { SIMD8(own[$0..<$0 + 8]) }
            self.groups.append(
                Group(
                    share: crowd.share(index), every: crowd.pace(index), thresholds: vectors,
                    fired: [SIMD8<Int64>](repeating: SIMD8(repeating: .min / 2), count: vectors.count)))
        }
    }

    mutating func look(_ time: Int64, _ sample: SIMD3<Double>) {
        let norm = (sample * sample).sum().squareRoot()
        let rested = SIMD8(repeating: time - 1_000_000)
        for group in self.groups.indices {
            let bucket = time / self.groups[group].every
            guard bucket > self.groups[group].bucket else { continue }
            self.groups[group].bucket = bucket
            let value = SIMD8(repeating: norm + self.groups[group].share * abs(sample.x))
            for index in self.groups[group].thresholds.indices {
                let above = value .> self.groups[group].thresholds[index]
                guard any(above) else { continue }
                let due = above .& (self.groups[group].fired[index] .<= rested)
                guard any(due) else { continue }
                self.groups[group].fired[index].replace(with: time, where: due)
                self.hits += 1
            }
        }
    }
}
