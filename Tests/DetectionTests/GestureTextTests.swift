import Motion
import Testing

@testable import Detection

/// The text of a gesture comes from apps: it is what it was, or it is refused with its place.
@Suite struct GestureTextTests {
    private static let text = GestureText.write(MadeGesture.circles)

    @Test(arguments: MadeGesture.Path.allCases)
    func whatIsWrittenIsRead(_ path: MadeGesture.Path) throws {
        let gesture = MadeGesture.taught(path)
        let again = try GestureText.read(GestureText.write(gesture))
        #expect(again == gesture)
        #expect(again.name == gesture.name)
        #expect(GestureText.write(again) == GestureText.write(gesture))
        #expect(GestureText.write(gesture).utf8.count < 4_096)
    }

    @Test func breaksAndSpacesSayNothing() throws {
        let line = Self.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(try GestureText.read(line) == GestureText.read(Self.text))
        #expect(try GestureText.read(" \r\n\t" + Self.text + "\n\n") == GestureText.read(Self.text))
    }

    /// Many that begin alike are looked up as fast as others.
    @Test func allOfItTellsGesturesApart() throws {
        let gesture = MadeGesture.circles
        let hashes = (0..<50).map { last in
            var examples = gesture.examples
            let end = examples.removeLast()
            let values = Array(end.values.dropLast()) + [Int16(last)]
            examples.append(TaughtGesture.Example(seconds: end.seconds, values: values))
            return TaughtGesture(name: "n", limit: gesture.limit, examples: examples).hashValue
        }
        #expect(Set(hashes).count == hashes.count)
    }

    private static let wrong: [(from: String, to: String, message: String)] = [
        ("jostle-gesture 1", "jostle-gesture 2", "1:16: version 2 is not known; this reads version 1"),
        ("jostle-gesture 1", "jostle-gesture x", "1:16: expected a version, a whole number from 0 to 9999, found 'x'"),
        ("jostle-gesture", "gesture", "1:1: expected 'jostle-gesture', found 'gesture'"),
        ("name circle", "name c,ircle", "2:6: expected a name of letters, digits, '.', '-' and '_'"),
        ("name circle", "circle", "2:1: expected 'name', found 'circle'"),
        ("limit 0.900", "limit nan", "3:7: expected a limit, a number from 0.05 to 4.0, found 'nan'"),
        ("limit 0.900", "limit 1e0", "3:7: expected a limit, a number from 0.05 to 4.0, found '1e0'"),
        ("limit 0.900", "limit -1", "3:7: expected a limit, a number from 0.05 to 4.0, found '-1'"),
        ("limit 0.900", "limit 4.1", "3:7: expected a limit, a number from 0.05 to 4.0, found '4.1'"),
        ("limit 0.900", "limit ", "4:1: expected a limit, a number from 0.05 to 4.0, found 'example'"),
        ("\nexample", "\nsample", "4:1: expected 'example', found 'sample'"),
        ("\nexample 1", "\nexample 9", "4:9: expected a length in seconds, a number from 0.1 to 4.0, found '9"),
    ]

    @Test(arguments: wrong)
    func whatIsWrongHasAPlace(_ from: String, _ to: String, _ message: String) throws {
        let place = try #require(Self.text.firstRange(of: from))
        var text = Self.text
        text.replaceSubrange(place, with: to)
        let problem = #expect(throws: GestureText.Problem.self) { try GestureText.read(text) }
        #expect(problem?.description.hasPrefix(message) == true, "\(problem?.description ?? "")")
    }

    @Test func numbersStayWithinBounds() throws {
        let words = Self.text.split(separator: " ", omittingEmptySubsequences: false)
        for bad in ["6401", "-6401", "99999999999999999999", "+5", "5.5", "0x5", "\u{1B}[31m", "٣"] {
            var changed = words.map(String.init)
            changed[10] = bad
            #expect(throws: GestureText.Problem.self, "\(bad)") {
                try GestureText.read(changed.joined(separator: " "))
            }
        }
    }

    @Test func lengthsAreBounded() throws {
        let example = try #require(Self.text.firstRange(of: "example")?.lowerBound)
        let (head, examples) = (String(Self.text[..<example]), String(Self.text[example...]))
        #expect(try GestureText.read(head + examples + examples).examples.count == 6)
        #expect(throws: GestureText.Problem.self) { try GestureText.read(head + examples + examples + examples) }
        #expect(throws: GestureText.Problem.self) { try GestureText.read(head) }
        #expect(throws: GestureText.Problem.self) { try GestureText.read("") }
        #expect(throws: GestureText.Problem.self) { try GestureText.read(String(Self.text.dropLast(40))) }
        #expect(throws: GestureText.Problem.self) {
            try GestureText.read(Self.text + String(repeating: " ", count: 16_384))
        }
    }

    /// What is measured beyond the bounds is written at them.
    @Test func whatIsMeasuredFits() throws {
        let wild = TaughtGesture.Example(seconds: 99, measured: [Double](repeating: 1e9, count: 48 * 3))
        let gesture = TaughtGesture(name: "wild", limit: 99, examples: [wild, wild])
        #expect(try GestureText.read(GestureText.write(gesture)) == gesture)
    }
}
