import Loop
import Synchronization

/// Starts the threads that read attributes: however many devices do not answer, there are no more than so many.
final class ReadingThreads: Sendable {
    private let count = Atomic<Int>(0)

    /// No machine has as many sensors that are polled.
    static let most = 16
    /// They read a few bytes. What is not touched takes no memory.
    private static let stackBytes = 256 << 10

    /// Starts one; false when there are enough, or the system gives none.
    func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let isFree = self.count.add(1, ordering: .relaxed).newValue <= Self.most
        let isStarted =
            isFree
            && startThread(stackBytes: Self.stackBytes) {
                body()
                self.count.subtract(1, ordering: .relaxed)
            }
        if !isStarted { self.count.subtract(1, ordering: .relaxed) }
        return isStarted
    }
}
