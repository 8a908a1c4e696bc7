import FocusCore
import Testing

/// Which processes are asked after, where a shell says of one whether it is in front.
@Suite struct FrontCandidatesTests {
    @Test func theLatestThatWereNamedAreAskedAfter() {
        var candidates = FrontCandidates()
        #expect(candidates.all == [])
        candidates.add([7, 8, 0, .max, 7])
        #expect(candidates.beginRound() == [8, 7])
        candidates.add(Array(100..<200))
        let first = (100..<115).map { UInt32($0) }
        #expect(candidates.all == first, "of one signal the first count")
        for process in 0..<UInt64(1_000) {
            _ = candidates.beginRound()
            candidates.add([1_000 + process])
        }
        let latest = (1_985..<2_000).map { UInt32($0) }
        #expect(candidates.all == latest)
    }

    @Test func nobodyPushesOutWhoWasNotAskedAfter() {
        func flood(_ candidates: inout FrontCandidates, _ number: UInt64) {
            candidates.add((1...16).map { 10_000 + 100 * number + $0 })
            #expect(candidates.all.count == FrontCandidates.most - 1)
        }
        var candidates = FrontCandidates()
        flood(&candidates, 0)
        _ = candidates.beginRound()
        // It is named while the shell is asked after others, and more are named before it is asked again.
        let process: UInt32 = 4_711
        candidates.add([UInt64(process)])
        for number in 1..<UInt64(100) { flood(&candidates, number) }
        let first = candidates.beginRound()
        #expect(first.contains(process))
        // Named anew meanwhile, it may have come to the front since it was asked after.
        candidates.add([UInt64(process)])
        flood(&candidates, 100)
        let second = candidates.beginRound()
        #expect(second.contains(process))
        // It was not in front, and gives way to who may be.
        flood(&candidates, 101)
        #expect(!candidates.all.contains(process))
    }

    @Test func nobodyPushesOutWhoIsInFront() {
        var candidates = FrontCandidates()
        candidates.add([4_711, 4_712])
        candidates.confirm(4_711)
        for round in 0..<UInt64(10) {
            candidates.add((1...16).map { 10_000 + 100 * round + $0 })
            #expect(candidates.all.count == FrontCandidates.most)
            #expect(candidates.all.filter { $0 == 4_711 } == [4_711])
        }
        // Named as well, it has one place, and takes none from the others.
        let before = candidates.all
        candidates.add([4_711])
        #expect(candidates.all == before)
    }

    @Test func whoComesToTheFrontHasThePlaceAndWhoWasThereIsOneOfTheOthers() {
        var candidates = FrontCandidates()
        candidates.add([1, 2, 3])
        candidates.confirm(1)
        candidates.confirm(3)
        #expect(candidates.all == [3, 2, 1])
        candidates.confirm(3)
        #expect(candidates.all == [3, 2, 1])
        // The shell may name one that is no longer kept.
        candidates.confirm(9)
        #expect(candidates.all == [9, 2, 1, 3])
    }
}
