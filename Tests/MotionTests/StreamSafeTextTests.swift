import Motion
import Testing

@Suite struct StreamSafeTextTests {
    private static let above = "\u{301}", below = "\u{323}"

    @Test func whatPeopleWriteIsSafe() {
        for text in [
            "", "shake", String(repeating: "é", count: 500), String(repeating: "e\u{301}\u{323}", count: 500),
            String(repeating: "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", count: 50), "ส\u{E39}\u{E49}",
            String(repeating: "\u{1100}\u{1161}\u{11A8}", count: 100), "a" + String(repeating: Self.above, count: 30),
        ] { #expect(text.isStreamSafe, "\(text.utf8.count) bytes") }
    }

    @Test(arguments: [31, 32, 1_000, 100_000]) func aLongRowOfMarksIsNot(_ count: Int) {
        for mark in [Self.above, Self.below, "\u{1D165}", "\u{3099}", "\u{F73}", "\u{F75}", "\u{F81}"] {
            let row = String(repeating: mark, count: count)
            #expect(!row.isStreamSafe && !("a" + row + "b").isStreamSafe)
            // One that is broken off begins anew.
            #expect((String(repeating: mark, count: 20) + "x" + String(repeating: mark, count: 20)).isStreamSafe)
        }
    }

    @Test func whatIsTooMuchIsLeftOut() {
        for count in [0, 30, 31, 1_000] {
            let text = "a" + String(repeating: Self.above, count: count) + "b"
            let rest = "a" + String(repeating: Self.above, count: min(count, 30)) + "b"
            #expect(text.streamSafe.utf8.elementsEqual(rest.utf8), "\(count) marks")
        }
    }
}
