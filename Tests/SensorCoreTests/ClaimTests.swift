import Motion
import SensorCore
import Testing

/// A device's rates, a rate claimed, and the rate the device has to run at.
private let deviceRates: [([Double], Double, Double)] = [
    ([10, 25, 50], 30, 50),
    ([10, 25, 50], 25, 25),
    ([10, 25, 50], 0.5, 10),
    ([10, 25, 50], 400, 50),
    ([50, 10, 25], 11, 25),
    ([], 33, 33),
    ([Double.nan, -5, 0, Double.infinity, 20], 5, 20),
    ([60], 60.000_000_000_000_01, 60),
    ([59.999_999_999, 120], 60, 59.999_999_999),
    ([59.9, 120], 60, 120),
]

@Suite struct ClaimTests {
    @Test func theDeviceRunsOnlyWhileClaimed() throws {
        let shell = Shell(rates: [10, 25, 50, 100])
        #expect(shell.hub.running == nil)
        #expect(try shell.claim(a, 50) == SensorPace(rate: 50))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50))])
        #expect(shell.hub.running == SensorPace(rate: 50))
        #expect(shell.release(a))
        #expect(shell.takeTold() == [.stop])
        #expect(shell.hub.running == nil)
        #expect(!shell.release(a))
        #expect(shell.takeTold() == [])
    }

    @Test func theFastestRateAndTheShortestLatencyWin() throws {
        let shell = Shell(rates: [10, 25, 50, 100])
        #expect(try shell.claim(a, 10, .seconds(1)) == SensorPace(rate: 10, batchLatency: .seconds(1)))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 10, batchLatency: .seconds(1)))])
        #expect(
            try shell.claim(b, 50, .milliseconds(200)) == SensorPace(rate: 50, batchLatency: .milliseconds(200)))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50, batchLatency: .milliseconds(200)))])
        // The others' samples gather in the reader now, and in the device again: that is told.
        let others: [SensorAction] = [
            .tell(a, SensorPace(rate: 10, batchLatency: .seconds(1))),
            .tell(b, SensorPace(rate: 50, batchLatency: .milliseconds(200))),
        ]
        #expect(try shell.claim(c, 25) == SensorPace(rate: 25))
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50))] + others)
        // For less it waits.
        #expect(shell.release(c))
        #expect(shell.takeTold() == [])
        #expect(shell.hub.nextDeadline?.microseconds == 1_000_000)
        shell.tick(999_999)
        #expect(shell.takeTold() == [])
        shell.tick(1_000_000)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50, batchLatency: .milliseconds(200)))] + others)
        #expect(shell.release(b))
        shell.tick(2_000_000)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 10, batchLatency: .seconds(1)))])
        #expect(shell.hub.nextDeadline == nil)
    }

    /// Whoever asks for more and for less in turn has the device begin anew once, and the others hear of it once.
    @Test func anAlternationChangesNothing() throws {
        let shell = Shell(rates: [10, 25, 50, 100, 200])
        _ = try shell.claim(a, 10, .seconds(1))
        _ = try shell.claim(b, 100, .seconds(1))
        _ = shell.takeTold()
        _ = try shell.claim(b, 200)
        #expect(
            shell.takeTold() == [
                .run(SensorPace(rate: 200)), .tell(a, SensorPace(rate: 10, batchLatency: .seconds(1))),
            ])
        for step in 1...2_000 {
            shell.sample(Int64(step) * 5_000)
            shell.tick(Int64(step) * 5_000)
            _ = try shell.claim(b, step % 2 == 0 ? 200 : 100, step % 2 == 0 ? .zero : .seconds(1))
        }
        #expect(shell.takeTold() == [])
        shell.flush(a)
        #expect(shell.times(a).count == 100)
        // Of what is more in one way and less in the other, what is more counts at once.
        _ = try shell.claim(b, 100, .seconds(1))
        shell.tick(11_000_000)
        #expect(shell.takeTold().first == .run(SensorPace(rate: 100, batchLatency: .seconds(1))))
        _ = try shell.claim(b, 50)
        #expect(shell.takeTold().first == .run(SensorPace(rate: 100)))
        shell.tick(12_000_000)
        #expect(shell.takeTold() == [.run(SensorPace(rate: 50))])
        // Nobody at all is no alternation.
        #expect(shell.release(b))
        #expect(shell.release(a))
        #expect(shell.takeTold().last == .stop)
        #expect(shell.hub.nextDeadline == nil)
    }

    /// Each new start costs everybody samples, so whoever wants a little more each time soon has much more.
    @Test(arguments: [[10.0, 25, 50, 100, 200], []])
    func manySmallStepsAreFewChanges(_ rates: [Double]) throws {
        let shell = Shell(rates: rates)
        _ = try shell.claim(a, 100, .seconds(1))
        for step in 0..<4_000 {
            shell.tick(Int64(step) * 10_000)
            _ = try shell.claim(b, 100 + Double(step % 1_000) / 10, TimeSpan(microseconds: Int64(990_000 - 200 * step)))
        }
        let changes = shell.takeTold().count { if case .run = $0 { true } else { false } }
        #expect(changes < 40, "\(changes) in 40 s")
        // It comes back to what is claimed when that is over.
        #expect(shell.release(b))
        for second in 41...200 { shell.tick(Int64(second) * 1_000_000) }
        #expect(shell.hub.running == SensorPace(rate: 100, batchLatency: .seconds(1)))
        #expect(shell.hub.nextDeadline == nil)
    }

    @Test func anEqualClaimDoesNotTouchTheDevice() throws {
        let shell = Shell(rates: [50])
        _ = try shell.claim(a, 50)
        _ = shell.takeTold()
        _ = try shell.claim(b, 20)
        _ = try shell.claim(a, 50)
        #expect(shell.release(a))
        #expect(shell.takeTold() == [])
    }

    @Test(arguments: deviceRates)
    func theDeviceTakesTheNearestRateAtOrAbove(_ rates: [Double], _ claimed: Double, _ run: Double) throws {
        let shell = Shell(rates: rates)
        _ = try shell.claim(a, claimed)
        #expect(shell.takeTold() == [.run(SensorPace(rate: run))])
    }

    @Test func whatTheDeviceCannotDoIsNotPromised() throws {
        let shell = Shell(rates: [10, 100])
        #expect(try shell.claim(a, 400) == SensorPace(rate: 100))
        // Less than one period of the claim gathers nothing.
        #expect(try shell.claim(b, 10, .milliseconds(99)) == SensorPace(rate: 10))
        #expect(try shell.claim(b, 10, .milliseconds(100)).batchLatency == .milliseconds(100))
        #expect(shell.hub.claimant(a)?.requested == SensorPace(rate: 400))
        #expect(shell.hub.claimant(a)?.inForce == SensorPace(rate: 100))
    }

    @Test func aDeviceThatRunsDifferentlyIsToldToThoseItConcerns() throws {
        let shell = Shell(rates: [])
        _ = try shell.claim(a, 100, .milliseconds(10))
        _ = try shell.claim(b, 20)
        _ = shell.takeTold()
        shell.deviceRuns(50)
        #expect(shell.takeTold() == [.tell(a, SensorPace(rate: 50))])
        shell.deviceRuns(12.5)
        #expect(shell.takeTold() == [.tell(a, SensorPace(rate: 12.5)), .tell(b, SensorPace(rate: 12.5))])
        // A claim that asks the device for something else starts from what was asked again, and tells the others.
        #expect(try shell.claim(c, 200) == SensorPace(rate: 200))
        #expect(
            shell.takeTold() == [
                .run(SensorPace(rate: 200)),
                .tell(a, SensorPace(rate: 100, batchLatency: .milliseconds(10))), .tell(b, SensorPace(rate: 20)),
            ])
        #expect(try shell.claim(b, 30) == SensorPace(rate: 30))
        #expect(shell.takeTold() == [])
    }

    @Test(arguments: [Double.nan, .infinity, 0, -5])
    func aDeviceThatTalksNonsenseIsIgnored(_ rate: Double) throws {
        let shell = Shell(rates: [])
        shell.deviceRuns(50)
        #expect(shell.hub.running == nil)
        _ = try shell.claim(a, 100)
        shell.deviceRuns(rate)
        #expect(shell.hub.running == SensorPace(rate: 100))
        shell.deviceRuns(100, TimeSpan(microseconds: .min))
        #expect(shell.hub.running == SensorPace(rate: 100))
    }

    @Test(arguments: [0.0, -1, 0.009, 10_001, .nan, .infinity])
    func aRateOutsideTheRangeIsRefused(_ rate: Double) {
        let shell = Shell(rates: [50])
        #expect {
            try shell.claim(a, rate)
        } throws: {
            ($0 as? ClaimProblem)?.description == "rate \(rate) Hz is outside 0.01 to 10000.0 Hz"
        }
        #expect(shell.hub.running == nil)
        #expect(shell.takeTold() == [])
    }

    @Test(arguments: [-1, 10_000_001, Int64.max, .min])
    func aLatencyOutsideTheRangeIsRefused(_ latency: Int64) throws {
        let shell = Shell(rates: [50])
        _ = try shell.claim(a, 50)
        #expect {
            try shell.claim(a, 10, TimeSpan(microseconds: latency))
        } throws: {
            ($0 as? ClaimProblem)?.description == "batch-latency \(latency) us is outside 0 to 10000000 us"
        }
        // The claim that stood still stands.
        #expect(shell.hub.claimant(a)?.requested == SensorPace(rate: 50))
    }

    /// Claims as often as it goes, from an index on; returns how often.
    private func fill(_ shell: Shell, of user: UInt32, from index: Int) -> Int {
        var count = 0
        while (try? shell.claim(ClientID(UInt32(index + count)), 10, of: user)) != nil { count += 1 }
        return count
    }

    @Test func thereIsALimitToClaimants() throws {
        let shell = Shell(rates: [50])
        #expect(self.fill(shell, of: UserShares.root, from: 0) == SensorLimits.claimants)
        let next = ClientID(UInt32(SensorLimits.claimants))
        #expect {
            try shell.claim(next, 10, of: UserShares.root)
        } throws: {
            ($0 as? ClaimProblem)?.description == "claimants is at its limit of 1024"
        }
        // Nobody keeps our own from it, nor the broker.
        let own = ClientID(UInt32(SensorLimits.claimants + 1))
        for isPrompt in [true, false] {
            #expect(try shell.claim(own, 10, isPrompt: isPrompt).rate == 10)
            #expect(shell.release(own))
        }
        // Who has a claim may still change it, and a place that becomes free can be taken.
        #expect(try shell.claim(a, 20, of: UserShares.root).rate == 20)
        #expect(shell.release(b))
        #expect(throws: ClaimProblem.self) { try shell.claim(next, 10, of: 1000) }
        #expect(try shell.claim(next, 10, of: UserShares.root).rate == 10)
        #expect(shell.hub.claimCount == SensorLimits.claimants)
    }

    /// A claim costs as many messages as it needs: who gathers needs few. What is released may be claimed again.
    @Test func noUserTakesAllMessages() throws {
        let shell = Shell(rates: [200, 10_000])
        let (limit, share) = (SensorLimits.messages, SensorHub.messages.share)
        #expect(try shell.claim(a, 10_000, of: 1000).rate == 10_000)
        #expect(throws: ClaimProblem.self) { try shell.claim(b, Double(share - 9_999), of: 1000) }
        #expect(try shell.claim(b, Double(share - 10_000), of: 1000).rate == Double(share - 10_000))
        #expect {
            try shell.claim(c, 1, of: 1000)
        } throws: {
            ($0 as? ClaimProblem)?.range == "\(share) for one user, as much as the others leave"
        }
        // Others find something, and our own are not counted.
        #expect(try shell.claim(c, Double(share / 2), of: 1001).rate == Double(share / 2))
        #expect(throws: ClaimProblem.self) { try shell.claim(ClientID(3), 10_000, of: 1002) }
        #expect(try shell.claim(ClientID(3), Double(limit - share - share / 2), of: UserShares.root).rate > 0)
        #expect(try shell.claim(ClientID(4), 10_000).rate == 10_000)
        // Less may be claimed whatever is left, and then is there for others.
        #expect(try shell.claim(a, 10_000, .milliseconds(100), of: 1000).rate == 10_000)
        #expect(try shell.claim(ClientID(5), 1_000, of: 1002).rate == 1_000)
        for client in [a, b, c, ClientID(3), ClientID(4), ClientID(5)] { #expect(shell.release(client)) }
        #expect(try shell.claim(a, 10_000, of: 1000).rate == 10_000)
        #expect(try shell.claim(b, Double(share - 10_000), of: 1000).rate > 0)
    }

    @Test(arguments: [
        (100.0, TimeSpan.zero, 100), (0.01, .zero, 1), (100, .milliseconds(5), 100), (100, .milliseconds(10), 100),
        (100, .milliseconds(100), 10), (10_000, .seconds(10), 10), (0.5, .seconds(10), 1),
    ])
    func aRequestNeedsMessages(_ rate: Double, _ latency: TimeSpan, _ count: Int) {
        #expect(SensorRequest(SensorPace(rate: rate, batchLatency: latency)).messages == count)
    }

    @Test func claimsAreListedInPages() throws {
        let shell = Shell(rates: [50])
        for client in [c, a, b] { _ = try shell.claim(client, 10) }
        #expect(shell.hub.claimants(atMost: 2).map(\.client) == [c, a])
        #expect(shell.hub.claimants(after: 2, atMost: 2).map(\.client) == [b])
        // A claim that goes and comes is another one.
        #expect(shell.release(c))
        _ = try shell.claim(c, 10)
        #expect(shell.hub.claimants(after: 2).map(\.client) == [b, c])
        #expect(shell.hub.claimants(after: 2).map(\.number) == [3, 4])
        #expect(shell.hub.claimants(after: 4).isEmpty && shell.hub.claimCount == 3)
    }

    @Test func noUserTakesAllPlaces() throws {
        let shell = Shell(rates: [50])
        #expect(self.fill(shell, of: 1000, from: 0) == 480)
        #expect {
            try shell.claim(ClientID(480), 10, of: 1000)
        } throws: {
            ($0 as? ClaimProblem)?.range == "480 for one user, as much as the others leave"
        }
        #expect(self.fill(shell, of: 1001, from: 480) == 240)
        #expect(self.fill(shell, of: UserShares.root, from: 720) == SensorLimits.claimants - 720)
        #expect(shell.release(a))
        #expect(throws: ClaimProblem.self) { try shell.claim(a, 10, of: 1000) }
        #expect(try shell.claim(a, 10, of: UserShares.root).rate == 10)
    }

    @Test func claimantsAreListedInTheOrderTheyCame() throws {
        let shell = Shell(rates: [50])
        for client in [c, a, b] { _ = try shell.claim(client, 10) }
        _ = try shell.claim(c, 20)
        #expect(shell.hub.claimants().map(\.client) == [c, a, b])
        #expect(shell.release(a))
        #expect(shell.hub.claimants().map(\.client) == [c, b])
        #expect(shell.hub.claimants().map(\.requested.rate) == [20, 10])
        var actions: [SensorAction] = []
        let now = Timestamp.zero
        let ended = (shell.hub.release(b, at: now, into: &actions), shell.hub.release(a, at: now, into: &actions))
        #expect(ended == (true, false))
        #expect(shell.hub.claimants().map(\.client) == [c])
        #expect(actions == [])
        let isLast = shell.hub.release(c, at: now, into: &actions)
        #expect(isLast)
        #expect(actions == [.stop])
    }

    @Test func anUnknownClientHasNothing() {
        let shell = Shell(rates: [50])
        #expect(shell.hub.claimant(a) == nil)
        #expect(!shell.hub.withBlock(of: ClientID(.max)) { _, _, _ in })
    }
}
