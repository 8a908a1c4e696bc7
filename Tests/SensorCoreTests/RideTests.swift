import Motion
import SensorCore
import Testing
import Randomness

/// Claims that ride along, and what is made of samples between two that are wanted.
@Suite struct RideTests {
    @Test func aPassiveClaimNeverStartsTheDevice() throws {
        let shell = Shell(rates: [10, 25, 50, 100])
        #expect(try shell.claim(a, 50, isPassive: true) == SensorPace(rate: 50))
        #expect(shell.takeTold() == [])
        #expect(shell.hub.running == nil && shell.hub.claimants().map(\.isPassive) == [true])
        // Somebody lets it run, slower: who rides along gets what there is, and is told.
        #expect(try shell.claim(b, 25) == SensorPace(rate: 25))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 25)), .tell(a, SensorPace(rate: 25))])
        shell.sample(0)
        shell.sample(40_000)
        #expect(shell.times(a) == [0, 40_000] && shell.times(b) == [0, 40_000])
        // It stands still again, and one number is left out for what comes then.
        #expect(shell.release(b))
        #expect(shell.takeTold() == [.stop, .tell(a, SensorPace(rate: 25))])
        #expect(try shell.claim(b, 100) == SensorPace(rate: 100))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 100)), .tell(a, SensorPace(rate: 50))])
        for time in stride(from: Int64(1_000_000), to: 1_040_000, by: 10_000) { shell.sample(time) }
        #expect(shell.times(a).suffix(2) == [1_000_000, 1_020_000])
        #expect(shell.received[a]?.map(\.first) == [0, 1, 3, 4])
    }

    /// Neither its rate nor its latency is the device's business, whenever it comes and goes.
    @Test func aPassiveClaimChangesNothingForOthers() throws {
        let shell = Shell(rates: [10, 25, 50, 100])
        _ = try shell.claim(a, 25, .seconds(1))
        _ = shell.takeTold()
        #expect(try shell.claim(b, 100, isPassive: true) == SensorPace(rate: 25))
        #expect(try shell.claim(c, 10, .milliseconds(200), isPassive: true).batchLatency == .milliseconds(200))
        #expect(shell.release(b))
        #expect(shell.takeTold() == [])
        #expect(shell.hub.running == SensorPace(rate: 25, batchLatency: .seconds(1)))
        // It becomes an ordinary one, and a passive one again.
        _ = try shell.claim(c, 10, .milliseconds(200))
        #expect(shell.takeTold().first == .run(SensorPace(rate: 25, batchLatency: .milliseconds(200))))
        _ = try shell.claim(c, 10, .milliseconds(200), isPassive: true)
        shell.tick(1_000_000)
        #expect(shell.takeTold().first == .run(SensorPace(rate: 25, batchLatency: .seconds(1))))
    }

    /// What a bucket held when the device became slower goes out with the next sample.
    @Test(arguments: [Decimation.mean, .peak]) func aSlowerDeviceLosesNoBucket(_ decimation: Decimation) throws {
        let shell = Shell(rates: [10, 50])
        _ = try shell.claim(a, 50)
        _ = try shell.claim(b, 25, isPassive: true, decimation)
        for time in stride(from: Int64(0), to: 100_000, by: 20_000) { shell.sample(time) }
        _ = try shell.claim(a, 10)
        shell.tick(1_080_000)
        for time in stride(from: Int64(1_200_000), to: 1_500_000, by: 100_000) { shell.sample(time) }
        let received = shell.received[b] ?? []
        var next: UInt64 = 0
        for block in received {
            #expect(block.first == next)
            next += UInt64(block.times.count)
        }
        // The last one of each bucket, and then each.
        #expect(shell.times(b) == [20_000, 60_000, 80_000, 1_200_000, 1_300_000, 1_400_000])
    }

    @Test func theLastActiveClaimThatTurnsPassiveStopsTheDevice() throws {
        let shell = Shell(rates: [50])
        _ = try shell.claim(a, 50)
        _ = shell.takeTold()
        _ = try shell.claim(a, 50, isPassive: true)
        #expect(shell.takeTold() == [.stop])
        #expect(shell.release(a))
        #expect(shell.takeTold() == [])
    }

    @Test func theAnswerSaysWhereSamplesGather() throws {
        let shell = Shell(rates: [100])
        func gathering(_ client: ClientID) -> Gathering? { shell.hub.claimant(client)?.gathering }
        _ = try shell.claim(a, 100, .milliseconds(9))
        #expect(gathering(a) == Gathering.none)
        _ = try shell.claim(a, 100, .seconds(1))
        // The device follows when it may be slower for good.
        #expect(gathering(a) == .reader)
        shell.tick(1_000_000)
        #expect(gathering(a) == .device)
        _ = shell.takeTold()
        // The most impatient decides for the device; the others' samples gather here.
        _ = try shell.claim(b, 10)
        #expect(gathering(a) == .reader && gathering(b) == Gathering.none)
        #expect(
            shell.takeTold() == [
                .run(SensorPace(rate: 100)), .tell(a, SensorPace(rate: 100, batchLatency: .seconds(1))),
            ])
        // A device that does not gather as it was asked to.
        #expect(shell.release(b))
        shell.tick(2_000_000)
        #expect(gathering(a) == .device)
        _ = shell.takeTold()
        shell.deviceRuns(100)
        #expect(gathering(a) == .reader)
        #expect(shell.takeTold() == [.tell(a, SensorPace(rate: 100, batchLatency: .seconds(1)))])
    }

    @Test func whatWaitsCanBeAskedFor() throws {
        let shell = Shell(rates: [100])
        _ = try shell.claim(a, 100, .seconds(1))
        for time in stride(from: Int64(0), to: 50_000, by: 10_000) { shell.sample(time) }
        #expect(shell.times(a).isEmpty)
        shell.flush(a)
        #expect(shell.times(a) == [0, 10_000, 20_000, 30_000, 40_000])
        shell.flush(a)
        shell.flush(b)
        #expect(shell.received[a]?.count == 1)
        // The next ones gather anew.
        shell.sample(50_000)
        #expect(shell.hub.nextDeadline?.microseconds == 1_050_000)
    }

    /// The device at 100 Hz, the claim at 25: four to one, at the last one's time.
    @Test(arguments: [Decimation.mean, .peak])
    func bucketsHoldTheirMeanOrPeak(_ decimation: Decimation) throws {
        let shell = Shell(rates: [100], channels: ["x", "y"])
        #expect(try shell.claim(a, 25, .zero, decimation) == SensorPace(rate: 25))
        _ = try shell.claim(b, 100)
        let rows: [[Double]] = [
            [1, -8], [2, 1], [3, 1], [-6, 2], [10, 0], [20, 0], [-30, 0], [0, 4], [7, 7], [9, -5],
        ]
        for (index, row) in rows.enumerated() { shell.sample(Int64(index) * 10_000, row) }
        let expected: [Double] = decimation == .mean ? [0, -1, 0, 1] : [-6, -8, -30, 4]
        #expect(shell.received[a]?.map(\.times) == [[30_000], [70_000]])
        #expect(shell.received[a]?.flatMap(\.values) == expected)
        // What is left when the device goes away comes before the gap.
        shell.gap()
        #expect(shell.times(a) == [30_000, 70_000, 90_000])
        #expect(shell.received[a]?.last?.values == (decimation == .mean ? [8, 1] : [9, 7]))
        shell.sample(1_000_000, [5, 5])
        shell.sample(1_050_000, [6, 6])
        #expect(shell.received[a]?.map(\.first) == [0, 1, 2, 4])
    }

    /// Every sample is in exactly one bucket, whatever the rates, and times rise.
    @Test(arguments: [50.0, 104, 400], [1.0, 7.7, 30, 49])
    func noSampleIsLeftOutOfTheMean(_ device: Double, _ claimed: Double) throws {
        var generator = SeededRandom(seed: 11)
        let shell = Shell(rates: [device])
        _ = try shell.claim(a, claimed, .zero, .mean)
        _ = try shell.claim(b, claimed, .zero, .peak)
        var all: [(time: Int64, value: Double)] = []
        for index in 0..<4_000 {
            let value = Double.random(in: -4...4, using: &generator)
            let time = Int64((Double(index) * 1_000_000 / device).rounded())
            all.append((time, value))
            shell.sample(time, [value])
        }
        shell.gap()
        let times = shell.times(a)
        #expect(times == shell.times(b) && zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        let means = (shell.received[a] ?? []).flatMap(\.values)
        let peaks = (shell.received[b] ?? []).flatMap(\.values)
        var start = 0
        for (index, time) in times.enumerated() {
            let end = try #require(all.firstIndex { $0.time == time }) + 1
            let part = all[start..<end].map(\.value)
            #expect(abs(means[index] - part.reduce(0, +) / Double(part.count)) < 1e-12)
            #expect(peaks[index].magnitude == part.map(\.magnitude).max())
            #expect(part.count <= Int(device / claimed) + 1)
            start = end
        }
        #expect(start == all.count)
    }

    /// With a device as slow as the claim there is nothing to choose from.
    @Test func aDeviceNotAboveTheClaimPassesEverySample() throws {
        let shell = Shell(rates: [25, 100])
        _ = try shell.claim(a, 25, .zero, .mean)
        shell.sample(0)
        shell.sample(40_000)
        #expect(shell.times(a) == [0, 40_000])
        // It runs faster, and slower again in the middle of a bucket.
        _ = try shell.claim(b, 100)
        for time in stride(from: Int64(80_000), through: 130_000, by: 10_000) { shell.sample(time) }
        #expect(shell.release(b))
        shell.tick(1_130_000)
        shell.sample(1_170_000)
        let times = shell.times(a)
        #expect(times.first == 0 && times.last == 1_170_000)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }
}
