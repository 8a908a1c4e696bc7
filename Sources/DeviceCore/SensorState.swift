/// How a sensor's device does.
package enum SensorState: Hashable, Sendable {
    /// There is no device: it was unplugged, or has not come yet.
    case absent
    /// It is there, and nobody wants it.
    case idle
    case running
    /// It runs and tells the same again and again, which no working device does.
    case stuck
    /// It runs at the end of its range: what it tells is too small.
    case saturated
    /// It is there and cannot be read, for this reason. It is tried again while somebody wants it.
    case broken(String)

    package var name: String {
        switch self {
        case .absent: "absent"
        case .idle: "idle"
        case .running: "running"
        case .stuck: "stuck"
        case .saturated: "saturated"
        case .broken: "broken"
        }
    }

    /// What a person should know besides.
    package var detail: String {
        switch self {
        case .absent: "no device"
        case .idle, .running: ""
        case .stuck: "the readings never change"
        case .saturated: "the readings stay at the end of the range"
        case .broken(let reason): reason
        }
    }

    /// True while samples can be had, or could be if somebody wanted them.
    package var isAvailable: Bool {
        switch self {
        case .idle, .running, .stuck, .saturated: true
        case .absent, .broken: false
        }
    }
}
