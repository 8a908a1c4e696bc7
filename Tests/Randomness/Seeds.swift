import Glibc

/// The seeds that a long walk is played with: one in four, for the ordinary suite has no time for more.
///
/// `make test-walks` sets `JOSTLE_WALKS` to `all`, and plays every one.
package func someSeeds<Seed: FixedWidthInteger>(_ seeds: ClosedRange<Seed>) -> [Seed] where Seed.Stride: SignedInteger {
    let isLong = getenv("JOSTLE_WALKS").map { String(cString: $0) } == "all"
    return isLong ? Array(seeds) : Array(stride(from: seeds.lowerBound, through: seeds.upperBound, by: 4))
}
