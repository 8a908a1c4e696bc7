import Loop
import Testing

@Suite struct AlarmTests {
    /// Who was stopped looks too late, and so was the thread that he looks for: it has a moment to say that it is done.
    @Test func whoLooksTooLateLooksOnceMore() throws {
        var alarm = Alarm()
        #expect(alarm.takeDue(at: 1_000_000) == false)
        alarm.set(for: 1_000_000)
        #expect(alarm.takeDue(at: 999_999) == false)
        #expect(alarm.time == 1_000_000)
        #expect(alarm.takeDue(at: 1_020_000) == true)
        #expect(alarm.time == nil)
        alarm.set(for: 1_000_000)
        #expect(alarm.takeDue(at: 3_000_000) == false)
        let again = try #require(alarm.time)
        #expect(again > 3_000_000)
        #expect(alarm.takeDue(at: again - 1) == false)
        #expect(alarm.takeDue(at: again) == true)
        #expect(alarm.time == nil)
    }
}
