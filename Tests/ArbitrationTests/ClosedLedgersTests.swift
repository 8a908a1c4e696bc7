import Motion
import Testing

@testable import Arbitration

/// What apps have used up stays when they leave, and takes bounded room.
@Suite struct ClosedLedgersTests {
    private static let settings = {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 1, period: .seconds(3_600), burst: 1)
        return settings
    }()

    private func used(at time: Int64) -> Ledger {
        var ledger = Ledger()
        ledger.spendWake(Self.settings, at: ms(time))
        return ledger
    }

    private func isUsed(_ ledger: Ledger?, at time: Int64) -> Bool {
        ledger.map { $0.timeToWake(Self.settings, promised: 0, at: ms(time)) != nil } ?? false
    }

    @Test func whoLeavesUnderManyNamesLosesItsOwnOldest() {
        var closed = ClosedLedgers()
        closed.keep(self.used(at: 0), of: AppID("org.example.Good"), 1_001) { _, _ in false }
        for index in 0..<20_000 {
            closed.keep(self.used(at: 0), of: AppID("org.example.Name\(index)"), 1_000) { _, _ in false }
            #expect(closed.count <= ClosedLedgers.most / 2)
        }
        #expect(closed.count > ClosedLedgers.most / 8)
        #expect(self.isUsed(closed.take(AppID("org.example.Good"), of: 1_001), at: 1))
        #expect(self.isUsed(closed.take(AppID("org.example.Name19999"), of: 1_000), at: 1))
        #expect(closed.take(AppID("org.example.Name0"), of: 1_000) == nil)
    }

    @Test func whatSaysNothingGoesFirst() {
        var closed = ClosedLedgers()
        let now: Int64 = 7_200_000
        for index in 0..<10_000 {
            let name = AppID("org.example.Name\(index)")
            // One of ten is still of use.
            closed.keep(self.used(at: index % 10 == 0 ? now : 0), of: name, 1_000) {
                $1.isSpent(at: ms(now), arrival: ms(now), Self.settings)
            }
        }
        for index in stride(from: 9_000, to: 10_000, by: 10) {
            #expect(self.isUsed(closed.take(AppID("org.example.Name\(index)"), of: 1_000), at: now))
        }
    }

    @Test func oneNameOfAUserIsKeptOnce() {
        var closed = ClosedLedgers()
        for user: UInt32? in [1_000, 1_001, nil, 1_000] {
            closed.keep(self.used(at: 0), of: AppID("org.example.A"), user) { _, _ in false }
        }
        #expect(closed.count == 3)
        for user: UInt32? in [1_000, nil, 1_001] {
            #expect(self.isUsed(closed.take(AppID("org.example.A"), of: user), at: 1))
            #expect(closed.take(AppID("org.example.A"), of: user) == nil)
        }
        #expect(closed.count == 0)
    }
}
