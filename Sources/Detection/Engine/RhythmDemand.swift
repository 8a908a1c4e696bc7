/// What a shake must be at the moment, for the motion that the device is in.
///
/// Who runs moves a wrist as hard as who shakes it. What differs is how: a hand turns the motion round at once, twice in each
/// swing and each time against the way it came; legs give one hard push in each step.
struct RhythmDemand: Equatable {
    enum Mode {
        /// Any shake is one.
        case free
        /// Hard motion that does not look like a hand's: its swings must come fast, or be opposite to each other.
        case wary
        /// A steady rhythm goes on.
        case steady
        /// There was a steady rhythm, and what came last is not of it.
        case broken
    }

    var mode: Mode
    /// The usual strength of the rhythm in g; 0 while it is not known well.
    var level: Double

    init(_ mode: Mode, level: Double = 0) {
        self.mode = mode
        self.level = level
    }

    /// Whether a run of lobes is a shake: `factor` is how many times the usual strength exceeds a rhythm clearly.
    func admits(_ run: ReversalRun.Shape, factor: Double) -> Bool {
        switch self.mode {
        case .free: true
        case .wary: run.isFast || run.isOpposed
        case .steady: run.isEven || self.isExceeded(by: run, factor)
        case .broken: run.isEven || run.isFast || self.isExceeded(by: run, factor)
        }
    }

    private func isExceeded(by run: ReversalRun.Shape, _ factor: Double) -> Bool {
        self.level > 0 && run.strength > factor * self.level
    }
}
