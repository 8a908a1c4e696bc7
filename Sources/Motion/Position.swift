/// A point on the surface of the earth, on the WGS 84 ellipsoid.
package struct Position: Hashable, Sendable {
    /// In degrees, north positive.
    package let latitude: Double
    /// In degrees, east positive.
    package let longitude: Double
    /// From the centre of the earth, in metres: distances know neither date line nor poles then.
    private let place: SIMD3<Double>
    private let meridian: (sine: Double, cosine: Double)
    private let parallel: (sine: Double, cosine: Double)

    private static let equator = 6_378_137.0
    private static let flattening = 1 / 298.257223563
    private static let eccentricity = flattening * (2 - flattening)
    /// The mean radius of the earth, by which long distances are bent.
    private static let radius = 6_371_008.8

    /// A point from degrees; `nil` beyond 90 of latitude or 180 of longitude.
    package init?(latitude: Double, longitude: Double) {
        guard latitude.magnitude <= 90, longitude.magnitude <= 180 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        self.parallel = Mathematics.sineAndCosine(latitude * .pi / 180)
        self.meridian = Mathematics.sineAndCosine(longitude * .pi / 180)
        let sine = self.parallel.sine
        let across = Self.equator / (1 - Self.eccentricity * sine * sine).squareRoot()
        self.place = SIMD3(
            across * self.parallel.cosine * self.meridian.cosine, across * self.parallel.cosine * self.meridian.sine,
            across * (1 - Self.eccentricity) * sine)
    }

    /// The distance along the surface in metres: to a millimetre over a kilometre, to 0.6 % between any two points.
    package func distance(to other: Position) -> Double {
        let way = other.place - self.place
        // Half of the angle that the chord spans; beyond the diameter there is only rounding and the earth's own shape.
        let half = min(1, (way * way).sum().squareRoot() / (2 * Self.radius))
        return 2 * Self.radius * Mathematics.arctangent(half, (1 - half * half).squareRoot())
    }

    /// The direction in which another point lies, in degrees from north over east: 0 up to 360. 0 for the point itself.
    package func course(to other: Position) -> Double {
        let way = other.place - self.place
        let east = way.y * self.meridian.cosine - way.x * self.meridian.sine
        let outward = way.x * self.meridian.cosine + way.y * self.meridian.sine
        let north = way.z * self.parallel.cosine - outward * self.parallel.sine
        let angle = Mathematics.arctangent(east, north) * 180 / .pi
        // What rounding leaves below 0 must not become 360.
        return angle < 0 ? (angle + 360).truncatingRemainder(dividingBy: 360) : angle
    }

    /// The point so many metres further north and east, as far as the surface is flat: for steps, not for journeys.
    package func moved(north: Double, east: Double) -> Position {
        let sine = self.parallel.sine
        let share = 1 - Self.eccentricity * sine * sine
        let across = Self.equator / share.squareRoot()
        let along = across * (1 - Self.eccentricity) / share
        let latitude = min(90, max(-90, self.latitude + north / along * 180 / .pi))
        let turn = east / (across * max(1e-9, self.parallel.cosine)) * 180 / .pi
        var longitude = (self.longitude + turn).truncatingRemainder(dividingBy: 360)
        if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
        return Position(latitude: latitude, longitude: longitude) ?? self
    }

    package static func == (a: Position, b: Position) -> Bool {
        a.latitude == b.latitude && a.longitude == b.longitude
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.latitude)
        hasher.combine(self.longitude)
    }
}
