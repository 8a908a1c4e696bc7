import Loop
import Motion

/// Ends what is to last for some time of a sensor's where the sensor tells no more: it may have nothing to say, or wait for a change.
///
/// It counts by our own clock, and so a little longer: what comes in that time ends it by itself. So does what still comes then, as from a
/// recording that is played slowly. Not `Sendable`: it belongs to the loop of its command.
final class SensorDeadline {
    private let length: TimeSpan?
    private let loop: EventLoop
    private let onEnd: () -> Void
    private var timer: EventLoop.TimerID?
    /// When samples came last, in µs; `nil`: none came.
    private var lastHeard: Int64?

    /// For what is on its way, and for a sensor that is slow to start.
    private static let patience = TimeSpan.seconds(5)

    /// - Parameter length: `nil`: nothing is to end.
    init(_ length: TimeSpan?, on loop: EventLoop, _ onEnd: @escaping () -> Void) {
        (self.length, self.loop, self.onEnd) = (length, loop, onEnd)
    }

    deinit { self.loop.cancel(&self.timer) }

    /// The sensor was claimed.
    func begin() {
        guard let length, self.lastHeard == nil else { return }
        self.wait(until: Clock.monotonic.now() + (length + Self.patience).microseconds)
    }

    /// Samples came: the time counts from the first ones.
    func hear() {
        guard self.length != nil else { return }
        self.begin()
        self.lastHeard = Clock.monotonic.now()
    }

    private func wait(until time: Int64) {
        self.loop.set(&self.timer, at: time) { [weak self] in self?.timePassed() }
    }

    private func timePassed() {
        let end = self.lastHeard.map { $0 + Self.patience.microseconds }
        if let end, end > Clock.monotonic.now() { self.wait(until: end) } else { self.onEnd() }
    }
}
