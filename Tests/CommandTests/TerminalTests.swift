import TestSupport
import Testing

@testable import jostle

/// What a terminal is sent.
@Suite struct TerminalTests {
    /// Whatever a broker says of a session can be printed.
    @Test(
        arguments: [
            (1, ""), (0.3, ", at 30%"), (0.125, ", at 13%"), (0, ", at 0%"), (1e300, ", at 1e+302%"),
            (.nan, ", at nan%"), (-Double.infinity, ", at -inf%"), (-2, ", at -200%"),
        ] as [(Double, String)])
    func anyShareIsTold(_ share: Double, _ text: String) {
        #expect(AppCommand.loudness(share) == text)
    }

    /// Whatever a sensor reads, and an app asks for, can be printed.
    @Test(arguments: [750_000_000_000_001, 653_268_690_725_805, 147_213_227_653_257, 999_999_999_999_999, 1e15, 0.125])
    func anyNumberIsTold(_ number: Double) throws {
        for digits in 0...3 {
            let text = rounded(number, digits)
            #expect(abs(try #require(Double(text)) - number) < 1, "\(text)")
            #expect(Double(rounded(-number, digits)) == Double("-\(text)"))
        }
    }

    /// Whatever stands for our styles in the meantime, no list of names is long enough to guess it, nor is any name that ends
    /// with what makes one character with the next.
    @Test func nobodyElseHasOurStyles() {
        let terminal = Terminal(isInteractive: true, hasColor: true)
        let all = (UInt32(0xE000)...0xF8FF).map { $0 } + (UInt32(0xF0000)...0xFFFFD) + (UInt32(0x100000)...0x10FFFD)
        let names = all.compactMap(Unicode.Scalar.init).map { "\($0)J" }.joined()
        #expect(terminal.shown(names).controls.isEmpty)
        #expect(terminal.shown(terminal.styled("a\u{600}", .red)) == "\u{1B}[31ma\u{600}\u{1B}[0m")
    }
}
