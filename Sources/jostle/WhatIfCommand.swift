import Arbitration
import Motion
import PolicyFiles
import Scenarios

/// `jostle policy whatif`: runs the same inputs under two policies and shows only what would have ended otherwise.
struct WhatIfCommand {
    /// Where the inputs come from.
    enum Inputs {
        case scenario(String)
    }

    var policies: [String]
    /// Nothing: what a recording says itself, or what the broker would read.
    var against: [String]
    var inputs: Inputs
    let isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        switch self.inputs {
        case .scenario(let path):
            let file = try ScenarioFile(path)
            let new = try PolicySource(self.policies).policy()
            let old = self.against.isEmpty && file.scenario.isRecording ? nil : try PolicySource(self.against).policy()
            self.show(try file.run { PolicyComparison(of: file.scenario, from: old, to: new, read: $0) })
        }
    }

    // MARK: Showing

    private func show(_ comparison: PolicyComparison) {
        for difference in comparison.differences {
            if self.isJSON {
                self.terminal.print(difference.json)
            } else {
                difference.lines.forEach { self.terminal.print($0) }
            }
        }
        guard !self.isJSON else { return }
        let (count, hits) = (comparison.differences.count, comparison.hits)
        self.terminal.print(
            count == 0
                ? "no difference in \(hits) hits and \(comparison.events) events"
                : "\(count) of \(hits) hits would end otherwise; \(comparison.eventsThen) events instead of "
                    + "\(comparison.events)")
    }
}

extension PolicyComparison.Difference {
    fileprivate var lines: [String] {
        [
            "\(rounded(Double(self.was.time.microseconds) / 1_000_000, 3)) s  \(self.was.app)  \(self.was.detector)",
            "  was       \(self.was.story)", "  would be  \(self.wouldBe.story)",
        ]
    }

    fileprivate var json: String {
        var line = JSONLine()
        line.add("t_us", self.was.time.microseconds)
        line.add("app", "\(self.was.app)")
        line.add("detector", self.was.detector)
        line.add("was", self.was.json)
        line.add("would_be", self.wouldBe.json)
        return line.text
    }
}

extension HitFate {
    /// What became of it, and what decided that.
    fileprivate var story: String {
        guard let reason = self.reason else { return "nothing decided" }
        let outcome = self.isDelivered ? "an event" : "no event"
        let why = self.seen.isEmpty ? "" : "  \(self.seen.joined(separator: "; "))"
        return "\(outcome), \(reason.name)\(why)"
    }

    /// What the rule said, and what the stage saw that decided.
    private var seen: [String] {
        guard let verdict = self.verdict else { return [] }
        let steps = Explanation(verdict).steps.filter { $0.result != .skipped }
        let stages: [Reason.Stage] = [.rule, min(verdict.reason.stage, .group)]
        return steps.filter { stages.contains($0.stage) }.map(\.seen)
    }

    fileprivate var json: JSONLine {
        var line = JSONLine()
        line.add("delivered", self.isDelivered)
        line.add("reason", self.reason?.name ?? "")
        if let rule = self.verdict?.rule, !rule.name.isEmpty {
            line.add("rule", rule.name)
            line.add("rule_at", rule.place.lineDescription)
        }
        if let contest = self.verdict?.contest {
            line.add("group", contest.group)
            if let winner = contest.winner { line.add("winner", "\(winner)") }
            if let key = self.verdict?.decidedBy { line.add("decided_by", key.name) }
        }
        line.add("why", self.seen)
        return line
    }
}
