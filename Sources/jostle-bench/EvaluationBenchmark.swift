import TestSupport

/// What a look costs, by how many detectors there are: the engine beside one object per detector and a SIMD scan.
///
/// The motion is seeded: 5 % of the looks lie in shakes, or none; 100 samples a second. Detectors look at each sample,
/// or at four paces.
enum EvaluationBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let lively = MadeMotion(looks: 20_000, shaken: true)
        let quiet = MadeMotion(looks: 20_000, shaken: false)
        let onePace = Crowd(count: 0, features: 0).paces
        for paces in plan.isWhole ? [onePace, Crowd.fourPaces] : [onePace] {
            for features in plan.isWhole ? [1, 4, 16] : [4] {
                // The smallest stays for the largest to be compared with.
                var few: BenchEngine?
                for count in plan.detectors {
                    let crowd = Crowd(count: count, features: features, paces: paces)
                    var engine = try crowd.engine()
                    self.compare(crowd, &engine, lively, quiet, plan, report)
                    if few == nil { few = engine }
                    if features == 4, paces.count == 1, count == plan.detectors.last, var few {
                        self.compareQuiet(&engine, &few, count, plan.detectors[0], quiet, plan, report)
                    }
                }
            }
        }
    }

    /// The engine against both rivals at one size, with shakes and without.
    private static func compare(
        _ crowd: Crowd, _ engine: inout BenchEngine, _ lively: MadeMotion, _ quiet: MadeMotion, _ plan: Plan,
        _ report: (Figure) -> Void
    ) {
        let objects = crowd.objects()
        var scan = ThresholdScan(crowd)
        // The rivals get fewer looks, as many as a tenth of a second holds.
        let looks = max(100, min(lively.count, 20_000_000 / crowd.count))
        let isJudged = crowd.features == 4 && crowd.paces.count == 1
        for (name, motion) in [("look", lively), ("quiet", quiet)] {
            var againstObjects = Pairs()
            var againstScan = Pairs()
            for _ in 0..<plan.rounds {
                let ours = motion.nanosecondsPerLook(&engine)
                let theirs = motion.nanosecondsPerLook(looks) { time, sample in
                    for object in objects where object.look(time, sample) { blackHole(object) }
                }
                againstObjects.add(ours: ours, baseline: theirs)
                againstScan.add(ours: ours, baseline: motion.nanosecondsPerLook(looks) { scan.look($0, $1) })
            }
            let full = "\(name).\(crowd.count)x\(crowd.features)" + (crowd.paces.count == 1 ? "" : ".4paces")
            let isLively = name == "look"
            report(
                againstObjects.figure(
                    "\(full).objects", "ns/sample", .saving,
                    within: isJudged && isLively && crowd.count == 1_000 ? .atLeast(500) : nil))
            report(
                againstScan.figure(
                    "\(full).simd", "ns/sample", .saving,
                    within: isJudged && isLively && crowd.count == 100_000 ? .atLeast(10) : nil))
        }
    }

    /// While nothing moves, a million detectors must cost what ten do.
    private static func compareQuiet(
        _ many: inout BenchEngine, _ few: inout BenchEngine, _ most: Int, _ least: Int, _ quiet: MadeMotion,
        _ plan: Plan, _ report: (Figure) -> Void
    ) {
        var pairs = Pairs()
        for _ in 0..<plan.rounds {
            pairs.add(ours: quiet.nanosecondsPerLook(&many), baseline: quiet.nanosecondsPerLook(&few))
        }
        report(pairs.figure("quiet.\(most)-to-\(least)", "ns/sample", within: .atMost(2)))
    }
}
