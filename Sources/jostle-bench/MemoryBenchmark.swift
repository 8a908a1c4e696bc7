import TestSupport

/// What detectors hold in memory: very many of them that share features, and many that share none.
enum MemoryBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let least = try self.resident(detectors: 10, features: 4)
        for (count, features) in [(plan.detectors[plan.detectors.count - 1], 4), (10_000, 10_000)] {
            let resident = try self.resident(detectors: count, features: features)
            report(
                Figure(
                    name: "memory.\(count)x\(features)", unit: "bytes/detector",
                    value: (resident - least) * 1_024 / Double(count)))
        }
    }

    /// KiB.
    private static func resident(detectors: Int, features: Int) throws(Failure) -> Double {
        try Workload.measure(detectors: detectors, features: features, samples: 2_000).number("resident_kib")
    }
}
