import Motion
import Testing

@Suite struct TimestampTests {
    @Test func arithmeticSaturates() {
        let end = Timestamp(microseconds: .max)
        #expect(end + .seconds(1) == end)
        #expect(Timestamp(microseconds: .min) - TimeSpan.seconds(1) == Timestamp(microseconds: .min))
        #expect(Timestamp(microseconds: .min) - end == TimeSpan(microseconds: .min))
        #expect(TimeSpan.seconds(.max) == TimeSpan(microseconds: .max))
        #expect(TimeSpan.milliseconds(.min) == TimeSpan(microseconds: .min))
    }

    @Test func whicheverOfTwoIsEarlierTheyAreAsFarApart() {
        let (early, late) = (Timestamp(microseconds: 7), Timestamp(microseconds: 1_007))
        for (a, b) in [(early, late), (late, early)] {
            #expect(!a.isWithin(.milliseconds(1), of: b) && a.isWithin(TimeSpan(microseconds: 1_001), of: b))
        }
        #expect(early.isWithin(TimeSpan(microseconds: 1), of: early) && !early.isWithin(.zero, of: early))
        // Nothing is longer than the longest span, and nothing traps.
        let (first, last) = (Timestamp(microseconds: .min), Timestamp(microseconds: .max))
        #expect(!first.isWithin(TimeSpan(microseconds: .max), of: last))
    }

    @Test func wireValuesBeyondReasonAreRefused() {
        #expect(Timestamp(wire: 5)?.microseconds == 5)
        #expect(Timestamp(wire: .max) == nil)
        #expect(Timestamp(microseconds: -4).wire == 0)
    }

    @Test(arguments: [
        (-1, "0 ms"), (999_999, "999 ms"), (1_000_000, "1.0 s"), (119_999_999, "119.9 s"), (120_000_000, "2 min"),
        (7_199_999_999, "119 min"), (7_200_000_000, "2 h"), (Int64.max, "2562047788 h"),
    ])
    func spansAreSaidInWords(_ microseconds: Int64, _ words: String) {
        #expect(TimeSpan(microseconds: microseconds).inWords == words)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
    func spansOfImpossibleSecondsAreRefused(_ seconds: Double) {
        #expect(TimeSpan(seconds: seconds) == nil)
    }
}

@Suite struct AppIDTests {
    @Test func whoHasNoNameIsSaidToHaveNone() {
        #expect(AppID.shown(AppID("org.example.App").description) == "org.example.App")
        #expect(AppID.shown(AppID.anonymous(3).description) == "-3 (no name)")
        #expect(AppID.shown("") == "(no name)")
    }
}

@Suite struct QuantityTests {
    @Test(arguments: [
        ("2.3g", 2.3, Dimension.acceleration), ("380mg", 0.38, .acceleration), ("-0.5", -0.5, .none),
        ("100ms", 0.1, .time), ("1 s", 1, .time), ("75%", 0.75, .share), (".5g", 0.5, .acceleration),
        ("3Hz", 3, .frequency), ("1e3", 1_000, .none), ("36km/h", 10, .speed), ("2.", 2, .none),
    ])
    func reads(_ text: String, _ value: Double, _ dimension: Dimension) throws {
        let quantity = try Quantity.parse(text)
        #expect(abs(quantity.value - value) < 1e-12)
        #expect(quantity.dimension == dimension)
    }

    @Test(arguments: [
        ("", 0), ("g", 0), ("nan", 0), ("inf", 0), ("-", 0), (".", 0), ("0x10", 1), ("2.3q", 3), ("1e999", 0),
        ("2..3", 2),
    ])
    func refuses(_ text: String, _ offset: Int) {
        #expect {
            try Quantity.parse(text)
        } throws: { error in
            (error as? Quantity.Problem)?.offset == offset
        }
    }

    @Test func unitNamesAreUnique() {
        #expect(Set(Unit.all.map(\.name)).count == Unit.all.count)
    }

    @Test func anUnknownUnitNamesTheNearest() {
        #expect {
            try Quantity.parse("2 hz")
        } throws: { error in
            (error as? Quantity.Problem)?.message == "unknown unit 'hz', did you mean 'Hz'?"
        }
    }
}

@Suite struct TimeSpanTextTests {
    @Test(arguments: [
        (0, "0"), (1, "1us"), (1_500, "1500us"), (350_000, "350ms"), (1_500_000, "1500ms"), (2_000_000, "2s"),
        (90_000_000, "90s"), (600_000_000, "10min"), (7_200_000_000, "2h"), (-350_000, "-350ms"),
    ])
    func saysTheSpanExactly(_ microseconds: Int64, _ text: String) {
        #expect(TimeSpan(microseconds: microseconds).text == text)
    }
}

@Suite struct SuggestionTests {
    let words = ["threshold", "rest", "every", "preset", "when"]

    @Test(arguments: [
        ("treshold", "threshold"), ("thresholds", "threshold"), ("evrey", "every"), ("Rest", "rest"), ("wehn", "when"),
    ])
    func findsTheLikelyWord(_ typed: String, _ meant: String) {
        #expect(Suggestion.nearest(to: typed, among: self.words) == meant)
    }

    @Test func staysSilentWhenNothingIsNear() {
        #expect(Suggestion.nearest(to: "colour", among: self.words) == nil)
        #expect(Suggestion.nearest(to: "", among: self.words) == nil)
        #expect(Suggestion.nearest(to: "z", among: ["%", "g", "s"]) == nil)
        #expect(Suggestion.nearest(to: String(repeating: "rest", count: 300_000), among: self.words) == nil)
    }

    /// What names of one maker have in common says nothing.
    @Test(arguments: [
        ("org.example.Troch", "org.example.Torch"), ("org.exmaple.Torch", "org.example.Torch"),
        ("org.example.Player", nil), ("org.example.Torches", "org.example.Torch"), ("Torch", nil),
        ("org.example.", nil),
    ])
    func namesOfOneMakerAreNotAlike(_ typed: String, _ meant: String?) {
        #expect(Suggestion.nearest(to: typed, among: ["org.example.Torch", "org.freedesktop.DBus"]) == meant)
    }

    @Test func advisesWithAllThatIsKnownWhenNothingIsNear() {
        #expect(Suggestion.advice(on: "treshold", among: self.words) == ", did you mean 'threshold'?")
        #expect(
            Suggestion.advice(on: "colour", among: self.words) == "; known are threshold, rest, every, preset, when")
        #expect(Suggestion.advice(on: "colour", among: []).isEmpty)
        #expect(Suggestion.advice(on: "colour", among: [], orElse: "; there is none") == "; there is none")
    }

    @Test func whatIsMadeOfAFastSensorIsToBeHadAtTheRateForAll() {
        func made(_ rates: [Double]) -> [Double] {
            let sensor = SensorDescription(
                name: "accelerometer", channels: ["x"], unit: "g", rates: rates, source: "x", isSimulated: true)
            return sensor.ratesMadeOf
        }
        #expect(made([]) == [] && made([50, 200]) == [50, 200])
        #expect(made([1_600]) == [200, 1_600] && made([100, 400, 800]) == [100, 200, 400, 800])
        #expect(made([100, 200, 400]) == [100, 200, 400])
    }

    @Test func printableHidesControlCharactersAndLength() {
        #expect(printable("a\nb\u{202E}c") == "a\u{FFFD}b\u{FFFD}c")
        #expect(printable(String(repeating: "x", count: 1_000_000)).count == 49)
    }
}
