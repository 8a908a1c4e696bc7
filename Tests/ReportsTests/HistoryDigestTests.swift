import Reports
import Testing

/// What held and for how long, of what was noted when it changed.
@Suite struct HistoryDigestTests {
    private static let app = DayDigest.App("org.example.A", 1_000)
    private static let nobody = DayDigest.App("", 1_000)

    private func digest(
        from since: Int64 = 100, to until: Int64 = 200, isInUse: Bool = true,
        _ changes: [(run: Int64, wall: Int64, kind: String, value: String, rate: Double?)]
    ) -> HistoryDigest {
        var digest = DayDigest(since: since, until: until)
        for change in changes {
            let isOfApp = ["state", "asks", "launch"].contains(change.kind)
            digest.add(
                HistoryDigest.Change(
                    run: change.run, wall: change.wall, kind: change.kind, app: isOfApp ? Self.app : Self.nobody,
                    value: change.value, rate: change.rate, count: change.kind == "asks" ? 2_000_000 : 3))
        }
        digest.finish(isInUse: isInUse)
        return digest.history
    }

    @Test func whatHeldBeforeHoldsInIt() {
        let history = self.digest([(1, 10, "lock", "locked", nil), (1, 150, "lock", "unlocked", nil)])
        #expect(history.device["lock"]?["locked"]?.microseconds == 50)
        #expect(history.device["lock"]?["unlocked"]?.microseconds == 50)
        #expect(history.deviceSpans["lock"]?.map(\.from) == [100, 150])
    }

    /// An orderly end ends everything; a killed broker is known up to the last thing that it noted.
    @Test func nothingHoldsLongerThanItsBroker() {
        let ended = self.digest([(1, 110, "state", "background", nil), (1, 130, "end", "", nil)])
        #expect(ended.states.values.map(\.microseconds) == [20])
        let killed = self.digest([
            (1, 110, "state", "background", nil), (1, 140, "lock", "locked", nil), (2, 190, "lock", "unlocked", nil),
        ])
        #expect(killed.states.values.map(\.microseconds) == [30])
        #expect(killed.device["lock"]?["unlocked"]?.microseconds == 10)
        let alive = self.digest([(1, 110, "state", "background", nil)])
        #expect(alive.states.values.map(\.microseconds) == [90])
    }

    /// Of a broker that was killed, or whose journal is a copy, no more is known before there is another one.
    @Test func whatNobodyIsAtWorkOnEndsWithTheLastThingNoted() {
        let changes: [(run: Int64, wall: Int64, kind: String, value: String, rate: Double?)] = [
            (1, 110, "state", "background", nil), (1, 120, "sensor", "accelerometer", 50),
            (1, 140, "lock", "locked", nil),
        ]
        let history = self.digest(isInUse: false, changes)
        #expect(history.states.values.map(\.microseconds) == [30])
        #expect(history.sensors["accelerometer"]?.microseconds == 20)
        #expect(self.digest(changes).sensors["accelerometer"]?.microseconds == 80)
        #expect(self.digest(isInUse: false, []).first == nil)
    }

    /// A sensor counts for an app while both are so: it runs, and the app asks for it.
    @Test func aSensorRanBecauseOfWhoAskedForIt() {
        let history = self.digest([
            (1, 50, "sensor", "accelerometer", 50), (1, 120, "asks", "accelerometer", 25),
            (1, 150, "sensor", "accelerometer", 0), (1, 160, "asks", "accelerometer", 100),
            (1, 170, "sensor", "accelerometer", 100), (1, 180, "asks", "accelerometer", 0),
        ])
        let need = history.needs.values.first
        #expect(history.needs.count == 1 && need?.microseconds == 40 && need?.rate == 100 && need?.looks == 80)
        #expect(history.sensors["accelerometer"]?.microseconds == 80)
    }

    /// How long a sensor ran is looked up for each of thousands that ask for it, and not among all that was the case.
    @Test func thousandsThatAskAreSummedUpSoon() {
        let start = ContinuousClock.now
        var digest = DayDigest(since: 0, until: 1_000_000)
        func add(_ kind: String, _ app: DayDigest.App, _ wall: Int64, _ value: String, _ rate: Double?) {
            digest.add(
                HistoryDigest.Change(run: 1, wall: wall, kind: kind, app: app, value: value, rate: rate, count: 1))
        }
        add("sensor", Self.nobody, 1, "accelerometer", 50)
        for round in 0..<8 {
            for number in 0..<4_000 {
                let app = DayDigest.App("org.example.A\(number)", 1_000)
                let wall = Int64(10 + round * 4_000 + number)
                add("state", app, wall, round % 2 == 0 ? "foreground" : "background", nil)
                add("asks", app, wall, "accelerometer", Double(round + 1))
            }
        }
        digest.finish(isInUse: true)
        #expect(ContinuousClock.now - start < .seconds(10))
        // The first of them has asked all the time.
        let times = digest.history.needs.values.map(\.microseconds)
        #expect(times.count == 4_000 && times.max() == 999_990)
        #expect(digest.history.stateSpans.count == 4_000)
        #expect(digest.history.sensors["accelerometer"]?.microseconds == 999_999)
    }

    /// As a file has them that somebody made who means harm.
    @Test func timesBeyondAllBoundsDoNoHarm() {
        let until = Int64.max - 1
        let sensor: (Int64) -> (run: Int64, wall: Int64, kind: String, value: String, rate: Double?) = {
            (1, $0, "sensor", "s", 50)
        }
        let rows = [
            sensor(0), (1, .min, "asks", "s", 25), sensor(until), sensor(0), sensor(until), sensor(0), sensor(until),
        ]
        let history = self.digest(from: 0, to: until, rows + [(1, .min, "asks", "s", 0), (1, .max, "asks", "s", 1)])
        #expect(history.sensors["s"]?.microseconds == .max)
        #expect(history.needs.values.allSatisfy { $0.microseconds >= 0 })
    }

    @Test func whatComesInNoOrderDoesNoHarm() {
        let history = self.digest([
            (1, 150, "lock", "locked", nil), (1, 120, "lock", "unlocked", nil), (1, .min, "state", "x", nil),
            (2, .max, "asks", "s", .nan), (1, 0, "sensor", "s", -.infinity), (3, 130, "unheard-of", "x", nil),
            (1, 140, "lost", "s", nil), (1, 141, "gaps", "s", nil), (1, 142, "launch", "done", nil),
        ])
        #expect(history.device.values.allSatisfy { $0.values.allSatisfy { $0.microseconds >= 0 } })
        #expect(history.launches.values.reduce(0, +) == 1)
    }
}
