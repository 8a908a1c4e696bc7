import CDBus
import Testing

@testable import DBus
import Randomness

/// Makes values of every kind, no deeper than the reader allows.
private struct ValueMaker {
    var generator: SeededRandom

    init(seed: UInt64) { self.generator = SeededRandom(seed: seed) }

    private static let basic = Array("ybnqiuxtdsog")

    /// A single complete type.
    mutating func signature(depth: Int) -> String {
        switch depth > 0 ? Int.random(in: 0..<16, using: &self.generator) : 0 {
        case 12: return "v"
        case 13: return "a" + self.signature(depth: depth - 1)
        case 14:
            let fields = (0..<Int.random(in: 1...3, using: &self.generator)).map { _ in self.signature(depth: depth - 1)
            }
            return "(" + fields.joined() + ")"
        case 15: return "a{\(self.letter())\(self.signature(depth: depth - 1))}"
        default: return self.letter()
        }
    }

    private mutating func letter() -> String {
        String(Self.basic.randomElement(using: &self.generator) ?? "y")
    }

    mutating func value(of signature: String, depth: Int) -> Value {
        let types = Self.split(signature)
        guard types.count == 1, let first = signature.first else { return .byte(0) }
        let bits = self.generator.next()
        switch first {
        case "y": return .byte(UInt8(truncatingIfNeeded: bits))
        case "b": return .boolean(bits & 1 == 1)
        case "n": return .int16(Int16(truncatingIfNeeded: bits))
        case "q": return .uint16(UInt16(truncatingIfNeeded: bits))
        case "i": return .int32(Int32(truncatingIfNeeded: bits))
        case "u": return .uint32(UInt32(truncatingIfNeeded: bits))
        case "x": return .int64(Int64(truncatingIfNeeded: bits))
        case "t": return .uint64(bits)
        case "d":
            let value = Double(bitPattern: bits)
            // Not equal to itself, and so not to be compared.
            return .double(value.isNaN ? 0.25 : value)
        case "s": return .string(self.text())
        case "o": return .objectPath(ObjectPath(literal: "/a").appending(escaped: self.text()))
        case "g": return .signature(self.signature(depth: 2))
        case "v":
            let inner = self.signature(depth: depth - 1)
            return .variant(self.value(of: inner, depth: depth - 1))
        case "(":
            let fields = Self.split(String(signature.dropFirst().dropLast()))
            return .structure(fields.map { self.value(of: $0, depth: depth - 1) })
        default: return self.array(of: String(signature.dropFirst()), depth: depth)
        }
    }

    private mutating func array(of element: String, depth: Int) -> Value {
        let count = Int.random(in: 0...3, using: &self.generator)
        guard element.hasPrefix("{") else {
            return .array(of: element, (0..<count).map { _ in self.value(of: element, depth: depth - 1) })
        }
        let types = element.dropFirst().dropLast()
        let (key, value) = (String(types.prefix(1)), String(types.dropFirst()))
        let entries = (0..<count).map { _ in
            Value.Entry(self.value(of: key, depth: 0), self.value(of: value, depth: depth - 1))
        }
        return .dictionary(key: key, value: value, entries)
    }

    private mutating func text() -> String {
        let letters: [Character] = ["a", "Z", "0", " ", "\"", "\\", "ü", "€", "𝄞", "\n", "_", "/"]
        return String(
            (0..<Int.random(in: 0...6, using: &self.generator)).map { _ in
                letters.randomElement(using: &self.generator) ?? "a"
            })
    }

    /// The single complete types that a signature is made of.
    static func split(_ signature: String) -> [String] {
        var (types, current, open) = ([String](), "", 0)
        for letter in signature {
            current.append(letter)
            if letter == "(" || letter == "{" { open += 1 }
            if letter == ")" || letter == "}" { open -= 1 }
            if open == 0, letter != "a" {
                types.append(current)
                current = ""
            }
        }
        return types
    }
}

@Suite struct ValueTests {
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func treesRoundTrip(seed: UInt64) throws {
        print("seed \(seed)")
        var maker = ValueMaker(seed: seed)
        for round in 0..<400 {
            let signature = maker.signature(depth: 5)
            let value = maker.value(of: signature, depth: 5)
            #expect(value.ownSignature == signature, "round \(round)")
            let message = try delivered(value, ["k": value])
            #expect(message.signature == "va{sv}")
            let (one, options) = try message.read(Value.self, [String: Value].self)
            #expect(one == value && options == ["k": value], "round \(round): \(signature)")
            #expect(
                try message.readValues() == [
                    .variant(value), .dictionary(key: "s", value: "v", [.init(.string("k"), .variant(value))]),
                ])
        }
    }

    @Test func optionsAreSortedAndNamed() throws {
        let options = Value.options(["b": .boolean(true), "a": .double(1)])
        #expect(options.ownSignature == "a{sv}")
        #expect(
            options
                == .dictionary(
                    key: "s", value: "v",
                    [
                        .init(.string("a"), .variant(.double(1))), .init(.string("b"), .variant(.boolean(true))),
                    ]))
        #expect(Value.uint32(1).typeName == "whole number 'u'")
        #expect(options.typeName == "'a{sv}'")
    }

    @Test func nestingIsBounded() throws {
        func nested(_ depth: Int) -> Value { (1..<depth).reduce(Value.byte(1)) { value, _ in .variant(value) } }
        let deepest = WireReader.depthLimit
        #expect(try delivered(nested(deepest)).read(Value.self) == nested(deepest))
        for depth in [deepest + 1, 40, 63] {
            #expect(throws: WireError.tooDeep(limit: deepest)) { try delivered(nested(depth)).read(Value.self) }
        }
        // What libdbus itself takes for a message, 64 levels, and what it refuses.
        #expect(throws: WireError.tooDeep(limit: deepest)) { try delivered(nested(64)).readValues() }
        let message = try call()
        message.write(nested(70))
        #expect(Message.parsed(try message.marshalled()) == nil)
    }

    @Test func theNumberOfValuesIsBounded() throws {
        let limit = WireReader.valueLimit
        let fits = [String](repeating: "", count: limit - 1)
        #expect(try delivered(fits).read([String].self).count == limit - 1)
        let tooMany = [String](repeating: "", count: limit)
        #expect(throws: WireError.tooLarge(limit: limit)) { try delivered(tooMany).read([String].self) }
        #expect(throws: WireError.tooLarge(limit: limit)) { try delivered(tooMany).readValues() }
        // All of a message counts, however it is divided.
        let many = [[String]](repeating: [String](repeating: "", count: 999), count: limit / 1_000 + 1)
        #expect(throws: WireError.tooLarge(limit: limit)) { try delivered(many).read([[String]].self) }
        // Blocks do not count as a declared type; as dynamic values they do.
        let block = [UInt8](repeating: 1, count: 4 * limit)
        let message = try delivered(block)
        #expect(try message.read([UInt8].self) == block)
        #expect(throws: WireError.tooLarge(limit: limit)) { try message.readValues() }
    }

    /// Who has very many names does not keep those of others from being read; and what stands behind the list counts as ever.
    @Test func theBusMayListAnyNumberOfNames() throws {
        let names = (0..<(2 * WireReader.valueLimit)).map { "org.example.n\($0)." + String(repeating: "x", count: 200) }
        #expect(names.count * 200 < WireReader.textLimit)
        let more = names + names
        #expect(more.count * 200 > WireReader.textLimit)
        for list in [[], ["a.b"], names, more] {
            let message = try delivered(BusNameList(names: list), ["k"])
            #expect(message.signature == "asas")
            let (read, rest) = try message.read(BusNameList.self, [String].self)
            #expect(read.names == list && rest == ["k"])
        }
        let behind = try delivered(BusNameList(names: more), names)
        #expect(throws: WireError.tooLarge(limit: WireReader.valueLimit)) {
            try behind.read(BusNameList.self, [String].self)
        }
    }

    @Test func theTextOfAMessageIsBounded() throws {
        let limit = WireReader.textLimit
        let half = String(repeating: "\u{E9}", count: limit / 4)
        #expect(try delivered([half, half]).read([String].self) == [half, half])
        let tooMuch = try delivered([half, half, "x"])
        #expect(throws: WireError.tooLong(limit: limit)) { try tooMuch.read([String].self) }
        #expect(throws: WireError.tooLong(limit: limit)) { try tooMuch.readValues() }
        // All of a message counts, however it is divided.
        let divided = try delivered([[half], [half], ["x"]])
        #expect(throws: WireError.tooLong(limit: limit)) { try divided.read([[String]].self) }
        // Whoever is asked may answer with an error.
        for (count, isRead) in [(WireReader.errorTextLimit, true), (WireReader.errorTextLimit + 1, false)] {
            let text = String(repeating: "x", count: count)
            let error = try delivered(Message(error: BusError("org.example.Long", text), to: ":1.1", answering: 1))
            let told = error.errorText
            #expect(told == (isRead ? text : ""))
        }
    }
}
