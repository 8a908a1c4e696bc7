import DBus
import DaemonSupport
import Loop
import Protocol

/// `jostle why-not`: what would happen to an app's detectors now, and since when it got nothing.
struct WhyNotCommand {
    static let syntax = CommandSyntax.ofOneApp(
        "why-not", "show what would happen to an app's detectors now, and since when it got nothing"
    ) { try WhyNotCommand(app: $0, invocation: $1).run() }

    /// Its id, or its unique name.
    let app: String
    let invocation: Invocation

    private var terminal: Terminal { self.invocation.terminal }

    func run() throws(CommandFailure) {
        let answer = try Service.broker(on: self.invocation.bus, self.invocation.loop).whyNot(self.app)
        guard self.invocation.isJSON else {
            var lines = answer.lines(VerdictKey.text)
            lines.insert(contentsOf: Self.times(answer), at: min(1, lines.count))
            return lines.forEach { self.terminal.print($0) }
        }
        self.terminal.print(self.json(answer))
        for detector in answer.rows(VerdictKey.detectors) {
            var line = JSONLine()
            line.add("detector", detector.text(VerdictKey.detector))
            line.add("preset", detector.text(VerdictKey.preset))
            if detector[VerdictKey.threshold] != nil { line.add("threshold", detector.number(VerdictKey.threshold)) }
            line.add("unit", detector.text(VerdictKey.unit))
            line.add("available", detector.flag(VerdictKey.available))
            if detector[VerdictKey.epoch] != nil { line.add("epoch", detector.count(VerdictKey.epoch)) }
            if detector[VerdictKey.heldByActivity] != nil {
                line.add("held_by_activity", detector.count(VerdictKey.heldByActivity))
                line.add("last_held_us", detector.count(VerdictKey.lastHeld), on: .boottime)
            }
            detector.addExplanation(to: &line)
            self.terminal.print(line.text)
        }
    }

    /// The broker says how long ago; these are the same by the clock.
    private static func times(_ answer: [String: Value]) -> [String] {
        let times = [
            (VerdictKey.registered, "registered"), (VerdictKey.lastEvent, "last event"),
            (VerdictKey.mutedUntil, "muted until"), (VerdictKey.nextLaunch, "not launched before"),
        ]
        let told = times.filter { answer.count($0.0) > 0 }
            .map { "\($0.1) \(Moment(boottime: answer.count($0.0)).text)" }
        return told.isEmpty ? [] : ["  \(told.joined(separator: ", "))"]
    }

    /// What is said of the app itself, on the first line.
    private func json(_ answer: [String: Value]) -> String {
        var line = JSONLine()
        line.add("app", answer.text(VerdictKey.app))
        line.add("state", answer.text(VerdictKey.state))
        line.add("registered_us", answer.count(VerdictKey.registered), on: .boottime)
        line.add("last_event_us", answer.count(VerdictKey.lastEvent), on: .boottime)
        line.add("last_epoch", answer.count(VerdictKey.lastEpoch))
        line.add("silence_us", answer.count(VerdictKey.silence))
        line.add("muted_until_us", answer.count(VerdictKey.mutedUntil), on: .boottime)
        line.add("denials", answer.denials.map(\.json))
        line.add("launches", answer.count(VerdictKey.launches))
        line.add("launch_failures", answer.count(VerdictKey.launchFailures))
        let last = answer[VerdictKey.lastLaunch]?.asOptions ?? [:]
        if !last.isEmpty { line.add("last_launch", last.launchJSON) }
        if let past = answer[VerdictKey.pastFailure]?.asOptions {
            var failure = JSONLine()
            failure.add("epoch", past.count(VerdictKey.epoch))
            if case .uint32(let failures) = past[VerdictKey.launchFailures] { failure.add("launch_failures", failures) }
            failure.add("last_failure", past.text(VerdictKey.lastFailure))
            if case .int64(let made) = past[VerdictKey.made] { failure.add("made_us", made, on: .realtime) }
            line.add("past_failure", failure)
        }
        line.add("next_launch_us", answer.count(VerdictKey.nextLaunch), on: .boottime)
        return line.text
    }
}
