package import Arbitration
package import Motion

/// Writes what the arbiter decided, one line each, without anything that differs from run to run.
package struct DecisionLog: Sendable {
    package private(set) var text = ""

    package init() {}

    /// Adds what an action says.
    ///
    /// - Parameter name: The id of an app that is there.
    package mutating func add(_ action: ArbiterAction, at time: Timestamp, name: (AppHandle) -> AppID?) {
        switch action {
        case .deliver(let delivery):
            var words = ["deliver", Self.shown(delivery.id), delivery.detector, "peak=\(delivery.hit.peak)"]
            if delivery.route != .live { words.append("\(delivery.route.rawValue)") }
            if let answerBy = delivery.answerBy { words.append("answer-by=\(Self.clock(answerBy))") }
            self.line(time, delivery.epoch, words)
        case .verdict(let verdict): self.line(time, verdict.epoch, Self.words(of: verdict))
        case .repeated(let app, _, let epoch, let reason):
            self.line(time, epoch, ["again", Self.shown(name(app) ?? AppID("")), reason.name])
        }
    }

    private static func words(of verdict: Verdict) -> [String] {
        var words = ["verdict", self.shown(verdict.id), verdict.reason.name]
        if let rule = verdict.rule, !rule.name.isEmpty {
            words.append("rule=\(rule.name) at=\(rule.place.lineDescription)")
        }
        if let contest = verdict.contest {
            words.append("group=\(contest.group)")
            if let winner = contest.winner, let key = verdict.decidedBy {
                let first = contest.mode == .ordered ? "first" : "winner"
                words.append(verdict.id == winner ? "by=\(key.name)" : "\(first)=\(self.shown(winner)) by=\(key.name)")
            }
            if let inherits = contest.inherits { words.append("inherits=\(inherits)") }
        }
        if let until = verdict.limits?.until { words.append("until=\(self.clock(until))") }
        words.append("policy=\(verdict.generation)")
        return words
    }

    /// The time in seconds, the epoch, and what happened.
    private mutating func line(_ time: Timestamp, _ epoch: UInt64, _ words: [String]) {
        self.text += "\(Self.clock(time)) epoch=\(epoch) \(words.joined(separator: " "))\n"
    }

    private static func shown(_ id: AppID) -> String { id.isAnonymous ? "-" : id.name }

    /// Seconds with as many digits as say it all: three or six.
    static func clock(_ time: Timestamp) -> String {
        let (seconds, rest) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest.magnitude)
        let padded = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        let sign = time.microseconds < 0 && seconds == 0 ? "-" : ""
        return "\(sign)\(seconds).\(padded.hasSuffix("000") ? String(padded.dropLast(3)) : padded)"
    }
}
