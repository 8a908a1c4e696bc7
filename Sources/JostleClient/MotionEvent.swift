import Loop
import Motion
import Protocol

/// An event: a detector of ours was hit, and the broker decided that we react.
public struct MotionEvent: Hashable, Sendable {
    /// What an event is known by, beyond one run of a program.
    public struct Name: Hashable, Sendable {
        /// The event's number.
        public var sequence: UInt64
        /// The event's epoch.
        public var epoch: UInt64

        /// The name of an event that an earlier run has had.
        public init(sequence: UInt64, epoch: UInt64) {
            self.sequence = sequence
            self.epoch = epoch
        }
    }

    /// Counts what was due to this app, from 1. Numbers left out stand in an `EventGap`.
    public var sequence: UInt64
    /// One number for one decision of the broker, never used twice.
    public var epoch: UInt64
    /// The time of the sample that decided: CLOCK_BOOTTIME microseconds.
    public var time: UInt64
    /// The app's own name for the detector.
    public var detector: String
    /// The largest value the detector's quantity had had by then.
    public var peak: Double
    /// The motion was made or replayed, not measured now.
    public var isSimulated: Bool
    /// A sample that led to it lay at the limit of the sensor's range: the motion may have been harder than the peak says.
    public var isClipped: Bool
    /// The broker sends the event again until we answer it.
    public var wantsAck: Bool
    /// We may pass the event on until then: CLOCK_BOOTTIME microseconds; `nil` when nobody is next.
    public var answerBy: UInt64?
    /// It was sent before, and we may have had it.
    public var isRedelivered: Bool
    /// The event is on the broker's disk and outlives it.
    public var isPersistent: Bool
    /// What happened, where the preset tells it: `enter` or `leave` of a geofence, `arrive` or `depart` of a visit.
    public var transition: String?
    /// Where the preset measures one, in metres: from the last report, or from a geofence's centre.
    public var distance: Double?
    /// The filter that `location.adaptive` has in force, in metres.
    public var filter: Double?
    /// How long a visit has lasted, in microseconds.
    public var stay: UInt64?
    /// When the event reached us: CLOCK_BOOTTIME microseconds.
    public var received: UInt64

    /// What it is known by.
    public var name: Name { Name(sequence: self.sequence, epoch: self.epoch) }
}

extension MotionEvent {
    /// What the broker said, heard now.
    init(_ body: EventCodec.Body) {
        self.init(
            sequence: body.sequence, epoch: body.epoch, time: body.time.wire, detector: body.detector, peak: body.peak,
            isSimulated: body.isSimulated, isClipped: body.isClipped, wantsAck: body.wantsAck,
            answerBy: body.answerBy?.wire, isRedelivered: body.isRedelivered, isPersistent: body.isPersistent,
            transition: body.note.transition, distance: body.note.distance(body.peak), filter: body.note.filter,
            stay: body.note.stay(body.peak).map { (Timestamp.zero + $0).wire },
            received: UInt64(max(0, Clock.boottime.now())))
    }
}
