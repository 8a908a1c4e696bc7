import DBus
import Motion
import Protocol

extension JostleApp {
    /// When and under which conditions a task is to be run.
    public struct TaskConditions: Sendable {
        /// Not before so much time from now.
        public var after: Duration = .zero
        /// Until when, from now, it may be put off to run together with others; `nil`: as long as policy says.
        public var within: Duration?
        /// Only while nobody uses the device.
        public var whenIdle = false
        /// Only while the device does not run on its battery.
        public var onExternalPower = false
        /// Left to the broker, which waits for a moment that disturbs nobody.
        public var isDiscretionary = false

        /// No conditions: as soon as policy lets it.
        public init() {}

        /// As they travel.
        var options: [String: Value] {
            func time(_ span: Duration) -> Value { .uint64((Timestamp.zero + TimeSpan(span)).wire) }
            var options: [String: Value] = [:]
            if self.after > .zero { options[TaskKey.earliestIn] = time(self.after) }
            if let within = self.within { options[TaskKey.latestIn] = time(max(within, self.after)) }
            if self.whenIdle { options[TaskKey.idle] = .boolean(true) }
            if self.onExternalPower { options[TaskKey.power] = .boolean(true) }
            if self.isDiscretionary { options[TaskKey.discretionary] = .boolean(true) }
            return options
        }
    }
}
