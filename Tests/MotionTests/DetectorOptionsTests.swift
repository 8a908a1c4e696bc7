import Motion
import Randomness
import Testing

/// The options of a detector are a small dictionary, in the order of its keys.
@Suite struct DetectorOptionsTests {
    @Test func theyAreWhatADictionaryWouldBe() {
        var random = SeededRandom(seed: 7)
        var (options, model): (DetectorOptions, [String: OptionValue]) = ([:], [:])
        for step in 0..<2_000 {
            let keys = ["every", "preset", "rest", "sensor", "threshold", "when", "Ä", ""]
            let key = keys[Int.random(in: keys.indices, using: &random)]
            let isRemoved = Int.random(in: 0..<3, using: &random) == 0
            let value: OptionValue? = isRemoved ? nil : .count(UInt64.random(in: 0..<5, using: &random))
            options[key] = value
            model[key] = value
            #expect(options.count == model.count && options.keys == model.keys.sorted(), "step \(step)")
            #expect(options == DetectorOptions(model), "step \(step)")
            #expect(options[key] == value && options["none"] == nil, "step \(step)")
        }
    }

    @Test func theOrderInWhichTheyAreGivenMeansNothing() {
        let one: DetectorOptions = ["rest": .count(1), "every": .text("1s")]
        #expect(one == ["every": .text("1s"), "rest": .count(1)])
        #expect(one.map(\.key) == ["every", "rest"])
        #expect(one != ["every": .text("1s")])
    }
}
