import Arbitration
import BrokerCore
import DBus
import Motion

extension VerdictRecord {
    /// The verdict as `Explain` shows it, and where it was read.
    var options: [String: Value] {
        var options = self.verdict.options
        var lines = Explanation(self.verdict).lines
        // What was to outlive its broker is kept by the next one.
        let isLost = self.origin?.isPast == true && self.verdict.rule?.terms.durability != .persistent
        if let line = self.aftermath.line(self.verdict, isLost: isLost) { lines.append(line) }
        if let failure = self.aftermath.failure {
            options["launch-failures"] = .uint32(self.aftermath.failures)
            options["last-failure"] = .string(failure.name)
        }
        if let after = self.aftermath.after { options["ended-after"] = .uint64((Timestamp.zero + after).wire) }
        options["text"] = .lines(lines)
        guard let origin = self.origin else { return options }
        options["made"] = .int64(origin.wall)
        options["policy-files"] = .lines(origin.policyFiles)
        let files = origin.policyFiles.isEmpty ? "the built-in one" : origin.policyFiles.joined(separator: ", ")
        options["text"] = .lines(lines + ["  read in the journal; its policy \(self.verdict.generation): \(files)"])
        return options
    }
}

extension Verdict {
    /// The verdict as `Explain` shows it.
    fileprivate var options: [String: Value] {
        let explanation = Explanation(self)
        var options = self.explained(explanation)
        options["app"] = .string(self.id.name)
        options["epoch"] = .uint64(self.epoch)
        options["detector"] = .string(self.detector)
        options["preset"] = .string(self.preset)
        options["time"] = .uint64(self.time.wire)
        options["intensity"] = .double(self.intensity)
        options["unit"] = .string(self.dimension.canonicalUnit)
        options["policy-generation"] = .uint64(self.generation)
        return options
    }

    /// What the stages saw, and what decided.
    fileprivate func explained(_ explanation: Explanation) -> [String: Value] {
        var options: [String: Value] = [
            "reason": .string(self.reason.name),
            "delivered": .boolean(self.isReceived),
            "stages": .array(
                of: "(sss)",
                explanation.steps.map {
                    .structure([
                        .string(Explanation.label($0.stage)), .string($0.result.rawValue), .string($0.seen),
                    ])
                }),
            "otherwise": .lines(explanation.otherwise),
        ]
        if let rule = self.rule, !rule.name.isEmpty {
            options["rule"] = .string(rule.name)
            options["rule-at"] = .string(rule.place.lineDescription)
        }
        if let contest = self.contest {
            options["group"] = .string(contest.group)
            options["mode"] = .string(contest.mode.name)
            options["candidates"] = .uint32(UInt32(clamping: contest.candidates))
            if let winner = contest.winner { options["winner"] = .string(winner.name) }
            if let key = self.decidedBy { options["decided-by"] = .string(key.name) }
        }
        return options
    }
}

extension WhyNot {
    /// The answer as it travels.
    var options: [String: Value] {
        var options: [String: Value] = [
            "app": .string(self.app.id.name),
            "state": .string(self.facts.state.name),
            "registered": .uint64(self.app.registered.wire),
            "last-event": .uint64(self.tally.lastEvent?.time.wire ?? 0),
            "last-epoch": .uint64(self.tally.lastEvent?.epoch ?? 0),
            "silence": .uint64((Timestamp.zero + self.silence).wire),
            "muted-until": .uint64(self.mutedUntil.wire),
            "denials": .array(
                of: "(sttt)",
                self.tally.denials.map {
                    .structure([
                        .string($0.reason.name), .uint64($0.count), .uint64($0.time.wire), .uint64($0.epoch),
                    ])
                }),
            "launches": .uint64(self.tally.launches.begun),
            "launch-failures": .uint64(self.tally.launches.failed),
            "last-launch": .options(self.tally.launches.options),
            "next-launch": .uint64(self.restsUntil?.wire ?? 0),
            "detector-count": .uint32(UInt32(clamping: self.detectorCount)),
            "detectors": .array(of: "a{sv}", self.detectors.map { .options($0.options) }),
            "text": .lines(self.lines),
        ]
        if let past = self.pastFailure {
            options["past-failure"] = .options([
                "epoch": .uint64(past.epoch), "launch-failures": .uint32(past.failures),
                "last-failure": .string(past.failure.name), "made": .int64(past.wall),
            ])
        }
        return options
    }
}

extension LaunchRecord {
    /// The last launch that is over: why, what came of it, and when that was; empty before the first.
    var options: [String: Value] {
        guard let last = self.last else { return [:] }
        return [
            "reason": .string(last.reason.word), "result": .string(last.result.name), "time": .uint64(last.time.wire),
        ]
    }
}

extension DetectorOutlook {
    fileprivate var options: [String: Value] {
        var options: [String: Value] = [:]
        switch self.prospect {
        case .verdict(let verdict): options = verdict.explained(Explanation(verdict).withoutDelivery)
        case .more(let epoch):
            options["reason"] = .string(Reason.sent.name)
            options["epoch"] = .uint64(epoch)
        case .counted(let epoch, let reason, let verdict):
            options = verdict.map { $0.explained(Explanation($0)) } ?? [:]
            options["reason"] = .string(reason.name)
            options["epoch"] = .uint64(epoch)
        case .unknown: break
        }
        options["detector"] = .string(self.name)
        options["preset"] = .string(self.preset)
        if let threshold = self.threshold { options["threshold"] = .double(threshold) }
        options["unit"] = .string(self.dimension.canonicalUnit)
        options["available"] = .boolean(self.isAvailable)
        if let obstacle { options["obstacle"] = .string(obstacle) }
        options["delivered"] = .boolean(self.isHeard)
        return options
    }
}

extension Value {
    /// An `as`.
    fileprivate static func lines(_ lines: [String]) -> Value { .array(of: "s", lines.map { .string($0) }) }
}
