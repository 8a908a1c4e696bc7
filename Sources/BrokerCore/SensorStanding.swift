import Motion

/// How it stands with a sensor, as far as detectors go.
package enum SensorStanding: Equatable, Sendable {
    case ready
    /// There is no reader that has it, or no device that works behind it.
    case absent
    /// The reader does not let us have it, for this reason. It is tried again.
    case refused(String)
    /// It should run, and nothing comes that is not old.
    case stalled

    package var name: String {
        switch self {
        case .ready: "ready"
        case .absent: "absent"
        case .refused: "refused"
        case .stalled: "stalled"
        }
    }

    /// Why detectors of a sensor cannot fire; `nil` when they can.
    package func obstacle(_ sensor: String) -> String? {
        switch self {
        case .ready: nil
        case .absent: "there is no \(sensor)"
        case .refused(let reason): "the reader does not give us the \(sensor): \(reason)"
        case .stalled: "the \(sensor) has stalled: nothing new comes from the reader"
        }
    }
}
