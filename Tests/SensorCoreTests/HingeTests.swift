import Detection
import Glibc
import Motion
import Randomness
import SensorCore
import Testing

/// How far a laptop is open, against one whose hinge, attitude and gait are known.
struct HingeTests {
    /// A laptop in a hand or on a table: everything that its two sensors feel.
    struct Laptop {
        /// What the hinge is truly at, in degrees.
        var angle = 100.0
        /// Where up is in the base's frame.
        var up = SIMD3<Double>(0, 0, 1)
        /// How hard it is walked with, in g.
        var walking = 0.0
        /// Each sensor's noise, and how much too much of gravity each shows.
        var noise = 0.02
        var scales = (display: 1.02, base: 0.98)
        var random: SeededRandom

        init(seed: UInt64) { self.random = SeededRandom(seed: seed) }

        /// What the display's and the base's sensor show at a time.
        mutating func readings(at time: Double) -> (display: SIMD3<Double>, base: SIMD3<Double>) {
            let stride = 2 * .pi * 1.8 * time
            // Steps go up and down, sway goes across, and the display at its longer arm feels a turn besides.
            var push = self.up * (1 + self.walking * sin(stride))
            push += SIMD3(0.3 * self.walking * sin(stride / 2), 0.2 * self.walking * cos(stride / 2), 0)
            let arm = SIMD3(0, 0.08, 0.05) * (self.walking * sin(stride + 1))
            let display = Self.turned(push, self.angle) + arm
            return (self.seen(display, self.scales.display), self.seen(push, self.scales.base))
        }

        /// What is felt in the base, as the display feels it.
        private static func turned(_ base: SIMD3<Double>, _ angle: Double) -> SIMD3<Double> {
            let turn = (180 - angle) * .pi / 180
            return SIMD3(
                base.x, base.y * cos(turn) + base.z * sin(turn), base.z * cos(turn) - base.y * sin(turn))
        }

        private mutating func seen(_ value: SIMD3<Double>, _ scale: Double) -> SIMD3<Double> {
            var value = value * scale
            for axis in 0..<3 { value[axis] += self.random.uniform(-self.noise...self.noise) }
            return value
        }
    }

    /// Follows a laptop and holds what must hold at each sample.
    struct Watcher {
        var laptop: Laptop
        var hinge = HingeAngle()
        var tablet: HingeWatch
        var time = 0.0
        /// Since when the angle is trusted and the laptop is what the switch does not say.
        var owed: Double?
        var slowest = 0.0
        var switches = 0
        var trusted = 0
        var samples = 0
        var worst = 0.0

        static let rate = 50.0

        init(seed: UInt64) throws {
            self.laptop = Laptop(seed: seed)
            self.tablet = try HingeWatch(["preset": .text("tablet-mode")])
        }

        mutating func step() {
            self.time += 1 / Self.rate
            let now = Timestamp(microseconds: Int64(self.time * 1_000_000))
            let (display, base) = self.laptop.readings(at: self.time)
            self.hinge.see(display: display, base: base, at: now)
            let isTrusted = self.hinge.confidence >= 0.5
            self.samples += 1
            if isTrusted {
                self.trusted += 1
                self.worst = max(self.worst, (self.hinge.degrees - self.laptop.angle).magnitude)
            }
            if self.tablet.take(angle: self.hinge.degrees, confidence: 100 * self.hinge.confidence, at: now) {
                self.switches += 1
                let isRight = self.tablet.isIn ? self.laptop.angle >= 160 : self.laptop.angle <= 200
                #expect(isRight, "\(self.tablet.isIn) at \(self.laptop.angle) degrees, \(self.time) s")
                let along = self.laptop.up.x.magnitude
                #expect(along < HingeAngle.Guards().vertical, "switched with the hinge near vertical: \(along)")
            }
            let isTablet = self.laptop.angle >= 220 ? true : self.laptop.angle <= 140 ? false : self.tablet.isIn
            guard isTrusted, isTablet != self.tablet.isIn else {
                self.owed = nil
                return
            }
            let since = self.owed ?? self.time
            self.owed = since
            self.slowest = max(self.slowest, self.time - since)
        }

        mutating func wait(_ seconds: Double) {
            for _ in 0..<Int(seconds * Self.rate) { self.step() }
        }

        /// Folds the display to an angle at so many degrees a second.
        mutating func fold(to angle: Double, speed: Double) {
            let step = speed / Self.rate
            while (self.laptop.angle - angle).magnitude > step {
                self.laptop.angle += self.laptop.angle < angle ? step : -step
                self.step()
            }
            self.laptop.angle = angle
        }

        /// Turns the whole until up lies there.
        mutating func turn(to up: SIMD3<Double>, seconds: Double) {
            let start = self.laptop.up
            let count = max(1, Int(seconds * Self.rate))
            for index in 1...count {
                let share = Double(index) / Double(count)
                // Past the opposite side if need be: no turn goes through nothing.
                var next = start * (1 - share) + up * share
                if (next * next).sum() < 0.01 { next += SIMD3(0, 0.3, 0.1) }
                self.laptop.up = next / (next * next).sum().squareRoot()
                self.step()
            }
        }
    }

    private static let ups: [SIMD3<Double>] = {
        var ups: [SIMD3<Double>] = []
        for x in [-0.75, 0, 0.4] {
            for turn in 0..<6 {
                let (rest, angle) = ((1 - x * x).squareRoot(), Double(turn) * .pi / 3)
                ups.append(SIMD3(x, rest * sin(angle), rest * cos(angle)))
            }
        }
        return ups
    }()

    /// Swept over all angles, held all ways, at rest and walked with.
    @Test(arguments: [0.0, 0.15, 0.35], [30.0, 90, 200, 400])
    func isRightOverAllAnglesHeldAllWays(_ walking: Double, _ speed: Double) throws {
        var (trusted, samples, switches) = (0, 0, 0)
        for (index, up) in Self.ups.enumerated() {
            var watcher = try Watcher(seed: UInt64(index))
            watcher.laptop.walking = walking
            watcher.laptop.up = up
            watcher.wait(1)
            for angle in [300.0, 100, 359, 20, 180, 1, 250, 60] {
                watcher.fold(to: angle, speed: speed)
                watcher.wait(1)
            }
            // What follows a fold is behind it by its time constant.
            let most = 6 + 0.06 * speed + (walking > 0 ? 12 : 0)
            #expect(watcher.worst < most, "\(up) off by \(watcher.worst)")
            #expect(watcher.slowest <= 0.5, "\(up) late by \(watcher.slowest)")
            trusted += watcher.trusted
            samples += watcher.samples
            switches += watcher.switches
        }
        #expect(switches > 0 || walking > 0.3)
        if walking == 0 { #expect(Double(trusted) > 0.7 * Double(samples), "\(trusted) of \(samples)") }
    }

    /// Whatever is done with it: turned, folded, walked with, held like a book and folded there.
    @Test(arguments: 0..<24 as Range<UInt64>)
    func isNeverWrongWhateverIsDoneWithIt(_ seed: UInt64) throws {
        var watcher = try Watcher(seed: seed)
        var random = SeededRandom(seed: 1_000 + seed)
        watcher.wait(1)
        for _ in 0..<60 {
            watcher.laptop.walking = random.chance(0.3) ? random.uniform(0.05...0.5) : 0
            switch Int(random.uniform(0...4.999)) {
            case 0, 1: watcher.fold(to: random.uniform(0...360), speed: random.uniform(20...400))
            case 2: watcher.fold(to: random.chance(0.5) ? 0 : 360, speed: random.uniform(60...400))
            case 3: watcher.turn(to: SIMD3(random.chance(0.5) ? 1 : -1, 0.05, 0.05), seconds: 0.8)
            default:
                let up = SIMD3(random.uniform(-1...1), random.uniform(-1...1), random.uniform(-1...1))
                let size = max(0.1, (up * up).sum().squareRoot())
                watcher.turn(to: up / size, seconds: random.uniform(0.4...2))
            }
            watcher.wait(random.uniform(0.2...2))
        }
        #expect(watcher.slowest <= 0.5, "late by \(watcher.slowest)")
        #expect(watcher.trusted > 0)
    }

    @Test func anglesAreThoseOfTheWords() {
        var laptop = Laptop(seed: 1)
        laptop.noise = 0
        laptop.scales = (1, 1)
        // Flat on a table, the display upright, flat beside it, and hanging over the edge.
        for (angle, up) in [(90.0, SIMD3(0, 1.0, 0)), (180, SIMD3(0, 0, 1)), (270, SIMD3(0, -1, 0))] {
            laptop.angle = angle
            let (display, base) = laptop.readings(at: 0)
            #expect((display - up).sum().magnitude < 1e-9 && base == SIMD3(0, 0, 1))
            var hinge = HingeAngle()
            for index in 0..<20 {
                hinge.see(display: display, base: base, at: Timestamp(microseconds: Int64(index) * 20_000))
            }
            #expect((hinge.degrees - angle).magnitude < 1e-6 && hinge.confidence == 1)
        }
    }

    /// Shut and folded round look alike: nothing is said before the display was seen in between, and a moment of noise at one end is not
    /// the other.
    @Test(arguments: [0.0, 360])
    func theEndsAreToldApartByWhereItWas(_ end: Double) throws {
        var watcher = try Watcher(seed: 3)
        watcher.laptop.angle = end
        watcher.wait(5)
        #expect(watcher.trusted == 0 && watcher.hinge.confidence == 0 && watcher.switches == 0)
        watcher.fold(to: end == 0 ? 90 : 270, speed: 90)
        watcher.wait(1)
        #expect(watcher.hinge.confidence > 0.9)
        watcher.fold(to: end, speed: 120)
        watcher.wait(20)
        #expect(watcher.hinge.confidence > 0.9)
        #expect((watcher.hinge.degrees - end).magnitude < 8)
        #expect(watcher.tablet.isIn == (end == 360))
        // Held like a book for a while it may have been folded anywhere.
        watcher.turn(to: SIMD3(1, 0, 0), seconds: 1)
        watcher.wait(3)
        watcher.turn(to: SIMD3(0, 0, 1), seconds: 1)
        watcher.wait(2)
        #expect(watcher.hinge.confidence == 0 && watcher.tablet.isIn == (end == 360))
    }

    /// Each guard by itself, at a level laptop that is open at 100 degrees.
    @Test func whatIsNotTrusted() throws {
        func confidence(_ spoil: (inout SIMD3<Double>, inout SIMD3<Double>) -> Void) -> Double {
            var laptop = Laptop(seed: 5)
            laptop.noise = 0
            laptop.scales = (1, 1)
            var hinge = HingeAngle()
            for index in 0..<100 {
                var (display, base) = laptop.readings(at: 0)
                spoil(&display, &base)
                hinge.see(display: display, base: base, at: Timestamp(microseconds: Int64(index) * 20_000))
            }
            return hinge.confidence
        }
        #expect(confidence { _, _ in } == 1)
        #expect(confidence { display, _ in display *= 1.09 } == 1)
        #expect(confidence { display, _ in display *= 1.12 } == 0)
        #expect(confidence { display, base in (display, base) = (1.31 * display, 1.31 * base) } == 0)
        #expect(confidence { display, base in (display, base) = (0.69 * display, 0.69 * base) } == 0)
        #expect(confidence { display, _ in display.x += 0.11 } == 0)
        for (along, range) in [(0.7, 0.99...1.0), (0.8, 0.4...0.6), (0.9, 0...0)] {
            let found = confidence { display, base in
                let rest = (1 - along * along).squareRoot()
                (display, base) = (display * rest, base * rest)
                (display.x, base.x) = (along, along)
            }
            #expect(range.contains(found), "\(along): \(found)")
        }
    }

    /// The numbers of a trace may be as large as numbers can be: what they leave behind is over when they are.
    @Test func whatIsTooLargeIsForgotten() {
        var laptop = Laptop(seed: 5)
        laptop.noise = 0
        laptop.scales = (1, 1)
        laptop.angle = 120
        var hinge = HingeAngle()
        for index in 0..<2_500 {
            var (display, base) = laptop.readings(at: 0)
            if index == 50 { display = SIMD3(repeating: 1.7e308) }
            if index == 51 { (display, base) = (SIMD3(repeating: -1.7e308), SIMD3(repeating: 1.7e308)) }
            hinge.see(display: display, base: base, at: Timestamp(microseconds: Int64(index) * 20_000))
        }
        #expect((hinge.degrees - 120).magnitude < 1e-6 && hinge.confidence == 1)
    }

    // MARK: Two sensors

    /// The two tell at times of their own: a sample is made when the base has come as far, of what lies in between.
    @Test func samplesArePairedByTime() {
        var fusion = HingeFusion()
        var laptop = Laptop(seed: 9)
        laptop.noise = 0
        laptop.scales = (1, 1)
        laptop.angle = 120
        var made: [Int64] = []
        for index in 0..<100 as Range<Int64> {
            let (display, base) = laptop.readings(at: 0)
            fusion.display(display, at: Timestamp(microseconds: index * 20_000))
            #expect(fusion.next() == nil)
            fusion.base(base, at: Timestamp(microseconds: index * 20_000 + 7_000))
            while let time = fusion.next() { made.append(time.microseconds) }
        }
        // The first lies before all that the base told.
        #expect(made == (1..<100).map { $0 * 20_000 })
        #expect((fusion.row[0] - 120).magnitude < 1e-6 && fusion.row[1] == 100)
        fusion.gap()
        #expect(fusion.next() == nil)
        // A base that tells nothing costs no more than so much.
        for index in 0..<10_000 as Range<Int64> { fusion.display(laptop.up, at: Timestamp(microseconds: index)) }
        #expect(fusion.next() == nil)
    }
}
