package import Motion

/// How it stands with a sensor, as far as detectors go.
package enum SensorStanding: Equatable, Sendable {
    case ready
    /// There is no reader that has it, or no device that works behind it.
    case absent
    /// The reader does not let us have it, for this reason. It is tried again.
    case refused(String)
    /// The reader keeps our claim and gives us nothing, for this reason. It goes on by itself.
    case resting(Resting)
    /// It should run, and nothing comes that is not old.
    case stalled

    package var name: String {
        switch self {
        case .ready: "ready"
        case .absent: "absent"
        case .refused: "refused"
        case .resting: "resting"
        case .stalled: "stalled"
        }
    }

    /// Why detectors of a sensor cannot fire; `nil` when they can.
    package func obstacle(_ sensor: String) -> String? {
        switch self {
        case .ready: nil
        case .absent: "there is no \(sensor)"
        case .refused(let reason): "the reader does not give us the \(sensor): \(reason)"
        case .resting(.inactive):
            "another user's session is in front, or none: the \(sensor) is not for us until ours is again"
        case .resting(.unknown): "the \(sensor) is not for us while polkit does not say whether our session is in front"
        case .stalled: "the \(sensor) has stalled: nothing new comes from the reader"
        }
    }
}
