import DaemonSupport
import Motion

/// `jostle demo pomodoro`: which timers reach their end, and which are suspended on the way.
struct PomodoroCommand {
    let isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        if !self.isJSON { self.opening() }
        var differences: [String] = []
        for rights in PomodoroStory.Rights.all {
            let (outcome, expected) = (PomodoroStory.run(rights), PomodoroStory.expected(rights))
            self.terminal.print(self.isJSON ? Self.json(rights, outcome) : Self.line(rights, outcome))
            if outcome != expected { differences.append("\(Self.name(rights)): \(outcome) instead of \(expected)") }
        }
        guard differences.isEmpty else {
            throw CommandFailure(.no, "not as it should be: \(differences.joined(separator: "; "))")
        }
        if !self.isJSON { self.closing() }
    }

    private func opening() {
        for line in [
            "A timer: four times 25 minutes of work and 5 of break, the last break of 15, with the user elsewhere.",
            "It plays a sound in the class playback that mixes with others; every 25 s it renews its assertion if less than",
            "60 s are left; at the end of each period it reminds, and the user shakes to go on. In virtual time.", "",
            "budget  may renew  may play  renewals in 25 min  reminders  suspended",
        ] { self.terminal.print(line) }
    }

    private func closing() {
        for line in [
            "",
            "As the article says: renewal keeps a timer going for ever, 11 times in 25 minutes on the older system and 60",
            "times on the newer; without it the budget counts from when the user left. A sound of its own needs no renewal,",
            "and the music plays on beside it.",
        ] { self.terminal.print(line) }
    }

    private static func name(_ rights: PomodoroStory.Rights) -> String {
        "\(rights.budget.text), \(rights.mayRenew ? "may" : "may not") renew, \(rights.mayPlay ? "may" : "may not") play"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func line(_ rights: PomodoroStory.Rights, _ outcome: PomodoroStory.Outcome) -> String {
        padded(rights.budget.text, 8) + padded(rights.mayRenew ? "yes" : "no", 11)
            + padded(rights.mayPlay ? "yes" : "no", 10) + padded("\(outcome.renewals)", 20)
            + padded("\(outcome.reminders) of \(PomodoroStory.ends.count)", 11)
            + (outcome.suspended.map { "after \($0.text)" } ?? "never")
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
