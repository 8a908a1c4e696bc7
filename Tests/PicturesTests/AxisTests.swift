import Pictures
import Testing

@Suite struct AxisTests {
    @Test(arguments: [
        (0.0, 10.0, ["0", "2", "4", "6", "8", "10"]), (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-3, 3, ["-4", "-2", "0", "2", "4"]), (0, 0.07, ["0", "0.02", "0.04", "0.06", "0.08"]),
    ])
    func marksStandAtRoundNumbers(_ low: Double, _ high: Double, _ texts: [String]) {
        let axis = Axis("x", from: low, to: high)
        #expect(axis.ticks.map(\.text) == texts)
        #expect(axis.low <= low && axis.high >= high)
    }

    /// Whatever is measured, an axis has a beginning before its end, and a place for each value.
    @Test(arguments: [
        (0.0, 0.0), (5, 5), (1, -1), (.nan, 1), (0, .infinity), (-1e300, 1e300), (1e-300, 2e-300), (-5, -5),
    ])
    func anyNumbersMakeAnAxis(_ low: Double, _ high: Double) {
        let axis = Axis("x", from: low, to: high)
        #expect(axis.low < axis.high)
        for value in [low, high, .nan, .infinity, -.infinity, 0] { #expect((0...1).contains(axis.place(value))) }
    }

    @Test func numbersAreShort() {
        #expect(Digits.text(2) == "2" && Digits.text(2.50001) == "2.5" && Digits.text(-0.001) == "0")
        #expect(Digits.text(.nan) == "–" && Digits.text(.infinity) == "∞" && Digits.text(-1.05) == "-1.05")
        #expect(Digits.text(1_234.5, atMost: 0) == "1235" && Digits.text(0.05, atMost: 1) == "0.1")
        #expect(Digits.grouped(1_234_567) == "1\u{202F}234\u{202F}567" && Digits.grouped(-12) == "-12")
    }
}
