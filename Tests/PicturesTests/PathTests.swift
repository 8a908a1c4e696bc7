import Pictures
import Testing

/// What is drawn is drawn with few bytes.
@Suite struct PathTests {
    private func paths(_ write: (inout Markup) -> Void) -> [Substring] {
        var page = Markup()
        write(&page)
        return page.html.split(separator: " d=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
    }

    private func bars(_ counts: [[Int]]) -> [Substring] {
        var strips = StripPicture("counts", along: Axis("time", from: 0, to: 4, ticks: []))
        strips.add(
            StripPicture.Strip(
                "all", counts: zip(counts, [Tone.good, .bad]).map { StripPicture.Counts($0, $1) }))
        return self.paths { strips.write(to: &$0) }
    }

    @Test func barsSideBySideAreOneShape() {
        #expect(self.bars([[2, 2, 1, 0, 4]]) == ["M0 24V13H400V18.5H600V24H0zM800 24V2H1000V24H800z"])
        #expect(self.bars([[0, 0]]) == [])
        // What stands on others begins where they end.
        #expect(
            self.bars([[1, 2], [1, 0]]) == ["M0 24V13H500V2H1000V24H0z", "M0 13V2H500V13H0z"])
    }

    private func line(_ values: [Double?], isStepped: Bool = false) -> Substring? {
        var picture = LinePicture(
            "line", across: Axis("x", from: 0, to: 10, ticks: []), up: Axis("y", from: 0, to: 4, ticks: []))
        picture.add(
            LinePicture.Line(
                "a", .main, values.enumerated().map { (Double($0.offset), $0.element) }, isStepped: isStepped))
        return self.paths { picture.write(to: &$0) }.dropFirst().first
    }

    @Test func whatStaysTheSameIsOneStep() {
        #expect(self.line([0, 0, 0, 1, 2, 2]) == "M0 400H200L300 300L400 200H500")
        #expect(self.line([1, nil, 1, 1, nil, .nan, 3]) == "M0 300M200 300H300M600 100")
        #expect(self.line([1, 1, 2], isStepped: true) == "M0 300H100H200V200")
    }
}
