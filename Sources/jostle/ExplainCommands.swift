import DBus
import DaemonSupport
import EventLoop
import Protocol

/// `jostle explain`: why apps got an event or not, from what the broker wrote down when it decided.
struct ExplainCommand {
    /// An epoch, or an app's own number; 0: the newest.
    var event: UInt64
    var app: String?
    /// `event` is the app's own number.
    var isSequence: Bool
    let bus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let verdicts = try self.verdicts(of: try Service.broker(on: self.bus, self.loop))
        for (index, verdict) in verdicts.enumerated() {
            if self.isJSON {
                self.terminal.print(verdict.verdictJSON)
                continue
            }
            if index > 0 { self.terminal.print() }
            verdict.lines("text").forEach { self.terminal.print($0) }
        }
    }

    func verdicts(of broker: Service) throws(CommandFailure) -> [[String: Value]] {
        var options: [String: Value] = [:]
        if let app { options["app"] = .string(app) }
        if self.isSequence { options["sequence"] = .boolean(true) }
        do throws(CommandFailure) {
            return try broker.read(
                try broker.call(Path.broker, InterfaceName.broker, "Explain", self.event, options),
                [[String: Value]].self)
        } catch {
            guard error.code == .no, !self.isSequence, (1..<1_000_000).contains(self.event) else { throw error }
            throw CommandFailure(
                .no, "\(error.message); if \(self.event) is an app's own number, say --sequence and --app")
        }
    }
}

/// `jostle why-not`: what would happen to an app's detectors now, and since when it got nothing.
struct WhyNotCommand {
    var app: String
    let bus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let answer = try Service.broker(on: self.bus, self.loop).whyNot(self.app)
        guard self.isJSON else { return answer.lines("text").forEach { self.terminal.print($0) } }
        self.terminal.print(self.json(answer))
        for detector in answer.rows("detectors") {
            var line = JSONLine()
            line.add("detector", detector.text("detector"))
            line.add("preset", detector.text("preset"))
            if detector["threshold"] != nil { line.add("threshold", detector.number("threshold")) }
            line.add("unit", detector.text("unit"))
            line.add("available", detector.flag("available"))
            if detector["epoch"] != nil { line.add("epoch", detector.count("epoch")) }
            detector.addExplanation(to: &line)
            self.terminal.print(line.text)
        }
    }

    /// What is said of the app itself, on the first line.
    private func json(_ answer: [String: Value]) -> String {
        var line = JSONLine()
        line.add("app", answer.text("app"))
        line.add("state", answer.text("state"))
        line.add("registered_us", answer.count("registered"))
        line.add("last_event_us", answer.count("last-event"))
        line.add("last_epoch", answer.count("last-epoch"))
        line.add("silence_us", answer.count("silence"))
        line.add("muted_until_us", answer.count("muted-until"))
        line.add("denials", answer.denials.map(\.json))
        return line.text
    }
}

extension [String: Value] {
    /// A verdict on one line.
    fileprivate var verdictJSON: String {
        var line = JSONLine()
        line.add("app", self.text("app"))
        line.add("epoch", self.count("epoch"))
        line.add("t_us", self.count("time"))
        line.add("detector", self.text("detector"))
        line.add("preset", self.text("preset"))
        line.add("intensity", self.number("intensity"))
        line.add("unit", self.text("unit"))
        line.add("policy_generation", self.count("policy-generation"))
        self.addExplanation(to: &line)
        return line.text
    }

    /// What the stages saw, and what decided.
    fileprivate func addExplanation(to line: inout JSONLine) {
        line.add("delivered", self.flag("delivered"))
        line.add("reason", self.text("reason"))
        line.add(
            "stages",
            self.structures("stages").compactMap { fields -> JSONLine? in
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
            ("rule", "rule"), ("rule-at", "rule_at"), ("group", "group"), ("mode", "mode"), ("winner", "winner"),
            ("decided-by", "decided_by"),
        ] where self[key] != nil { line.add(name, self.text(key)) }
        if case .uint32(let candidates) = self["candidates"] { line.add("candidates", candidates) }
        line.add("otherwise", self.lines("otherwise"))
    }
}
