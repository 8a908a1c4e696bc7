import DeviceCore
import Motion
import Testing

/// What a sensor does with its device, step by step.
@Suite struct UseTests {
    private static let pace = SensorPace(rate: 50)
    private static let real = SensorPace(rate: 49.5)

    private static func at(_ milliseconds: Int64) -> Timestamp { .zero + .milliseconds(milliseconds) }

    /// One that is there and understood.
    private static func use(isRunning: Bool = false) -> DeviceUse {
        var use = DeviceUse(.accelerometer)
        _ = use.attached()
        _ = use.taken()
        _ = use.probed(range: 2, at: .zero)
        if isRunning {
            _ = use.wanted(at: Self.pace)
            _ = use.started(at: Self.real)
        }
        return use
    }

    @Test func itIsTakenLookedAtAndRunsWhenItIsWanted() {
        var use = DeviceUse(.accelerometer)
        #expect(use.trouble == .absent && !use.isRunning)
        #expect(use.attached() == [.take])
        #expect(use.taken() == [.probe])
        #expect(use.probed(range: 2, at: .zero) == [.tellChange, .goOn])
        #expect(use.trouble == nil)
        // Nobody wants it.
        #expect(use.goOn() == [])
        #expect(use.wanted(at: Self.pace) == [.start])
        #expect(use.pace == Self.pace && use.inForce(Self.pace) == SensorPace(rate: 50))
        #expect(use.started(at: Self.real) == [.tellPace(Self.real), .tellChange])
        #expect(use.inForce(Self.pace) == Self.real)
        // At another pace it is started anew.
        #expect(use.wanted(at: SensorPace(rate: 10)) == [.start])
        #expect(use.paceChanged(SensorPace(rate: 10)) == [.tellPace(SensorPace(rate: 10))])
        #expect(use.inForce(SensorPace(rate: 10)) == SensorPace(rate: 10))
        #expect(use.unwanted() == [.stop])
        #expect(use.unwanted() == [] && use.pace == nil)
    }

    /// What is wanted of a device that comes later it does once it is looked at.
    @Test func aWishOutlivesTheDevice() {
        var use = DeviceUse(.accelerometer)
        #expect(use.wanted(at: Self.pace) == [])
        #expect(use.inForce(Self.pace) == SensorPace(rate: 50))
        #expect(use.attached() == [.take])
        #expect(use.taken() == [.probe])
        #expect(use.probed(range: nil, at: .zero) == [.tellChange, .goOn])
        #expect(use.goOn() == [.start])
    }

    /// Whoever is told of its rates may ask for another of them at once: then it runs at that, and is not started once more.
    @Test func whatRunsByThenIsNotStartedAgain() {
        var use = DeviceUse(.accelerometer)
        _ = (use.wanted(at: Self.pace), use.attached(), use.taken(), use.probed(range: 2, at: .zero))
        #expect(use.wanted(at: SensorPace(rate: 100)) == [.start])
        _ = use.started(at: SensorPace(rate: 100))
        #expect(use.goOn() == [])
    }

    @Test(arguments: [true, false]) func whoseDeviceIsGoneIsToldSo(_ isRunning: Bool) {
        var use = Self.use(isRunning: isRunning)
        #expect(
            use.detached() == (isRunning ? [.stop, .letGo, .tellGap, .tellChange] : [.letGo, .tellChange]))
        #expect(use.trouble == .absent && use.inForce(Self.pace) == SensorPace(rate: 50))
        #expect(use.attached() == [.take])
    }

    /// The old one is let go, and that is told, before the new one is taken.
    @Test func oneTakesThePlaceOfAnother() {
        var use = Self.use(isRunning: true)
        #expect(use.attached() == [.stop, .letGo, .tellGap, .tellChange, .take])
        #expect(use.trouble == .absent)
        #expect(use.taken() == [.probe])
        _ = use.probed(range: 2, at: .zero)
        #expect(use.goOn() == [.start])
    }

    @Test func whatCannotBeStartedIsTriedAgain() {
        var use = Self.use()
        #expect(use.wanted(at: Self.pace) == [.start])
        #expect(use.failed("it refuses", isFinal: true, at: Self.at(100)) == [.stop, .tellGap, .tellChange])
        #expect(use.goOn() == [] && use.trouble == .broken("it refuses"))
        #expect(use.nextRetry == Self.at(600))
        #expect(use.retry(at: Self.at(599)) == [])
        #expect(use.retry(at: Self.at(600)) == [.probe])
        #expect(use.probeFailed("it cannot be looked at", at: Self.at(600)) == [.tellChange, .goOn])
        #expect(use.goOn() == [] && use.nextRetry == Self.at(1_600))
        // Something about it changed.
        #expect(use.refreshed() == [.probe])
        _ = use.probed(range: 2, at: Self.at(700))
        #expect(use.goOn() == [.start])
        #expect(use.refreshed() == [])
    }

    @Test func whatAnswersIsTriedAtOnce() {
        var use = Self.use()
        #expect(use.wanted(at: Self.pace) == [.start])
        #expect(use.answered() == [])
        #expect(use.failed("late", isFinal: true, at: Self.at(100)) == [.stop, .tellGap, .tellChange])
        #expect(use.answered() == [.probe])
        _ = use.probed(range: 2, at: Self.at(200))
        #expect(use.goOn() == [.start])
        #expect(use.failed("late", isFinal: true, at: Self.at(1_200)) == [.stop, .tellGap, .tellChange])
        #expect(use.answered() == [] && use.nextRetry == Self.at(1_700))
    }

    @Test func aReadingMayFailATimeOrTwo() {
        var use = Self.use(isRunning: true)
        for _ in 0..<DeviceLife.patience - 1 { #expect(use.failed("odd", isFinal: false, at: .zero) == []) }
        #expect(use.succeeded() == false)
        for _ in 0..<DeviceLife.patience - 1 { #expect(use.failed("odd", isFinal: false, at: .zero) == []) }
        #expect(use.failed("odd", isFinal: false, at: .zero) == [.stop, .tellGap, .tellChange])
        _ = (use.retry(at: Self.at(500)), use.probed(range: 2, at: Self.at(500)), use.started(at: Self.real))
        // Only a reading that works is the end of it.
        #expect(use.trouble == .broken("odd"))
        #expect(use.succeeded() == true && use.trouble == nil)
    }

    @Test func whatItReadsIsJudged() {
        var use = Self.use(isRunning: true)
        let row: [Double] = [2, 0, 0]
        var news = use.note(Self.at(0), row.span)
        #expect(!news)
        news = use.note(Self.at(1_000), row.span)
        #expect(news && use.trouble == .saturated)
        #expect(use.unwanted() == [.stop] && use.trouble == nil)
        // Looked at anew, it is as good as any.
        _ = (use.detached(), use.attached(), use.taken(), use.probed(range: 2, at: .zero))
        _ = (use.wanted(at: Self.pace), use.started(at: Self.real))
        #expect(use.trouble == nil)
    }
}
