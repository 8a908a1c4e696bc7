import Loop
import Motion

/// Ends what is to last for some time of a sensor's where the sensor tells no more: it may have nothing to say, or wait for a change.
///
/// It counts by our own clock, and so a little longer: what comes in that time ends it by itself. Not `Sendable`: it belongs to the loop
/// of its command.
final class SensorDeadline {
    private let length: TimeSpan?
    private let loop: EventLoop
    private let onEnd: () -> Void
    private var timer: EventLoop.TimerID?
    private var isHeard = false

    /// For what is on its way, and for a sensor that is slow to start.
    private static let patience = TimeSpan.seconds(5)

    /// - Parameter length: `nil`: nothing is to end.
    init(_ length: TimeSpan?, on loop: EventLoop, _ onEnd: @escaping () -> Void) {
        (self.length, self.loop, self.onEnd) = (length, loop, onEnd)
    }

    deinit { self.loop.cancel(&self.timer) }

    /// The sensor was claimed.
    func begin() {
        guard let length, !self.isHeard else { return }
        self.loop.set(&self.timer, after: (length + Self.patience).microseconds, self.onEnd)
    }

    /// Samples came: the time counts from the first ones.
    func hear() {
        guard !self.isHeard else { return }
        self.begin()
        self.isHeard = true
    }
}
