import Motion
import Randomness
import SensorCore
import Testing

/// What is shown of what strangers have of a sensor is what they claim.
@Suite struct UsageTests {
    @Test(arguments: someSeeds(1...8)) func whoeverClaimsAndReleases(_ seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let shell = Shell(rates: [10, 25, 50, 100])
        let users: [UInt32?] = [nil, 0, 1_000, 1_001]
        var claims: [ClientID: (user: UInt32?, messages: Int)] = [:]
        for _ in 0..<400 {
            let client = ClientID(UInt32.random(in: 0..<12, using: &generator))
            if Int.random(in: 0..<3, using: &generator) == 0 {
                #expect(shell.release(client) == (claims.removeValue(forKey: client) != nil))
            } else {
                let rate: Double = [1, 10, 33, 100, 200].randomElement(using: &generator) ?? 1
                let latency = TimeSpan.milliseconds([0, 40, 500].randomElement(using: &generator) ?? 0)
                // Who claims anew is who he was.
                let user = claims[client].map(\.user) ?? users[Int.random(in: users.indices, using: &generator)]
                _ = try shell.claim(client, rate, latency, of: user)
                let request = SensorRequest(SensorPace(rate: rate, batchLatency: latency))
                claims[client] = (user, request.messages)
            }
            if let one = claims.keys.sorted().randomElement(using: &generator) {
                if Bool.random(using: &generator) { shell.rest(one) } else { shell.wake(one) }
            }
            let rows = UsageTable(shell.hub.usage).rows(for: .everything)
            #expect(rows.allSatisfy { $0.key.part == .sensor("accelerometer") })
            var expected: [String: [UInt32: Int]] = ["claimants": [:], "messages-per-second": [:]]
            for claim in claims.values {
                guard let user = claim.user else { continue }
                expected["claimants"]?[user, default: 0] += 1
                expected["messages-per-second"]?[user, default: 0] += claim.messages
            }
            for (limit, held) in expected {
                let own = rows.filter { $0.key.limit == limit }
                #expect(own.first?.key.user == nil && own.first?.held == held.values.reduce(0, +))
                let shown = own.dropFirst().compactMap { row in row.key.user.map { ($0, row.held) } }
                #expect(Dictionary(uniqueKeysWithValues: shown) == held)
            }
        }
    }

    @Test func whatWaitsAndWhoIsRefused() {
        var lines = WaitingLines<Int>()
        lines.open("a", of: nil)
        for number in 0..<5 { _ = lines.add(number, of: "a") }
        #expect(lines.shares.held(by: UserShares.unknown) == 5)
        _ = lines.setUser(1_000, of: "a")
        #expect(lines.shares.held(by: UserShares.unknown) == 0 && lines.shares.held(by: 1_000) == 5)
        _ = lines.close("a")
        #expect(lines.shares == SensorLimits.allWaiting)
        var latest = LatestOfUsers<String>(SensorLimits.refused)
        for number in 0..<100 { latest.add("\(number)", of: 1_000) }
        #expect(latest.shares.taken == latest.elements.count { _ in true } && latest.shares.taken == 30)
    }
}
