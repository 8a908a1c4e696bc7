package import Motion

/// A journey made from a seed instead of travelled: on foot, through a town with its stops, over land, and time at rest.
///
/// A fix a second, as a receiver gives them: the place is a few metres off, and off otherwise a while later. The same seed
/// gives the same journey on every machine.
package struct SyntheticDrive: Sendable {
    /// A part of the journey at one speed, as far as anybody keeps one.
    package struct Leg: Hashable, Sendable {
        package var name: String
        /// In m/s; 0 is rest.
        package var speed: Double
        package var length: TimeSpan
        /// How much the direction turns in a second, in degrees at most.
        package var bend: Double

        package init(_ name: String, speed: Double, _ length: TimeSpan, bend: Double = 0) {
            self.name = name
            self.speed = speed
            self.length = length
            self.bend = bend
        }
    }

    package let seed: UInt64
    package let legs: [Leg]
    /// Where it begins: in the sea south of Ghana, where nobody lives.
    package static let start = Position(latitude: 0.01, longitude: 0.01)

    /// Rest, a walk, a town with three lights, a road over land, a motorway, a town again, rest.
    package static let everyday: [Leg] = [
        Leg("rest", speed: 0, .seconds(300)),
        Leg("walk", speed: 1.4, .seconds(600), bend: 3),
        Leg("rest", speed: 0, .seconds(120)),
        Leg("town", speed: 9, .seconds(180), bend: 2), Leg("light", speed: 0, .seconds(45)),
        Leg("town", speed: 12, .seconds(150), bend: 2), Leg("light", speed: 0, .seconds(60)),
        Leg("town", speed: 8, .seconds(120), bend: 2),
        Leg("road", speed: 22, .seconds(400), bend: 1),
        Leg("motorway", speed: 34, .seconds(500), bend: 0.3),
        Leg("town", speed: 11, .seconds(200), bend: 2), Leg("light", speed: 0, .seconds(40)),
        Leg("crawl", speed: 3.4, .seconds(120), bend: 1),
        Leg("rest", speed: 0, .seconds(600)),
    ]

    /// How far a fix may be off, in m, in each direction.
    private static let error = 4.0
    /// How long an error takes to become another, in s.
    private static let drift = 20.0
    /// How fast a car gains and loses speed, in m/s².
    private static let acceleration = 1.8

    package init(seed: UInt64 = 7, legs: [Leg] = everyday) {
        self.seed = seed
        self.legs = legs
    }

    /// The fixes of the whole journey, a second apart, from 0 on.
    package var fixes: [LocationFix] {
        var fixes: [LocationFix] = []
        guard var place = Self.start else { return [] }
        var (speed, course) = (0.0, 40.0)
        var second: Int64 = 0
        for leg in self.legs {
            for _ in 0..<max(0, leg.length.microseconds / 1_000_000) {
                fixes.append(self.fix(at: second, place, speed, course))
                let step = leg.speed - speed
                speed += min(Self.acceleration, max(-Self.acceleration, step))
                if speed > 0.1 { course += leg.bend * self.chance(second / 15, 2) }
                let turn = Mathematics.sineAndCosine(course * .pi / 180)
                place = place.moved(north: speed * turn.cosine, east: speed * turn.sine)
                second += 1
            }
        }
        return fixes
    }

    /// The journey as rows of the sensor `location`.
    package var block: SampleBlock {
        var track = LocationTrack()
        var block = SampleBlock(channels: 5)
        for fix in self.fixes {
            guard let row = track.row(for: fix) else { continue }
            block.append(Timestamp(microseconds: fix.time), row)
        }
        return block
    }

    private func fix(at second: Int64, _ place: Position, _ speed: Double, _ course: Double) -> LocationFix {
        let heading = course.truncatingRemainder(dividingBy: 360)
        return LocationFix(
            time: second * 1_000_000,
            position: place.moved(north: self.error(at: second, 0), east: self.error(at: second, 1)),
            // Receivers tell a little speed at rest, too.
            speed: max(0, speed + 0.15 * self.chance(second, 3)), course: heading < 0 ? heading + 360 : heading,
            accuracy: 5)
    }

    /// The error of a second, between those of two moments a while apart.
    private func error(at second: Int64, _ direction: UInt64) -> Double {
        let moment = Double(second) / Self.drift
        let index = Int64(moment.rounded(.down))
        let share = moment - Double(index)
        let (from, to) = (self.chance(index, 4 + direction), self.chance(index + 1, 4 + direction))
        return Self.error * (from + (to - from) * share)
    }

    /// Between -1 and 1.
    private func chance(_ index: Int64, _ channel: UInt64) -> Double {
        2 * Waveform.chance(self.seed, UInt64(bitPattern: index), channel) - 1
    }
}
