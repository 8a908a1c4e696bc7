import Glibc
import TestSupport

/// Heap allocations: of the engine for one sample, and of the broker for one sample and its event.
///
/// What libdbus needs is in both columns of the broker's, what is ours only in one.
enum AllocationBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let relay = try self.count(.relay, plan)
        // None of the engine's own, where the least relay needs some.
        report(Figure("allocations.sample", "1/sample", try self.countSamples(), beside: relay, within: .atMost(0)))
        report(Figure("allocations.event", "1/event", try self.count(.broker, plan), beside: relay))
        report(Figure("allocations.clips", "1/event", try self.count(.broker, plan, ["--clips", "2s"]), beside: relay))
    }

    /// Of two runs that differ in their samples only, what the longer one needs more.
    private static func countSamples() throws(Failure) -> Double {
        let stage = try Stage()
        defer { stage.end() }
        // The shorter one is long enough for whatever grows with the motion to have grown.
        let (few, many) = (200_000, 400_000)
        var counts: [Double] = []
        for (index, samples) in [few, many].enumerated() {
            let counter = try AllocationCounter(in: stage.bus.directory, name: "samples-\(index)")
            // With a seed of its own each run's tables would grow at other times.
            var environment = counter.environment
            environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
            _ = try Workload.measure(detectors: 1_000, features: 4, samples: samples, environment: environment)
            counts.append(try counter.value())
        }
        return (counts[1] - counts[0]) / Double(many - few)
    }

    /// Allocations of the program in the middle for an event.
    private static func count(
        _ middle: TwoHopRun.Middle, _ plan: Plan, _ options: [String] = []
    ) throws(Failure) -> Double {
        let stage = try Stage()
        let counter = try AllocationCounter(in: stage.bus.directory)
        let run = try TwoHopRun(through: middle, options, on: stage, environment: counter.environment)
        let count = try run.perSample(for: plan.stream) { () throws(Failure) in try counter.value() }
        _ = try run.end()
        return count
    }
}

/// Counts the allocations of a program that is started with its environment.
struct AllocationCounter {
    private let path: String

    /// Makes the file that is counted into.
    init(in directory: String, name: String = "allocations") throws(Failure) {
        self.path = "\(directory)/\(name)"
        // SAFETY: the path is a terminated string for the time of the call.
        let descriptor = unsafe open(self.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("cannot create \(self.path)") }
        defer { _ = close(descriptor) }
        guard ftruncate(descriptor, MemoryLayout<UInt64>.size) == 0 else { throw Failure("cannot size \(self.path)") }
    }

    var environment: [String: String] {
        ["LD_PRELOAD": Programs.path(of: "libmalloc-count.so"), "JOSTLE_MALLOC_COUNT": self.path]
    }

    /// The count so far.
    func value() throws(Failure) -> Double {
        let bytes = try contents(of: self.path)
        guard bytes.count == MemoryLayout<UInt64>.size else { throw Failure("\(self.path) has no count") }
        // SAFETY: eight bytes make a number, whatever they are.
        let count = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt64.self) }
        guard count > 0 else { throw Failure("nothing was counted: is libmalloc-count.so beside jostle-bench?") }
        return Double(count)
    }
}
