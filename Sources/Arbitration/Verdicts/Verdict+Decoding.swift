import Motion

extension Verdict {
    /// Makes a verdict of the bytes of `encoded`, or says that they are not such.
    package init(encoded bytes: [UInt8]) throws(RecordProblem) {
        guard let version = bytes.first else { throw .corrupt }
        guard (Self.oldestEncoding...Self.encodingVersion).contains(version) else { throw .version(version) }
        guard bytes.count >= 5 else { throw .corrupt }
        let sum = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[1 + $1]) << ($1 * 8) }
        guard sum == Self.sum(over: bytes[5...]) else { throw .corrupt }
        var reader = ByteReader(bytes[5...])
        self = try reader.verdict(version)
        guard reader.isAtEnd else { throw .corrupt }
    }
}

extension ByteReader {
    fileprivate mutating func verdict(_ version: UInt8) throws(RecordProblem) -> Verdict {
        var verdict = try self.verdict()
        if version > 2 {
            verdict.surroundings.testimony = try self.optional { reader throws(RecordProblem) in
                try reader.testimony(version)
            }
        }
        return verdict
    }

    /// What every version has.
    private mutating func verdict() throws(RecordProblem) -> Verdict {
        Verdict(
            epoch: try self.number(), app: try self.handle(), id: try self.app(), detector: try self.text(),
            preset: try self.text(), time: try self.time(), intensity: try self.double(),
            dimension: try self.dimension(),
            threshold: try self.optional { reader throws(RecordProblem) in try reader.double() },
            reason: try self.word(), generation: try self.number(),
            facts: try self.appFacts(), surroundings: Surroundings(device: try self.deviceFacts()),
            rule: try self.optional { reader throws(RecordProblem) in try reader.rule() },
            limits: try self.optional { reader throws(RecordProblem) in try reader.limits() },
            nearest: try self.optional { reader throws(RecordProblem) in try reader.nearMiss() },
            contest: try self.optional { reader throws(RecordProblem) in try reader.contest() },
            rank: try self.optional { reader throws(RecordProblem) in try reader.rank() },
            decidedBy: try self.optional { reader throws(RecordProblem) in try reader.key() },
            mixing: try self.optional { reader throws(RecordProblem) in try reader.mixing() },
            takenBy: try self.optional { reader throws(RecordProblem) in try reader.app() },
            alongside: try self.optional { reader throws(RecordProblem) in try reader.number() })
    }

    private mutating func testimony(_ version: UInt8) throws(RecordProblem) -> FocusTestimony {
        let lines = try self.list { reader throws(RecordProblem) in
            FocusTestimony.Line(
                source: try reader.text(),
                app: try reader.optional { reader throws(RecordProblem) in try reader.app() })
        }
        let others = try self.int()
        return FocusTestimony(lines, others: others, isOfFrozen: version > 3 ? try self.flag() : false)
    }

    private mutating func handle() throws(RecordProblem) -> AppHandle {
        guard let index = UInt32(exactly: try self.number()) else { throw .corrupt }
        return AppHandle(index)
    }

    private mutating func dimension() throws(RecordProblem) -> Dimension {
        guard let dimension = Dimension(rawValue: try self.text()) else { throw .corrupt }
        return dimension
    }

    private mutating func key() throws(RecordProblem) -> Rank.Key {
        let name = try self.text()
        let keys = SelectKey.allCases.map { Rank.Key.selected($0) } + [.holder, .registration]
        guard let key = keys.first(where: { $0.name == name }) else { throw .corrupt }
        return key
    }

    private mutating func appFacts() throws(RecordProblem) -> AppFacts {
        AppFacts(
            state: try self.word(), proof: try self.word(), isProvenEnough: try self.flag(), grants: try self.words(),
            activities: try self.words(), hasAssertion: try self.flag(), lastUsed: try self.time())
    }

    private mutating func deviceFacts() throws(RecordProblem) -> DeviceFacts {
        let isLocked = try self.flag()
        var power = Power.ac
        if try self.flag() {
            power = .battery(try self.optional { reader throws(RecordProblem) in try reader.double() })
        }
        return DeviceFacts(isLocked: isLocked, power: power, minuteOfWeek: try self.int())
    }

    private mutating func limits() throws(RecordProblem) -> LimitsSeen {
        LimitsSeen(
            tokens: try self.optional { reader throws(RecordProblem) in try reader.int() }, burst: try self.int(),
            until: try self.optional { reader throws(RecordProblem) in try reader.time() })
    }

    private mutating func nearMiss() throws(RecordProblem) -> NearMiss {
        let rule = try self.rule()
        guard let unmet = UInt16(exactly: try self.number()) else { throw .corrupt }
        return NearMiss(rule: rule, unmet: Conditions.Keys(rawValue: unmet))
    }

    private mutating func rule() throws(RecordProblem) -> Rule {
        Rule(
            name: try self.text(),
            place: Place(file: try self.text(), line: try self.int(), column: try self.int()),
            priority: try self.int(), conditions: try self.conditions(), effect: try self.word(),
            note: try self.text(), group: try self.optional { reader throws(RecordProblem) in try reader.text() },
            strength: try self.int(),
            sessionClass: try self.optional { reader throws(RecordProblem) in try reader.text() },
            terms: try self.terms())
    }

    private mutating func terms() throws(RecordProblem) -> DeliveryTerms {
        var terms = DeliveryTerms()
        terms.kind = try self.word()
        terms.reliability = try self.word()
        terms.durability = try self.word()
        terms.lifespan = try self.span()
        return terms
    }

    private mutating func conditions() throws(RecordProblem) -> Conditions {
        var conditions = Conditions()
        conditions.apps = try self.names()
        conditions.presets = try self.names()
        conditions.states = try self.words()
        conditions.locked = try self.optional { reader throws(RecordProblem) in try reader.flag() }
        conditions.grants = try self.modes()
        conditions.activities = try self.modes()
        conditions.assertion = try self.optional { reader throws(RecordProblem) in try reader.flag() }
        conditions.proofs = try self.words()
        conditions.intensity = try self.optional { reader throws(RecordProblem) in
            IntensityCondition(dimension: try reader.dimension(), ranges: try reader.doubleRanges())
        }
        conditions.times = try self.optional { reader throws(RecordProblem) in
            try reader.ranges { reader throws(RecordProblem) in try reader.int() }
        }
        conditions.power = try self.optional { reader throws(RecordProblem) in
            PowerCondition(
                ac: try reader.flag(), charges: try reader.doubleRanges(), unknownCharge: try reader.flag())
        }
        return conditions
    }

    private mutating func names() throws(RecordProblem) -> NameList {
        NameList(any: NamePatterns(try self.patterns()), except: NamePatterns(try self.patterns()))
    }

    private mutating func patterns() throws(RecordProblem) -> [NamePattern] {
        try self.list { reader throws(RecordProblem) in NamePattern(try reader.text()) }
    }

    private mutating func modes() throws(RecordProblem) -> ModeCondition {
        ModeCondition(
            any: try self.optional { reader throws(RecordProblem) in try reader.words() }, except: try self.words())
    }

    private mutating func doubleRanges() throws(RecordProblem) -> RangeSet<Double> {
        try self.ranges { reader throws(RecordProblem) in try reader.double() }
    }

    private mutating func ranges<Bound: Comparable>(
        _ bound: (inout ByteReader) throws(RecordProblem) -> Bound
    ) throws(RecordProblem) -> RangeSet<Bound> {
        let ranges = try self.list { reader throws(RecordProblem) in
            let (lower, upper) = (try bound(&reader), try bound(&reader))
            // False also for what is no number, of which no range can be made.
            guard lower < upper else { throw .corrupt }
            return lower..<upper
        }
        // As they are written, which also keeps the set from being put together slowly.
        guard zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound }) else { throw .corrupt }
        return RangeSet(ranges)
    }

    private mutating func contest() throws(RecordProblem) -> Contest {
        let group = try self.text()
        let mode: GroupMode = try self.word()
        let select = try self.list { reader throws(RecordProblem) in try reader.word() as SelectKey }
        let (candidates, decided, isEager) = (try self.int(), try self.time(), try self.flag())
        return Contest(
            group: group, mode: mode, select: select, candidates: candidates, decided: decided, isEager: isEager,
            winner: try self.ranked(), next: try self.ranked(),
            inherits: try self.optional { reader throws(RecordProblem) in try reader.number() })
    }

    /// An app and its rank, which are there together or not at all.
    private mutating func ranked() throws(RecordProblem) -> (AppID, Rank)? {
        let id = try self.optional { reader throws(RecordProblem) in try reader.app() }
        let rank = try self.optional { reader throws(RecordProblem) in try reader.rank() }
        guard (id == nil) == (rank == nil) else { throw .corrupt }
        guard let id, let rank else { return nil }
        return (id, rank)
    }

    private mutating func mixing() throws(RecordProblem) -> Mixing {
        Mixing(
            requester: try self.text(), isSession: try self.flag(),
            meeting: try self.optional { reader throws(RecordProblem) in
                SessionMeeting(try reader.app(), try reader.cell())
            }, missing: try self.words())
    }

    private mutating func cell() throws(RecordProblem) -> InteractionMatrix.Cell {
        InteractionMatrix.Cell(
            holder: try self.text(), requester: try self.text(), try self.word(),
            ducking: try self.optional { reader throws(RecordProblem) in try reader.ducking() },
            at: try self.optional { reader throws(RecordProblem) in
                Place(file: try reader.text(), line: try reader.int(), column: try reader.int())
            })
    }

    private mutating func ducking() throws(RecordProblem) -> Ducking {
        Ducking(
            share: try self.double(),
            events: try self.optional { reader throws(RecordProblem) in
                Quota(count: try reader.int(), period: try reader.span(), burst: try reader.int())
            })
    }

    private mutating func rank() throws(RecordProblem) -> Rank {
        Rank(
            strength: try self.int(), bonus: try self.int(), specificity: try self.double(),
            intensity: try self.double(), state: try self.word(), lastUsed: try self.time(),
            lastWin: try self.number(), order: try self.number())
    }
}
