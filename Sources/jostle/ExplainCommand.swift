import Arbitration
import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle explain`: why apps got an event or not, from what the broker wrote down when it decided.
struct ExplainCommand {
    private static let app = CommandOption.value("app", "ID", "only this app", naming: .app)
    private static let sequence = CommandOption.flag("sequence", "the number is the app's own number of the event")
    private static let clip = CommandOption.value(
        "clip", "N|near", "what nearly was a hit in this clip of the journal, or in the newest that has such a moment")

    static let syntax = CommandSyntax(
        "explain", "show why apps got an event or not, stage by stage", reaching: .broker,
        options: [app, sequence, clip, JournalPlace.option, CommonOption.json],
        arguments: [
            CommandArgument(
                "EPOCH|last", "the epoch of the event (default: last)", .optional, naming: .oneOf(["last"]))
        ],
        action: { invocation in
            guard let word = invocation.arguments.value(of: clip) else {
                guard !invocation.arguments.has(JournalPlace.option) else {
                    throw UsageProblem("explain: --state-dir has no effect without --clip: the broker is asked")
                }
                return try ExplainCommand(invocation).run()
            }
            try NearMissCommand(word, invocation, app: invocation.arguments.value(of: app)).run()
        })

    /// An epoch, or an app's own number; 0: the newest.
    var event: UInt64
    var app: String?
    /// `event` is the app's own number.
    var isSequence: Bool
    let bus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    private init(_ invocation: Invocation) throws(UsageProblem) {
        let arguments = invocation.arguments
        let word = arguments.positionals.first ?? "last"
        guard let event = word == "last" ? 0 : UInt64(word), event > 0 || word == "last" else {
            throw UsageProblem("explain: give an epoch or 'last', not '\(printable(word))'")
        }
        (self.event, self.app, self.isSequence) = (event, arguments.value(of: Self.app), arguments.has(Self.sequence))
        (self.bus, self.isJSON) = (invocation.bus, invocation.isJSON)
        (self.terminal, self.loop) = (invocation.terminal, invocation.loop)
        if self.isSequence, event == 0 || self.app == nil {
            throw UsageProblem("explain: with --sequence give a number, and the app that it is of with --app")
        }
    }

    private func run() throws(CommandFailure) {
        let broker = try Service.broker(on: self.bus, self.loop)
        let verdicts: [[String: Value]]
        do throws(CommandFailure) {
            verdicts = try self.verdicts(of: broker)
        } catch {
            // Who asks why there is no event is told of those that were none.
            // Of an app that is not there by a slip nothing came near.
            guard error.code == .no, self.event == 0, self.app.flatMap({ broker.nearestApp(to: $0) }) == nil else {
                throw error
            }
            let held = self.app.map { HeldHit.all(of: $0, from: broker).map(\.line) } ?? []
            let near = "what came near a threshold and not beyond it, says 'jostle explain --clip near'"
            throw CommandFailure(.no, ([error.message] + held + [near]).joined(separator: "; "))
        }
        // How it stands with hits that were held is a matter of now, so it is told beside the newest event only.
        var apps: [String] = []
        for verdict in verdicts where self.event == 0 && !apps.contains(verdict.text(VerdictKey.app)) {
            apps.append(verdict.text(VerdictKey.app))
        }
        let held = apps.prefix(Self.mostAsked).flatMap { app in HeldHit.all(of: app, from: broker) }
        for (index, verdict) in verdicts.enumerated() {
            let own = held.filter { $0.app == verdict.text(VerdictKey.app) }
            if self.isJSON {
                self.terminal.print(
                    verdict.verdictJSON(held: own.first { $0.detector == verdict.text(VerdictKey.detector) }))
                continue
            }
            if index > 0 { self.terminal.print() }
            verdict.explanation.forEach { self.terminal.print($0) }
            for one in own { self.terminal.print("  \(one.line)") }
        }
    }

    /// The broker is asked about so many apps of an event at most.
    private static let mostAsked = 16

    private func verdicts(of broker: Service) throws(CommandFailure) -> [[String: Value]] {
        var options: [String: Value] = [:]
        if let app { options[VerdictKey.app] = .string(app) }
        if self.isSequence { options[VerdictKey.sequence] = .boolean(true) }
        do throws(CommandFailure) {
            return try broker.about(self.app ?? "") { () throws(CommandFailure) in
                try broker.read(
                    try broker.call(Path.broker, InterfaceName.broker, "Explain", self.event, options),
                    [[String: Value]].self)
            }
        } catch {
            guard error.code == .no, !self.isSequence, (1..<1_000_000).contains(self.event) else { throw error }
            throw CommandFailure(
                .no, "\(error.message); if \(self.event) is an app's own number, say --sequence and --app")
        }
    }
}

extension [String: Value] {
    /// A verdict as people read it: as the broker says it, with the time by their clock.
    var explanation: [String] {
        let moment = self.wallTime.map { Moment(wall: $0) } ?? Moment(boottime: self.count(VerdictKey.time))
        let heading = Explanation.heading(
            epoch: self.count(VerdictKey.epoch), detector: self.text(VerdictKey.detector),
            preset: self.text(VerdictKey.preset),
            intensity: self.number(VerdictKey.intensity), unit: self.text(VerdictKey.unit), time: moment.line,
            policy: self.count(VerdictKey.policyGeneration))
        return [heading] + self.lines(VerdictKey.text).dropFirst()
    }

    /// When it was decided, of what was read in the journal: the boot that its other time counts from may be over.
    private var wallTime: Int64? { if case .int64(let made) = self[VerdictKey.made] { made } else { nil } }

    /// A verdict on one line, with what of its detector was held by activity.
    fileprivate func verdictJSON(held: HeldHit?) -> String {
        var line = JSONLine()
        line.add("app", self.text(VerdictKey.app))
        line.add("epoch", self.count(VerdictKey.epoch))
        line.add("t_us", self.count(VerdictKey.time), on: .boottime)
        if let made = self.wallTime {
            line.add("made_us", made, on: .realtime)
            line.add("policy_files", self.lines(VerdictKey.policyFiles))
        }
        line.add("detector", self.text(VerdictKey.detector))
        line.add("preset", self.text(VerdictKey.preset))
        line.add("intensity", self.number(VerdictKey.intensity))
        line.add("unit", self.text(VerdictKey.unit))
        line.add("policy_generation", self.count(VerdictKey.policyGeneration))
        if case .uint32(let failures) = self[VerdictKey.launchFailures] {
            line.add("launch_failures", failures)
            line.add("last_failure", self.text(VerdictKey.lastFailure))
        }
        if self[VerdictKey.endedAfter] != nil { line.add("ended_after_us", self.count(VerdictKey.endedAfter)) }
        if let held {
            line.add("held_by_activity", held.count)
            line.add("last_held_us", held.last, on: .boottime)
        }
        self.addExplanation(to: &line)
        return line.text
    }

    /// What the stages saw, and what decided.
    func addExplanation(to line: inout JSONLine) {
        line.add("delivered", self.flag(VerdictKey.delivered))
        line.add("reason", self.text(VerdictKey.reason))
        line.add(
            "stages",
            self.structures(VerdictKey.stages).compactMap { fields -> JSONLine? in
                guard fields.count == 3, case .string(let stage) = fields[0], case .string(let result) = fields[1],
                    case .string(let seen) = fields[2]
                else { return nil }
                var entry = JSONLine()
                entry.add("stage", stage)
                entry.add("result", result)
                entry.add("seen", seen)
                return entry
            })
        for (key, name) in [
            (VerdictKey.rule, "rule"), (VerdictKey.ruleAt, "rule_at"), (VerdictKey.group, "group"),
            (VerdictKey.mode, "mode"), (VerdictKey.winner, "winner"), (VerdictKey.decidedBy, "decided_by"),
        ] where self[key] != nil { line.add(name, self.text(key)) }
        if case .uint32(let candidates) = self[VerdictKey.candidates] { line.add("candidates", candidates) }
        line.add("otherwise", self.lines(VerdictKey.otherwise))
    }
}
