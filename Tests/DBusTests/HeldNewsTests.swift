import Testing

@testable import DBus

@Suite struct HeldNewsTests {
    /// What there is to tell, in its order.
    private func told(_ held: HeldNews<String>) -> [String] {
        var held = held
        var told: [String] = []
        while let (subject, news) = held.first {
            told.append(news)
            held.remove(subject)
        }
        return told
    }

    @Test func ofEachSubjectTheNewestIsTold() {
        var held = HeldNews<String>()
        for round in 0..<1_000 {
            held.add("1 interrupted \(round)", about: NewsSubject(1, "interruption"))
            held.add("1 resumed \(round)", about: NewsSubject(1, "interruption"))
            held.add("2 ducked \(round)", about: NewsSubject(2, "loudness"))
        }
        #expect(self.told(held) == ["1 resumed 999", "2 ducked 999"])
    }

    @Test func whatIsToldIsInTheOrderInWhichItCame() {
        var held = HeldNews<String>()
        held.add("waits", about: NewsSubject(1, "beginning"))
        held.add("silenced", about: NewsSubject(2, "silence"))
        held.add("began", about: NewsSubject(1, "beginning"))
        held.add("interrupted", about: NewsSubject(1, "interruption"))
        #expect(self.told(held) == ["silenced", "began", "interrupted"])
        // What is told makes room for what is new of the same.
        held.remove(NewsSubject(2, "silence"))
        held.add("audible", about: NewsSubject(2, "silence"))
        #expect(self.told(held) == ["began", "interrupted", "audible"])
    }

    @Test func ofWhatIsOverNothingIsTold() {
        var held = HeldNews<String>()
        held.add("began", about: NewsSubject(1, "beginning"))
        held.add("interrupted", about: NewsSubject(1, "interruption"))
        held.add("began, too", about: NewsSubject(2, "beginning"))
        held.forget(1)
        #expect(self.told(held) == ["began, too"])
        held.forgetAll()
        #expect(self.told(held).isEmpty)
    }
}
