import Motion
import Testing

@testable import jostle

/// Which timers outlive their time in the background, as the article has it.
@Suite struct PomodoroStoryTests {
    @Test(arguments: PomodoroStory.Rights.all)
    func comesToWhatTheArticleSays(_ rights: PomodoroStory.Rights) {
        #expect(PomodoroStory.run(rights) == PomodoroStory.expected(rights))
    }

    @Test func fourTimesWorkAndABreakAndTheLastOneLonger() {
        let minutes = PomodoroStory.ends.map { $0.microseconds / 60_000_000 }
        #expect(minutes == [25, 30, 55, 60, 85, 90, 115, 130])
    }

    @Test func theOlderSystemRenewsElevenTimesAndTheNewerOneSixty() {
        let renewals = PomodoroStory.Rights.all.filter { $0.mayRenew && !$0.mayPlay }.map {
            PomodoroStory.run($0).renewals
        }
        #expect(renewals == [11, 60])
    }

    @Test func withoutAnyRightItEndsWithTheBudget() {
        let ends = PomodoroStory.Rights.all.filter { !$0.mayRenew && !$0.mayPlay }.map {
            PomodoroStory.run($0)
        }
        #expect(ends.map(\.suspended) == [.seconds(175), .seconds(31)])
        #expect(ends.map(\.reminders) == [0, 0])
    }
}
