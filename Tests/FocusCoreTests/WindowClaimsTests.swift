import FocusCore
import Testing

@Suite struct WindowClaimsTests {
    @Test func whatIsNoNameIsLeftOut() {
        let claims = WindowClaims(
            appID: "", instance: String(repeating: "a", count: 256), windowClass: "Evil\u{1B}[2J",
            gtkAppID: "org.gnome.Maps",
            process: 0)
        #expect(claims == WindowClaims(gtkAppID: "org.gnome.Maps"))
        #expect(claims.size == 14)
        #expect(!claims.isEmpty)
        #expect(WindowClaims(appID: "", process: 0).isEmpty)
    }

    /// To compare texts takes the square of a row of combining marks, and there may be thousands of windows.
    @Test func aLongRowOfMarksIsNoName() {
        let name = "q" + String(repeating: "\u{301}", count: 30)
        #expect(WindowClaims(appID: name + "\u{323}", instance: name) == WindowClaims(instance: name))
    }

    @Test func aNameOfTheLongestLengthStands() {
        let name = String(repeating: "a", count: WindowClaims.longestName)
        #expect(WindowClaims(appID: name).appID == name)
    }
}
