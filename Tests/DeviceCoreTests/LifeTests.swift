import DeviceCore
import Motion
import Testing

/// One line per transition of a device's life.
@Suite struct LifeTests {
    private static func at(_ milliseconds: Int64) -> Timestamp { .zero + .milliseconds(milliseconds) }

    private static func life(
        isWanted: Bool = false, _ steps: (inout DeviceLife) -> Void = { _ in }
    ) -> DeviceLife {
        var life = DeviceLife()
        _ = life.appeared()
        if isWanted { _ = life.wanted() }
        _ = life.probed(nil, at: .zero)
        steps(&life)
        return life
    }

    @Test func comesIsUnderstoodAndRunsWhileWanted() {
        var life = DeviceLife()
        #expect(life.phase == .absent)
        #expect(life.appeared() == .probe)
        #expect(life.phase == .probing)
        #expect(life.probed(nil, at: .zero) == .none)
        #expect(life.phase == .idle)
        #expect(life.wanted() == .start)
        #expect(life.phase == .running)
        #expect(life.wanted() == .none)
        #expect(life.appeared() == .none)
        #expect(life.unwanted() == .stop)
        #expect(life.phase == .idle)
        #expect(life.unwanted() == .none)
    }

    @Test func aWishOutlivesTheDevice() {
        var life = DeviceLife()
        #expect(life.wanted() == .none)
        #expect(life.appeared() == .probe)
        #expect(life.probed(nil, at: .zero) == .start)
        #expect(life.vanished() == .stop)
        #expect(life.phase == .absent)
        #expect(life.isWanted)
        #expect(life.failed("late", isFinal: true, at: .zero) == .none)
        #expect(life.appeared() == .probe)
        #expect(life.probed(nil, at: .zero) == .start)
    }

    @Test func goesWhileNobodyLooks() {
        var life = Self.life()
        #expect(life.vanished() == .none)
        #expect(life.probed(nil, at: .zero) == .none)
        #expect(life.phase == .absent)
    }

    @Test func aPassingFailureIsForgiven() {
        var life = Self.life(isWanted: true)
        for _ in 0..<20 {
            #expect(life.failed("EIO", isFinal: false, at: .zero) == .none)
            #expect(life.failed("EIO", isFinal: false, at: .zero) == .none)
            #expect(life.succeeded() == false)
        }
        #expect(life.phase == .running)
        #expect(life.failed("EIO", isFinal: false, at: .zero) == .none)
        #expect(life.failed("EIO", isFinal: false, at: .zero) == .none)
        #expect(life.failed("EIO", isFinal: false, at: Self.at(100)) == .stop)
        #expect(life.phase == .broken("EIO"))
        #expect(life.nextRetry == Self.at(600))
    }

    /// A device that lets itself be started and whose readings fail is broken until one works, however often it is tried again.
    @Test func whoIsTriedAgainDoesNotWorkYet() throws {
        var life = Self.life(isWanted: true)
        func fail() {
            for _ in 0..<2 { #expect(life.failed("EIO", isFinal: false, at: .zero) == .none) }
            #expect(life.failed("EIO", isFinal: false, at: .zero) == .stop)
        }
        fail()
        let due = try #require(life.nextRetry)
        #expect(life.retry(at: due) == .probe)
        #expect(life.trouble == "EIO")
        #expect(life.probed(nil, at: due) == .start)
        #expect(life.trouble == "EIO")
        #expect(life.unwanted() == .stop)
        #expect(life.phase == .broken("EIO"))
        #expect(life.wanted() == .probe)
        #expect(life.probed(nil, at: due) == .start)
        #expect(life.succeeded() == true)
        #expect(life.trouble == nil)
        #expect(life.succeeded() == false)
        // What refused to be started was wrong until it starts.
        #expect(life.failed("gone", isFinal: true, at: .zero) == .stop)
        #expect(life.trouble == "gone")
        let again = try #require(life.nextRetry)
        #expect(life.retry(at: again) == .probe)
        #expect(life.probed(nil, at: again) == .start)
        #expect(life.trouble == nil)
        // A device that is another by now is not known to be broken.
        fail()
        #expect(life.vanished() == .none)
        #expect(life.trouble == nil)
    }

    /// Twice as long each time, at most half a minute; a reading that works makes it short again.
    @Test func retriesLessAndLessOften() throws {
        var life = Self.life(isWanted: true)
        var now = Self.at(0)
        #expect(life.failed("gone", isFinal: true, at: now) == .stop)
        var waits: [TimeSpan] = []
        for _ in 0..<70 {
            let due = try #require(life.nextRetry)
            waits.append(due - now)
            #expect(life.retry(at: due - TimeSpan.milliseconds(1)) == .none)
            now = due
            #expect(life.retry(at: now) == .probe)
            #expect(life.probed("still gone", at: now) == .none)
        }
        let first = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000].map { TimeSpan.milliseconds($0) }
        #expect(Array(waits.prefix(7)) == first)
        #expect(waits.last == .seconds(30))
        let due = try #require(life.nextRetry)
        #expect(life.retry(at: due) == .probe)
        #expect(life.probed(nil, at: due) == .start)
        #expect(life.succeeded() == false)
        #expect(life.failed("gone", isFinal: true, at: due) == .stop)
        #expect(life.nextRetry == due + .milliseconds(500))
    }

    /// One that did not answer is tried at once when it does, but not again and again where it is too late each time.
    @Test func anAnswerIsTriedOnce() throws {
        var life = Self.life(isWanted: true)
        #expect(life.answered() == .none)
        #expect(life.failed("late", isFinal: true, at: .zero) == .stop)
        #expect(life.answered() == .probe)
        #expect(life.probed(nil, at: .zero) == .start)
        var now = Self.at(0)
        var waits: [TimeSpan] = []
        for _ in 0..<8 {
            #expect(life.failed("late", isFinal: true, at: now) == .stop)
            #expect(life.answered() == .none)
            let due = try #require(life.nextRetry)
            waits.append(due - now)
            now = due
            #expect(life.retry(at: now) == .probe)
            #expect(life.probed(nil, at: now) == .start)
        }
        let expected = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].map { TimeSpan.milliseconds($0) }
        #expect(waits == expected)
        // A reading that worked, news of the device, and that nobody wants it any more: then it may be well.
        for isTold in [false, true] {
            if isTold {
                #expect(life.failed("late", isFinal: true, at: now) == .stop)
                #expect(life.appeared() == .probe)
                #expect(life.probed(nil, at: now) == .start)
            } else {
                #expect(life.succeeded() == false)
            }
            #expect(life.failed("late", isFinal: true, at: now) == .stop)
            #expect(life.answered() == .probe)
            #expect(life.probed(nil, at: now) == .start)
        }
        #expect(life.failed("late", isFinal: true, at: now) == .stop)
        #expect(life.unwanted() == .none)
        #expect(life.answered() == .probe)
    }

    @Test func nothingIsTriedWhileNobodyWantsIt() {
        var life = DeviceLife()
        _ = life.appeared()
        #expect(life.probed("in_accel_scale is 'x'", at: .zero) == .none)
        #expect(life.phase == .broken("in_accel_scale is 'x'"))
        #expect(life.nextRetry == nil)
        #expect(life.wanted() == .probe)
        #expect(life.probed("in_accel_scale is 'x'", at: .zero) == .none)
        #expect(life.nextRetry != nil)
        #expect(life.wanted() == .none)
        #expect(life.unwanted() == .none)
        #expect(life.nextRetry == nil)
        // Something about it changed.
        #expect(life.appeared() == .probe)
    }

    // MARK: Names

    private static func candidate(
        _ driver: String, _ kind: SensorKind = .accelerometer, at placement: String = ""
    ) -> SensorRoster.Candidate { SensorRoster.Candidate(kind: kind, driver: driver, placement: placement) }

    @Test func namesAreKeptForDevicesThatComeBack() {
        var roster = SensorRoster()
        #expect(roster.appeared(Self.candidate("bmc150", at: "display")) == ("accelerometer", true))
        #expect(roster.appeared(Self.candidate("kxcjk", at: "base")) == ("accelerometer-base", true))
        #expect(roster.appeared(Self.candidate("pad")) == ("accelerometer-2", true))
        #expect(roster.appeared(Self.candidate("als", .light)) == ("light", true))
        roster.vanished("accelerometer-2")
        roster.vanished("accelerometer")
        // Each its own, in whatever order they come back.
        #expect(roster.appeared(Self.candidate("pad")) == ("accelerometer-2", false))
        #expect(roster.appeared(Self.candidate("bmc150", at: "display")) == ("accelerometer", false))
        roster.vanished("accelerometer-2")
        // Another make takes the place of one that is gone, but not in another part of the machine.
        #expect(roster.appeared(Self.candidate("other", at: "base")) == ("accelerometer-base-2", true))
        #expect(roster.appeared(Self.candidate("other")) == ("accelerometer-2", false))
        #expect(roster.appeared(Self.candidate("other")) == ("accelerometer-3", true))
    }

    @Test func aBaseAloneIsStillTheBase() {
        var roster = SensorRoster()
        roster.reserve("light")
        #expect(roster.appeared(Self.candidate("kxcjk", at: "base")) == ("accelerometer-base", true))
        #expect(roster.appeared(Self.candidate("kxcjk", at: "My Lid/2\n")) == ("accelerometer-my-lid-2-", true))
        #expect(roster.appeared(Self.candidate("als", .light)) == ("light-2", true))
    }
}
