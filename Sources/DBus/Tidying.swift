import Loop

/// Gives memory back once a flood of calls has been over for a while.
///
/// Calls that had to wait are a flood, and so are calls that were served as they arrived when they are much in a short time. What
/// apps say as a rule is far from that: whoever serves it steadily needs the memory again at once. Not `Sendable`: it belongs to the
/// loop's thread.
final class Tidying {
    private let loop: EventLoop
    /// Calls still wait.
    private let isBusy: () -> Bool
    private var isDue = false
    /// When there last was a flood.
    private var last: Int64 = 0
    /// Of calls that were served as they arrived: since when they are counted, how long they took, and how large they were.
    private var prompt: (start: Int64, time: Int64, bytes: Int) = (.min / 2, 0, 0)
    /// How often memory was given back.
    private(set) var count: UInt64 = 0

    /// How long there may have been no flood until memory is given back, in µs.
    static let pause: Int64 = 1_000_000
    /// So much time of a pause's length, in µs, is much to serve calls for, and so many bytes of calls are.
    static let much: (time: Int64, bytes: Int) = (50_000, 1 << 20)

    init(on loop: EventLoop, unless isBusy: @escaping () -> Bool) {
        self.loop = loop
        self.isBusy = isBusy
    }

    /// A call of so many bytes was served as it arrived, which took so many microseconds.
    func served(_ time: Int64, bytes: Int, at now: Int64) {
        if now - self.prompt.start >= Self.pause { self.prompt = (now, 0, 0) }
        self.prompt.time += time
        self.prompt.bytes += bytes
        guard self.prompt.time >= Self.much.time || self.prompt.bytes >= Self.much.bytes else { return }
        self.prompt = (now, 0, 0)
        self.later()
    }

    /// There is a flood: what it takes is to be given back.
    func later() {
        self.last = Clock.monotonic.now()
        guard !self.isDue else { return }
        self.isDue = true
        self.tidy(at: self.last + Self.pause)
    }

    private func tidy(at time: Int64) {
        self.loop.once(at: time) { [weak self] in
            guard let self else { return }
            let quiet = self.last + Self.pause
            if self.isBusy() { return self.tidy(at: time + Self.pause) }
            if quiet > time { return self.tidy(at: quiet) }
            self.isDue = false
            self.count &+= 1
            FreeMemory.forgetWhatRan()
        }
    }
}
