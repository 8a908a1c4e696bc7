import Motion
import Testing

/// The options of a detector are a small dictionary, in the order of its keys.
@Suite struct DetectorOptionsTests {
    @Test func theyAreWhatADictionaryWouldBe() {
        var state: UInt64 = 7
        func random(_ count: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % count
        }
        var (options, model): (DetectorOptions, [String: OptionValue]) = ([:], [:])
        for step in 0..<2_000 {
            let key = ["every", "preset", "rest", "sensor", "threshold", "when", "Ä", ""][Int(random(8))]
            let value: OptionValue? = random(3) == 0 ? nil : .count(random(5))
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
