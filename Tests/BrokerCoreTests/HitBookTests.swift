import Arbitration
@testable import BrokerCore
import Detection
import Motion
import Testing

/// Detectors that hit all the time keep the broker from nothing else.
@Suite struct HitBookTests {
    private static let (loud, quiet): (UInt32, UInt32) = (1_000, 1_001)

    private static func detector(_ name: String, _ condition: String) -> DetectorRequest {
        DetectorRequest(name: name, options: ["when": .text(condition), "rest": .text("0s")])
    }

    /// A broker with room for few detectors, so that few hits are many: 8 at once of an app, and 12 of a user.
    private func bench() -> Bench {
        var limits = BrokerLimits()
        (limits.detectors, limits.detectorsPerApp) = (96, 8)
        return Bench(limits: limits)
    }

    private func add(_ count: Int, _ app: AppHandle, _ condition: String, to bench: inout Bench) throws {
        for index in 0..<count { _ = try bench.add(app, Self.detector("d\(index)", condition)) }
    }

    private func heard(by app: AppHandle, _ bench: Bench) -> Int { bench.events.count { $0.0 == app } }

    private func leftOut(of app: AppHandle, _ bench: Bench) -> UInt64? {
        bench.tally(of: app)?.denials.first { $0.reason == .quota }?.count
    }

    /// Of an app and of all apps of its user; others' are heard, and what is left out is counted.
    @Test func whatIsTooMuchIsLeftOut() throws {
        var bench = self.bench()
        let first = try bench.register(1, "org.example.First", user: Self.loud)
        let second = try bench.register(2, "org.example.Second", user: Self.loud)
        let other = try bench.register(3, "org.example.Other", user: Self.quiet)
        try self.add(8, first, "abs(x) > -1g", to: &bench)
        try self.add(4, second, "abs(x) > -1g", to: &bench)
        try self.add(1, other, "x > 2g", to: &bench)
        bench.answerClaim()
        _ = bench.take()
        // They come at one time, as after a while in which the broker stood still.
        bench.feed(together: Array(repeating: 0, count: 9) + [3])
        #expect(self.heard(by: first, bench) == 8 && self.leftOut(of: first, bench) == 72)
        #expect(self.heard(by: second, bench) == 4 && self.leftOut(of: second, bench) == 36)
        #expect(self.heard(by: other, bench) == 1 && self.leftOut(of: other, bench) == nil)
        #expect(bench.core.hits(of: first) == 80 && bench.tally(of: first)?.denied == 72)
        // One motion may be a hit of each detector, again and again.
        for _ in 0..<3 {
            _ = bench.take()
            bench.feed([3])
            #expect(self.heard(by: first, bench) == 8 && self.heard(by: second, bench) == 4)
            #expect(self.heard(by: other, bench) == 1)
        }
        #expect(self.leftOut(of: first, bench) == 72)
    }

    /// What others of its user use up all the time leaves an app what it needs that is seldom hit.
    @Test func whoIsSeldomHitIsHeardBesideOthersOfItsUser() throws {
        var bench = self.bench()
        let first = try bench.register(1, "org.example.First", user: Self.loud)
        let second = try bench.register(2, "org.example.Second", user: Self.loud)
        for app in [first, second] { try self.add(4, app, "abs(x) > -1g", to: &bench) }
        let seldom = try bench.register(3, "org.example.Seldom", user: Self.loud)
        try self.add(1, seldom, "x > 2g", to: &bench)
        bench.answerClaim()
        _ = bench.take()
        bench.feed(together: Array(repeating: 0, count: 9) + [3])
        #expect(self.heard(by: first, bench) + self.heard(by: second, bench) == 12)
        #expect(self.heard(by: seldom, bench) == 1 && self.leftOut(of: seldom, bench) == nil)
    }

    /// Nothing of it passes on to whoever comes under the same number.
    @Test func whoComesNextHasAllOfIt() {
        var limits = BrokerLimits()
        limits.detectorsPerApp = 8
        var book = HitBook(limits)
        let app = AppHandle(1)
        let hit = Hit(detector: DetectorID(0), time: .zero, peak: 1)
        for _ in 0..<2 {
            book.enter(app)
            let heard = (0..<20).count { _ in book.take(hit, of: app, UserShares.root, at: .zero) }
            #expect(heard == 8)
            book.leave(app)
        }
        let leftOut = book.takeLeftOut()
        #expect(leftOut.isEmpty)
    }

    @Test func itStandsAmongTheLimits() throws {
        let table = BrokerLimits().table
        let (ofApp, ofUser) = (table["hits-per-second"], table["hits-per-second-per-user"])
        #expect(try #require(ofApp) < #require(ofUser))
    }
}
