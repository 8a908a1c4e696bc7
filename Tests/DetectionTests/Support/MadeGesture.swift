import Motion
import Testing

@testable import Detection

/// Gestures of a hand, as functions of time: each begins at 0 and is rest before and after.
struct MadeGesture: CustomTestStringConvertible, Sendable {
    enum Path: String, CaseIterable, Sendable {
        case circle, thrust, wave, corner
    }

    var path: Path
    /// How long it takes, in s.
    var seconds = 0.9
    /// How strong it is, in g.
    var strength = 1.0
    /// How the device is held: gravity.
    var gravity = SIMD3(0.1, -0.2, 0.97)

    var testDescription: String { "\(self.path.rawValue) in \(self.seconds) s" }

    static let circle = MadeGesture(path: .circle)

    /// Three circles of different speed and strength, taught.
    static let circles = taught(.circle)

    /// The reading at a time.
    func at(_ time: Double) -> (Double, Double, Double) {
        let sum = self.gravity + self.push(time / self.seconds) * self.strength
        return (sum.x, sum.y, sum.z)
    }

    private func push(_ part: Double) -> SIMD3<Double> {
        guard part > 0, part < 1 else { return .zero }
        func sine(_ turns: Double) -> Double { Mathematics.sineAndCosine(2 * .pi * turns).sine }
        let edge = min(1, 8 * min(part, 1 - part))
        switch self.path {
        case .circle: return SIMD3(sine(part), sine(part + 0.25), 0) * edge
        case .thrust: return SIMD3(0, 0, sine(part)) * edge
        case .wave: return SIMD3(sine(3 * part), 0, 0) * edge
        case .corner: return part < 0.5 ? SIMD3(0, sine(2 * part), 0) : SIMD3(sine(2 * part), 0, 0)
        }
    }

    /// The only motion that is found in it, between two seconds of rest.
    var found: MotionFinder.Found? {
        var finder = MotionFinder()
        var found: [MotionFinder.Found] = []
        for index in 0..<Int((self.seconds + 2) * 50) {
            let (x, y, z) = self.at(Double(index) / 50 - 1)
            if let one = finder.take(SIMD3(x, y, z), at: Int64(index + 1) * 20_000) { found.append(one) }
        }
        return found.count == 1 ? found[0] : nil
    }

    /// Three of a path, with a limit as teaching finds it.
    static func taught(_ path: Path, named name: String? = nil, limit: Double = 0.9) -> TaughtGesture {
        let made = [(0.9, 1.0), (0.75, 1.3), (1.1, 0.8)].map {
            MadeGesture(path: path, seconds: $0.0, strength: $0.1).found?.example
        }
        return TaughtGesture(name: name ?? path.rawValue, limit: limit, examples: made.compactMap(\.self))
    }
}
