/// The few functions that the standard library leaves to the C library.
///
/// Written here so that the same samples give the same bits on every machine.
package enum Mathematics {
    /// The arc tangents of 0, 1/8, …, 1.
    private static let eighths: [Double] = [
        0, 0.12435499454676144, 0.24497866312686414, 0.35877067027057225, 0.4636476090008061, 0.5585993153435624,
        0.6435011087932844, 0.7188299996216245, 0.7853981633974483,
    ]

    /// The angle of the point (x, y) in radians, from -π to π; 0 for the origin.
    package static func arctangent(_ y: Double, _ x: Double) -> Double {
        // The larger and the smaller of two do not pass on what is undefined.
        guard !y.isNaN, !x.isNaN else { return .nan }
        let (ax, ay) = (x.magnitude, y.magnitude)
        let larger = max(ax, ay)
        guard larger > 0 else { return 0 }
        guard larger < .infinity else { return .nan }
        var angle = self.arctangent(ofUnit: min(ax, ay) / larger)
        if ay > ax { angle = .pi / 2 - angle }
        if x < 0 { angle = .pi - angle }
        return y < 0 ? -angle : angle
    }

    /// The arc cosine of `cosine` in radians; what rounding put beyond ±1 counts as ±1.
    package static func arccosine(_ cosine: Double) -> Double {
        let bounded = max(-1, min(1, cosine))
        return self.arctangent((1 - bounded * bounded).squareRoot(), bounded)
    }

    /// The sine and the cosine of an angle in radians; both undefined when the angle is beyond what keeps them exact.
    package static func sineAndCosine(_ angle: Double) -> (sine: Double, cosine: Double) {
        guard angle.magnitude < 1_000_000 else { return (.nan, .nan) }
        let quarters = (angle * (2 / Double.pi)).rounded()
        // A quarter turn in two parts, of which the first leaves room for the product to be exact.
        let rest = (angle - quarters * 1.5707963267341256) - quarters * 6.077100506506192e-11
        let square = rest * rest
        var (sine, cosine) = (1.0, 1.0)
        // Both series from their last terms inwards; up to 45 degrees nine terms are all that a Double holds.
        for n in stride(from: 18.0, through: 2, by: -2) {
            sine = 1 - sine * square / (n * (n + 1))
            cosine = 1 - cosine * square / (n * (n - 1))
        }
        sine *= rest
        return switch Int(quarters) & 3 {
        case 0: (sine, cosine)
        case 1: (cosine, -sine)
        case 2: (-sine, -cosine)
        default: (-cosine, sine)
        }
    }

    /// The arc tangent of a ratio from 0 to 1: the nearest eighth, and a series for the little that is left.
    private static func arctangent(ofUnit ratio: Double) -> Double {
        let step = Int((ratio * 8).rounded())
        let near = Double(step) / 8
        let rest = (ratio - near) / (1 + ratio * near)
        let square = rest * rest
        var sum = 0.0
        var odd = 15.0
        while odd > 0 {
            sum = 1 / odd - square * sum
            odd -= 2
        }
        return self.eighths[step] + rest * sum
    }

    /// 1 - exp(-ratio): how far a filter goes towards its input in `ratio` time constants.
    package static func approach(_ ratio: Double) -> Double {
        guard ratio > 0 else { return 0 }
        guard ratio < 40 else { return 1 }
        var small = ratio
        var halvings = 0
        while small > 0.0625 {
            small /= 2
            halvings += 1
        }
        // exp(-small) - 1 by its series; eight terms leave less than a unit in the last place.
        var sum = 1.0
        var term = 8.0
        while term > 1 {
            sum = 1 - small / term * sum
            term -= 1
        }
        var change = -small * sum
        for _ in 0..<halvings { change *= change + 2 }
        return -change
    }
}
