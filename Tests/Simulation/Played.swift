extension Simulator {
    /// Which seeds were played, and what came of them: a line of a book.
    package struct Played {
        package let seeds: Range<UInt64>
        package let sum: Sum

        package init(_ seeds: Range<UInt64>, _ sum: Sum) {
            self.seeds = seeds
            self.sum = sum
        }

        package var line: String { "\(self.seeds.lowerBound) \(self.seeds.upperBound) \(self.sum.text)" }

        package init?(_ line: some StringProtocol) {
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let first = UInt64(words[0]), let end = UInt64(words[1]), first < end,
                let sum = Sum(words[2])
            else { return nil }
            self.init(first..<end, sum)
        }
    }
}
