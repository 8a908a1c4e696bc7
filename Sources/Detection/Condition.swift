/// What a look computes: a quantity of the sample that must be greater than a constant.
struct Condition: Equatable, Sendable {
    enum Measure: Sendable {
        case planar, axis, magnitude
    }

    var measure: Measure
    var threshold: Double

    func quantity(_ x: Double, _ y: Double, _ z: Double) -> Double {
        switch self.measure {
        case .planar: (x * x + y * y).squareRoot()
        case .axis: max(x.magnitude, y.magnitude, z.magnitude)
        case .magnitude: (x * x + y * y + z * z).squareRoot()
        }
    }
}
