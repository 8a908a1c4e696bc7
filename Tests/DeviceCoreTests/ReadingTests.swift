import DeviceCore
import Motion
import Testing

/// Times of samples, and what readings say of their device.
@Suite struct ReadingTests {
    private static let second: Int64 = 1_000_000

    private static func arrival(
        at microseconds: Int64, offset: Int64 = 0, held: TimeSpan = .zero, since: Int64? = nil
    ) -> SampleClock.Arrival {
        SampleClock.Arrival(
            now: Timestamp(microseconds: microseconds), offset: TimeSpan(microseconds: offset),
            period: .milliseconds(10), held: held, since: since.map { Timestamp(microseconds: $0) })
    }

    /// A buffer that is set up anew has a hole where a sample is missing, and none where the next one comes in time.
    @Test func aHoleIsOneWhereTheBufferWasSetUpAnew() {
        func hasHole(_ rates: (Double, Double), after microseconds: Int64, isAnew: Bool = true) -> Bool {
            var trail = SampleTrail()
            if isAnew { trail.breakOff() }
            var isBroken = trail.take(Timestamp(microseconds: Self.second), rate: rates.0)
            if isAnew { trail.breakOff() }
            isBroken = trail.take(Timestamp(microseconds: Self.second + microseconds), rate: rates.1) || isBroken
            return isBroken || trail.take(Timestamp(microseconds: 100 * Self.second), rate: rates.1)
        }
        #expect(!hasHole((50, 200), after: 5_000))
        #expect(!hasHole((50, 200), after: 29_000))
        #expect(hasHole((50, 200), after: 31_000))
        #expect(hasHole((200, 50), after: 31_000))
        #expect(hasHole((200, 200), after: 8_000))
        #expect(!hasHole((200, 200), after: 8_000, isAnew: false))
    }

    @Test func stampsAreRoundedOnceAndMadeOurs() {
        var clock = SampleClock(bits: 64)
        let first = clock.time(of: 9_999_999_499, after: 0, Self.arrival(at: 10 * Self.second))
        #expect(first.microseconds == 9_999_999)
        // A wall clock far from ours.
        let second = clock.time(
            of: 1_700_000_000_000_000_500, after: 0,
            Self.arrival(at: 11 * Self.second, offset: 11 * Self.second - 1_700_000_000_000_001))
        #expect(second.microseconds == 11 * Self.second)
        #expect(clock.misdated == 0)
    }

    /// Past 2^31 and 2^32 of any unit nothing turns over.
    @Test(arguments: [31, 32, 41, 42, 52, 53])
    func largeStampsAreWhole(power: Int) {
        var clock = SampleClock(bits: 64)
        for step in -2...2 {
            let microseconds = Int64(1) << Int64(power) + Int64(step) * 10_000
            let time = clock.time(of: microseconds * 1_000, after: 0, Self.arrival(at: microseconds))
            #expect(time.microseconds == microseconds)
        }
    }

    /// 32 bits of nanoseconds begin again every 4.3 s.
    @Test func narrowStampsAreContinued() {
        var clock = SampleClock(bits: 32)
        var times: [Int64] = []
        for step in 0..<2_000 {
            let now = Int64(step) * 10_000
            let stamp = (now * 1_000) & 0xFFFF_FFFF
            times.append(clock.time(of: stamp, after: 0, Self.arrival(at: now)).microseconds)
        }
        #expect(times[1...] == (1..<2_000).map { Int64($0) * 10_000 }[...])
        #expect(clock.misdated == 0)
    }

    /// Whichever turn it is, and also when the first stamp seen is one of long after the start.
    @Test(arguments: [31, 32, 41, 42, 52, 53])
    func narrowStampsFindTheirTurn(power: Int) {
        var clock = SampleClock(bits: 32)
        for step in -200...200 {
            let now = Int64(1) << Int64(power) + Int64(step) * 10_000
            let taken = now - 3_000
            let stamp = (taken * 1_000) & 0xFFFF_FFFF
            #expect(clock.time(of: stamp, after: 0, Self.arrival(at: now)).microseconds == taken)
        }
        #expect(clock.misdated == 0)
    }

    @Test func nonsenseGivesWayToTheArrival() {
        var clock = SampleClock(bits: 64)
        var now = 100 * Self.second
        for stamp in [0, .min, .max, 1, (now + 60 * Self.second) * 1_000] {
            now += Self.second
            #expect(clock.time(of: stamp, after: 0, Self.arrival(at: now)).microseconds == now)
        }
        #expect(clock.misdated == 5)
        // Held back for as long as was asked for is no nonsense.
        let late = (now - 5 * Self.second) * 1_000
        var patient = SampleClock(bits: 64)
        #expect(
            patient.time(of: late, after: 0, Self.arrival(at: now, held: .seconds(5))).microseconds == now - 5
                * Self.second)
        #expect(patient.misdated == 0)
    }

    /// Whoever slept finds what was measured before: it is as old as an honest clock says, and nothing that happens now.
    @Test func whatWaitedWhileNobodyReadIsOld() {
        var clock = SampleClock(bits: 64)
        let start = 100 * Self.second
        #expect(clock.time(of: start * 1_000, after: 0, Self.arrival(at: start)).microseconds == start)
        let woken = start + 3_600 * Self.second
        for step in 1...50 {
            let taken = start + Int64(step) * 10_000
            let time = clock.time(of: taken * 1_000, after: 50 - step, Self.arrival(at: woken, since: start))
            #expect(time.microseconds == taken)
        }
        #expect(clock.time(of: woken * 1_000, after: 0, Self.arrival(at: woken)).microseconds == woken)
        #expect(clock.misdated == 0)
        // From long before it cannot be; and a clock that was wrong is not believed because nobody read.
        let later = woken + 60 * Self.second
        for stamp in [woken - 10 * Self.second, woken + 30 * Self.second] {
            let time = clock.time(of: stamp * 1_000, after: 0, Self.arrival(at: later, since: woken))
            #expect(time.microseconds >= later)
        }
        #expect(clock.misdated == 2)
    }

    /// A clock that falls behind is not believed for having been right, however often it is read.
    @Test func aClockThatFallsBehindGivesWay() {
        var clock = SampleClock(bits: 64)
        var last: Int64 = 0
        for step in 0..<1_000 {
            let now = 100 * Self.second + Int64(step) * 10_000
            let behind = 100 * Self.second + Int64(step) * 5_000
            last = clock.time(of: behind * 1_000, after: 0, Self.arrival(at: now, since: now - 10_000)).microseconds
            #expect(now - last <= 2 * Self.second + 10_000, "\(step)")
        }
        #expect(last == 100 * Self.second + 9_990_000)
    }

    @Test func withoutStampsSamplesAreSpreadBackFromTheirArrival() {
        var clock = SampleClock(bits: nil)
        let times = (0..<3).map { clock.time(of: nil, after: 2 - $0, Self.arrival(at: Self.second)).microseconds }
        #expect(times == [980_000, 990_000, 1_000_000])
        // The next batch came early: times still rise.
        let next = (0..<3).map { clock.time(of: nil, after: 2 - $0, Self.arrival(at: 1_005_000)).microseconds }
        #expect(next == [1_000_001, 1_000_002, 1_005_000])
    }

    // MARK: Stuck and saturated

    /// Verdicts after readings every 10 ms.
    private func verdicts(
        _ kind: SensorKind, range: Double? = nil, seconds: Int64, _ reading: (Int64) -> [Double]
    ) -> [ReadingCheck.Verdict] {
        var check = ReadingCheck(kind, range: range)
        var seen = [check.verdict]
        for step in 0..<seconds * 100 {
            let row = reading(step)
            if check.note(Timestamp(microseconds: step * 10_000), row.span) { seen.append(check.verdict) }
        }
        return seen
    }

    @Test func zerosAreStuckSoonAndRestIsNot() {
        #expect(self.verdicts(.accelerometer, seconds: 10) { _ in [0, 0, 0] } == [.good, .stuck])
        #expect(self.verdicts(.accelerometer, seconds: 50) { _ in [0, 0, 1] } == [.good])
        #expect(self.verdicts(.accelerometer, seconds: 70) { _ in [0, 0, 1] } == [.good, .stuck])
        #expect(self.verdicts(.accelerometer, seconds: 100) { [0, Double($0 / 5_000 % 2) * 0.001, 1] } == [.good])
        #expect(self.verdicts(.light, seconds: 1_000) { _ in [5] } == [.good])
        #expect(self.verdicts(.proximity, seconds: 1_000) { _ in [0] } == [.good])
    }

    @Test func recoversWithTheFirstChange() {
        #expect(
            self.verdicts(.accelerometer, seconds: 20) { $0 < 1_000 ? [0, 0, 0] : [Double($0 % 2), 0, 1] } == [
                .good, .stuck, .good,
            ])
    }

    /// A pause in which nobody reads is no time without a change.
    @Test func whatNobodyReadsDoesNotCount() {
        var check = ReadingCheck(.accelerometer, range: 2)
        let same = [0.0, 0, 0]
        func news(from start: Int64, seconds: Int64) -> [Int64] {
            (start * 100..<(start + seconds) * 100).filter {
                check.note(Timestamp(microseconds: $0 * 10_000), same.span)
            }
        }
        // 3 s, then nobody for 7 s, and 5 s less a reading: neither is as long as it takes.
        #expect(news(from: 0, seconds: 3).isEmpty)
        check.breakOff()
        #expect(news(from: 10, seconds: 5).isEmpty)
        // It is so long, from when it was read again.
        #expect(news(from: 15, seconds: 1) == [1_500])
        #expect(check.verdict == .stuck)
        // What was found stays true until a reading is another.
        check.breakOff()
        #expect(news(from: 60, seconds: 1).isEmpty && check.verdict == .stuck)
        let other = [0.0, 0, 0.5]
        let isNews = check.note(Timestamp(microseconds: 61_000_000), other.span)
        #expect(isNews && check.verdict == .good)
    }

    /// What was at the end of its range is not known to have been there while nobody read.
    @Test func theEndOfTheRangeIsSeenAnewAfterAPause() {
        var check = ReadingCheck(.accelerometer, range: 2)
        for (index, time) in [0, 900_000, 5_000_000, 5_900_000, 6_000_000].enumerated() {
            if index == 2 { check.breakOff() }
            let row = [2.0, Double(index) / 100, 0]
            #expect(check.note(Timestamp(microseconds: Int64(time)), row.span) == (index == 4))
        }
        #expect(check.verdict == .saturated)
    }

    @Test func theEndOfTheRangeIsSaturatedWhenItLasts() {
        let shake = self.verdicts(.accelerometer, range: 2, seconds: 10) {
            [$0 % 20 < 10 ? 2 : -0.5, 0, Double($0 % 7) / 100]
        }
        #expect(shake == [.good])
        let held = self.verdicts(.accelerometer, range: 2, seconds: 3) {
            $0 < 250 ? [-2, Double($0 % 7) / 100, 0] : [1, Double($0 % 7) / 100, 0]
        }
        #expect(held == [.good, .saturated, .good])
        // Without a known range there is no end.
        #expect(self.verdicts(.accelerometer, seconds: 3) { [-2, Double($0 % 7) / 100, 0] } == [.good])
    }

    @Test func rowsOfAnotherShapeAreNotJudged() {
        var check = ReadingCheck(.accelerometer, range: 2)
        let row = [1.0]
        let isNews = check.note(.zero, row.span)
        #expect(!isNews)
    }
}

/// An accelerometer that does not say what it counts.
@Suite struct GravityScaleTests {
    private func time(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }

    @Test func whatItShowsFirstIsGravity() {
        var scale = GravityScale()
        var row = [0.0, 0, 0]
        // Opened just now, and nothing measured yet.
        #expect(!scale.turn(&row, at: self.time(0)))
        row = [0, -256, 0]
        #expect(scale.turn(&row, at: self.time(0.1)))
        #expect(row == [0, -1, 0])
        row = [512, 0, 0]
        #expect(scale.turn(&row, at: self.time(0.1)))
        #expect(row == [2, 0, 0])
    }

    /// It may need a moment to measure; what shows nothing for longer does not.
    @Test func whatShowsNothingForASecondIsSilent() {
        var scale = GravityScale()
        for (step, isSilent) in [(0, false), (5, false), (9, false), (10, true), (11, true)] {
            var row = [0.0, 0, 0]
            let time = self.time(7 + Double(step) / 10)
            let isTurned = scale.turn(&row, at: time)
            #expect(!isTurned && scale.isSilent(at: time) == isSilent, "\(step)")
        }
        var row = [0.0, 1, 0]
        let isTurned = scale.turn(&row, at: self.time(9))
        #expect(isTurned && !scale.isSilent(at: self.time(20)))
    }

    /// Picked up while it was shaken, it is right again before long; and in free fall it shows nothing, as it should.
    @Test func theAverageIsGravity() {
        var scale = GravityScale()
        var row = [0.0, 4_000, 0]
        #expect(scale.turn(&row, at: self.time(0)))
        #expect(row == [0, 1, 0])
        for step in 1...600 {
            row = [0, 0, 1_000]
            #expect(scale.turn(&row, at: self.time(Double(step) / 10)))
        }
        #expect((0.98...1).contains(row[2]), "\(row)")
        row = [0, 0, 0]
        #expect(scale.turn(&row, at: self.time(60.1)))
        #expect(row == [0, 0, 0])
        // A long silence leaves nothing of what was.
        row = [0, 500, 0]
        #expect(scale.turn(&row, at: self.time(100)))
        #expect(row == [0, 1, 0])
    }
}
