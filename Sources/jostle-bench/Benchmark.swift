import TestSupport

/// What can be measured by itself: the names that `--only` takes.
enum Benchmark: String, CaseIterable {
    case twoHops = "two-hops"
    case allocations
    case instructions
    case start
    case idle
    case journal
    case durable
    case iio
    case replug
    case places
    case gesture
    case proxy
    case stream
    case sharing
    case stall
    case wake
    case storm
    case evaluation
    case registration
    case memory
    case replay
    case policy
    case tasks
    case top

    /// Those that have no budget: for whoever works on what they measure.
    static let onlyByName: Set<Benchmark> = [.iio, .stream, .memory]
    static let usual = allCases.filter { !onlyByName.contains($0) }

    func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        switch self {
        case .twoHops: try TwoHopBenchmark.run(plan, report)
        case .allocations: try AllocationBenchmark.run(plan, report)
        case .instructions: try InstructionBenchmark.run(plan, report)
        case .start: try StartBenchmark.run(plan, report)
        case .idle: try IdleBenchmark.run(plan, report)
        case .journal: try JournalBenchmark.run(plan, report)
        case .durable: try DurableBenchmark.run(plan, report)
        case .iio: try DeviceBenchmark.run(plan, report)
        case .replug: try ReplugBenchmark.run(plan, report)
        case .places: try PlacesBenchmark.run(plan, report)
        case .gesture: try GestureBenchmark.run(plan, report)
        case .proxy: try ProxyBenchmark.run(plan, report)
        case .stream: try StreamBenchmark.run(plan, report)
        case .sharing: try SharingBenchmark.run(plan, report)
        case .stall: try StallBenchmark.run(plan, report)
        case .wake: try WakeBenchmark.run(plan, report)
        case .storm: try StormBenchmark.run(plan, report)
        case .evaluation: try EvaluationBenchmark.run(plan, report)
        case .registration: try RegistrationBenchmark.run(plan, report)
        case .memory: try MemoryBenchmark.run(plan, report)
        case .replay: try ReplayBenchmark.run(plan, report)
        case .policy: try PolicyBenchmark.run(plan, report)
        case .tasks: TaskBenchmark.run(plan, report)
        case .top: try TopBenchmark.run(plan, report)
        }
    }
}

/// How long and how often is measured.
struct Plan {
    /// Whether also that is measured which no budget asks for.
    let isWhole: Bool
    /// Pairs of measurements, of which the median counts.
    let rounds: Int
    /// The same of what takes long.
    let longRounds: Int
    /// Seconds of a stream that count.
    let stream: Double
    let idle: Double
    /// Seconds for which an app is stopped.
    let stall: Double
    /// How many clients share a sensor.
    let crowds: [Int]
    /// How many detectors look.
    let detectors: [Int]
    /// Events of the two runs whose instructions are counted.
    let counted: (few: Int, many: Int)

    /// What `make bench` does.
    static let usual = Plan(
        isWhole: false, rounds: 5, longRounds: 3, stream: 3, idle: 4, stall: 15, crowds: [200],
        detectors: [10, 1_000, 100_000, 1_000_000], counted: (100, 500))
    /// What one does who changes the thing itself.
    static let whole = Plan(
        isWhole: true, rounds: 5, longRounds: 5, stream: 4, idle: 5, stall: 60, crowds: [10, 50, 200],
        detectors: [10, 1_000, 100_000, 1_000_000], counted: (200, 600))
    static let quick = Plan(
        isWhole: true, rounds: 1, longRounds: 1, stream: 1, idle: 1, stall: 5, crowds: [10],
        detectors: [10, 1_000, 100_000], counted: (50, 100))
}
