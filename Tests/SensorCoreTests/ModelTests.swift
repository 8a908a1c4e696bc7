import Motion
import SensorCore
import Testing
import Randomness

/// The hub's rules once more, as plainly as they can be written: everything is worked out anew from the whole history.
private struct Model {
    struct Reading {
        var time: Int64
        var since: Int64
        var device: Double
    }
    struct Claim {
        var requested: SensorPace
        var order: Int
        var history: [Reading] = []
        /// How many of the due samples have been handed over.
        var handed = 0
        var isForcedDue = false
    }

    var claims: [ClientID: Claim] = [:]
    var rates: [Double]
    var device: SensorPace?
    var asked: SensorPace?
    /// When the device follows to less.
    var lessAt: Int64?
    /// When nothing is owed any more for changes for more.
    var paid: Int64 = 0
    var arrivals = 0

    func inForce(_ claim: Claim) -> SensorPace {
        let running = self.device?.rate ?? claim.requested.rate
        let rate = min(running, claim.requested.rate)
        let isUseful = claim.requested.batchLatency.seconds >= 1 / rate
        return SensorPace(rate: rate, batchLatency: isUseful ? claim.requested.batchLatency : .zero)
    }

    mutating func settle(at now: Int64) {
        guard !self.claims.isEmpty else {
            self.device = nil
            self.asked = nil
            self.lessAt = nil
            return
        }
        let fastest = self.claims.values.map(\.requested.rate).max() ?? 0
        let rate = self.rates.first { $0 >= fastest } ?? self.rates.last ?? fastest
        var latency = self.claims.values.map(\.requested.batchLatency).min() ?? .zero
        if latency.seconds < 1 / rate { latency = .zero }
        let claimed = SensorPace(rate: rate, batchLatency: latency)
        var pace = claimed
        if let asked, now < self.lessAt ?? .max {
            pace = SensorPace(
                rate: max(asked.rate, claimed.rate), batchLatency: min(asked.batchLatency, claimed.batchLatency))
            if pace != asked {
                if self.paid - 20_000_000 > now { pace = self.muchMore(pace, than: asked) }
                self.paid = max(self.paid, now) + 5_000_000
            }
        }
        self.lessAt = pace == claimed ? nil : max(self.lessAt ?? now + 1_000_000, self.paid - 20_000_000)
        if pace != self.asked {
            self.asked = pace
            self.changeDevice(to: pace)
        }
    }

    /// After many changes for more: at least twice as much as was asked for.
    func muchMore(_ pace: SensorPace, than asked: SensorPace) -> SensorPace {
        var (rate, latency) = (pace.rate, pace.batchLatency)
        if rate > asked.rate {
            rate = max(rate, self.rates.first { $0 >= 2 * asked.rate } ?? self.rates.last ?? 2 * asked.rate)
        }
        if latency < asked.batchLatency {
            latency = min(latency, TimeSpan(microseconds: asked.batchLatency.microseconds / 2))
            if latency.seconds < 1 / rate { latency = .zero }
        }
        return SensorPace(rate: rate, batchLatency: latency)
    }

    mutating func changeDevice(to pace: SensorPace) {
        let before = self.claims.mapValues { self.inForce($0) }
        self.device = pace
        for (client, claim) in self.claims {
            let now = self.inForce(claim)
            if now != before[client], now.batchLatency == .zero { self.claims[client]?.isForcedDue = true }
        }
    }

    /// Every sample that was due to a claim since it was made.
    func due(_ claim: Claim) -> [Reading] {
        var taken: [Reading] = []
        var last = -Double.infinity
        for reading in claim.history {
            let half = 500_000 / reading.device
            let elapsed = taken.isEmpty ? 0 : Double(reading.time - taken[0].time) + half
            let rate = min(reading.device, claim.requested.rate)
            let bucket = (elapsed * rate / 1_000_000).rounded(.down)
            if reading.device <= claim.requested.rate || bucket > last {
                taken.append(reading)
                last = bucket
            }
        }
        return taken
    }

    func waiting(_ claim: Claim) -> ArraySlice<Reading> { self.due(claim).dropFirst(claim.handed) }

    /// What a hand-over sends.
    mutating func hand(_ client: ClientID) -> Received? {
        guard var claim = self.claims[client] else { return nil }
        let waiting = Array(self.waiting(claim))
        claim.isForcedDue = false
        let first = claim.handed
        claim.handed += waiting.count
        self.claims[client] = claim
        guard !waiting.isEmpty else { return nil }
        return Received(
            first: UInt64(first), times: waiting.map(\.time), values: waiting.map { Double($0.time) })
    }

    func deadline(_ claim: Claim) -> Int64? {
        guard let first = self.waiting(claim).first else { return nil }
        return claim.isForcedDue ? 0 : first.since + self.inForce(claim).batchLatency.microseconds
    }
}

@Suite struct ModelTests {
    @Test(arguments: someSeeds(1...60))
    func theHubDoesWhatTheModelSays(_ seed: UInt64) throws {
        print("SensorHub model seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let choices: [[Double]] = [[10, 25, 50, 100], [], [100], [12.5, 26, 52, 104]]
        let rates = choices.randomElement(using: &generator) ?? []
        let shell = Shell(rates: rates)
        var model = Model(rates: rates)
        var expected: [ClientID: [Received]] = [:]
        func expect(_ client: ClientID, _ block: Received?) {
            if let block { expected[client, default: []].append(block) }
        }
        var now: Int64 = 1_000_000
        shell.now = Timestamp(microseconds: now)
        var time: Int64 = 900_000
        for step in 0..<400 {
            let client = ClientID(UInt32.random(in: 0..<5, using: &generator))
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<5:
                let rates: [Double] = [1, 5, 10, 20, 25, 33, 50, 75, 100, 200]
                let rate = rates.randomElement(using: &generator) ?? 1
                let latency = TimeSpan.milliseconds([0, 0, 15, 40, 100, 500].randomElement(using: &generator) ?? 0)
                let inForce = try shell.claim(client, rate, latency)
                expect(client, model.hand(client))
                let pace = SensorPace(rate: rate, batchLatency: latency)
                model.claims[client] = Model.Claim(
                    requested: pace, order: model.claims[client]?.order ?? step)
                model.settle(at: now)
                #expect(inForce == model.claims[client].map { model.inForce($0) })
            case 5..<8:
                let wasThere = model.claims.removeValue(forKey: client) != nil
                #expect(shell.release(client) == wasThere)
                if wasThere { model.settle(at: now) }
            case 8..<10:
                guard model.device != nil else { continue }
                let pace = SensorPace(
                    rate: [8, 30, 50, 90, 300].randomElement(using: &generator) ?? 1,
                    batchLatency: .milliseconds([0, 60].randomElement(using: &generator) ?? 0))
                shell.deviceRuns(pace.rate, pace.batchLatency)
                model.changeDevice(to: pace)
            case 10..<25:
                now += Int64.random(in: 0...60_000, using: &generator)
                shell.tick(now)
                for client in model.claims.keys {
                    guard let claim = model.claims[client], let deadline = model.deadline(claim), deadline <= now
                    else { continue }
                    expect(client, model.hand(client))
                }
                if let lessAt = model.lessAt, now >= lessAt { model.settle(at: now) }
            default:
                now += Int64.random(in: 0...12_000, using: &generator)
                time = max(time + 1, now - Int64.random(in: 0...9_000, using: &generator))
                #expect(shell.sample(time, arrival: now) == .accepted)
                let held = model.device?.batchLatency.microseconds ?? 0
                for client in model.claims.keys {
                    guard var claim = model.claims[client], let device = model.device else { continue }
                    let before = model.due(claim).count
                    claim.history.append(
                        Model.Reading(
                            time: time, since: min(max(time, now - held), now), device: device.rate))
                    model.claims[client] = claim
                    if model.due(claim).count > before, model.inForce(claim).batchLatency == .zero {
                        expect(client, model.hand(client))
                    }
                }
            }
            #expect(shell.hub.running == model.device, "step \(step)")
            let waits = model.claims.values.compactMap { model.deadline($0) }
            let deadline = (waits + (model.lessAt.map { [$0] } ?? [])).min()
            #expect(shell.hub.nextDeadline?.microseconds == deadline, "step \(step)")
            let order = model.claims.sorted { $0.value.order < $1.value.order }.map { $0.key }
            #expect(shell.hub.claimants().map { $0.client } == order)
            for claimant in shell.hub.claimants() {
                #expect(claimant.inForce == model.claims[claimant.client].map { model.inForce($0) }, "step \(step)")
            }
            guard shell.received == expected else {
                Issue.record("seed \(seed), step \(step): what was sent differs from the model")
                return
            }
        }
        #expect(!expected.isEmpty)
        let sent = expected.values.joined().reduce(0) { $0 + $1.times.count }
        #expect(shell.hub.counters.sent == UInt64(sent))
    }
}
