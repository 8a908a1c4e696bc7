import TestSupport
import Testing

@testable import jostle

/// What a terminal is sent.
@Suite struct TerminalTests {
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
