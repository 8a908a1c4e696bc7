import Motion
import Randomness
import SensorCore
import Testing

/// Claims that rest: kept, and nothing is due to them.
@Suite struct RestTests {
    @Test func nothingIsDueToAClaimThatRests() throws {
        let shell = Shell(rates: [10, 50])
        _ = try shell.claim(a, 50)
        _ = try shell.claim(b, 10)
        shell.sample(20_000)
        #expect(shell.times(a) == [20_000] && shell.times(b) == [20_000])
        _ = shell.takeTold()
        shell.rest(a)
        // The device runs for the other alone, after a while.
        #expect(shell.takeTold() == [])
        shell.tick(1_020_000)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 10))])
        for time in stride(from: Int64(1_120_000), to: 2_000_000, by: 100_000) { shell.sample(time) }
        shell.gap()
        shell.flush(a)
        shell.tick(2_000_000)
        #expect(shell.times(a) == [20_000] && shell.times(b).count == 10)
        #expect(shell.hub.claimants().map(\.client) == [a, b])

        shell.wake(a)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50))])
        shell.sample(2_020_000)
        #expect(shell.times(a) == [20_000, 2_020_000])
        // One number is left out, and the claim is the first still.
        #expect(shell.received[a]?.map(\.first) == [0, 2])
        #expect(shell.hub.claimants().map(\.client) == [a, b])
    }

    /// What waits for it is given up, whichever way it waits.
    @Test(arguments: [(TimeSpan.seconds(1), Decimation.last, 3), (.zero, .mean, 0), (.seconds(1), .mean, 2)])
    func whatWaitsIsGivenUp(_ latency: TimeSpan, _ decimation: Decimation, _ numbers: Int) throws {
        let shell = Shell(rates: [])
        _ = try shell.claim(a, 10, latency, decimation)
        _ = try shell.claim(b, 100)
        let rows = decimation == .last ? [100_000, 200_000, 300_000] : [100_000, 110_000, 200_000, 210_000, 300_000]
        for time in rows { shell.sample(Int64(time)) }
        let before = shell.times(a)
        shell.rest(a)
        shell.tick(60_000_000)
        #expect(shell.times(a) == before)
        #expect(shell.hub.nextDeadline == nil)
        shell.wake(a)
        for time in [61_000_000, 62_000_000] { shell.sample(Int64(time)) }
        shell.flush(a)
        let first = try #require(shell.received[a]?.last { $0.times.contains { $0 >= 61_000_000 } }?.first)
        #expect(first >= UInt64(max(numbers, before.count)) + 1, "\(first)")
        #expect(shell.times(a).allSatisfy { $0 >= 61_000_000 || before.contains($0) })
    }

    @Test func theDeviceStandsStillForThoseThatRest() throws {
        let shell = Shell(rates: [50])
        _ = try shell.claim(a, 50)
        _ = try shell.claim(b, 50, isPassive: true)
        _ = shell.takeTold()
        shell.rest(a)
        #expect(shell.hub.running == nil)
        #expect(shell.takeTold() == [.stop, .tell(b, SensorPace(rate: 50))])
        // Again, or not at all, is nothing.
        shell.rest(a)
        shell.rest(c)
        shell.wake(b)
        shell.wake(c)
        #expect(shell.takeTold() == [])
        // A pace that is claimed meanwhile is in force when it wakes.
        _ = try shell.claim(a, 25)
        #expect(shell.takeTold() == [] && shell.hub.running == nil)
        shell.wake(a)
        #expect(shell.hub.claimant(a)?.inForce == SensorPace(rate: 25))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50)), .tell(b, SensorPace(rate: 50))])
        shell.rest(a)
        #expect(shell.release(a))
        #expect(shell.hub.claimants().map(\.client) == [b])
    }

    /// A place is kept while its claim rests, and given back with the claim.
    @Test func aClaimThatRestsKeepsItsPlace() throws {
        let shell = Shell(rates: [])
        let most = SensorHub.strangers.share
        for index in 0..<most { _ = try shell.claim(ClientID(UInt32(index)), 1, of: 1_000) }
        for index in 0..<most { shell.rest(ClientID(UInt32(index))) }
        #expect(throws: ClaimProblem.self) { try shell.claim(ClientID(5_000), 1, of: 1_000) }
        #expect(shell.release(ClientID(3)))
        _ = try shell.claim(ClientID(5_000), 1, of: 1_000)
        #expect(shell.hub.running == SensorPace(rate: 1))
    }

    /// To the others, a claim that rests is one that is not there.
    @Test(arguments: someSeeds(1...40))
    func othersDoNotNotice(_ seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        let choices: [[Double]] = [[], [10, 25, 50, 100]]
        let rates = choices.randomElement(using: &generator) ?? []
        let (resting, gone) = (Shell(rates: rates), Shell(rates: rates))
        var (asleep, awake) = (Set<UInt32>(), Set<UInt32>())
        var paces: [UInt32: (Double, TimeSpan)] = [:]
        var now: Int64 = 1_000_000
        for step in 0..<300 {
            let index = UInt32.random(in: 0..<6, using: &generator)
            let client = ClientID(index)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<2:
                guard !asleep.contains(index) else { continue }
                let pace: (Double, TimeSpan) = (
                    [5, 10, 33, 100].randomElement(using: &generator) ?? 1,
                    .milliseconds([0, 40, 300].randomElement(using: &generator) ?? 0)
                )
                paces[index] = pace
                for shell in [resting, gone] { _ = try shell.claim(client, pace.0, pace.1) }
                awake.insert(index)
            case 2..<4:
                guard awake.remove(index) != nil else { continue }
                asleep.insert(index)
                resting.rest(client)
                #expect(gone.release(client))
                resting.received[client] = []
            case 4..<6:
                guard asleep.remove(index) != nil, let pace = paces[index] else { continue }
                #expect(resting.received[client] == [])
                awake.insert(index)
                resting.wake(client)
                _ = try gone.claim(client, pace.0, pace.1)
                // Where its grid begins is its own matter.
                for shell in [resting, gone] { _ = try shell.claim(client, pace.0, pace.1) }
                gone.received[client] = []
            case 6:
                guard asleep.contains(index) || awake.contains(index) else { continue }
                // A release is an occasion to slow down, and one of nothing is none.
                for shell in [resting, gone] { shell.tick(now) }
                #expect(resting.release(client))
                #expect(gone.release(client) == awake.contains(index))
                (resting.received[client], gone.received[client]) = ([], [])
                asleep.remove(index)
                awake.remove(index)
                paces[index] = nil
            case 7..<10:
                now += 20_000
                for shell in [resting, gone] { shell.tick(now) }
            default:
                now += Int64.random(in: 1...12_000, using: &generator)
                for shell in [resting, gone] { shell.sample(now) }
            }
            #expect(resting.hub.running == gone.hub.running, "step \(step)")
            #expect(resting.hub.nextDeadline == gone.hub.nextDeadline, "step \(step)")
            #expect(resting.hub.claimCount == awake.count + asleep.count)
            for index in awake {
                #expect(resting.received[ClientID(index)] == gone.received[ClientID(index)], "step \(step)")
            }
            for index in asleep { #expect(resting.received[ClientID(index)] == [], "step \(step)") }
        }
    }
}
