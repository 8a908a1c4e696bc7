package import Randomness

/// Makes up values of any type: some as the interface means them, some as nobody would.
package struct Babble: Sendable {
    package var random: SeededRandom
    private let grammar: BusGrammar
    /// Names of apps and of connections that there may be.
    package var apps: [String]
    /// Numbers that came, which an answer may be meant for.
    package var numbers: [UInt64] = []
    /// What the member says of itself, to which something is said.
    private var hints = BusGrammar.Hints()
    /// How many descriptors go with the message.
    package var descriptors = 0

    /// How deep values stand in one another; buses take 32 of a kind.
    private static let deepest = 24
    /// How many bytes a body may have before nothing more is put into its arrays.
    private static let large = 1 << 17

    package init(_ grammar: BusGrammar, apps: [String], seed: UInt64) {
        (self.grammar, self.apps, self.random) = (grammar, apps, SeededRandom(seed: seed))
    }

    package mutating func below(_ count: Int) -> Int { Int(self.random.next() % UInt64(max(1, count))) }

    /// One of so many times.
    package mutating func once(in count: Int) -> Bool { self.below(count) == 0 }

    package mutating func one<T>(of list: [T]) -> T { list[self.below(list.count)] }

    // MARK: Bodies

    /// Fills in a body as the member takes it, or, some of the time, as it does not.
    package mutating func fill(_ message: inout BusMessage, as types: [WireType]) {
        self.fill(&message, as: types, names: [], BusGrammar.Hints())
    }

    /// The same with what a member takes.
    package mutating func fill(_ message: inout BusMessage, as member: BusGrammar.Member) {
        self.fill(&message, as: member.inputs, names: member.names, member.hints)
    }

    private mutating func fill(
        _ message: inout BusMessage, as given: [WireType], names: [String], _ hints: BusGrammar.Hints
    ) {
        var types = given
        switch self.below(100) {
        case 0..<4: types = self.changed(types)
        case 4..<6: types = (0..<self.below(6)).map { _ in self.type(depth: 0) }
        case 6: types = []
        default: break
        }
        message.signature = types.signature
        self.hints = hints
        defer { self.hints = BusGrammar.Hints() }
        for (place, type) in types.enumerated() {
            let name = place < names.count ? names[place] : ""
            if type == .basic(UInt8(ascii: "s")), name.hasPrefix("app"), !self.once(in: 4) {
                message.body.string(self.one(of: self.apps))
            } else {
                self.write(type, into: &message.body, depth: 0)
            }
        }
    }

    /// One type more, less, or another.
    private mutating func changed(_ types: [WireType]) -> [WireType] {
        var types = types
        let place = self.below(types.count + 1)
        switch self.below(4) {
        case 0: types.insert(self.type(depth: 0), at: place)
        case 1 where place < types.count: types.remove(at: place)
        case 2 where place < types.count: types[place] = .array(types[place])
        case 3 where place < types.count: types[place] = self.type(depth: 0)
        default: types.append(.variant)
        }
        return types
    }

    /// Any type.
    package mutating func type(depth: Int) -> WireType {
        switch self.below(depth > 4 ? 6 : 12) {
        case 6: .array(self.type(depth: depth + 1))
        case 7: .array(.entry(.basic(self.one(of: WireType.basics)), self.type(depth: depth + 1)))
        case 8: .structure((0...self.below(3)).map { _ in self.type(depth: depth + 1) })
        case 9, 10: .variant
        case 11: .array(.entry(.basic(UInt8(ascii: "s")), .variant))
        default: .basic(self.one(of: WireType.basics))
        }
    }

    package mutating func write(_ type: WireType, into body: inout WireBytes, depth: Int) {
        switch type {
        case .basic(let letter): self.writeBasic(letter, into: &body)
        case .structure(let parts):
            body.align(8)
            for part in parts { self.write(part, into: &body, depth: depth + 1) }
        case .entry(let key, let value):
            body.align(8)
            self.write(key, into: &body, depth: depth + 1)
            self.write(value, into: &body, depth: depth + 1)
        case .variant: self.writeVariant(self.type(depth: min(depth, 3)), into: &body, depth: depth + 1)
        case .array(.entry(.basic(UInt8(ascii: "s")), .variant)): self.writeOptions(into: &body, depth: depth + 1)
        case .array(let element):
            let count = self.count(depth)
            body.array(alignedTo: element.alignment) { body in
                for _ in 0..<count where body.bytes.count < Self.large {
                    self.write(element, into: &body, depth: depth + 1)
                }
            }
        }
    }

    /// How many there are of something: mostly few.
    private mutating func count(_ depth: Int) -> Int {
        if depth > 3 { return self.below(2) }
        return switch self.below(60) {
        case 0: self.below(4_000)
        case 1..<6: self.below(80)
        case 6..<15: 0
        default: 1 + self.below(4)
        }
    }

    private mutating func writeVariant(_ type: WireType, into body: inout WireBytes, depth: Int) {
        // One in another, as deep as may be.
        if depth < Self.deepest, type == .variant || self.once(in: 300) {
            body.signature("v")
            self.writeVariant(self.once(in: 3) ? self.type(depth: 4) : .variant, into: &body, depth: depth + 1)
        } else {
            let type = type == .variant ? .basic(UInt8(ascii: "y")) : type
            body.signature(type.signature)
            self.write(type, into: &body, depth: depth + 1)
        }
    }

    /// Options: keys that are known, with what belongs to them or something else, and keys that are not.
    private mutating func writeOptions(into body: inout WireBytes, depth: Int) {
        let keys = self.hints.keys
        let count =
            depth > 6 || keys.isEmpty && !self.once(in: 8) || self.once(in: 3)
            ? 0 : self.once(in: 100) ? self.below(300) : 1 + self.below(4)
        body.array(alignedTo: 8) { body in
            for _ in 0..<count {
                body.align(8)
                guard !keys.isEmpty, !self.once(in: 20) else {
                    body.string(self.once(in: 3) ? "x-" + self.one(of: self.grammar.words) : self.text())
                    self.writeVariant(self.type(depth: 2), into: &body, depth: depth + 1)
                    continue
                }
                let key = self.one(of: keys)
                body.string(key.name)
                switch self.below(10) {
                case 0: self.writeVariant(self.type(depth: 2), into: &body, depth: depth + 1)
                case 1:
                    body.signature("s")
                    body.string(self.text())
                case 2:
                    body.signature("d")
                    self.writeBasic(UInt8(ascii: "d"), into: &body)
                default: self.writeVariant(key.type, into: &body, depth: depth + 1)
                }
            }
        }
    }

    // MARK: Basic values

    private mutating func writeBasic(_ letter: UInt8, into body: inout WireBytes) {
        switch letter {
        case UInt8(ascii: "y"): body.byte(UInt8(truncatingIfNeeded: self.number()))
        case UInt8(ascii: "b"): body.number(UInt32(self.below(2)))
        case UInt8(ascii: "n"), UInt8(ascii: "q"): body.number(UInt16(truncatingIfNeeded: self.number()))
        case UInt8(ascii: "i"), UInt8(ascii: "u"): body.number(UInt32(truncatingIfNeeded: self.number()))
        case UInt8(ascii: "x"), UInt8(ascii: "t"): body.number(self.number())
        case UInt8(ascii: "d"): body.number(self.double().bitPattern)
        case UInt8(ascii: "o"): body.string(self.path())
        case UInt8(ascii: "g"): body.signature(self.type(depth: 2).signature)
        case UInt8(ascii: "h"):
            // One that is there, or one that is not.
            body.number(self.once(in: 4) ? UInt32(truncatingIfNeeded: self.number()) : UInt32(self.descriptors / 2))
        default: body.string(self.text())
        }
    }

    package mutating func number() -> UInt64 {
        switch self.below(12) {
        case 0: 0
        case 1: .max
        case 2: UInt64(Int64.max)
        case 3: UInt64(bitPattern: .min)
        case 4: 1 << UInt64(self.below(64))
        case 5: self.random.next()
        case 6, 7: self.numbers.isEmpty ? 1 : self.one(of: self.numbers)
        case 8: 1_000 * UInt64(self.below(100_000))
        default: UInt64(self.below(200))
        }
    }

    private mutating func double() -> Double {
        switch self.below(14) {
        case 0: .nan
        case 1: .infinity
        case 2: -.infinity
        case 3: .greatestFiniteMagnitude
        case 4: .leastNonzeroMagnitude
        case 5: -0.0
        case 6: Double(bitPattern: self.random.next())
        case 7: -Double(self.below(1_000))
        case 8: Double(1 + self.below(200))
        default: self.random.uniform(0...10)
        }
    }

    package mutating func path() -> String {
        switch self.below(6) {
        case 0: "/"
        case 1: "/org/jostle/Broker1"
        case 2: "/org/jostle/Sensors1/accelerometer"
        case 3: "/org/jostle/Sensors1/" + String(repeating: "a/", count: self.below(60)) + "b"
        default: Self.object(of: self.one(of: self.apps))
        }
    }

    /// The object that a broker makes for an app.
    package static func object(of app: String) -> String {
        var path = "/org/jostle/Broker1/apps/"
        for byte in app.utf8 {
            let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            path +=
                isPlain
                ? String(UnicodeScalar(byte)) : "_" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return path == "/org/jostle/Broker1/apps/" ? path + "_" : path
    }

    package mutating func text() -> String {
        switch self.below(24) {
        case 0..<5: return self.one(of: self.apps)
        case 5..<14: return self.one(of: self.hints.words.isEmpty ? self.grammar.words : self.hints.words)
        case 14..<19: return self.one(of: Self.texts)
        case 19: return ""
        case 20: return self.one(of: Self.texts) + self.one(of: self.grammar.words) + self.one(of: Self.texts)
        case 21: return String(self.number())
        case 22:
            let unit = self.one(of: ["ms", "s", "us", "g", "h", "d", "Hz", "%", ""])
            return "\(self.double())\(unit)"
        default:
            let scalar = UnicodeScalar(UInt32(1 + self.below(0xD7FF))) ?? "x"
            return String(repeating: Character(scalar), count: self.once(in: 40) ? self.below(70_000) : self.below(300))
        }
    }

    /// What one would say, and what one would not.
    private static let texts = [
        "shake.planar", "shake.magnitude", "shake.axis", "shake.tilted", "geofence", "still", "pick-up", "orientation",
        "norm(x, y, z) > 0.5g", "hypot(x, y) > 2.3g", "abs(x) > 1g for 100ms", "mean(x, 1s) > 0g", "x > ",
        "((((((x))))))",
        "norm(x, y, z) > 1e400g", "accelerometer", "gyroscope", "location", "shake peak=3g", "hold x=1g for=10s",
        "tilt",
        "100ms", "0s", "24h", "-1s", "1e300s", "9223372036854775807us", "2.3g", "audio", "processing", "fetch",
        "refresh",
        "consume", "pass", "done", "cancelled", "locked", "unlocked", "foreground", "background", "suspended", "auto",
        "terminated", "org.example.Stranger0.refresh", "org.example.Stranger1.index", "d0", "d1", "d2", "wlr", "x11::0",
        "front", "visible", "hidden", "\u{1}\u{2}\u{7F}", "\u{202E}txt.exe", "../../etc/passwd", "%s%n%d",
        "'; DROP TABLE due;--",
        "\u{FFFD}", "a\nb\nc", "[Rule all]\nThen=allow", "last", "mean", "peak", "leading", "restarting", "none",
        "music",
    ]
}
