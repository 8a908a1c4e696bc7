import Detection
import Glibc
import Motion
import SensorCore
import Testing
import Traces

/// A screen that turns calmly, as `net.hadess.SensorProxy` tells it then.
struct CalmTests {
    /// A desktop that claims the accelerometer, and when its picture turns.
    struct Desktop {
        var state: ProxyState
        var turns: [(time: Double, orientation: Orientation)] = []

        init(_ calm: CalmScreen?) {
            self.state = ProxyState(calm: calm)
            var actions: [ProxyState.Action] = []
            self.state.set(.accelerometer, to: .there, &actions)
            _ = self.state.claim(.accelerometer, by: ":1", of: UserShares.root, &actions)
        }

        mutating func see(_ sample: SIMD3<Double>, at time: Double) {
            let before = self.state.orientation
            var actions: [ProxyState.Action] = []
            self.state.accelerated(sample, at: Timestamp(microseconds: Int64(time * 1_000_000)), &actions)
            guard self.state.orientation != before else { return }
            self.turns.append((time, self.state.orientation))
            let isTold = actions.contains { action in
                if case .tell(_, let properties) = action { properties.contains(.orientation) } else { false }
            }
            #expect(isTold)
        }
    }

    private static let rate = 20.0

    /// How often the picture turns while somebody walks for ten minutes, after it was seen first.
    private func turns(_ calm: CalmScreen?, _ script: String, swing: Double) throws -> Int {
        let motion = try SyntheticMotion(script: script + "; walk 10min pace=1.8Hz strength=0.5g")
        var desktop = Desktop(calm)
        for index in 0..<Int(600 * Self.rate) {
            let time = Double(index) / Self.rate
            guard let sample = motion.sample(at: TimeSpan(seconds: time) ?? .zero) else { continue }
            // The arm swings once in two steps: the picture's plane turns with it.
            let turn = swing * sin(.pi * 1.8 * time)
            desktop.see(
                SIMD3(
                    sample.x * cos(turn) - sample.y * sin(turn), sample.x * sin(turn) + sample.y * cos(turn), sample.z),
                at: time)
        }
        return desktop.turns.count - 1
    }

    /// An hour of walks: a hand that holds the device before the eyes, and one that swings it.
    @Test(arguments: [1, 2, 3] as [UInt64], [0.3, 1.2])
    func aWalkTurnsNothing(_ seed: UInt64, _ swing: Double) throws {
        let script = "seed=\(seed); noise=0.03g; gravity=y"
        #expect(try self.turns(CalmScreen(), script, swing: swing) == 0)
        // The original's rule does, when the hand swings.
        #expect(try self.turns(nil, script, swing: swing) > (swing > 1 ? 100 : -1))
    }

    /// A turn of any speed, in each of four directions, is told once, 600 ms after it ends at the latest.
    @Test(arguments: [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6], [Orientation.normal, .bottomUp, .leftUp, .rightUp])
    func eachTurnIsShownSoon(_ duration: Double, _ end: Orientation) throws {
        let place: [Orientation: SIMD3<Double>] = [
            .normal: SIMD3(0, 1, 0), .bottomUp: SIMD3(0, -1, 0), .leftUp: SIMD3(-1, 0, 0), .rightUp: SIMD3(1, 0, 0),
        ]
        let start: Orientation = end == .normal || end == .bottomUp ? .leftUp : .normal
        let (from, to) = (try #require(place[start]), try #require(place[end]))
        // Upright, and leaning back by 40 degrees.
        for lean in [0, 0.7] {
            var desktop = Desktop(try CalmScreen())
            for index in 0..<Int((duration + 6) * Self.rate) {
                let time = Double(index) / Self.rate
                let turn = min(max((time - 3) / duration, 0), 1) * .pi / 2
                let across = from * cos(turn) + to * sin(turn)
                desktop.see(SIMD3(across.x * cos(lean), across.y * cos(lean), sin(lean)), at: time)
            }
            #expect(desktop.turns.map(\.orientation) == [start, end])
            let told = try #require(desktop.turns.last?.time)
            #expect(told <= 3 + duration + 0.6, "\(told - 3 - duration) s after its end")
        }
    }

    /// Near flat, on a corner and while it is shaken the picture stays as it is.
    @Test func whatTurnsNothing() throws {
        let still: [(Double) -> SIMD3<Double>] = [
            { _ in SIMD3(0.5, 0.1, 0.86) }, { _ in SIMD3(-0.5, -0.5, 0.7) }, { _ in SIMD3(0.7, 0.7, 0) },
            { time in SIMD3(1.5 * sin(20 * time), 0.5, 0.5) }, { time in SIMD3(sin(14 * time) > 0 ? 3 : -3, 1, 0) },
        ]
        for motion in still {
            var desktop = Desktop(try CalmScreen())
            for index in 0..<200 {
                let time = Double(index) / Self.rate
                desktop.see(time < 3 ? SIMD3(0, 1, 0) : motion(time), at: time)
            }
            #expect(desktop.turns.map(\.orientation) == [.normal])
        }
    }

    /// What is asked first is true at once; a claim that comes later does not remember what was long ago.
    @Test func theFirstReadingIsTold() throws {
        var desktop = Desktop(try CalmScreen())
        desktop.see(SIMD3(1, 0, 0), at: 1)
        #expect(desktop.state.orientation == .rightUp)
        for index in 0..<40 { desktop.see(SIMD3(0, 1, 0), at: 1.05 + Double(index) / Self.rate) }
        #expect(desktop.turns.map(\.orientation) == [.rightUp, .normal])
        var actions: [ProxyState.Action] = []
        desktop.state.release(.accelerometer, by: ":1", &actions)
        _ = desktop.state.claim(.accelerometer, by: ":2", of: UserShares.root, &actions)
        desktop.see(SIMD3(-1, 0, 0), at: 100)
        for index in 0..<40 { desktop.see(SIMD3(-1, 0, 0), at: 100.05 + Double(index) / Self.rate) }
        #expect(desktop.turns.map(\.orientation) == [.rightUp, .normal, .leftUp])
    }

    /// The tilt is what it was to the original, and no more often.
    @Test func theTiltIsToldAsOftenAsByTheOriginal() throws {
        var desktop = Desktop(try CalmScreen())
        var changes = 0
        for index in 0..<400 {
            let before = desktop.state.tilt
            desktop.see(index % 2 == 0 ? SIMD3(0, 1, 0) : SIMD3(0, 0.7, 0.7), at: Double(index) / Self.rate)
            if desktop.state.tilt != before { changes += 1 }
        }
        #expect((1...30).contains(changes), "\(changes) in 20 s")
    }

    @Test func optionsAreThoseOfThePreset() throws {
        #expect(throws: DetectorProblem.self) { _ = try CalmScreen(["hold": .text("1h")]) }
        #expect(throws: DetectorProblem.self) { _ = try CalmScreen(["held": .text("1s")]) }
        var desktop = Desktop(try CalmScreen(["hold": .text("2s")]))
        for index in 0..<200 {
            let time = Double(index) / Self.rate
            desktop.see(time < 3 ? SIMD3(0, 1, 0) : SIMD3(1, 0, 0), at: time)
        }
        let told = try #require(desktop.turns.last?.time)
        #expect(desktop.turns.count == 2 && (5...5.6).contains(told), "\(told)")
    }
}
