import Arbitration
import Detection
import Motion

extension WhyNot {
    /// The answer as people read it, line by line.
    package var lines: [String] {
        let facts = self.facts
        let name = self.app.id.isAnonymous ? "a client without a name" : self.app.id.name
        let registered =
            self.app.isConnected ? "registered \(Self.ago(self.now - self.app.registered))" : "not on the bus"
        var lines = ["\(name)  \(facts.state.name), \(registered)"]
        if let last = self.tally.lastHad {
            lines.append("  its last event came \(Self.ago(self.silence)), epoch \(last.epoch)")
        } else {
            lines.append("  it has had no event since it registered")
        }
        for denial in self.tally.denials {
            let times = denial.count == 1 ? "once" : "\(denial.count) times"
            lines.append(
                "  \(denial.reason.name) \(times), last \(Self.ago(self.now - denial.time)), epoch \(denial.epoch)")
        }
        lines += self.launchLines
        if self.dropped > 0 { lines.append("  it was too slow for \(self.dropped) events") }
        if self.mutedUntil > self.now {
            lines.append("  motion is muted for another \((self.mutedUntil - self.now).inWords)")
        }
        if self.detectors.isEmpty { lines.append("  it has no detector") }
        for detector in self.detectors { lines += detector.lines.map { "  \($0)" } }
        let more = self.detectorCount - self.detectors.count
        if more > 0 { lines.append("  and \(more) more detectors") }
        return lines
    }

    /// How its launches went.
    private var launchLines: [String] {
        let launches = self.tally.launches
        guard launches.begun > 0 else { return self.pastLine.map { [$0] } ?? [] }
        var text =
            "  \(launches.failed) of its \(launches.begun == 1 ? "1 launch" : "\(launches.begun) launches") failed"
        if let last = launches.last {
            text += "; the last, \(Self.ago(self.now - last.time)): \(last.result.name)"
        }
        if self.isBeingLaunched {
            text += "; it is being launched"
        } else if let restsUntil {
            text += "; it is not launched for another \((restsUntil - self.now).inWords)"
        }
        return [text]
    }

    /// How they went before the broker was started.
    private var pastLine: String? {
        self.pastFailure.map { past in
            let what = past.failures == 1 ? "a launch" : "\(past.failures) launches, the last of them,"
            return
                "  before this broker \(what) failed: \(past.failure.name), for epoch \(past.epoch) \(Self.ago(past.age))"
        }
    }

    private static func ago(_ span: TimeSpan) -> String { "\(span.inWords) ago" }
}

extension DetectorOutlook {
    /// The answer as people read it, line by line.
    package var lines: [String] { self.outlookLines + (self.heldLine.map { ["  \($0)"] } ?? []) }

    /// What of it came to nobody because a rhythm goes on; `nil` when nothing did.
    package var heldLine: String? {
        guard let ago = self.heldAgo else { return nil }
        let times = self.held.count == 1 ? "once" : "\(self.held.count) times"
        return "held by activity \(times), the last time \(ago.inWords) ago: "
            + "in that rhythm it was no shake; 'rhythm' and 'sensitivity' say what is one"
    }

    private var outlookLines: [String] {
        var title = self.name
        if !self.preset.isEmpty, self.preset != self.name { title += " (\(self.preset))" }
        if let threshold = self.threshold {
            title += " \(self.asksForLittle ? "below" : "above") \(Explanation.value(threshold, self.dimension))"
        }
        if let obstacle { return ["\(title): it cannot fire, \(obstacle)"] }
        switch self.prospect {
        case .verdict(let verdict):
            let explanation = Explanation(verdict).withoutDelivery
            let answer =
                switch verdict.reason {
                // Neither is there to get it.
                case .stored: "the event would be kept for it until it is back"
                case .woken: "it would be started or resumed for the event"
                case let reason where reason.isDelivered: "it would get the event"
                case let reason: "it would get no event, \(reason.name)"
                }
            return ["\(title): if it fired now and nothing else did, \(answer)"] + explanation.stepLines
                + explanation.otherwiseLine("it would get it if")
        case .more(let epoch):
            return ["\(title): if it fired now, it would get one more event of epoch \(epoch), which is not over"]
        case .counted(let epoch, let reason, let verdict):
            let start = "\(title): if it fired now, that would count to epoch \(epoch), which is not over:"
            guard let explanation = verdict.map({ Explanation($0) }) else {
                return ["\(start) the app is still to be asked there"]
            }
            return ["\(start) \(reason.name)"] + explanation.stepLines
                + explanation.otherwiseLine("it would have got it if")
        case .unknown: return ["\(title): nobody can tell"]
        }
    }
}
