import Foundation
import Motion
import Testing

@Suite struct PositionTests {
    private func position(_ latitude: Double, _ longitude: Double) throws -> Position {
        try #require(Position(latitude: latitude, longitude: longitude))
    }

    @Test func sineAndCosineAreThoseOfTheCLibrary() {
        for step in -20_000...20_000 {
            let angle = Double(step) * 0.0007919
            let (sine, cosine) = Mathematics.sineAndCosine(angle)
            #expect(abs(sine - Foundation.sin(angle)) < 3e-16, "\(angle)")
            #expect(abs(cosine - Foundation.cos(angle)) < 3e-16, "\(angle)")
        }
        for angle in [Double.nan, .infinity, -.infinity, 1e300] {
            #expect(Mathematics.sineAndCosine(angle).sine.isNaN)
        }
    }

    /// Geodesics on WGS 84, as GeographicLib has them.
    @Test(arguments: [
        // A degree of latitude at the equator and at the pole, one of longitude at the equator and at 60 degrees.
        (0.0, 0.0, 1.0, 0.0, 110_574.389), (89.0, 0.0, 90.0, 0.0, 111_693.864), (0.0, 0.0, 0.0, 1.0, 111_319.491),
        (60.0, 10.0, 60.0, 11.0, 55_799.47),
        // Across the date line, and across the pole.
        (10.0, 179.95, 10.0, -179.95, 10_963.93), (89.5, 0.0, 89.5, 180.0, 111_693.95),
    ])
    func distancesAreThoseOfTheEllipsoid(_ a: Double, _ b: Double, _ c: Double, _ d: Double, _ metres: Double) throws {
        let way = try self.position(a, b).distance(to: self.position(c, d))
        #expect(abs(way - metres) < metres * 2e-5, "\(way)")
    }

    @Test func longDistancesAreOffByLittle() throws {
        // A quarter of a meridian is 10 001 966 m long, half of the equator's shortest way over a pole 20 003 931 m.
        #expect(abs(try self.position(0, 0).distance(to: self.position(90, 0)) / 10_001_966 - 1) < 0.006)
        #expect(abs(try self.position(0, 0).distance(to: self.position(0, 180)) / 20_003_931 - 1) < 0.006)
    }

    @Test func aWayBackIsAsLongAndNoWayIsNone() throws {
        let (a, b) = (try self.position(46.1, 14.5), try self.position(46.2, 14.4))
        #expect(a.distance(to: b) == b.distance(to: a))
        #expect(a.distance(to: a) == 0)
        #expect(a.course(to: a) == 0)
        #expect(try self.position(12, 180).distance(to: self.position(12, -180)) < 1e-8)
        #expect(try self.position(90, 20).distance(to: self.position(90, -77)) < 1e-8)
    }

    @Test(arguments: [(1.0, 0.0, 0.0), (0.0, 1.0, 90.0), (-1.0, 0.0, 180.0), (0.0, -1.0, 270.0), (1.0, 1.0, 45.0)])
    func coursesGoRoundFromNorthOverEast(_ north: Double, _ east: Double, _ course: Double) throws {
        let starts = [try self.position(0, 0), try self.position(48, 179.9999), try self.position(-70, -179.9999)]
        for start in starts {
            let end = start.moved(north: north * 100, east: east * 100)
            #expect(abs(start.course(to: end) - course) < 0.01)
            #expect(abs(start.distance(to: end) - 100 * (north * north + east * east).squareRoot()) < 0.01)
        }
    }

    @Test func whatIsNotOnEarthIsNoPosition() {
        for (latitude, longitude) in [
            (90.001, 0.0), (-91, 0), (0, 180.001), (0, -181), (.nan, 0), (0, .nan), (.infinity, 0),
        ] {
            #expect(Position(latitude: latitude, longitude: longitude) == nil)
        }
    }

    @Test func aFixSaysWhatTheWayToItSaid() throws {
        var track = LocationTrack()
        func row(
            _ time: Int64, _ position: Position, speed: Double? = nil, course: Double? = nil, accuracy: Double? = nil
        ) -> [Double]? {
            track.row(
                for: LocationFix(time: time, position: position, speed: speed, course: course, accuracy: accuracy))
        }
        let start = try self.position(10, 179.9999)
        #expect(row(5_000_000, start) == [10, 179.9999, 0, 0, 10])
        let east = start.moved(north: 0, east: 30)
        let second = try #require(row(8_000_000, east, accuracy: 3))
        #expect(abs(second[2] - 10) < 0.001 && abs(second[3] - 90) < 0.01 && second[4] == 3)
        // Standing, it keeps its course; what the fix says itself counts.
        let third = try #require(row(9_000_000, east))
        #expect(third[2...3] == [0, second[3]])
        let fourth = try #require(row(9_500_000, east, speed: 4, course: 360))
        #expect(fourth[2...3] == [4, 0])
        // What does not follow in time is no sample.
        #expect(row(9_500_000, start) == nil)
        #expect(row(1, start) == nil)
        // What no receiver can mean is not taken over.
        let odd = try #require(row(10_500_000, east, speed: -1, course: .nan, accuracy: -5))
        #expect(odd[2] == 0 && odd[4] == 10)
        let huge = try #require(row(11_500_000, east, speed: 1e308, course: 1e308, accuracy: 1e308))
        #expect(huge[2...] == odd[2...])
    }

    /// Two fixes of almost one time say nothing of the speed between them, as nothing is that fast.
    @Test func noWayIsFasterThanWhatMayBeTold() throws {
        var track = LocationTrack()
        let start = try self.position(10, 20)
        _ = track.row(for: LocationFix(time: 5_000_000, position: start))
        let near = start.moved(north: 0, east: 30)
        let second = track.row(for: LocationFix(time: 8_000_000, position: near))
        let speed = try #require(second)[2]
        let far = near.moved(north: 0, east: 3_000)
        let third = track.row(for: LocationFix(time: 8_000_002, position: far))
        let kept = try #require(third)[2]
        #expect(kept == speed && abs(speed - 10) < 0.001)
    }
}
