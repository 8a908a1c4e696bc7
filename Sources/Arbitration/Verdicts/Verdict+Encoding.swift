import Motion

/// Puts verdicts into bytes, whole: `Verdict(encoded:)` makes them of these again.
///
/// A byte with the version, four with a sum over the rest, and the rest: every value in the order of `Verdict`.
package struct VerdictEncoder {
    private var writer = ByteWriter()
    /// What the last rule became: most verdicts have the one of the verdict before.
    private var last: (rule: Rule, bytes: [UInt8])?

    package init() {}

    /// The bytes of a verdict, until the next one.
    package mutating func encode(_ verdict: Verdict) -> [UInt8] {
        self.writer.clear()
        self.writer.write(raw: Self.emptyHead)
        self.writer.write(verdict, rule: self.bytes(of: verdict.rule))
        let sum = Verdict.sum(over: self.writer.bytes[Self.emptyHead.count...])
        for index in 0..<4 {
            self.writer.replace(at: 1 + index, with: UInt8(truncatingIfNeeded: sum >> (index * 8)))
        }
        return self.writer.bytes
    }

    private static let emptyHead = [Verdict.encodingVersion, 0, 0, 0, 0]

    private mutating func bytes(of rule: Rule?) -> [UInt8]? {
        guard let rule else { return nil }
        if let last, last.rule === rule { return last.bytes }
        var writer = ByteWriter()
        writer.write(rule)
        self.last = (rule, writer.bytes)
        return writer.bytes
    }
}

extension Verdict {
    /// To be raised with every change of what is written, or of its order.
    package static let encodingVersion: UInt8 = 4
    /// What is still read. In those of version 2 nobody said what is in front, and in those of version 3 nobody was frozen.
    static let oldestEncoding: UInt8 = 2

    /// FNV-1a: any one byte that is another makes another sum.
    package static func sum(over bytes: ArraySlice<UInt8>) -> UInt32 {
        var sum: UInt32 = 2_166_136_261
        bytes.withUnsafeBufferPointer { bytes in
            for byte in bytes { sum = (sum ^ UInt32(byte)) &* 16_777_619 }
        }
        return sum
    }
}

extension ByteWriter {
    /// - Parameter rule: What the rule of the verdict became.
    fileprivate mutating func write(_ verdict: Verdict, rule: [UInt8]?) {
        self.write(verdict.epoch)
        self.write(UInt64(verdict.app.index))
        self.write(verdict.id)
        self.write(verdict.detector)
        self.write(verdict.preset)
        self.write(verdict.time)
        self.write(verdict.intensity)
        self.write(verdict.dimension.rawValue)
        self.write(verdict.threshold) { $0.write($1) }
        self.write(verdict.reason)
        self.write(verdict.generation)
        self.write(verdict.facts)
        self.write(verdict.device)
        self.write(rule) { $0.write(raw: $1) }
        self.write(verdict.limits) { writer, limits in
            writer.write(limits.tokens) { $0.write($1) }
            writer.write(limits.burst)
            writer.write(limits.until) { $0.write($1) }
        }
        self.write(verdict.nearest) { writer, nearest in
            writer.write(nearest.rule)
            writer.write(UInt64(nearest.unmet.rawValue))
        }
        self.write(verdict.contest) { $0.write($1) }
        self.write(verdict.rank) { $0.write($1) }
        self.write(verdict.decidedBy) { $0.write($1.name) }
        self.write(verdict.mixing) { $0.write($1) }
        self.write(verdict.takenBy) { $0.write($1) }
        self.write(verdict.alongside) { $0.write($1) }
        self.write(verdict.testimony) { writer, testimony in
            writer.write(testimony.lines) { writer, line in
                writer.write(line.source)
                writer.write(line.app) { $0.write($1) }
            }
            writer.write(testimony.others)
            writer.write(testimony.isOfFrozen)
        }
    }

    private mutating func write(_ facts: AppFacts) {
        self.write(facts.state)
        self.write(facts.proof)
        self.write(facts.isProvenEnough)
        self.write(facts.grants)
        self.write(facts.activities)
        self.write(facts.hasAssertion)
        self.write(facts.lastUsed)
    }

    private mutating func write(_ device: DeviceFacts) {
        self.write(device.isLocked)
        switch device.power {
        case .ac: self.write(false)
        case .battery(let charge):
            self.write(true)
            self.write(charge) { $0.write($1) }
        }
        self.write(device.minuteOfWeek)
    }

    fileprivate mutating func write(_ rule: Rule) {
        self.write(rule.name)
        self.write(rule.place.file)
        self.write(rule.place.line)
        self.write(rule.place.column)
        self.write(rule.priority)
        self.write(rule.conditions)
        self.write(rule.effect)
        self.write(rule.note)
        self.write(rule.group) { $0.write($1) }
        self.write(rule.strength)
        self.write(rule.sessionClass) { $0.write($1) }
        self.write(rule.terms.kind)
        self.write(rule.terms.reliability)
        self.write(rule.terms.durability)
        self.write(rule.terms.lifespan)
    }

    private mutating func write(_ conditions: Conditions) {
        self.write(conditions.apps)
        self.write(conditions.presets)
        self.write(conditions.states)
        self.write(conditions.locked) { $0.write($1) }
        self.write(conditions.grants)
        self.write(conditions.activities)
        self.write(conditions.assertion) { $0.write($1) }
        self.write(conditions.proofs)
        self.write(conditions.intensity) { writer, intensity in
            writer.write(intensity.dimension.rawValue)
            writer.write(intensity.ranges)
        }
        self.write(conditions.times) { writer, times in
            writer.write(Array(times.ranges)) { writer, range in
                writer.write(range.lowerBound)
                writer.write(range.upperBound)
            }
        }
        self.write(conditions.power) { writer, power in
            writer.write(power.ac)
            writer.write(power.charges)
            writer.write(power.unknownCharge)
        }
    }

    /// Of a long list a record keeps the beginning: nobody reads more, and each verdict has its own.
    private mutating func write(_ names: NameList) {
        self.write(names.any.prefix(Self.mostNames)) { $0.write($1.text) }
        self.write(names.except.prefix(Self.mostNames)) { $0.write($1.text) }
    }

    private static let mostNames = 64

    private mutating func write(_ modes: ModeCondition) {
        self.write(modes.any) { $0.write($1) }
        self.write(modes.except)
    }

    private mutating func write(_ ranges: RangeSet<Double>) {
        self.write(Array(ranges.ranges)) { writer, range in
            writer.write(range.lowerBound)
            writer.write(range.upperBound)
        }
    }

    private mutating func write(_ contest: Contest) {
        self.write(contest.group)
        self.write(contest.mode)
        self.write(contest.select) { $0.write($1) }
        self.write(contest.candidates)
        self.write(contest.decided)
        self.write(contest.isEager)
        self.write(contest.winner) { $0.write($1) }
        self.write(contest.winnerRank) { $0.write($1) }
        self.write(contest.next) { $0.write($1) }
        self.write(contest.nextRank) { $0.write($1) }
        self.write(contest.inherits) { $0.write($1) }
    }

    private mutating func write(_ mixing: Mixing) {
        self.write(mixing.requester)
        self.write(mixing.isSession)
        self.write(mixing.meeting) { writer, meeting in
            writer.write(meeting.other)
            writer.write(meeting.cell)
        }
        self.write(mixing.missing)
    }

    private mutating func write(_ cell: InteractionMatrix.Cell) {
        self.write(cell.holder)
        self.write(cell.requester)
        self.write(cell.outcome)
        self.write(cell.ducking) { writer, ducking in
            writer.write(ducking.share)
            writer.write(ducking.events) { writer, quota in
                writer.write(quota.count)
                writer.write(quota.period)
                writer.write(quota.burst)
            }
        }
        self.write(cell.place) { writer, place in
            writer.write(place.file)
            writer.write(place.line)
            writer.write(place.column)
        }
    }

    private mutating func write(_ rank: Rank) {
        self.write(rank.strength)
        self.write(rank.bonus)
        self.write(rank.specificity)
        self.write(rank.intensity)
        self.write(rank.state)
        self.write(rank.lastUsed)
        self.write(rank.lastWin)
        self.write(rank.order)
    }
}
