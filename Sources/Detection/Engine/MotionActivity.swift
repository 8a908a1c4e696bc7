/// What a device is doing, as `activity` of the language and its preset tell it. The number is what hits carry.
package enum MotionActivity: Int, CaseIterable, Sendable {
    /// Too little was seen yet, or looks are too rare.
    case unknown
    case still
    /// Moved, without a rhythm.
    case handled
    case walking
    case running
    /// Gently and steadily shaken, as in a vehicle.
    case riding

    /// The word for it.
    package var word: String {
        switch self {
        case .unknown: "unknown"
        case .still: "still"
        case .handled: "handled"
        case .walking: "walking"
        case .running: "running"
        case .riding: "riding"
        }
    }

    /// The activity of that word.
    package init?(word: some StringProtocol) {
        guard let known = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = known
    }
}
