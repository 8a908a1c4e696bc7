/// Why we were started or resumed, and what for.
public struct Launch: Hashable, Sendable {
    /// The kind of motion, such as `shake` or `location`; or `push`.
    public let reason: String
    /// What is due to us, in order; empty for `push`.
    public let events: [MotionEvent]
    /// How many events before the last of these we do not get.
    public let missing: UInt64

    /// Whether another program asked for it, and no motion.
    public var isPush: Bool { self.reason == "push" }
}
