/// The keys with which background work is asked for and told of.
package enum TaskKey {
    package static let identifier = "identifier"
    package static let kind = "kind"
    /// Of the wall clock.
    package static let earliest = "earliest-begin"
    package static let latest = "latest-begin"
    /// The same, from now on.
    package static let earliestIn = "earliest-in"
    package static let latestIn = "latest-in"
    package static let idle = "idle"
    package static let power = "external-power"
    package static let discretionary = "discretionary"
    package static let attempt = "attempt"
    package static let durable = "durable"
    package static let due = "due"
    package static let waitsFor = "waits-for"
    package static let deadline = "deadline"
    package static let remaining = "remaining"
    /// How long it has.
    package static let time = "time"
    package static let result = "result"
    /// Which task an app is through with.
    package static let task = "task"
    package static let began = "began"
    package static let ended = "ended"
}
