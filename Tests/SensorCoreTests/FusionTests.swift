import Glibc
import Motion
import SensorCore
import Testing
import Traces
import Randomness

/// What is made of an accelerometer and a gyroscope, against a body whose motion is known.
struct FusionTests {
    /// Turns as a matrix whose rows are the world's axes in the body's, integrated in small steps: nothing of the filter's.
    struct Truth {
        var rows = [SIMD3<Double>(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]

        mutating func turn(_ angles: SIMD3<Double>) {
            let size = (angles * angles).sum().squareRoot()
            guard size > 0 else { return }
            let axis = angles / size
            // The world turns the other way as the body sees it: Rodrigues' formula.
            for row in 0..<3 {
                let old = self.rows[row]
                let across = SIMD3(
                    axis.y * old.z - axis.z * old.y, axis.z * old.x - axis.x * old.z, axis.x * old.y - axis.y * old.x)
                self.rows[row] =
                    old * cos(size) - across * sin(size) + axis * ((axis * old).sum() * (1 - cos(size)))
            }
        }

        var roll: Double { atan2(-self.rows[2].x, self.rows[2].z) }
        var pitch: Double { asin(max(-1, min(1, self.rows[2].y))) }
        var yaw: Double { atan2(-self.rows[0].y, self.rows[1].y) }
    }

    /// How a body turns and what its hand does besides.
    struct Story: CustomTestStringConvertible {
        var name: String
        /// What is added to gravity, as a script of motion.
        var script: String
        var rotation: @Sendable (Double) -> SIMD3<Double>
        /// Most that gravity's direction and `user` may be off on the average (root mean square), with and without a gyroscope.
        var followed: (degrees: Double, g: Double)
        var slow: (degrees: Double, g: Double)

        var testDescription: String { self.name }
    }

    /// How far off it was: root mean squares.
    struct Errors {
        var tilt = 0.0
        var user = 0.0
        var worstTilt = 0.0
        var worstAngle = 0.0
        var worstRotation = 0.0
    }

    static let bias = SIMD3(0.02, -0.015, 0.01)

    /// Plays 30 s and looks at what is made from the tenth second on.
    static func errors(_ story: Story, isFollowed: Bool, bias: SIMD3<Double> = Self.bias) throws -> Errors {
        let motion = try SyntheticMotion(script: "seed=7; noise=0.02g; " + story.script)
        var chance = SeededRandom(seed: 7)
        func noise(_ size: Double) -> SIMD3<Double> {
            SIMD3(
                Double.random(in: -size...size, using: &chance), Double.random(in: -size...size, using: &chance),
                Double.random(in: -size...size, using: &chance))
        }
        var truth = Truth()
        var fusion = MotionFusion()
        fusion.isFollowed = isFollowed
        var expected: [Timestamp: (truth: Truth, push: SIMD3<Double>, rotation: SIMD3<Double>)] = [:]
        var errors = Errors()
        var count = 0.0
        for index in 0..<3_000 {
            let seconds = Double(index) / 100
            let offset = TimeSpan.milliseconds(Int64(index) * 10)
            let time = Timestamp.seconds(100) + offset
            if index > 0 {
                for step in 0..<10 {
                    truth.turn(story.rotation(seconds - 0.01 + (Double(step) + 0.5) / 1_000) / 1_000)
                }
            }
            let reading = try #require(motion.sample(at: offset))
            let push = reading - SIMD3(0, 0, 1)
            expected[time] = (truth, push, story.rotation(seconds))
            fusion.accelerate(truth.rows[2] + push, at: time)
            // The gyroscope runs at a rate of its own, and its samples come between the others.
            fusion.rotate(
                story.rotation(seconds + 0.004) + bias + noise(0.005), at: time + .milliseconds(4))
            while let made = fusion.next() {
                let right = try #require(expected[made])
                guard made - Timestamp.seconds(100) >= .seconds(10) else { continue }
                let gravity = SIMD3(fusion.row[3], fusion.row[4], fusion.row[5])
                let size = (gravity * gravity).sum().squareRoot()
                let cosine = (gravity * right.truth.rows[2]).sum() / size
                let tilt = acos(max(-1, min(1, cosine))) * 180 / .pi
                let user = SIMD3(fusion.row[0], fusion.row[1], fusion.row[2]) - gravity - right.push
                let rotation = SIMD3(fusion.row[6], fusion.row[7], fusion.row[8]) - right.rotation
                errors.tilt += tilt * tilt
                errors.user += (user * user).sum()
                errors.worstTilt = max(errors.worstTilt, tilt)
                errors.worstRotation = max(errors.worstRotation, (rotation * rotation).sum().squareRoot())
                count += 1
                // Where the second axis points straight up, roll and yaw are one turn.
                guard right.truth.pitch.magnitude < .pi / 3 else { continue }
                for (value, angle) in [(fusion.row[9], right.truth.roll), (fusion.row[10], right.truth.pitch)] {
                    let difference = (value - angle + 3 * .pi).truncatingRemainder(dividingBy: 2 * .pi) - .pi
                    errors.worstAngle = max(errors.worstAngle, difference.magnitude * 180 / .pi)
                }
            }
        }
        errors.tilt = (errors.tilt / count).squareRoot()
        errors.user = (errors.user / count).squareRoot()
        return errors
    }

    static let stories = [
        Story(
            name: "rest", script: "", rotation: { _ in .zero }, followed: (0.6, 0.012), slow: (0.1, 0.003)),
        Story(
            name: "turned over and back", script: "",
            rotation: { SIMD3(1.5 * sin(2 * .pi * 0.25 * $0), 0.8 * sin(2 * .pi * 0.4 * $0), 0.5) },
            followed: (1.1, 0.02), slow: (26, 0.43)),
        Story(
            name: "shaken", script: "shake peak=2.8g; rest 1s; loop",
            rotation: { SIMD3(0.4 * sin(2 * .pi * 3 * $0), 0.6 * sin(2 * .pi * 3 * $0), 0) },
            followed: (1.9, 0.033), slow: (9.5, 0.17)),
        Story(
            name: "walked with", script: "walk 10s pace=1.8Hz strength=0.6g; loop",
            rotation: { SIMD3(0.8 * sin(2 * .pi * 0.9 * $0), 0.3 * sin(2 * .pi * 1.8 * $0), 0.2) },
            followed: (2.4, 0.042), slow: (5.5, 0.1)),
    ]

    @Test(arguments: stories) func gravityIsWhereItIs(_ story: Story) throws {
        let followed = try Self.errors(story, isFollowed: true)
        let slow = try Self.errors(story, isFollowed: false)
        #expect(followed.tilt <= story.followed.degrees, "\(followed)")
        #expect(followed.user <= story.followed.g, "\(followed)")
        #expect(slow.tilt <= story.slow.degrees, "\(slow)")
        #expect(slow.user <= story.slow.g, "\(slow)")
        #expect(followed.worstAngle <= 6, "\(followed)")
        #expect(followed.worstRotation <= 0.035, "\(followed)")
    }

    /// Without a bias, yaw is what the turns add up to; a bias about up nobody can know, and it adds up too.
    @Test func yawAddsUp() throws {
        for (bias, most) in [(0.0, 0.5), (0.01, 12)] {
            var fusion = MotionFusion()
            fusion.isFollowed = true
            var yaw = 0.0
            for index in 0..<2_000 {
                let time = Timestamp.seconds(5) + .milliseconds(Int64(index) * 10)
                fusion.rotate(SIMD3(0, 0, 0.3 + bias), at: time)
                fusion.accelerate(SIMD3(0, 0, 1), at: time)
                #expect(fusion.next() == time)
                yaw = Double(index) * 0.003
                #expect(fusion.row[9].magnitude < 1e-6 && fusion.row[10].magnitude < 1e-6)
            }
            let error = (fusion.row[11] - yaw + 3 * .pi).truncatingRemainder(dividingBy: 2 * .pi) - .pi
            #expect(error.magnitude * 180 / .pi < most, "\(bias): \(error)")
        }
    }

    /// The two come in blocks, not in turn; the samples are the same, and each waits for the gyroscope.
    @Test func blocksAreMergedByTime() {
        func made(inBlocksOf size: Int) -> [[Double]] {
            var fusion = MotionFusion()
            fusion.isFollowed = true
            var rows: [[Double]] = []
            for first in stride(from: 0, to: 120, by: size) {
                let times = (first..<first + size).map { Timestamp.seconds(1) + .milliseconds(Int64($0) * 10) }
                for time in times { fusion.accelerate(SIMD3(0.1, 0, 1), at: time) }
                #expect(fusion.next() == nil)
                for time in times {
                    fusion.rotate(SIMD3(sin(Double(time.microseconds) / 1e5), 0, 0), at: time)
                    // What is told twice, or late, is left out.
                    fusion.rotate(SIMD3(9, 9, 9), at: time)
                }
                while let time = fusion.next() {
                    rows.append(fusion.row)
                    #expect(time == Timestamp.seconds(1) + .milliseconds(Int64(rows.count - 1) * 10))
                }
            }
            return rows
        }
        let single = made(inBlocksOf: 1)
        #expect(single.count == 120)
        #expect(made(inBlocksOf: 10) == single)
        #expect(made(inBlocksOf: 40) == single)
    }

    /// A gyroscope that falls silent, as one that tells changes only, holds nobody up for longer than it may be late.
    @Test(arguments: [(50.0, Int64(0), 26), (5, 0, 61), (50, 1_000, 126)])
    func aGyroscopeThatTellsChangesHoldsUpNobody(rate: Double, latency: Int64, first: Int) {
        var fusion = MotionFusion()
        fusion.isFollowed = true
        fusion.follow(SensorPace(rate: rate, batchLatency: .milliseconds(latency)))
        for index in 0..<200 {
            fusion.accelerate(SIMD3(0, 0, 1), at: .seconds(1) + .milliseconds(Int64(index) * 10))
            #expect((fusion.next() != nil) == (index >= first), "\(index)")
        }
        // It speaks again, and is waited for again.
        let time = Timestamp.seconds(1) + .milliseconds(2_000)
        fusion.rotate(SIMD3(0.1, 0, 0), at: time)
        while fusion.next() != nil {}
        fusion.accelerate(SIMD3(0, 0, 1), at: time)
        #expect(fusion.next() == time)
        #expect(abs(fusion.row[6] - 0.1) < 0.01, "\(fusion.row)")
    }

    /// A gyroscope that falls silent holds nobody up for ever, and one that is gone for no time at all.
    @Test func aSilentGyroscopeIsDoneWithout() {
        var fusion = MotionFusion()
        fusion.isFollowed = true
        for index in 0..<3_000 {
            fusion.accelerate(SIMD3(0, 0, 1), at: .seconds(1) + .milliseconds(Int64(index) * 10))
            let isMade = fusion.next() != nil
            #expect(isMade == (index > 1_025), "\(index)")
        }
        fusion.isFollowed = false
        fusion.gap()
        fusion.rotate(SIMD3(1, 0, 0), at: .seconds(60))
        fusion.accelerate(SIMD3(0, 0.6, 0.8), at: .seconds(60))
        #expect(fusion.next() == .seconds(60))
        #expect(fusion.row[3...8] == [0, 0.6, 0.8, 0, 0, 0])
        #expect((fusion.row[10] - asin(0.6)).magnitude < 1e-9 && fusion.row[11] == 0)
        #expect(fusion.next() == nil)
    }

    /// Whatever comes, what is made is finite: numbers that are not would be refused later.
    @Test(arguments: [true, false]) func oddReadingsMakeNoOddNumbers(isFollowed: Bool) {
        var fusion = MotionFusion()
        fusion.isFollowed = isFollowed
        let odd: [Double] = [0, -0.0, 1, -1, 1e-300, 1e12, -1e12, 16, 1.7e308, -1.7e308]
        var chance = SeededRandom(seed: 3)
        var time = Timestamp.seconds(1)
        for _ in 0..<2_000 {
            func pick() -> SIMD3<Double> {
                SIMD3(
                    odd.randomElement(using: &chance) ?? 0, odd.randomElement(using: &chance) ?? 0,
                    odd.randomElement(using: &chance) ?? 0)
            }
            time = time + TimeSpan(microseconds: Int64.random(in: 1...1_500_000, using: &chance))
            fusion.rotate(pick(), at: time)
            fusion.accelerate(pick(), at: time)
            while fusion.next() != nil { #expect(fusion.row.allSatisfy { $0.isFinite }, "\(fusion.row)") }
        }
    }
}

extension Timestamp {
    static func seconds(_ count: Int64) -> Timestamp { .zero + .seconds(count) }
}
