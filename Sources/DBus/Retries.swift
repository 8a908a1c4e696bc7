import Loop

/// When a connection that was lost is tried again: at first soon, then ever less often.
struct Retries {
    private let retry: Connection.Retry
    private let loop: EventLoop
    private var delay: Int64 = 0
    private var timer: EventLoop.TimerID?

    private static let first: Int64 = 50_000

    init(_ retry: Connection.Retry, on loop: EventLoop) {
        self.retry = retry
        self.loop = loop
    }

    /// A lost bus is tried again.
    var isWanted: Bool {
        if case .upTo = self.retry { true } else { false }
    }

    /// There was a loss after which the bus is tried again, and the retries were not cancelled since.
    var hasBegun: Bool { self.timer != nil }

    /// Runs `attempt` when it is time, if a lost bus is tried again at all. The first `attempt` counts until the retries end.
    mutating func schedule(_ attempt: @escaping () -> Void) {
        guard case .upTo(let longest) = self.retry else { return }
        self.delay = min(longest, max(Self.first, self.delay &* 2))
        let deadline = Clock.monotonic.now() + self.delay
        self.loop.set(&self.timer, at: deadline, attempt)
    }

    /// The bus is back: after the next loss it is tried soon.
    mutating func succeeded() { self.delay = 0 }

    mutating func cancel() {
        self.loop.cancel(&self.timer)
        self.delay = 0
    }
}
