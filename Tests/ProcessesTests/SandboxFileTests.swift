import Processes
import Testing

@Suite struct SandboxFileTests {
    /// Whoever makes a sandbox writes there what they like.
    @Test func aNameIsNoLongerThanABusName() {
        func file(_ name: String) -> [UInt8] { Array("[Application]\nname=\(name)\n".utf8) }
        let longest = String(repeating: "x", count: 255)
        for name in ["org.example.App", longest] { #expect(SandboxFile.app(file(name)) == name) }
        #expect(SandboxFile.app(file(longest + "x")) == nil)
    }
}
