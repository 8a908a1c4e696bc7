import DaemonSupport
import Loop
import Motion

/// `jostle demo pomodoro`: which timers reach their end, and which are suspended on the way.
struct PomodoroCommand {
    static let length = TypedOption.time(
        "live", "SECONDS", "pomodoro: with real processes, and so long a period of work, 10 to 1500",
        expected: "10 to 1500 seconds, such as 60", in: .seconds(10) ... .seconds(1_500))

    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop
    /// How long a period of work lasts, with real processes; `nil`: 25 minutes, in virtual time.
    let work: TimeSpan?

    func run() throws(CommandFailure) {
        if !self.isJSON { self.opening() }
        let all = PomodoroStory.Rights.all
        let (outcomes, periods) = try self.outcomes()
        var table = Columns(["budget", "may renew", "may play", "renewals in 25 min", "reminders", "suspended"])
        var differences: [String] = []
        for (rights, outcome) in zip(all, outcomes) {
            table.add(Self.row(rights, outcome, periods))
            let expected = PomodoroStory.expected(rights, periods: periods)
            if !outcome.isLike(expected, within: self.tolerance) {
                differences.append("\(Self.name(rights)): \(outcome) instead of \(expected)")
            }
        }
        if self.isJSON {
            for (rights, outcome) in zip(all, outcomes) { self.terminal.print(Self.json(rights, outcome)) }
        } else {
            table.lines(self.terminal).forEach { self.terminal.print($0) }
        }
        guard differences.isEmpty else {
            let hint = self.work == nil ? "" : "; on a slow machine longer periods leave more room"
            throw CommandFailure(.no, "not as it should be: \(differences.joined(separator: "; "))\(hint)")
        }
        if !self.isJSON { self.closing() }
    }

    private func outcomes() throws(CommandFailure) -> ([PomodoroStory.Outcome], periods: Int) {
        guard let work else {
            return (PomodoroStory.Rights.all.map { PomodoroStory.run($0) }, PomodoroStory.ends.count)
        }
        let live = PomodoroLive(work: work, isJSON: self.isJSON, terminal: self.terminal, loop: self.loop)
        let outcomes = try live.run()
        if !self.isJSON { self.terminal.print() }
        return (outcomes, PomodoroLive.periods)
    }

    /// How much later than at the end of its budget a timer may be suspended: processes take their time.
    private var tolerance: TimeSpan {
        guard let work else { return .zero }
        return .milliseconds(Int64(250 * PomodoroStory.work.seconds / work.seconds))
    }

    private func opening() {
        let play =
            if let work {
                [
                    "A timer: work and a break, with the user elsewhere. 25 minutes last \(work.text), and all else is as much",
                    "shorter: eight processes, one broker. Each plays a sound in the class playback that mixes with others; every",
                    "25 s it renews its assertion if less than 60 s are left; at the end it reminds, and the user shakes to go on.",
                ]
            } else {
                [
                    "A timer: four times 25 minutes of work and 5 of break, the last break of 15, with the user elsewhere.",
                    "It plays a sound in the class playback that mixes with others; every 25 s it renews its assertion if less than",
                    "60 s are left; at the end of each period it reminds, and the user shakes to go on. In virtual time.",
                ]
            }
        for line in play + [""] { self.terminal.print(line) }
    }

    private func closing() {
        for line in [
            "",
            "As the article says: renewal keeps a timer going for ever, 11 times in 25 minutes on the older system and 60",
            "times on the newer; without it the budget counts from when the user left. A sound of its own needs no renewal,",
            "and the music plays on beside it.",
        ] { self.terminal.print(line) }
    }

    static func name(_ rights: PomodoroStory.Rights) -> String {
        "\(rights.budget.text), \(rights.mayRenew ? "may" : "may not") renew, \(rights.mayPlay ? "may" : "may not") play"
    }

    private static func row(
        _ rights: PomodoroStory.Rights, _ outcome: PomodoroStory.Outcome, _ periods: Int
    ) -> [String] {
        [
            rights.budget.text, rights.mayRenew ? "yes" : "no", rights.mayPlay ? "yes" : "no", "\(outcome.renewals)",
            "\(outcome.reminders) of \(periods)", outcome.suspended.map { "after \($0.text)" } ?? "never",
        ]
    }

    private static func json(_ rights: PomodoroStory.Rights, _ outcome: PomodoroStory.Outcome) -> String {
        var line = JSONLine()
        line.add("budget_us", rights.budget.microseconds)
        line.add("may_renew", rights.mayRenew)
        line.add("may_play", rights.mayPlay)
        line.add("renewals", UInt64(clamping: outcome.renewals))
        line.add("reminders", UInt64(clamping: outcome.reminders))
        if let suspended = outcome.suspended {
            line.add("suspended_us", suspended.microseconds)
        } else {
            line.addNull("suspended_us")
        }
        line.add("disturbed", outcome.isDisturbed)
        return line.text
    }
}
