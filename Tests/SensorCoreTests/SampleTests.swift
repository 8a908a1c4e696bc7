import Motion
import SensorCore
import Testing
import Randomness

@Suite struct DecimationTests {
    /// A device at 10 rates and more, a claimant at each lower one: exactly one sample for each point of its grid.
    @Test(arguments: [10.0, 25, 26, 50, 60, 100, 104, 200, 400, 1_000], [0, 1, 4_999, 123_456_789])
    func everyGridPointGetsOneSample(_ device: Double, _ phase: Int64) throws {
        for claimed in [0.5, 1, 3, 7.7, 10, 24.9, 30, 33.3, 59, 99, 150, 333, 999] where claimed < device {
            let shell = Shell(rates: [device])
            #expect(try shell.claim(a, claimed) == SensorPace(rate: claimed))
            let seconds = 20
            for index in 0..<Int(device) * seconds {
                shell.sample(phase + Int64((Double(index) * 1_000_000 / device).rounded()))
            }
            let times = shell.times(a)
            // One more when the last point lies less than half a step of the device behind the last sample.
            let expected = Int((Double(seconds) * claimed).rounded(.up))
            #expect((expected...expected + 1).contains(times.count), "\(claimed) of \(device) Hz: \(times.count)")
            for (index, time) in times.enumerated() {
                let point = Double(phase) + Double(index) * 1_000_000 / claimed
                #expect(abs(Double(time) - point) <= 1_000_000 / device, "\(claimed) of \(device) Hz, \(index)")
            }
        }
    }

    /// A device that gives 8 000 samples a second: each gets what it asked for, in blocks of a bounded size, and misses no number.
    @Test func aStormOfSamplesIsThinnedOut() throws {
        let shell = Shell(rates: [8_000])
        let claims = [(a, 10.0), (b, 200), (c, 8_000)]
        for (client, rate) in claims {
            #expect(try shell.claim(client, rate, .seconds(1)) == SensorPace(rate: rate, batchLatency: .seconds(1)))
        }
        let seconds = 5
        for index in 0..<8_000 * seconds { shell.sample(1_000_000 + Int64(index) * 125) }
        shell.tick(1_000_000 + Int64(seconds + 2) * 1_000_000)
        for (client, rate) in claims {
            let blocks = try #require(shell.received[client])
            #expect(blocks.reduce(0) { $0 + $1.times.count } == Int(rate) * seconds)
            #expect(blocks.allSatisfy { $0.times.count <= SensorLimits.batch })
            var next: UInt64 = 0
            for block in blocks {
                #expect(block.first == next)
                next += UInt64(block.times.count)
            }
            let step = 1_000_000 / Int64(rate)
            let times = shell.times(client)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == step }, "\(rate) Hz")
        }
        #expect(shell.hub.counters.accepted == 8_000 * seconds && shell.hub.counters.refused == 0)
    }

    /// A device that says 100 Hz and gives 2 000, and claims that are made anew for each sample: strangers have little more than that
    /// together, and what comes in time is theirs, however it was gathered.
    @Test(arguments: [Decimation.last, .mean]) func nobodyHasManyMoreThanClaimed(_ decimation: Decimation) throws {
        let shell = Shell(rates: [100])
        for (client, rate) in [(a, 100.0), (b, 10)] { _ = try shell.claim(client, rate, .zero, decimation, of: 1_000) }
        let seconds: Int64 = 20
        for time in stride(from: Int64(0), to: seconds * 1_000_000, by: 500) {
            shell.sample(time)
            if time % 5_000 == 0 { _ = try shell.claim(b, 10, .zero, decimation, of: 1_000) }
        }
        #expect((2_000...2_600).contains(shell.times(a).count), "\(shell.times(a).count)")
        let all = Set(shell.times(a)).union(shell.times(b))
        #expect(all.count <= 2_600, "\(all.count)")
        // Half a second of it, then what it gathered in the other half.
        let before = shell.times(a).count
        for second in seconds + 1..<seconds + 11 {
            for index in 0..<Int64(100) {
                shell.sample(
                    second * 1_000_000 + index * 10_000,
                    arrival: second * 1_000_000 + (index < 50 ? index : 99) * 10_000)
            }
        }
        #expect(shell.times(a).count == before + 1_000)
    }

    /// Many claims that anybody may have, of a device that has no rate between 100 and 1 600 Hz: together they see no more than the fastest
    /// of them could, and each has what it claims. What the reader makes of the sensor shows no others. Who may have more, and our own, see
    /// all.
    @Test(arguments: [Decimation.last, .mean, .peak]) func manySlowClaimsAreNoFastOne(_ decimation: Decimation) throws {
        let shell = Shell(rates: [100, 1_600])
        let rates = (0..<16).map { 200 - Double($0) * 3 }
        for (index, rate) in rates.enumerated() {
            #expect(try shell.claim(ClientID(UInt32(index)), rate, .zero, decimation, of: 1_000).rate == rate)
        }
        let (fast, own, made) = (ClientID(50), ClientID(51), ClientID(52))
        _ = try shell.claim(fast, 1_600, of: 1_001)
        _ = try shell.claim(own, 150)
        let seconds = 4
        for index in 0..<1_600 * seconds {
            shell.sample(Int64(index) * 625)
            if index == 3 { #expect(try shell.claim(made, 190, isPrompt: true).rate == 190) }
            // New ones begin at other times, and see nothing else.
            if index % 37 == 0 { _ = try shell.claim(ClientID(20), 155, .zero, decimation, of: 1_002) }
        }
        let clients = rates.indices.map { ClientID(UInt32($0)) }
        let all = Set((clients + [ClientID(20), made]).flatMap { shell.times($0) })
        #expect(all.count <= 200 * seconds + 1, "\(all.count)")
        for (client, rate) in zip(clients, rates) {
            #expect(abs(shell.times(client).count - Int(rate) * seconds) <= 3, "\(rate): \(shell.times(client).count)")
        }
        #expect(abs(shell.times(made).count - 190 * seconds) <= 3, "\(shell.times(made).count)")
        #expect(shell.times(fast).count == 1_600 * seconds)
        let steps = zip(shell.times(own), shell.times(own).dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { (6_250...7_500).contains($0) })
    }

    @Test(arguments: [(100.0, 50.0, 2), (100, 25, 4), (100, 10, 10), (400, 100, 4), (60, 30, 2), (104, 26, 4)])
    func wholeFractionsTakeEveryNthDespiteJitter(_ device: Double, _ claimed: Double, _ n: Int) throws {
        var generator = SeededRandom(seed: 5)
        let shell = Shell(rates: [device])
        _ = try shell.claim(a, claimed)
        let step = 1_000_000 / device
        var expected: [Int64] = []
        for index in 0..<5_000 {
            let jitter = index == 0 ? 0 : Double.random(in: -0.45...0.45, using: &generator) * step
            let time = Int64((Double(index) * step + jitter).rounded()) + 1_000_000
            shell.sample(time)
            if index % n == 0 { expected.append(time) }
        }
        #expect(shell.times(a) == expected)
    }

    @Test(arguments: [50.0, 49.999_99, 60, 400])
    func aDeviceNotAboveTheClaimPassesEverySample(_ claimed: Double) throws {
        var generator = SeededRandom(seed: 6)
        let shell = Shell(rates: [49.999_99, 50])
        _ = try shell.claim(a, claimed)
        shell.deviceRuns(claimed == 49.999_99 ? 49.999_99 : 50)
        var expected: [Int64] = []
        var time: Int64 = 0
        for _ in 0..<2_000 {
            time += Int64.random(in: 1...39_000, using: &generator)
            expected.append(time)
            shell.sample(time)
        }
        #expect(shell.times(a) == expected)
    }

    @Test func aGapKeepsThePace() throws {
        let shell = Shell(rates: [1])
        _ = try shell.claim(a, 0.25)
        for second in Int64(0)..<9 { shell.sample(second * 1_000_000) }
        for second in Int64(102)..<111 { shell.sample(second * 1_000_000) }
        #expect(shell.times(a).map { $0 / 1_000_000 } == [0, 4, 8, 102, 104, 108])
    }

    @Test func aFasterDeviceDoesNotDisturbARunningClaim() throws {
        let shell = Shell(rates: [50, 100])
        _ = try shell.claim(a, 50)
        shell.sample(0)
        shell.sample(20_000)
        _ = try shell.claim(b, 100)
        for time in stride(from: Int64(30_000), through: 100_000, by: 10_000) { shell.sample(time) }
        #expect(shell.release(b))
        shell.sample(120_000)
        #expect(shell.times(a) == [0, 20_000, 40_000, 60_000, 80_000, 100_000, 120_000])
        #expect(shell.received[a]?.map(\.first) == [0, 1, 2, 3, 4, 5, 6])
    }
}

@Suite struct BatchTests {
    @Test func withoutLatencyEachSampleGoesAtOnce() throws {
        let shell = Shell(rates: [100], channels: ["x", "y", "z"])
        _ = try shell.claim(a, 100)
        shell.sample(10, [1, 2, 3])
        shell.sample(20, [4, 5, 6])
        #expect(
            shell.received[a] == [
                Received(first: 0, times: [10], values: [1, 2, 3]), Received(first: 1, times: [20], values: [4, 5, 6]),
            ])
        #expect(shell.hub.nextDeadline == nil)
    }

    /// Somebody to whom messages cost nothing lets the device gather, and takes what it gave in one go.
    @Test func aPromptClaimWaitsForNoCompany() throws {
        let shell = Shell(rates: [100])
        #expect(try shell.claim(a, 100, .milliseconds(800), isPrompt: true).batchLatency == .milliseconds(800))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 100, batchLatency: .milliseconds(800)))])
        for index in 1...3 { shell.sample(Int64(index) * 10_000, arrival: 40_000) }
        #expect(shell.received.isEmpty && shell.hub.nextDeadline == nil)
        shell.tick(40_000)
        #expect(shell.times(a) == [10_000, 20_000, 30_000])
        shell.tick(50_000)
        #expect(shell.received[a]?.count == 1)
        // Of a device that gathers nothing, each sample as it comes.
        shell.deviceRuns(100)
        shell.sample(60_000)
        shell.tick(60_000)
        #expect(shell.times(a).last == 60_000)
    }

    @Test func aBlockIsDueWhenItsOldestSampleIs() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .milliseconds(25))
        shell.deviceRuns(100)
        #expect(shell.hub.nextDeadline == nil)
        shell.sample(10_000, arrival: 11_000)
        #expect(shell.hub.nextDeadline?.microseconds == 36_000)
        shell.sample(20_000)
        shell.sample(30_000)
        shell.tick(35_999)
        #expect(shell.received.isEmpty)
        shell.tick(36_000)
        #expect(
            shell.received[a] == [
                Received(first: 0, times: [10_000, 20_000, 30_000], values: [10_000, 20_000, 30_000])
            ])
        #expect(shell.hub.nextDeadline == nil)
        shell.sample(40_000)
        #expect(shell.hub.nextDeadline?.microseconds == 65_000)
        shell.tick(1_000_000)
        shell.tick(2_000_000)
        #expect(shell.received[a]?.map(\.first) == [0, 3])
    }

    /// The device may gather, too; then the samples' own times count, or the two waits would add up.
    @Test func whatTheDeviceGatheredTravelsTogetherAndWaitsOnce() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .milliseconds(50))
        for time in stride(from: Int64(10_000), through: 60_000, by: 10_000) { shell.sample(time, arrival: 61_000) }
        #expect(shell.hub.nextDeadline?.microseconds == 61_000)
        shell.tick(61_000)
        #expect(shell.received[a]?.map(\.times.count) == [6])
        // A device whose clock is behind does not undo batching: no sample is held longer than the device may hold it.
        shell.sample(70_000, arrival: 9_000_000)
        #expect(shell.hub.nextDeadline?.microseconds == 9_000_000)
        shell.deviceRuns(100)
        shell.tick(9_000_000)
        shell.sample(80_000, arrival: 9_010_000)
        #expect(shell.hub.nextDeadline?.microseconds == 9_060_000)
        // Neither does one whose clock is ahead.
        shell.tick(9_060_000)
        shell.sample(9_900_000, arrival: 9_070_000)
        #expect(shell.hub.nextDeadline?.microseconds == 9_120_000)
    }

    @Test func aFullBlockGoesAtOnce() throws {
        let shell = Shell(rates: [10_000])
        _ = try shell.claim(a, 10_000, .seconds(10))
        for index in 0..<Int64(SensorLimits.batch * 2 + 1) { shell.sample(index * 100) }
        #expect(shell.received[a]?.map(\.times.count) == [SensorLimits.batch, SensorLimits.batch])
        #expect(shell.received[a]?.map(\.first) == [0, UInt64(SensorLimits.batch)])
        #expect(shell.hub.nextDeadline != nil)
    }

    @Test func theEarliestDeadlineComesFirst() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .milliseconds(300))
        _ = try shell.claim(b, 50, .milliseconds(100))
        shell.deviceRuns(100)
        shell.sample(0)
        #expect(shell.hub.nextDeadline?.microseconds == 100_000)
        shell.tick(100_000)
        #expect(shell.received[b]?.count == 1)
        #expect(shell.received[a] == nil)
        #expect(shell.hub.nextDeadline?.microseconds == 300_000)
    }

    @Test func aNewClaimSendsWhatWaitedAndBeginsAtZero() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .seconds(1))
        shell.sample(10)
        shell.sample(10_010)
        _ = try shell.claim(a, 50, .seconds(1))
        #expect(shell.received[a] == [Received(first: 0, times: [10, 10_010], values: [10, 10_010])])
        shell.sample(20_010)
        shell.sample(30_010)
        shell.sample(40_010)
        shell.tick(2_000_000)
        #expect(shell.received[a]?.last == Received(first: 0, times: [20_010, 40_010], values: [20_010, 40_010]))
        #expect(shell.hub.claimant(a)?.sent == 4)
    }

    @Test func aReleaseGivesUpWhatWaits() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .seconds(1))
        shell.sample(10)
        #expect(shell.release(a))
        shell.tick(10_000_000)
        #expect(shell.received.isEmpty)
        #expect(shell.hub.nextDeadline == nil)
        #expect(shell.hub.counters.dropped == 0)
    }

    @Test func aSlowerDeviceCanEndTheGathering() throws {
        let shell = Shell(rates: [])
        _ = try shell.claim(a, 100, .milliseconds(50))
        shell.sample(0)
        shell.deviceRuns(10)
        #expect(shell.hub.nextDeadline.map { $0 <= .zero } == true)
        shell.sample(100_000)
        #expect(shell.received[a] == [Received(first: 0, times: [0, 100_000], values: [0, 100_000])])
    }

    @Test func aDroppedBlockLeavesAGapInTheNumbers() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .milliseconds(20))
        _ = try shell.claim(b, 100)
        for index in Int64(0)..<9 {
            shell.blocked = index / 3 == 1 ? [a] : []
            shell.sample(index * 10_000)
            if index % 3 == 2 { shell.tick(index * 10_000) }
        }
        #expect(shell.received[a]?.map(\.first) == [0, 6])
        #expect(shell.hub.claimant(a)?.sent == 6)
        #expect(shell.hub.claimant(a)?.dropped == 3)
        #expect(shell.hub.claimant(b)?.sent == 9)
        #expect(shell.hub.counters.sent == 15)
        #expect(shell.hub.counters.dropped == 3)
        // The total outlives the claimant, and a late word about one who left counts.
        #expect(shell.release(a))
        shell.hub.dropped(a, samples: 2)
        shell.hub.delivered(a, samples: -2)
        #expect(shell.hub.counters.dropped == 5)
        #expect(shell.hub.counters.sent == 15)
    }
}

@Suite struct IntakeTests {
    @Test func refusesWhatCannotBeASample() throws {
        let shell = Shell(rates: [100], channels: ["x", "y"])
        _ = try shell.claim(a, 100)
        #expect(shell.sample(-1, [1, 1]) == .notRising)
        #expect(shell.sample(100, [1, 1]) == .accepted)
        #expect(shell.sample(100, [1, 1]) == .notRising)
        #expect(shell.sample(99, [1, 1]) == .notRising)
        #expect(shell.sample(.min, [1, 1]) == .notRising)
        #expect(shell.sample(200, [1, .nan]) == .notFinite)
        #expect(shell.sample(200, [.infinity, 1]) == .notFinite)
        #expect(shell.sample(200, [1, -.infinity]) == .notFinite)
        #expect(shell.sample(200, [1]) == .malformed)
        #expect(shell.sample(200, []) == .malformed)
        #expect(shell.sample(200, [1, 2, 3]) == .malformed)
        #expect(shell.sample(1_000_301, arrival: 300, [1, 1]) == .farAhead)
        #expect(shell.sample(.max, arrival: .min, [1, 1]) == .farAhead)
        #expect(shell.sample(1_000_300, arrival: 300, [1, 1]) == .accepted)
        #expect(shell.sample(.max, arrival: .max, [1, 1]) == .accepted)
        #expect(shell.times(a) == [100, 1_000_300, .max])
        let counters = shell.hub.counters
        #expect(
            [counters.malformed, counters.notFinite, counters.notRising, counters.farAhead] == [3, 3, 4, 2])
        #expect(counters.refused == 12)
        #expect(counters.accepted == 3)
    }

    @Test func samplesForNobodyAreHarmless() {
        let shell = Shell(rates: [100])
        #expect(shell.sample(5) == .accepted)
        #expect(shell.hub.nextDeadline == nil)
    }
}

/// Where samples do not follow on from those before.
@Suite struct GapTests {
    @Test func eachClaimantSeesTheGapInItsNumbers() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100)
        _ = try shell.claim(b, 50)
        for time in 0..<4 { shell.sample(Int64(time) * 10_000) }
        #expect(shell.received[a]?.map(\.first) == [0, 1, 2, 3])
        #expect(shell.received[b]?.map(\.first) == [0, 1])
        shell.gap()
        // A second gap without a sample in between is the same one.
        shell.gap()
        for time in 50..<54 { shell.sample(Int64(time) * 10_000) }
        #expect(shell.received[a]?.map(\.first) == [0, 1, 2, 3, 5, 6, 7, 8])
        #expect(shell.received[b]?.map(\.first) == [0, 1, 3, 4])
    }

    @Test func whoHadNothingMissesNothing() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100)
        shell.gap()
        shell.sample(10_000)
        #expect(shell.received[a]?.map(\.first) == [0])
        _ = try shell.claim(a, 100)
        shell.gap()
        shell.sample(20_000)
        #expect(shell.received[a]?.map(\.first) == [0, 0])
    }

    /// What waited goes out ahead, so that no message holds samples from both sides.
    @Test func whatWaitsGoesOutBefore() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .milliseconds(100))
        for time in 0..<3 { shell.sample(Int64(time) * 10_000) }
        #expect(shell.received[a] == nil)
        shell.gap()
        #expect(shell.received[a]?.map(\.times) == [[0, 10_000, 20_000]])
        shell.sample(900_000)
        shell.tick(2_000_000)
        #expect(shell.received[a]?.map(\.first) == [0, 4])
    }

    /// Another device behind the sensor has other rates: it is asked for the one that fits what is claimed.
    @Test func anotherDeviceRunsAsTheClaimsNeedIt() throws {
        let shell = Shell(rates: [25, 50, 100])
        _ = try shell.claim(a, 40)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50))])
        shell.describe(rates: [62.5, 125])
        #expect(shell.takeTold().first == .run(SensorPace(rate: 62.5)))
        shell.describe(rates: [62.5, 125])
        #expect(shell.takeTold().isEmpty)
        shell.describe(rates: [10], channels: ["x", "y"])
        #expect(shell.takeTold().isEmpty)
        #expect(shell.hub.sensor.channels == ["x"])
    }
}
