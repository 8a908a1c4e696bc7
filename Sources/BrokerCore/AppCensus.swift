import Detection

/// What the conditions of one app's detectors cost with every look.
///
/// An app has few detectors as a rule, which cost less than they may even if they shared nothing. Only of the others it is
/// counted what they share: counting takes more memory than the detectors.
struct AppCensus {
    /// If all of them shared nothing.
    private(set) var operations = 0
    private(set) var stateful = 0
    /// What it really is; `nil` while nobody needs to know.
    var exact: FeatureCensus?

    mutating func add(_ detector: CompiledDetector) {
        self.change(by: 1, detector)
        self.exact?.add(detector)
    }

    /// Takes out what was added.
    mutating func remove(_ detector: CompiledDetector) {
        self.change(by: -1, detector)
        self.exact?.remove(detector)
    }

    private mutating func change(by step: Int, _ detector: CompiledDetector) {
        let most = FeatureCensus.most(of: detector)
        self.operations += step * most.operations
        self.stateful += step * most.stateful
    }
}
