import Glibc
import TestSupport

/// Heap allocations for one sample and its event: what libdbus needs is in both columns, what is ours only in one.
enum AllocationBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var counts = Pairs()
        for _ in 0..<plan.rounds {
            counts.add(ours: try self.count(.broker, plan), baseline: try self.count(.relay, plan))
        }
        report(counts.figure("two-hops.allocations", "1/event"))
    }

    private static func count(_ middle: TwoHopRun.Middle, _ plan: Plan) throws(Failure) -> Double {
        let stage = try Stage()
        let counter = try AllocationCounter(in: stage.bus.directory)
        let run = try TwoHopRun(through: middle, on: stage, environment: counter.environment)
        let count = try run.perSample(for: plan.stream) { () throws(Failure) in try counter.value() }
        _ = try run.end()
        return count
    }
}

/// Counts the allocations of a program that is started with its environment.
struct AllocationCounter {
    private let path: String

    /// Makes the file that is counted into.
    init(in directory: String) throws(Failure) {
        self.path = "\(directory)/allocations"
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
