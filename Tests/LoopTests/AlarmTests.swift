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
        // Who is late each time hears of it all the same.
        alarm.set(for: 1_000_000)
        #expect(alarm.takeDue(at: 3_000_000) == false)
        #expect(alarm.takeDue(at: 9_000_000) == true)
        // With what is begun next he has two looks again.
        alarm.set(for: 10_000_000)
        #expect(alarm.takeDue(at: 12_000_000) == false)
        alarm.set(for: 13_000_000)
        #expect(alarm.takeDue(at: 15_000_000) == false)
    }
}
