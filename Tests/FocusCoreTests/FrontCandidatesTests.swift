import FocusCore
import Testing

/// Which processes are asked after, where a shell says of one whether it is in front.
@Suite struct FrontCandidatesTests {
    @Test func theLatestThatWereNamedAreAskedAfter() {
        var candidates = FrontCandidates()
        #expect(candidates.all == [])
        candidates.add([7, 8, 0, .max, 7])
        #expect(candidates.all == [8, 7])
        candidates.add(Array(100..<200))
        #expect(candidates.all.count == FrontCandidates.most - 1)
        #expect(candidates.all.last == 115, "of one signal the first count")
        for process in 0..<UInt64(1_000) { candidates.add([1_000 + process]) }
        let latest = (1_985..<2_000).map { UInt32($0) }
        #expect(candidates.all == latest)
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
