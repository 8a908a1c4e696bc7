import Arbitration
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import PolicyFiles
import Scenarios

/// `jostle policy whatif`: shows only what would have ended otherwise under another policy.
struct WhatIfCommand {
    private static let policy = CommandOption.value(
        "policy", "PATH", "a directory or file of the policy to try", naming: .path, repeats: true)
    private static let since = TypedOption.time(
        "since", "TIME", "what the journal holds of so long ago and later, such as 24h (default: 1h)",
        expected: "a time, such as 24h")
    private static let scenario = CommandOption.value(
        "scenario", "FILE", "a scenario to run under both; '-' is standard input", naming: .file)
    private static let against = CommandOption.value(
        "against", "PATH", "a directory or file of the policy to compare with", naming: .path, repeats: true)

    static let syntax = CommandSyntax(
        "whatif", "show what another policy would change about who gets events", reaching: .files,
        options: [policy, since, JournalPlace.option, scenario, against, CommonOption.json],
        action: {
            let policies = $0.arguments.values(of: policy)
            guard !policies.isEmpty else { throw UsageProblem("policy whatif: give the policy to try with --policy") }
            try WhatIfCommand(
                policies: policies, against: $0.arguments.values(of: against),
                inputs: try Inputs($0.arguments, $0.bus), isJSON: $0.isJSON, terminal: $0.terminal
            ).run()
        })

    /// Where the inputs come from.
    enum Inputs {
        case scenario(String)
        /// The journal in a directory, and how far back.
        case journal(String, since: TimeSpan)

        init(_ arguments: Arguments, _ bus: BusAddress) throws(UsageProblem) {
            if let scenario = arguments.value(of: WhatIfCommand.scenario) {
                guard !arguments.has(WhatIfCommand.since), !arguments.has(JournalPlace.option),
                    !arguments.has(CommonOption.bus)
                else {
                    throw UsageProblem("policy whatif: give --scenario, or --since and --state-dir or --bus")
                }
                self = .scenario(scenario)
                return
            }
            let directory = try JournalPlace.directory(arguments, on: bus, for: "policy whatif")
            let span = try arguments.value(of: WhatIfCommand.since)
            self = .journal(directory, since: span ?? .seconds(3_600))
        }
    }

    var policies: [String]
    /// Nothing: what a recording says itself, what stands in the journal, or what the broker would read.
    var against: [String]
    var inputs: Inputs
    let isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let new = try PolicySource(self.policies).policy()
        switch self.inputs {
        case .journal(let directory, let since):
            let old = self.against.isEmpty ? nil : try PolicySource(self.against).policy()
            let past = try PastMotion(in: directory, since: since, self.terminal)
            let comparison = self.watching(runs: old == nil ? 1 : 2) {
                PolicyComparison(of: past.verdicts, from: old, to: new, since: past.start, onStep: $0)
            }
            self.show(comparison, past)
            Self.warn(of: new, old)
        case .scenario(let path):
            let file = try ScenarioFile(path)
            let isSaid = self.against.isEmpty && file.scenario.saysItsPolicy
            let old = isSaid ? nil : try PolicySource(self.against).policy()
            let comparison = try file.run { read in
                self.watching(runs: 2) {
                    PolicyComparison(of: file.scenario, from: old, to: new, read: read, onStep: $0)
                }
            }
            self.show(comparison)
            Self.warn(of: new, old)
        }
    }

    private static func warn(of new: Policy, _ old: Policy?) {
        guard self.changesThresholds(new, from: old) else { return }
        complain(
            "Thresholds= is not looked at: the hits are those that there were; 'jostle whatif' says what other thresholds would "
                + "have made of the motion that was kept")
    }

    /// Whether a policy gives detectors other thresholds than another one does, or than they asked for.
    static func changesThresholds(_ new: Policy, from old: Policy?) -> Bool {
        let old = old ?? Policy()
        let apps = Set(new.apps.keys).union(old.apps.keys)
        return new.everyApp.sensing.thresholds != old.everyApp.sensing.thresholds
            || apps.contains { new.settings(for: $0).sensing.thresholds != old.settings(for: $0).sensing.thresholds }
    }

    /// Says how far so many runs of a scenario are.
    private func watching<R>(runs: Int, _ body: (@escaping ScenarioRunner.Watching) -> R) -> R {
        // Runs are alike; steps are counted in thousandths.
        let progress = Progress("whatif", of: Int64(runs) * 1_000, self.terminal)
        defer { progress.end() }
        var (run, last) = (0, 0)
        return body { step, steps in
            if step < last { run += 1 }
            last = step
            progress.advance(to: Int64(run) * 1_000 + Int64(step) * 1_000 / Int64(max(1, steps)))
        }
    }

    // MARK: Showing

    private func show(_ comparison: PolicyComparison, _ past: PastMotion? = nil) {
        for difference in comparison.differences {
            if self.isJSON {
                self.terminal.print(difference.json(past))
            } else {
                difference.lines(past).forEach { self.terminal.print($0) }
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

/// Verdicts of the journal on one clock, which is the wall clock from some time on.
private struct PastMotion {
    private(set) var verdicts: [PastVerdict] = []
    /// What is before only leads up to what is asked for: quotas and cooldowns remember it.
    let start: TimeSpan
    /// In µs of the wall clock, when the clock of the verdicts says 0.
    let origin: Int64

    private static let lead = TimeSpan.seconds(3_600)

    /// Reads the verdicts since so long ago.
    init(in directory: String, since span: TimeSpan, _ terminal: Terminal) throws(CommandFailure) {
        let now = Clock.wallClock()
        let start = now - min(span.microseconds, now)
        var found: [StoredVerdict] = []
        var unreadable = 0
        let first = start - min(Self.lead.microseconds, start)
        let progress = Progress("journal", of: now - first, terminal)
        defer { progress.end() }
        do throws(JournalFailure) {
            let reader = try JournalReader(in: directory)
            var last: Int64?
            repeat {
                let part = try reader.answer(JournalQuery(since: first, until: now, after: last, keeping: .oldest))
                // Whoever else wrote there may have written any time.
                let sensible = part.verdicts.filter { (0...$0.wall).contains($0.verdict.time.microseconds) }
                found += sensible
                unreadable += part.unreadable + part.verdicts.count - sensible.count
                if let wall = part.verdicts.last?.wall { progress.advance(to: wall - first) }
                last = part.last
            } while last != nil
        } catch {
            throw CommandFailure(.no, error.description)
        }
        progress.end()
        if unreadable > 0 { complain("\(unreadable) verdicts cannot be read; they are left out") }
        guard found.contains(where: { $0.wall >= start }) else {
            throw CommandFailure(.no, "the journal in \(directory) holds nothing of that time")
        }
        var times = HitTimes()
        for one in found { times.take(one.verdict.time, of: one.boot, made: Timestamp(microseconds: one.wall)) }
        let hits = times.all.map(\.microseconds)
        let origin = zip(hits, found).map { min($0, $1.wall) }.min() ?? start
        self.origin = origin
        self.start = TimeSpan(microseconds: start - origin)
        self.verdicts = zip(hits, found).map { hit, one in
            PastVerdict(
                one.verdict, hit: TimeSpan(microseconds: hit - origin),
                made: TimeSpan(microseconds: one.wall - origin), run: one.started)
        }
    }

    /// The local time of a hit, such as `2026-03-01 12:00:05.250`.
    func clock(_ time: TimeSpan) -> String { Moment(wall: self.origin + time.microseconds).text }
}

extension PolicyComparison.Difference {
    fileprivate func lines(_ motion: PastMotion?) -> [String] {
        var first = "\(rounded(Double(self.was.time.microseconds) / 1_000_000, 3)) s"
        var last = ""
        if let motion, let past = self.past {
            first = motion.clock(past.hit)
            last = "  epoch \(past.verdict.epoch)"
        }
        return [
            "\(first)  \(Explanation.shown(self.was.app))  \(self.was.detector)\(last)",
            "  was       \(self.was.story)",
            "  would be  \(self.wouldBe.story)",
        ]
    }

    fileprivate func json(_ motion: PastMotion?) -> String {
        var line = JSONLine()
        if let motion, let past = self.past {
            line.add("wall_us", motion.origin + past.hit.microseconds, on: .realtime)
            line.add("epoch", past.verdict.epoch)
        } else {
            line.add("t_us", self.was.time.microseconds, on: .story)
        }
        line.add("app", self.was.app.name)
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
            if let winner = contest.winner { line.add("winner", winner.name) }
            if let key = self.verdict?.decidedBy { line.add("decided_by", key.name) }
        }
        line.add("why", self.seen)
        return line
    }
}
