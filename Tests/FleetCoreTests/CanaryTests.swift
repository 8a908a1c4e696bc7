import FleetCore
import Glibc
import Motion
import Randomness
import Testing

@Suite struct CanaryTests {
    private static let start = Timestamp(microseconds: 0)
    /// When that was since 1970.
    private static let wall: Int64 = 1_764_000_000_000_000

    private func at(_ seconds: Int64) -> Timestamp { Self.start + .seconds(seconds) }

    /// An app that the bridge has followed for an hour.
    private func counts(
        _ hits: UInt64, _ denied: UInt64, for seconds: Int64 = 3_600, then: (UInt64, UInt64) = (0, 0)
    ) -> [String: DeviceBook.Counts] {
        [
            "org.example.Kiosk": DeviceBook.Counts(
                hits: hits, denied: denied, since: Self.wall - seconds * 1_000_000, hitsThen: then.0, deniedThen: then.1
            )
        ]
    }

    /// Two that try it and four that do not, each with 360 hits and 36 denied in the last hour.
    private func canary() -> Canary {
        var canary = Canary(
            7, canaries: ["a", "b"], others: ["c", "d", "e", "f"], at: Self.start, wall: Self.wall)
        for name in ["a", "b", "c", "d", "e", "f"] {
            canary.presence(of: name, isOnline: true, at: Self.start)
            canary.counted(self.counts(360, 36), by: name)
        }
        return canary
    }

    private func applied(_ version: UInt64 = 7) -> DesiredReport {
        DesiredReport(.applied, version: version, inForce: version)
    }

    @Test func itGoesOnWhenAllAreWellForSoLong() {
        var canary = self.canary()
        #expect(canary.decision(at: self.at(0)) == .wait("0 of 2 canaries have it"))
        canary.reported(self.applied(), by: "a", at: self.at(5))
        canary.reported(DesiredReport(.trial, version: 7, inForce: 7), by: "b", at: self.at(5))
        #expect(canary.decision(at: self.at(5)) == .wait("1 of 2 canaries have it"))
        canary.reported(self.applied(), by: "b", at: self.at(10))
        #expect(canary.decision(at: self.at(69)) == .watch(.seconds(1)))
        #expect(canary.decision(at: self.at(70)) == .goOn)
    }

    @Test(arguments: [DesiredReport.Outcome.refused, .rolledBack])
    func itStopsWhenOneHasErrors(outcome: DesiredReport.Outcome) {
        var canary = self.canary()
        canary.reported(self.applied(), by: "a", at: self.at(1))
        let problem = DesiredProblem("E001: what", file: "x.conf", line: 3, column: 1)
        canary.reported(DesiredReport(outcome, version: 7, inForce: 6, problem: problem), by: "b", at: self.at(2))
        #expect(canary.decision(at: self.at(2)) == .stop("b: \(outcome.rawValue): x.conf:3:1: E001: what"))
    }

    @Test func whatWasReportedOfAnotherVersionIsNothing() {
        var canary = self.canary()
        canary.reported(DesiredReport(.refused, version: 6, inForce: 5), by: "b", at: self.at(2))
        #expect(canary.decision(at: self.at(2)) == .wait("0 of 2 canaries have it"))
        canary.reported(self.applied(8), by: "b", at: self.at(3))
        #expect(canary.decision(at: self.at(3)) == .stop("b: somebody wants version 8 meanwhile"))
    }

    @Test func itStopsWhenOneStaysAway() {
        var canary = self.canary()
        canary.presence(of: "a", isOnline: false, at: self.at(10))
        #expect(canary.decision(at: self.at(39)) == .wait("0 of 2 canaries have it"))
        #expect(canary.decision(at: self.at(40)) == .stop("a: not there for 30 s"))
        canary.presence(of: "a", isOnline: true, at: self.at(41))
        #expect(canary.decision(at: self.at(41)) == .wait("0 of 2 canaries have it"))
    }

    @Test func itStopsWhenNotAllHaveItInTime() {
        var canary = self.canary()
        canary.reported(self.applied(), by: "a", at: self.at(5))
        #expect(canary.decision(at: self.at(300)) == .stop("not in force everywhere in time: b"))
    }

    // MARK: Jumps

    /// Of 36 in an hour one in 100 s is usual, so on two in 100 s two, and a little for what is not known: four, six for chance, three more.
    @Test func itStopsWhenMoreIsDeniedThanBefore() {
        var canary = self.canary()
        canary.counted(self.counts(370, 42), by: "a")
        canary.counted(self.counts(370, 43), by: "b")
        #expect(canary.decision(at: self.at(100)) == .wait("0 of 2 canaries have it"))
        canary.counted(self.counts(370, 44), by: "b")
        #expect(
            canary.decision(at: self.at(100))
                == .stop("denied jumped: 14 in 100 s on the canaries, where 13 would be much"))
    }

    @Test func itStopsWhenThereAreMoreHitsThanBefore() {
        var canary = self.canary()
        canary.counted(self.counts(402, 36), by: "a")
        #expect(canary.decision(at: self.at(100)) == .wait("0 of 2 canaries have it"))
        canary.counted(self.counts(430, 36), by: "a")
        #expect(
            canary.decision(at: self.at(100))
                == .stop("hits jumped: 70 in 100 s on the canaries, where 62 would be much"))
    }

    /// A busy hour is one for all of them.
    @Test func whenAllHaveMoreNobodyJumps() {
        var canary = self.canary()
        for name in ["c", "d", "e", "f"] { canary.counted(self.counts(860, 136), by: name) }
        for name in ["a", "b"] { canary.counted(self.counts(860, 136), by: name) }
        #expect(canary.decision(at: self.at(100)) == .wait("0 of 2 canaries have it"))
    }

    /// One that counts without end, by mistake or not, does not make the hour a busy one.
    @Test(arguments: [["c"], ["c", "d"], ["c", "d", "e", "f"]]) func oneOtherDoesNotHideAJump(others: [String]) {
        var canary = Canary(7, canaries: ["a", "b"], others: others, at: Self.start, wall: Self.wall)
        for name in ["a", "b"] + others {
            canary.presence(of: name, isOnline: true, at: Self.start)
            canary.counted(self.counts(360, 36), by: name)
        }
        canary.counted(self.counts(1_000_000_360, 1_000_000_036), by: "c")
        canary.counted(self.counts(370, 136), by: "a")
        guard case .stop(let why) = canary.decision(at: self.at(100)) else {
            Issue.record("100 instead of 2 are no jump")
            return
        }
        #expect(why.hasPrefix("denied jumped: 100 in 100 s"), "\(why)")
    }

    /// A device says that it has been followed since long before there was time.
    @Test(arguments: [.min, .max, -1, 0] as [Int64]) func anyTimeIsTaken(since: Int64) {
        var canary = Canary(7, canaries: ["a"], others: [], at: Self.start, wall: Self.wall)
        canary.presence(of: "a", isOnline: true, at: Self.start)
        for denied in [0, 100] as [UInt64] {
            canary.counted(["org.example.Kiosk": DeviceBook.Counts(hits: 0, denied: denied, since: since)], by: "a")
        }
        guard case .stop(let why) = canary.decision(at: self.at(10)) else {
            Issue.record("100 instead of none are no jump")
            return
        }
        #expect(why.hasPrefix("denied jumped: 100 in 10 s"), "\(why)")
    }

    /// Each is held against itself: what is much on one is usual on another.
    @Test func aBusyDeviceIsNotCompared() {
        var canary = Canary(7, canaries: ["a"], others: ["b"], at: Self.start, wall: Self.wall)
        for name in ["a", "b"] { canary.presence(of: name, isOnline: true, at: Self.start) }
        canary.counted(self.counts(36_000, 3_600), by: "a")
        canary.counted(self.counts(0, 0), by: "b")
        canary.counted(self.counts(36_600, 3_660), by: "a")
        #expect(canary.decision(at: self.at(60)) == .wait("0 of 1 canaries have it"))
        canary.counted(self.counts(36_600, 3_900), by: "a")
        guard case .stop(let why) = canary.decision(at: self.at(60)) else {
            Issue.record("300 instead of 60 are no jump")
            return
        }
        #expect(why.hasPrefix("denied jumped: 300 in 60 s"))
    }

    /// Of a device that is new little is known, and little is said by a few events.
    @Test(arguments: [(5, 6, false), (5, 9, true), (0, 6, false), (0, 9, true)])
    func aNewDeviceHasNoPast(age: Int64, denied: UInt64, isJump: Bool) {
        var canary = Canary(7, canaries: ["a"], others: [], at: Self.start, wall: Self.wall)
        canary.presence(of: "a", isOnline: true, at: Self.start)
        canary.counted(self.counts(0, 0, for: age), by: "a")
        canary.counted(self.counts(0, denied, for: age), by: "a")
        let isStopped = canary.decision(at: self.at(30)) != .wait("0 of 1 canaries have it")
        #expect(isStopped == isJump)
    }

    /// An app that starts anew counts from nothing, one that goes takes nothing with it, and what was before the bridge is no part of it.
    @Test func whatBeginsAnewIsNoJump() {
        var canary = Canary(7, canaries: ["a"], others: [], at: Self.start, wall: Self.wall)
        canary.presence(of: "a", isOnline: true, at: Self.start)
        var all = self.counts(5_000, 900, for: 60, then: (4_990, 900))
        all["org.example.Other"] = DeviceBook.Counts(hits: 70, denied: 70, since: Self.wall - 60_000_000)
        canary.counted(all, by: "a")
        // The first goes and comes again.
        all["org.example.Kiosk"] = nil
        canary.counted(all, by: "a")
        all["org.example.Kiosk"] = DeviceBook.Counts(hits: 2, denied: 1, since: Self.wall + 5_000_000)
        canary.counted(all, by: "a")
        // One comes that the bridge sees late.
        all["org.example.Third"] = DeviceBook.Counts(
            hits: 8_000, denied: 8_000, since: Self.wall + 6_000_000, hitsThen: 8_000, deniedThen: 8_000)
        canary.counted(all, by: "a")
        #expect(canary.decision(at: self.at(10)) == .wait("0 of 1 canaries have it"))
    }

    @Test(arguments: [(0.0, 3), (1, 9), (10, 36), (100, 245)])
    func theNumberForAJump(usual: Double, bound: Int) { #expect(Int(Canary.bound(usual: usual)) == bound) }

    /// How often chance alone makes a jump, where nothing changed.
    @Test(arguments: [1, 2, 3] as [UInt64]) func chanceIsSeldomAJump(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // Events that know nothing of each other, one after the other.
        func count(_ mean: Double) -> UInt64 {
            var (count, time): (UInt64, Double) = (0, 0)
            while true {
                time -= log(Double.random(in: .leastNonzeroMagnitude..<1, using: &random))
                guard time < mean else { return count }
                count += 1
            }
        }
        var jumps = 0
        for _ in 0..<2_000 {
            var canary = Canary(7, canaries: ["a"], others: ["b", "c"], at: Self.start, wall: Self.wall)
            // One a minute, and only ten minutes of it are known.
            for name in ["a", "b", "c"] {
                canary.presence(of: name, isOnline: true, at: Self.start)
                let (hits, denied) = (count(10), count(10))
                canary.counted(self.counts(hits, denied, for: 600), by: name)
                canary.counted(self.counts(hits + count(2), denied + count(2), for: 600), by: name)
            }
            if case .stop = canary.decision(at: self.at(120)) { jumps += 1 }
        }
        #expect(jumps == 0, "seed \(seed)")
    }

    // MARK: Who

    @Test(arguments: [
        (0, 5.0, 0), (1, 5, 1), (3, 5, 1), (20, 5, 1), (21, 5, 2), (200, 5, 10), (3, 100, 3), (3, 500, 3),
    ])
    func aShareIsOneAtLeast(devices: Int, share: Double, count: Int) {
        #expect(Canary.count(of: devices, share: share) == count)
    }

    @Test func anotherVersionHasOtherCanaries() {
        let names = (0..<100).map { "kiosk-\($0)" }
        let chosen = (1...200 as ClosedRange<UInt64>).map { Canary.choose(5, of: names, for: $0) }
        #expect(chosen.allSatisfy { Set($0).count == 5 })
        #expect(chosen[0] == Canary.choose(5, of: names.reversed(), for: 1))
        // Each has its turn.
        #expect(Set(chosen.flatMap { $0 }).count == 100)
    }

    /// A device counts more than any number holds, again and again: that is a jump like others.
    @Test func absurdCountsAreAJump() throws {
        var canary = self.canary()
        let most = UInt64(Int64.max)
        for life in 0..<4 {
            canary.counted(
                [
                    "org.example.Kiosk": DeviceBook.Counts(
                        hits: most, denied: most, since: Self.wall + Int64(life) * 1_000_000)
                ], by: "a")
            guard case .stop(let why) = canary.decision(at: self.at(10)) else { continue }
            #expect(why.hasPrefix("denied jumped"))
        }
        #expect(canary.decision(at: self.at(20)) != .goOn)
    }
}
