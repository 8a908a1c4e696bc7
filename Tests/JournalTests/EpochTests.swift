import Journal
import Motion
import TestSupport
import Testing

/// Numbers that are never given out twice.
@Suite struct EpochTests {
    @Test func eachStartBeginsBehindAllBefore() throws {
        let place = try Directory()
        var end: UInt64 = 0
        // The clock goes forward, stands, and goes back.
        for (started, first) in [
            (5_000_000, 5_000_000), (5_000_000, 5_065_536), (1, 5_131_072), (9_000_000, 9_000_000),
        ] {
            let keeper = Keeper(place, started: Int64(started))
            let block = try keeper.epochs()
            #expect(block == EpochBlock(first: UInt64(first), end: UInt64(first) + 65_536))
            #expect(block.first >= end)
            end = block.end
            // Not closed: as if it had been killed.
        }
    }

    @Test func moreAreReservedBeforeTheyRunOut() throws {
        let place = try Directory()
        var used: UInt64 = 0
        do {
            let keeper = Keeper(place)
            let block = try keeper.epochs()
            used = block.first
            for _ in 0..<10 {
                used += 40_000
                let least = used
                // On the disk, for whoever starts next.
                try keeper.until("epochs") {
                    keeper.store.useEpochs(upTo: least)
                    return (try? Self.reserved(place)).map { $0 > least + 30_000 } ?? false
                }
            }
        }
        #expect(try Keeper(place, started: 1).epochs().first > used)
    }

    fileprivate static func reserved(_ place: Directory) throws -> UInt64 {
        UInt64(try place.sql("state.db", "SELECT reserved FROM epochs").dropLast()) ?? 0
    }

    @Test func theJournalHasThemWhenTheStateIsLost() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try keeper.keepAndWait(verdicts(3, after: 77_000_000))
            keeper.close()
        }
        try place.remove("state.db")
        #expect(try Keeper(place, started: 1).epochs().first == 77_000_004)
    }
}
