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
        let (plain, clips) = (try self.count(.broker, plan), try self.count(.broker, plan, ["--clips", "2s"]))
        report(Figure("allocations.event", "1/event", plain, beside: relay))
        report(Figure("allocations.clips", "1/event", clips, beside: relay))
        // Clips are cut into memory that is there: whoever writes them may need more, the loop's thread does not.
        let loop = try self.countLoop(plan, [])
        report(
            Figure(
                "allocations.clips.loop", "1/event", try self.countLoop(plan, ["--clips", "2s"]), beside: loop,
                within: .atMost(1.01)))
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
            counts.append(try counter.value().all)
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
        let counts = try run.perSample(for: plan.stream) { () throws(Failure) in [try counter.value().all] }
        _ = try run.end()
        return counts[0]
    }

    /// Allocations of the broker's loop for an event: of two runs that differ in their events only, what the longer one needs more.
    private static func countLoop(_ plan: Plan, _ options: [String]) throws(Failure) -> Double {
        let (few, many) = plan.counted
        var counts: [Double] = []
        for events in [few, many] {
            let stage = try Stage()
            defer { stage.end() }
            let counter = try AllocationCounter(in: stage.bus.directory)
            var environment = counter.environment
            environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
            // So slowly that no two samples come in one message.
            let run = try TwoHopRun(
                through: .broker, options, on: stage, environment: environment, rate: InstructionBenchmark.rate,
                count: events)
            try run.complete(events)
            counts.append(try counter.value().first)
        }
        return (counts[1] - counts[0]) / Double(many - few)
    }
}

/// Counts the allocations of a program that is started with its environment.
struct AllocationCounter {
    /// Those of all threads, and those of the one that a program began with, which has its loop.
    struct Counts {
        var all: Double
        var first: Double
    }

    private let path: String

    /// Makes the file that is counted into.
    init(in directory: String, name: String = "allocations") throws(Failure) {
        self.path = "\(directory)/\(name)"
        // SAFETY: the path is a terminated string for the time of the call.
        let descriptor = unsafe open(self.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("cannot create \(self.path)") }
        defer { _ = close(descriptor) }
        guard ftruncate(descriptor, 2 * MemoryLayout<UInt64>.size) == 0 else {
            throw Failure("cannot size \(self.path)")
        }
    }

    var environment: [String: String] {
        ["LD_PRELOAD": Programs.path(of: "libmalloc-count.so"), "JOSTLE_MALLOC_COUNT": self.path]
    }

    /// The counts so far.
    func value() throws(Failure) -> Counts {
        let bytes = try contents(of: self.path)
        let size = MemoryLayout<UInt64>.size
        guard bytes.count == 2 * size else { throw Failure("\(self.path) has no counts") }
        func number(_ index: Int) -> Double {
            // SAFETY: eight bytes make a number, whatever they are.
            Double(
                unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: index * size, as: UInt64.self) })
        }
        let counts = Counts(all: number(0), first: number(1))
        guard counts.first > 0 else { throw Failure("nothing was counted: is libmalloc-count.so beside jostle-bench?") }
        return counts
    }
}
