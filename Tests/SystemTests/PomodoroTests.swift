import Motion
import TestSupport
import Testing

@testable import jostle

/// Which timers outlive their time in the background, as the article has it.
@Suite struct PomodoroTests {
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

    /// The same with processes, which have to keep pace: a tick is a second here, and the newer budget a fifth longer. A machine that
    /// stands still for that fifth has to show it with periods three times as long.
    @Test func comesToTheSameWithRealProcesses() throws {
        let jostle = Programs.path(of: "jostle")
        func show(_ length: Int) throws -> Tool.Result {
            try Tool.run([jostle, "demo", "pomodoro", "--live", "\(length)", "--json"], timeout: .seconds(3 * length))
        }
        var shown = try show(60)
        if shown.status == 1, shown.stderr.contains("not as it should be") {
            print("once more, slower: \(shown.stderr)")
            shown = try show(180)
        }
        #expect(shown.status == 0, "\(shown.stderr)")
        let live = shown.stdout.split(separator: "\n").map(String.init)
        let virtual = try Tool.run([jostle, "demo", "pomodoro", "--json"]).stdout.split(separator: "\n").map(
            String.init)
        #expect(live.count == PomodoroStory.Rights.all.count)
        for (live, virtual) in zip(live, virtual) {
            #expect(field("renewals", of: live) == field("renewals", of: virtual))
            #expect(field("disturbed", of: live) == "false")
            #expect((field("suspended_us", of: live) == "null") == (field("suspended_us", of: virtual) == "null"))
            #expect(field("reminders", of: live) == (field("suspended_us", of: live) == "null" ? "2" : "0"))
        }
        #expect(try Tool.run([jostle, "demo", "--live", "60"]).status == 2)
        #expect(try Tool.run([jostle, "demo", "pomodoro", "--live", "5"]).status == 2)
    }

    /// `jostle demo pomodoro`, as people read it and as machines do.
    @Test func isShown() throws {
        let jostle = Programs.path(of: "jostle")
        let shown = try Tool.run([jostle, "demo", "pomodoro"])
        #expect(shown.status == 0)
        #expect(shown.stdout.contains("\n175s    no         no        2                   0 of 8     after 175s\n"))
        #expect(shown.stdout.contains("\n31s     yes        no        60                  8 of 8     never\n"))
        let lines = try Tool.run([jostle, "demo", "pomodoro", "--json"]).stdout.split(separator: "\n")
        #expect(lines.count == PomodoroStory.Rights.all.count)
        #expect(
            lines.first
                == "{\"budget_us\":175000000,\"may_renew\":false,\"may_play\":false,\"renewals\":2,\"reminders\":0,\"suspended_us\":175000000,\"disturbed\":false}"
        )
        #expect(try Tool.run([jostle, "demo", "pomodori"]).status == 2)
    }
}
