import Testing

@testable import jostle_bench

@Suite struct FigureTests {
    @Test func aBudgetBoundsTheRatio() {
        func passes(_ ratio: Double?, _ budget: Budget?) -> Bool? {
            Figure(name: "f", unit: "us", value: 5, baseline: 1, ratio: ratio, budget: budget).passes
        }
        #expect(passes(2, nil) == nil)
        #expect(passes(2, .atMost(2)) == true)
        #expect(passes(2.1, .atMost(2)) == false)
        #expect(passes(2, .atLeast(2)) == true)
        #expect(passes(1.9, .atLeast(2)) == false)
        #expect(passes(nil, .atMost(2)) == false)
        #expect(passes(.nan, .atMost(2)) == false)
        #expect(passes(.infinity, .atMost(2)) == false)
    }

    @Test func nothingBesideNothingIsAsMuch() {
        #expect(Figure("f", "wake-ups", 0, beside: 0, within: .atMost(1)).passes == true)
        #expect(Figure("f", "wake-ups", 1, beside: 0, within: .atMost(1)).passes == false)
        #expect(Figure("f", "wake-ups", 0, beside: 3, within: .atMost(0)).passes == true)
    }

    @Test func aFigureIsOneObjectOnALine() {
        let full = Figure(
            name: "two-hops.p50", unit: "us", value: 120, baseline: 100.12345, ratio: 1.2, spread: 0.05,
            budget: .atMost(1.25))
        #expect(
            full.json == """
                {"name":"two-hops.p50","value":120,"unit":"us","baseline":100.123,"ratio":1.2,"spread":0.05,\
                "budget":"ratio <= 1.25","pass":true}
                """)
        let bare = Figure(name: "f", unit: "MiB", value: .nan)
        #expect(
            bare.json == """
                {"name":"f","value":null,"unit":"MiB","baseline":null,"ratio":null,"spread":null,"budget":null,\
                "pass":null}
                """)
    }

    @Test(arguments: [
        (0.0, "0"), (12, "12"), (-0.0004, "0"), (1.2345, "1.235"), (1e15, "1000000000000000.0"), (.infinity, "inf"),
    ])
    func numbersAreShort(_ number: Double, _ text: String) {
        #expect(short(number) == text)
    }
}

@Suite struct PairsTests {
    @Test func theMedianIsTheMiddle() {
        #expect([3.0, 1, 2].median == 2)
        #expect([4.0, 1, 2, 3].median == 2.5)
        #expect([7.0].median == 7)
        #expect([Double]().median.isNaN)
    }

    /// The machine was three times slower in the last pair, for both.
    @Test func theRatioIsThatOfNeighbours() {
        var pairs = Pairs()
        for (ours, baseline) in [(20.0, 10.0), (22, 11), (90, 45)] { pairs.add(ours: ours, baseline: baseline) }
        #expect(pairs.ratio(.cost) == 2)
        #expect(pairs.ratio(.saving) == 0.5)
        pairs.add(ours: 10, baseline: 100)
        pairs.add(ours: 10, baseline: 100)
        let figure = pairs.figure("f", "us", within: .atMost(1))
        #expect(figure.value == 20 && figure.baseline == 45 && figure.ratio == 2 && figure.passes == false)
        // From 0.1 to 2.
        #expect(figure.spread == 0.475)
        var one = Pairs()
        one.add(ours: 1, baseline: 1)
        #expect(one.figure("f", "us").spread == nil)
    }
}
