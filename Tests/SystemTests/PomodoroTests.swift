import TestSupport
import Testing

/// The timers of the article as the demo shows them.
@Suite struct PomodoroTests {
    /// Who may renew or play, under each of the two budgets.
    private static let rights = 8

    /// Processes come to the same. They have to keep pace: a tick is a second here, and the newer budget a fifth longer. A machine that
    /// stands still for that fifth has to show it with periods three times as long, or ten times where it stands still for longer.
    @Test func comesToTheSameWithRealProcesses() throws {
        let jostle = Programs.path(of: "jostle")
        func show(_ length: Int) throws -> Tool.Result {
            try Tool.run([jostle, "demo", "pomodoro", "--live", "\(length)", "--json"], timeout: .seconds(3 * length))
        }
        var shown = try show(60)
        for length in [180, 600] where shown.status == 1 && shown.stderr.contains("not as it should be") {
            print("once more, slower: \(shown.stderr)")
            shown = try show(length)
        }
        #expect(shown.status == 0, "\(shown.stderr)")
        let live = shown.stdout.split(separator: "\n").map(String.init)
        let virtual = try Tool.run([jostle, "demo", "pomodoro", "--json"]).stdout.split(separator: "\n").map(
            String.init)
        #expect(live.count == Self.rights)
        for (live, virtual) in zip(live, virtual) {
            #expect(field("renewals", of: live) == field("renewals", of: virtual))
            #expect(field("disturbed", of: live) == "false")
            #expect((field("suspended_us", of: live) == "null") == (field("suspended_us", of: virtual) == "null"))
            #expect(field("reminders", of: live) == (field("suspended_us", of: live) == "null" ? "2" : "0"))
        }
        #expect(try Tool.run([jostle, "demo", "--live", "60"]).status == 2)
        #expect(try Tool.run([jostle, "demo", "pomodoro", "--live", "5"]).status == 2)
    }

    /// Its assertion ends with the broker, and nobody suspends it for that.
    @Test func itGoesOnWithTheNextBroker() throws {
        let stage = try Stage(source: nil)
        let timer = try BackgroundProgram(
            "example-pomodoro", ["org.example.Timer", "--work", "600", "--tick", "600", "--bus", stage.address])
        _ = try timer.waitForLine { $0 == "started" }
        try stage.kill(stage.broker)
        try stage.startBroker()
        _ = try timer.waitForLine { $0 == "the broker is back" }
        #expect(!timer.output.contains("out of time"), "\(timer.output)")
    }

    /// A tick that is lost when it is added to the time would never be over.
    @Test(arguments: ["5e-324", "0.0009", "0", "-1", "nan", "1e6", "inf", "soon"])
    func whatIsNoTimeIsRefused(_ text: String) throws {
        let result = try Tool.run([Programs.path(of: "example-pomodoro"), "org.example.Timer", "--tick", text])
        #expect(result.status == 1, "\(result)")
        #expect(result.stderr == "example-pomodoro: '\(text)' is no number of seconds\n", "\(result)")
    }

    /// `jostle demo pomodoro`, as people read it and as machines do.
    @Test func isShown() throws {
        let jostle = Programs.path(of: "jostle")
        let shown = try Tool.run([jostle, "demo", "pomodoro"])
        #expect(shown.status == 0)
        #expect(shown.stdout.contains("\n175s    no         no        2                   0 of 8     after 175s\n"))
        #expect(shown.stdout.contains("\n31s     yes        no        60                  8 of 8     never\n"))
        let lines = try Tool.run([jostle, "demo", "pomodoro", "--json"]).stdout.split(separator: "\n")
        #expect(lines.count == Self.rights)
        #expect(
            lines.first
                == "{\"budget_us\":175000000,\"may_renew\":false,\"may_play\":false,\"renewals\":2,\"reminders\":0,\"suspended_us\":175000000,\"disturbed\":false}"
        )
        #expect(try Tool.run([jostle, "demo", "pomodori"]).status == 2)
    }
}
