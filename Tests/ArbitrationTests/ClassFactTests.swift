import Arbitration
import Motion
import Testing

/// What is known of the phone's audio classes, by the classes that ship.
@Suite struct ClassFactTests {
    /// Apps A, B and C, which may all work in audio and voip.
    private func lab() -> Lab {
        var settings = AppSettings()
        settings.grants = WordSet([.audio, .voip])
        var lab = Lab(
            Policy(
                groups: [group(.mixable)], rules: [rule("all")], matrix: Policy.builtIn.matrix, everyApp: settings))
        for name in ["A", "B", "C"] { lab.add(name) }
        return lab
    }

    private static let all = ["ambient", "soloAmbient", "playback", "record", "playAndRecord"]

    @Test func theFiveClassesShip() {
        #expect(Policy.builtIn.matrix.classes.map(\.name) == Self.all)
    }

    @Test(arguments: all)
    func ambientMixesWithEveryClass(_ other: String) {
        for (first, second) in [("ambient", other), (other, "ambient")] {
            var lab = self.lab()
            lab.begin("A", first)
            lab.begin("B", second)
            #expect(lab.takeSessions() == ["A began", "B began"], "\(first), \(second)")
        }
    }

    @Test(arguments: [("ambient", true), ("soloAmbient", true), ("playback", false), ("record", false)])
    func whoFallsSilentWhenLocked(_ name: String, _ isSilenced: Bool) {
        var lab = self.lab()
        lab.begin("A", name)
        lab.lock(true)
        #expect(lab.standing("A")?.isSilenced == isSilenced)
        lab.lock(false)
        let told = isSilenced ? ["A began", "A silenced", "A audible"] : ["A began"]
        #expect(lab.takeSessions() == told)
    }

    @Test func playAndRecordGoesOnWhenLocked() {
        var lab = self.lab()
        lab.begin("A", "playAndRecord")
        lab.lock(true)
        #expect(lab.takeSessions() == ["A began"])
    }

    @Test func soloAmbientIsTheDefault() {
        var lab = self.lab()
        lab.begin("A", nil)
        #expect(lab.arbiter.sessions.all.map(\.request) == [SessionRequest("soloAmbient")])
    }

    @Test func soloAmbientDoesNotMix() {
        var lab = self.lab()
        lab.begin("A", "soloAmbient")
        lab.begin("B", "soloAmbient")
        #expect(lab.takeSessions() == ["A began", "A interrupted B", "B began"])
    }

    @Test(arguments: all.dropFirst())
    func playbackExcludesOthers(_ other: String) {
        var lab = self.lab()
        lab.begin("A", other)
        lab.begin("B", "playback")
        #expect(lab.takeSessions() == ["A began", "A interrupted B", "B began"])
        lab.end("B")
        #expect(lab.takeSessions() == ["A resumed"])
    }

    @Test(arguments: all)
    func playbackThatMixesExcludesNobody(_ other: String) {
        var lab = self.lab()
        lab.begin("A", other)
        lab.begin("B", "playback", mixes: true)
        lab.begin("C", other)
        #expect(lab.standing("B") == SessionStanding(.playing))
        lab.end("C")
        #expect(lab.standing("A") == SessionStanding(.playing))
    }

    @Test func soundInTheBackgroundNeedsItsGrant() {
        var lab = Lab(.builtIn)
        lab.add("A")
        lab.begin("A", "playback", number: 1)
        lab.begin("A", "ambient", number: 2)
        lab.begin("A", nil, number: 3)
        #expect(lab.refusals == [.ungranted(.audio), nil, .ungranted(.audio)])
        // Without the grant it keeps nobody going.
        lab.take(.foreground(.app(AppID("B"))))
        #expect(lab.apps["A"].flatMap { lab.arbiter.facts(of: $0)?.state } == .suspended)
        #expect(lab.arbiter.sessions.isEmpty)
    }
}
