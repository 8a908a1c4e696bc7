import Arbitration
import BrokerCore
import DBus
import Detection
import Motion
import Protocol

extension VerdictRecord {
    /// The verdict as `Explain` shows it, and where it was read.
    var options: [String: Value] {
        var options = self.verdict.options
        var lines = Explanation(self.verdict).lines
        // What was to outlive its broker is kept by the next one.
        let isLost = self.origin?.isPast == true && self.verdict.rule?.terms.durability != .persistent
        if let line = self.aftermath.line(self.verdict, isLost: isLost) { lines.append(line) }
        if let failure = self.aftermath.failure {
            options[VerdictKey.launchFailures] = .uint32(self.aftermath.failures)
            options[VerdictKey.lastFailure] = .string(failure.name)
        }
        if let after = self.aftermath.after { options[VerdictKey.endedAfter] = .uint64((Timestamp.zero + after).wire) }
        options[VerdictKey.text] = .lines(lines)
        guard let origin = self.origin else { return options }
        options[VerdictKey.made] = .int64(origin.wall)
        options[VerdictKey.policyFiles] = .lines(origin.policyFiles)
        let files = origin.policyFiles.isEmpty ? "the built-in one" : origin.policyFiles.joined(separator: ", ")
        options[VerdictKey.text] = .lines(
            lines + ["  read in the journal; its policy \(self.verdict.generation): \(files)"])
        return options
    }
}

extension Verdict {
    /// The verdict as `Explain` shows it.
    fileprivate var options: [String: Value] {
        let explanation = Explanation(self)
        var options = self.explained(explanation)
        options[VerdictKey.app] = .string(self.id.name)
        options[VerdictKey.epoch] = .uint64(self.epoch)
        options[VerdictKey.detector] = .string(self.detector)
        options[VerdictKey.preset] = .string(self.preset)
        options[VerdictKey.time] = .uint64(self.time.wire)
        options[VerdictKey.intensity] = .double(self.intensity)
        options[VerdictKey.unit] = .string(self.dimension.canonicalUnit)
        options[VerdictKey.policyGeneration] = .uint64(self.generation)
        return options
    }

    /// What the stages saw, and what decided.
    fileprivate func explained(_ explanation: Explanation) -> [String: Value] {
        var options: [String: Value] = [
            VerdictKey.reason: .string(self.reason.name),
            VerdictKey.delivered: .boolean(self.isReceived),
            VerdictKey.stages: .array(
                of: "(sss)",
                explanation.steps.map {
                    .structure([
                        .string(Explanation.label($0.stage)), .string($0.result.rawValue), .string($0.seen),
                    ])
                }),
            VerdictKey.otherwise: .lines(explanation.otherwise),
        ]
        if let rule = self.rule, !rule.name.isEmpty {
            options[VerdictKey.rule] = .string(rule.name)
            options[VerdictKey.ruleAt] = .string(rule.place.lineDescription)
        }
        if let contest = self.contest {
            options[VerdictKey.group] = .string(contest.group)
            options[VerdictKey.mode] = .string(contest.mode.name)
            options[VerdictKey.candidates] = .uint32(UInt32(clamping: contest.candidates))
            if let winner = contest.winner { options[VerdictKey.winner] = .string(winner.name) }
            if let key = self.decidedBy { options[VerdictKey.decidedBy] = .string(key.name) }
        }
        return options
    }
}

extension WhyNot {
    /// The answer as it travels.
    var options: [String: Value] {
        var options: [String: Value] = [
            VerdictKey.app: .string(self.app.id.name),
            VerdictKey.state: .string(self.facts.state.name),
            VerdictKey.registered: .uint64(self.app.registered.wire),
            VerdictKey.lastEvent: .uint64(self.tally.lastHad?.time.wire ?? 0),
            VerdictKey.lastEpoch: .uint64(self.tally.lastHad?.epoch ?? 0),
            VerdictKey.silence: .uint64((Timestamp.zero + self.silence).wire),
            VerdictKey.mutedUntil: .uint64(self.mutedUntil.wire),
            VerdictKey.denials: .array(
                of: "(sttt)",
                self.tally.denials.map {
                    .structure([
                        .string($0.reason.name), .uint64($0.count), .uint64($0.time.wire), .uint64($0.epoch),
                    ])
                }),
            VerdictKey.launches: .uint64(self.tally.launches.begun),
            VerdictKey.launchFailures: .uint64(self.tally.launches.failed),
            VerdictKey.lastLaunch: .options(self.tally.launches.options),
            VerdictKey.nextLaunch: .uint64(self.restsUntil?.wire ?? 0),
            VerdictKey.detectorCount: .uint32(UInt32(clamping: self.detectorCount)),
            VerdictKey.detectors: .array(of: "a{sv}", self.detectors.map { .options($0.options) }),
            VerdictKey.text: .lines(self.lines),
        ]
        if let past = self.pastFailure {
            options[VerdictKey.pastFailure] = .options([
                VerdictKey.epoch: .uint64(past.epoch), VerdictKey.launchFailures: .uint32(past.failures),
                VerdictKey.lastFailure: .string(past.failure.name), VerdictKey.made: .int64(past.wall),
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
            LaunchKey.reason: .string(last.reason.word), LaunchKey.result: .string(last.result.name),
            LaunchKey.time: .uint64(last.time.wire),
        ]
    }
}

extension DetectorOutlook {
    fileprivate var options: [String: Value] {
        var options: [String: Value] = [:]
        switch self.prospect {
        case .verdict(let verdict): options = verdict.explained(Explanation(verdict).withoutDelivery)
        case .more(let epoch):
            options[VerdictKey.reason] = .string(Reason.sent.name)
            options[VerdictKey.epoch] = .uint64(epoch)
        case .counted(let epoch, let reason, let verdict):
            options = verdict.map { $0.explained(Explanation($0)) } ?? [:]
            options[VerdictKey.reason] = .string(reason.name)
            options[VerdictKey.epoch] = .uint64(epoch)
        case .unknown: break
        }
        options[VerdictKey.detector] = .string(self.name)
        options[VerdictKey.preset] = .string(self.preset)
        if let threshold = self.threshold { options[VerdictKey.threshold] = .double(threshold) }
        options[VerdictKey.unit] = .string(self.dimension.canonicalUnit)
        options[VerdictKey.available] = .boolean(self.isAvailable)
        if let obstacle { options[VerdictKey.obstacle] = .string(obstacle) }
        if let last = self.held.last {
            options[VerdictKey.heldByActivity] = .uint64(self.held.count)
            options[VerdictKey.lastHeld] = .uint64(last.wire)
        }
        options[VerdictKey.delivered] = .boolean(self.isHeard)
        return options
    }
}

extension Value {
    /// An `as`.
    fileprivate static func lines(_ lines: [String]) -> Value { .array(of: "s", lines.map { .string($0) }) }
}
