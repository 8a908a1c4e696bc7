import Arbitration
import Motion

extension Values {
    private static func bad(_ word: PlacedText, _ expected: String) -> ValueProblem {
        ValueProblem(
            place: word.place, message: "expected \(expected), found '\(printable(word.text))'",
            advice: "write \(expected)")
    }

    // MARK: Intensity

    /// `>=2.5g`, `<1g`, `2g..3g` (both ends are in it), each with a `!` before it or not.
    static func intensity(_ words: [PlacedText]) throws(ValueProblem) -> IntensityCondition {
        var dimension: Dimension?
        var any: RangeSet<Double>?
        var except = RangeSet<Double>()
        for word in words {
            let isNegated = word.text.hasPrefix("!")
            let bare = isNegated ? word.from(1) : word
            let (range, found) = try self.range(bare)
            if let dimension, dimension != found {
                throw ValueProblem(
                    place: bare.place,
                    message:
                        "'\(printable(bare.text))' is of \(found.rawValue), the one before of \(dimension.rawValue)",
                    advice: "use units of one kind")
            }
            dimension = found
            if isNegated { except.formUnion(range) } else { any = (any ?? RangeSet()).union(range) }
        }
        let all = RangeSet(-Double.infinity..<Double.infinity)
        return IntensityCondition(dimension: dimension ?? .none, ranges: (any ?? all).subtracting(except))
    }

    private static func range(_ word: PlacedText) throws(ValueProblem) -> (RangeSet<Double>, Dimension) {
        let text = word.text
        for (sign, make) in [
            (">=", { $0..<Double.infinity }), ("<=", { -Double.infinity..<$0.nextUp }),
            (">", { $0.nextUp..<Double.infinity }), ("<", { -Double.infinity..<$0 }),
        ] as [(String, (Double) -> Range<Double>)] where text.hasPrefix(sign) {
            let quantity = try self.quantity(word.from(sign.utf8.count))
            return (RangeSet(make(quantity.value)), quantity.dimension)
        }
        let bytes = Array(text.utf8)
        let dots = bytes.indices.dropLast().first { bytes[$0] == 0x2E && bytes[$0 + 1] == 0x2E }
        guard let dots else { throw self.bad(word, "a range such as '>=2.5g', '<1g' or '2g..3g'") }
        let low = PlacedText(text: String(decoding: bytes[..<dots], as: UTF8.self), place: word.place)
        let from = try self.quantity(low)
        let to = try self.quantity(word.from(dots + 2))
        guard from.dimension == to.dimension else { throw self.bad(word, "two quantities of one kind") }
        guard from.value <= to.value else { throw self.bad(word, "the smaller value first") }
        return (RangeSet(from.value..<to.value.nextUp), from.dimension)
    }

    private static func quantity(_ word: PlacedText) throws(ValueProblem) -> Quantity {
        do {
            return try Quantity.parse(word.text)
        } catch {
            throw ValueProblem(
                place: word.from(error.offset).place, message: error.message, advice: "write a number such as 2.5g")
        }
    }

    // MARK: Time

    static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    /// `22:00-06:00`, with or without days before it: `Mon..Fri/08:00-18:00`, `Sat,Sun/00:00-24:00`.
    ///
    /// A time over midnight belongs to the day on which it begins.
    static func times(_ words: [PlacedText]) throws(ValueProblem) -> RangeSet<Int> {
        var any: RangeSet<Int>?
        var except = RangeSet<Int>()
        for word in words {
            let isNegated = word.text.hasPrefix("!")
            let range = try self.hours(isNegated ? word.from(1) : word)
            if isNegated { except.formUnion(range) } else { any = (any ?? RangeSet()).union(range) }
        }
        return (any ?? RangeSet(0..<DeviceFacts.minutesOfWeek)).subtracting(except)
    }

    private static func hours(_ word: PlacedText) throws(ValueProblem) -> RangeSet<Int> {
        let expected = "hours such as '22:00-06:00' or 'Mon..Fri/08:00-18:00'"
        let parts = word.text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let clock = parts.last else { throw self.bad(word, expected) }
        let days = parts.count == 2 ? self.days(parts[0]) : Array(0..<7)
        let ends = clock.split(separator: "-", omittingEmptySubsequences: false)
        guard let days, ends.count == 2, let from = self.minute(ends[0]), let to = self.minute(ends[1]), from < 1_440
        else { throw self.bad(word, expected) }
        guard from != to else {
            throw ValueProblem(
                place: word.place, message: "'\(printable(word.text))' is no time at all",
                advice: "for a whole day write '00:00-24:00'")
        }
        var minutes = RangeSet<Int>()
        for day in days {
            let start = day * 1_440 + from
            let end = day * 1_440 + to + (to < from ? 1_440 : 0)
            minutes.insert(contentsOf: start..<min(end, DeviceFacts.minutesOfWeek))
            // Sunday night goes on on Monday.
            if end > DeviceFacts.minutesOfWeek { minutes.insert(contentsOf: 0..<(end - DeviceFacts.minutesOfWeek)) }
        }
        return minutes
    }

    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { $0 &- 0x30 <= 9 } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60, hour * 60 + minute <= 1_440
        else { return nil }
        return hour * 60 + minute
    }

    private static func days(_ text: Substring) -> [Int]? {
        var days: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let bytes = Array(part.utf8)
            if bytes.count == 8, bytes[3] == 0x2E, bytes[4] == 0x2E {
                guard let first = Self.days.firstIndex(of: String(part.prefix(3))),
                    let last = Self.days.firstIndex(of: String(part.suffix(3)))
                else { return nil }
                var day = first
                days.append(day)
                while day != last {
                    day = (day + 1) % 7
                    days.append(day)
                }
            } else {
                guard let day = Self.days.firstIndex(of: String(part)) else { return nil }
                days.append(day)
            }
        }
        return days
    }

    // MARK: Power

    /// `ac`, `battery`, `battery<20%`, `battery>=50%`, each with a `!` before it or not.
    static func power(_ words: [PlacedText]) throws(ValueProblem) -> PowerCondition {
        var any = PowerCondition(ac: false, charges: RangeSet(), unknownCharge: false)
        var except = any
        var isAny = false
        for word in words {
            let isNegated = word.text.hasPrefix("!")
            let one = try self.onePower(isNegated ? word.from(1) : word)
            if isNegated {
                except = self.union(except, one)
            } else {
                isAny = true
                any = self.union(any, one)
            }
        }
        if !isAny { any = PowerCondition(ac: true, charges: PowerCondition.anyCharge, unknownCharge: true) }
        return PowerCondition(
            ac: any.ac && !except.ac, charges: any.charges.subtracting(except.charges),
            unknownCharge: any.unknownCharge && !except.unknownCharge)
    }

    private static func union(_ a: PowerCondition, _ b: PowerCondition) -> PowerCondition {
        PowerCondition(
            ac: a.ac || b.ac, charges: a.charges.union(b.charges), unknownCharge: a.unknownCharge || b.unknownCharge)
    }

    private static func onePower(_ word: PlacedText) throws(ValueProblem) -> PowerCondition {
        switch word.text {
        case "ac": return PowerCondition(ac: true, charges: RangeSet(), unknownCharge: false)
        case "battery":
            return PowerCondition(ac: false, charges: PowerCondition.anyCharge, unknownCharge: true)
        default: break
        }
        let expected = "'ac', 'battery' or a charge such as 'battery<20%'"
        guard word.text.hasPrefix("battery") else { throw self.unknown(word, "power", among: ["ac", "battery"]) }
        let rest = word.from(7)
        guard rest.text.hasPrefix("<") || rest.text.hasPrefix(">") else { throw self.bad(word, expected) }
        let (range, dimension) = try self.range(rest)
        guard dimension == .share else { throw self.bad(word, expected) }
        return PowerCondition(
            ac: false, charges: range.intersection(PowerCondition.anyCharge), unknownCharge: false)
    }
}
